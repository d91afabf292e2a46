"""Findings of histogram audits, and rows of sweeps.

A finding contains an interval that is valid under an assumption.
"""

import numpy as np

from dpjax.core.errors import Status
from dpjax.core.numerics import finite_or_none
from dpjax.core.random import numbers_of_process
from dpjax.core.wording import EVENTS, Sentence, confidence_text
from dpjax.inference import FiniteOutputs, Plan, safety_check
from dpjax.methods.histogram._estimate import HistogramResult
from dpjax.notions import RAREST, SAFETY_CHECK, HistogramLevel, Statement, Terms
from dpjax.results import (
    ASSUMPTION_REFUTED,
    NO_CLAIM,
    NOT_REFUTED,
    VIOLATED,
    Finding,
    Observed,
    Row,
    Witness,
    concluded,
    plain_database,
)
from dpjax.sources import AnyPairs

_SAFETY_PROBABILITY = 0.96
"""Required probability that a run passes the safety check if the assumption is true."""


def finding_of(result: HistogramResult, planned: Plan, terms: Terms) -> Finding:
    inputs = [plain_database(x) for x in result.inputs]
    first, second = ([inputs[i] for i in column] for column in result.pairs.T)
    labels = tuple(f"{x} and {y}" for x, y in zip(first, second, strict=True))
    levels = np.ma.filled(result.levels[0].astype(float), -np.inf)
    best, failed = int(levels.argmax()), result.status is Status.EMPTY_INTERVAL
    p_value, tested_by = _test(result, planned)
    counted = HistogramLevel(
        estimate=None if failed else float(result.estimates[0]),
        assumed=_assumption(planned),
        p_value=p_value,
        status=result.status.name,
        plan=planned.to_dict(),
        num_pairs=len(result.pairs),
        num_failed=int(np.ma.getmaskarray(result.levels).sum()),
        tested_by=tested_by,
    )
    verdict = _judge(counted, planned, terms.level)
    return Finding(
        statement=concluded(counted.interval(), terms, counted.level, verdict),
        evidence=Observed(
            counted=counted,
            settings={"inputs": result.inputs.tolist(), **numbers_of_process()},
            num_samples=planned.num_samples,
            pair_scores=tuple(
                (labels[i], float(levels[i]))
                for i in np.argsort(-levels, kind="stable")
                if np.isfinite(levels[i])
            ),
        ),
        notes=terms.notes(),
        witness=None if failed else Witness(labels[best], first[best], second[best]),
        pairs=AnyPairs((first, second), labels),
    )


def rows_of(result: HistogramResult) -> list[Row]:
    """Return the rows of a sweep, one per run, with estimates but without bounds."""
    rows, failed = [], np.ma.getmaskarray(result.estimates)
    for run, levels in enumerate(result.levels):
        estimate = None if failed[run] else finite_or_none(float(levels.max()))
        pair = 0 if failed[run] else int(levels.filled(-np.inf).argmax())
        status = Status.EMPTY_INTERVAL if failed[run] else Status.OK
        rows.append(Row(Statement(0.0, estimate, "histogram"), pair, status=status.name))
    return rows


def _test(result: HistogramResult, planned: Plan) -> tuple[float, str]:
    """Return a p-value of the assumption for the run's counts, and the name of the test.

    Every output or interval has a least probability under the assumption, so the smallest count is
    tested first. The p-value is a binomial tail times the number of counts. An output that never
    occurs is therefore evidence against the assumption, and not a reason to draw more samples.
    """
    # scipy.special is imported only here because its import takes longer than the audit.
    from scipy.special import bdtr

    least = float(result.counts.min())
    tail = float(bdtr(least, planned.num_samples, planned.least_probability))
    rarest = min(1.0, result.counts.size * tail)
    if rarest <= 1 - planned.confidence or isinstance(planned.assumption, FiniteOutputs):
        return rarest, RAREST
    try:
        check = safety_check(planned, probability=_SAFETY_PROBABILITY)
    except ValueError:
        # The plan has too few samples for the check.
        return rarest, RAREST
    return check.verdict(result.counts).p_value, SAFETY_CHECK


def _assumption(planned: Plan) -> str:
    assumed = planned.assumption
    if isinstance(assumed, FiniteOutputs):
        return f"every output has probability at least {assumed.least_probability:g}"
    text = f"every density is {assumed.lipschitz:g}-Lipschitz in the output"
    if isinstance(assumed.inputs, int):
        return text
    return f"{text} and {assumed.inputs.lipschitz:g}-Lipschitz in the input"


def _judge(counted: HistogramLevel, planned: Plan, claim: float | None) -> tuple[str, str]:
    found, assumed = counted.interval(), counted.assumed
    low, high = found.lower_bound, found.upper_bound
    interval = "" if high is None else f" [{low:.4f}, {high:.4f}]"
    if counted.refuted:
        finite = isinstance(planned.assumption, FiniteOutputs)
        weaker = "a smaller probability" if finite else "a larger constant"
        return ASSUMPTION_REFUTED, Sentence(
            f"The counts contradict the assumption that {assumed} (p = {counted.p_value:.2g}), so "
            f"the interval{interval} cannot be trusted: assume {weaker}, or use "
            f"{EVENTS}, which needs no assumption."
        )
    if high is None:
        verdict = NO_CLAIM if claim is None else NOT_REFUTED
        return verdict, Status.EMPTY_INTERVAL.sentence
    sure = (
        f"If {assumed}, then, with confidence {confidence_text(planned.confidence)}, the level "
        f"lies in{interval}"
    )
    if claim is None:
        return NO_CLAIM, f"{sure}; there was no claim to test."
    if low > claim:
        above = f"above the claimed {claim:g}: the claim or the assumption is false"
        return VIOLATED, f"{sure}, {above}."
    return NOT_REFUTED, f"{sure}; no proof of the claimed {claim:g}."
