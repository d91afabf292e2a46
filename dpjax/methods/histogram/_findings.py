"""What a histogram found, as a finding: an interval, and the assumption that it rests on."""

import numpy as np

from dpjax.core.errors import Status
from dpjax.core.random import numbers_of_process
from dpjax.core.wording import EVENTS, Sentence
from dpjax.inference import (
    FiniteOutputs,
    Plan,
    SafetyVerdict,
    safety_check,
)
from dpjax.methods.histogram._estimate import HistogramResult
from dpjax.notions import Statement, Terms
from dpjax.partitions import EVERYWHERE
from dpjax.results import (
    ASSUMPTION_REFUTED,
    NO_CLAIM,
    NOT_REFUTED,
    VIOLATED,
    Finding,
    Witness,
    plain_database,
)
from dpjax.sources import AnyPairs

_SAFETY_PROBABILITY, _REFUTED = 0.96, 0.05
"""Of the limit of the safety check, and the p-value below which an assumption is refuted."""


def finding_of(result: HistogramResult, planned: Plan, terms: Terms) -> Finding:
    estimate = None if result.status is Status.EMPTY_INTERVAL else float(result.estimates[0])
    low, high = 0.0, None
    if estimate is not None:
        low, high = max(0.0, estimate - planned.precision), estimate + planned.precision
    safety = _safety(result, planned)
    inputs = [plain_database(x) for x in result.inputs]
    first, second = ([inputs[i] for i in column] for column in result.pairs.T)
    labels = tuple(f"{x} and {y}" for x, y in zip(first, second, strict=True))
    levels = np.ma.filled(result.levels[0].astype(float), -np.inf)
    best = int(levels.argmax())
    order = None if planned.order is None else float(planned.order)
    return Finding(
        # With an empty interval in every pair nothing is known of the level.
        statement=Statement(low, estimate, "histogram", upper_bound=high),
        witness=(
            Witness("none", None, None)
            if estimate is None
            else Witness(labels[best], first[best], second[best])
        ),
        pairs=AnyPairs((first, second), labels),
        pair_scores=tuple(
            (labels[i], float(levels[i]))
            for i in np.argsort(-levels, kind="stable")
            if np.isfinite(levels[i])
        ),
        region=EVERYWHERE,
        num_samples=planned.num_samples,
        num_confirm=0,
        settings={"inputs": result.inputs.tolist(), **numbers_of_process()},
        notes=terms.notes(),
        assumption={
            "text": _assumption(planned),
            "p_value": None if safety is None else safety.p_value,
            "status": result.status.name,
            "plan": planned.to_dict(),
            "num_pairs": len(result.pairs),
            "num_failed": int(np.ma.getmaskarray(result.levels).sum()),
        },
        verdict=_judge(low, high, planned, terms.level, safety),
        level="LDP epsilon" if order is None else f"Renyi level of order {order:g}",
    )


def _safety(result: HistogramResult, planned: Plan) -> SafetyVerdict | None:
    if isinstance(planned.assumption, FiniteOutputs):
        return None
    try:
        check = safety_check(planned, probability=_SAFETY_PROBABILITY)
    except ValueError:
        # Too few samples for the check to say anything.
        return None
    return check.verdict(result.counts)


def _assumption(planned: Plan) -> str:
    assumed = planned.assumption
    if isinstance(assumed, FiniteOutputs):
        return f"every output has probability at least {assumed.least_probability:g}"
    text = f"every density is {assumed.lipschitz:g}-Lipschitz in the output"
    if isinstance(assumed.inputs, int):
        return text
    return f"{text} and {assumed.inputs.lipschitz:g}-Lipschitz in the input"


def _judge(
    low: float,
    high: float | None,
    planned: Plan,
    claim: float | None,
    safety: SafetyVerdict | None,
) -> tuple[str, str]:
    if high is None:
        verdict = NO_CLAIM if claim is None else NOT_REFUTED
        return verdict, Status.EMPTY_INTERVAL.sentence
    interval = f"[{low:.4f}, {high:.4f}]"
    if safety is not None and safety.refuted(_REFUTED):
        return ASSUMPTION_REFUTED, Sentence(
            f"The counts contradict the assumption that {_assumption(planned)} (p = "
            f"{safety.p_value:.2g}), so the interval {interval} is not to be trusted: assume a "
            f"larger constant, or use {EVENTS}, which assumes none."
        )
    sure = (
        f"With confidence {planned.confidence:g}, and if {_assumption(planned)}, the level lies in "
        f"{interval}"
    )
    if claim is None:
        return NO_CLAIM, f"{sure}; no claim was given to compare with."
    if low > claim:
        above = f"above the claimed {claim:g}: the claim or the assumption is false"
        return VIOLATED, f"{sure}, {above}."
    return NOT_REFUTED, f"{sure}, which does not contradict the claimed {claim:g}."
