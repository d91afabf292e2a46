"""The second front door: an estimate of epsilon with a stated precision, by histograms.

The local approach (`dpjax.audit`) gives a lower bound without assumptions. Here the mechanism's
densities are assumed smooth (or its outputs finitely many and not too rare), and the answer is two-
sided, at every sample size. What is assumed is part of the result, and is tested where it can be.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Algorithms 1-4, Theorem 3.
"""

import time
from typing import Any

import numpy as np

from dpjax import _validate
from dpjax._batching import Execution
from dpjax._errors import Status
from dpjax._types import FiniteSpace, RealSpace
from dpjax.databases import Pairs
from dpjax.inference import (
    FiniteOutputs,
    Plan,
    SafetyVerdict,
    blind_spot,
    plan,
    plan_finite,
    safety_check,
)
from dpjax.mechanisms import Mechanism
from dpjax.methods.histogram._estimate import HistogramResult, midpoints
from dpjax.methods.histogram._ldp import histogram_ldp
from dpjax.methods.histogram._rdp import histogram_rdp
from dpjax.results._histogram import HistogramAudit
from dpjax.results._provenance import (
    device,
    name_of,
    numbers_of_process,
    parameters_of,
    seed_of,
    versions,
)
from dpjax.results._result import ASSUMPTION_REFUTED, NO_CLAIM, NOT_REFUTED, VIOLATED
from dpjax.sources._subject import mechanism_of

# One run outside the limit then refutes the assumption at a level of 4 %.
_SAFETY_PROBABILITY = 0.96


def audit_histogram(
    mechanism: Any,
    *,
    lipschitz: float | None = None,
    least_probability: float | None = None,
    inputs: Any = None,
    input_interval: tuple[float, float] | None = None,
    input_lipschitz: float | None = None,
    output_interval: tuple[float, float] | None = None,
    num_outcomes: int | None = None,
    precision: float | None = None,
    confidence: float | None = 0.95,
    num_samples: int | None = None,
    order: float | None = None,
    bound: str = "all-intervals",
    claim: float | None = None,
    key: Any = 0,
    execution: Execution | None = None,
) -> HistogramAudit:
    """Estimates the LDP epsilon or a Renyi level within a stated precision.

    Args:
        mechanism: A mechanism of `dpjax.mechanisms` with outputs in an interval or a finite space,
            or a JAX function (key, input) -> output that draws one output.
        lipschitz: C, assumed of every density in the output; for outputs in an interval.
        least_probability: Assumed to be below the probability of every output; for a finite space.
        inputs: [k, ...], the inputs to compare; a built-in mechanism's standard ones if None.
        input_interval: (low, high), to cover all inputs of an interval by mid-points.
        input_lipschitz: D, assumed of every density in the input; given with `input_interval`.
        output_interval: (low, high) of the outputs, where the mechanism does not state it.
        num_outcomes: For a function with outcomes 0 .. num_outcomes - 1.
        precision: Largest error; 0.5 where num_samples is not given either.
        confidence: Least probability of that precision; None where both `precision` and
            `num_samples` are given, which it then follows from.
        num_samples: Draws at each input, in place of a precision or a confidence.
        order: alpha of a Renyi level; LDP if None.
        bound: "all-intervals", or "published" as in the paper; see `dpjax.inference.plan`.
        claim: A level to compare with.
        key: Integer seed or typed key; the same key gives the same result.
        execution: Layout on the machine; never changes the result.

    Returns:
        The result, with its verdict on the claim.

    Raises:
        ValueError: An argument is missing or out of range, or outputs leave their interval.
        TypeError: An argument is of the wrong kind.

    References:
        Gorla et al., Algorithms 1-4, Theorems 2, 4 and 6.
    """
    start = time.perf_counter()
    if claim is not None:
        _validate.positive(claim=claim)
    if precision is None and num_samples is None:
        precision = 0.5
    asked = {
        "precision": precision,
        "confidence": confidence,
        "num_samples": num_samples,
        "order": order,
        "bound": bound,
    }
    inputs = _inputs(mechanism, inputs, input_interval)
    example = inputs[0] if input_interval is None else input_interval[0]
    mechanism = mechanism_of(mechanism, example, num_outcomes)
    space = mechanism.output_space
    interval = None
    if isinstance(space, FiniteSpace):
        if least_probability is None:
            raise ValueError(
                "least_probability must be given for finitely many outputs, but was not."
            )
        if inputs is None:
            raise ValueError("input_interval is not accepted for finitely many outputs.")
        if any(x is not None for x in (lipschitz, input_lipschitz, output_interval)):
            raise ValueError(
                "lipschitz, input_lipschitz and output_interval are for outputs in an interval, "
                f"but the mechanism has {space.size} outputs: give least_probability alone."
            )
        planned = plan_finite(
            num_outputs=space.size,
            least_probability=least_probability,
            num_inputs=len(inputs),
            **asked,
        )
    else:
        if lipschitz is None:
            raise ValueError("lipschitz must be given for outputs in an interval, but was not.")
        if least_probability is not None:
            raise ValueError(
                "least_probability is for finitely many outputs, but they are "
                f"{space}: give lipschitz alone."
            )
        interval = output_interval or (getattr(space, "low", 0), getattr(space, "high", 1))
        width = interval[1] - interval[0]
        planned = plan(
            lipschitz=lipschitz,
            width=width if isinstance(space, RealSpace) and np.isfinite(width) else 1.0,
            input_lipschitz=input_lipschitz,
            input_width=None if input_interval is None else input_interval[1] - input_interval[0],
            num_inputs=None if inputs is None else len(inputs),
            **asked,
        )
    if input_interval is not None:
        inputs = midpoints(*input_interval, planned.num_inputs)
    run = histogram_ldp if order is None else histogram_rdp
    result = run(
        mechanism, inputs, planned, key, output_interval=output_interval, execution=execution
    )
    settings = {
        "inputs": result.inputs.tolist(),
        "output_interval": None if interval is None else [float(end) for end in interval],
        **numbers_of_process(),
    }
    seconds = time.perf_counter() - start
    return _assemble(mechanism, result, planned, claim, seed_of(key), settings, seconds)


def _inputs(mechanism: Any, inputs: Any, input_interval: Any) -> Any:
    """The inputs as written, or None where they will be the mid-points of an interval."""
    if input_interval is not None:
        if inputs is not None:
            raise ValueError("inputs and input_interval are not accepted together.")
        _validate.increasing(*input_interval, name="input_interval")
        return None
    if inputs is not None:
        return np.asarray(inputs)
    if not hasattr(mechanism, "standard_pairs"):
        raise ValueError(
            "inputs (or input_interval) must be given for a mechanism that is not built in."
        )
    return inputs_of(mechanism.standard_pairs())


def inputs_of(pairs: Pairs) -> np.ndarray:
    """Every database of the pairs once, in increasing order."""
    return np.unique(np.concatenate([pairs.database, pairs.neighbor]), axis=0)


def _assemble(
    mechanism: Mechanism,
    result: HistogramResult,
    planned: Plan,
    claim: float | None,
    seed: Any,
    settings: dict[str, Any],
    seconds: float,
) -> HistogramAudit:
    estimate = None if result.status is Status.EMPTY_INTERVAL else float(result.estimates[0])
    bounds = None
    if estimate is not None:
        bounds = max(0.0, estimate - planned.precision), estimate + planned.precision
    safety = _safety(result, planned)
    verdict, sentence = _judge(bounds, planned, claim, safety)
    witness = result.witness()
    return HistogramAudit(
        estimate=estimate,
        lower_bound=None if bounds is None else bounds[0],
        upper_bound=None if bounds is None else bounds[1],
        precision=planned.precision,
        confidence=planned.confidence,
        order=planned.order,
        status=result.status.name,
        verdict=verdict,
        sentence=sentence,
        claim=claim,
        witness=None if witness is None else [end.tolist() for end in witness],
        num_pairs=len(result.pairs),
        num_failed=int(np.ma.getmaskarray(result.levels).sum()),
        assumption=_assumption(planned),
        safety_p_value=None if safety is None else safety.p_value,
        plan=planned.to_dict(),
        blind_spot=blind_spot(planned.num_samples),
        mechanism=name_of(mechanism),
        parameters=parameters_of(mechanism),
        seed=seed,
        settings=settings,
        versions=versions(),
        device=device(),
        seconds=seconds,
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
    if assumed.input_lipschitz is None:
        return text
    return f"{text} and {assumed.input_lipschitz:g}-Lipschitz in the input"


def _judge(
    bounds: tuple[float, float] | None,
    planned: Plan,
    claim: float | None,
    safety: SafetyVerdict | None,
) -> tuple[str, str]:
    if bounds is None:
        verdict = NO_CLAIM if claim is None else NOT_REFUTED
        return verdict, Status.EMPTY_INTERVAL.sentence
    interval = f"[{bounds[0]:.4f}, {bounds[1]:.4f}]"
    if safety is not None and safety.refuted(0.05):
        return ASSUMPTION_REFUTED, (
            f"The counts contradict the assumption that {_assumption(planned)} (p = "
            f"{safety.p_value:.2g}), so the interval {interval} is not to be trusted: assume a "
            "larger constant, or audit with dpjax.audit (--method local), which assumes none."
        )
    sure = (
        f"With confidence {planned.confidence:g}, and if {_assumption(planned)}, the level lies in "
        f"{interval}"
    )
    if claim is None:
        return NO_CLAIM, f"{sure}; no claim was given to compare with."
    if bounds[0] > claim:
        above = f"above the claimed {claim:g}: the claim or the assumption is false"
        return VIOLATED, f"{sure}, {above}."
    return NOT_REFUTED, f"{sure}, which does not contradict the claimed {claim:g}."
