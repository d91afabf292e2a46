"""Assertions on the privacy of a mechanism, with messages that a developer can act on."""

import shlex
import sys
import time
from typing import Any

from dpjax import _validate
from dpjax.audit import audit
from dpjax.partitions._outputs import HostSource
from dpjax.results._result import VIOLATED, AuditResult
from dpjax.testing._budget import (
    Sizes,
    audit_within,
    detectable_epsilon,
    fewest_sizes,
    sizes_of,
)
from dpjax.testing._replay import replay_lines, running_test

DEFAULT_CONFIDENCE = 1 - 1e-6
"""A right mechanism fails `assert_private` at most once in a million seeds."""

DEFAULT_DRAWS = 400_000
"""Draws in all, where neither draws nor seconds are given."""


def assert_private(
    mechanism: Any,
    epsilon: float,
    *,
    pairs: Any = None,
    confidence: float = DEFAULT_CONFIDENCE,
    num_draws: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    **options: Any,
) -> AuditResult:
    """Fails if outputs show that a mechanism is not epsilon-differentially private.

    The bound is exact at every sample size, so a mechanism that is epsilon-differentially private
    fails with a probability of at most 1 - confidence over seeds. With a number of draws and a
    seed the outcome is always the same; with seconds the draws, and so the outcome of a wrong
    mechanism near the claim, depend on the machine.

    Args:
        mechanism: Anything that `dpjax.audit` takes.
        epsilon: The claim.
        pairs: Neighbouring databases; a built-in mechanism's standard pairs if None.
        confidence: Least probability, over seeds, that a right mechanism passes.
        num_draws: Outputs in all, over pairs, sides and both stages. If neither this nor seconds is
            given, `DEFAULT_DRAWS`, or under pytest with --dpjax-budget what the budget allows; what
            is given here is kept under a budget, too, and its time counts against that.
        seconds: Time to spend, compilation included, in place of num_draws.
        seed: Of all draws.
        **options: Further arguments of `dpjax.audit`, such as num_outcomes or region.

    Returns:
        The audit. `dpjax.testing.detectable_epsilon` says what it could have refuted.

    Raises:
        AssertionError: The mechanism is not private; the message has the witness and a replay.
        ValueError, TypeError: As `dpjax.audit`; or draws and seconds were both given.
    """
    result = _audit(mechanism, epsilon, pairs, confidence, num_draws, seconds, seed, options)
    if result.verdict == VIOLATED:
        raise AssertionError(_violation(result, mechanism, pairs, options))
    return result


def assert_not_private(
    mechanism: Any,
    epsilon: float,
    *,
    pairs: Any = None,
    confidence: float = DEFAULT_CONFIDENCE,
    num_draws: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    **options: Any,
) -> AuditResult:
    """Fails unless outputs show that a mechanism is not epsilon-differentially private.

    A mechanism that is epsilon-differentially private passes with a probability of at most
    1 - confidence. One that is not may fail for want of draws.

    Args:
        mechanism: As in `assert_private`, as all other arguments.
        epsilon: The claim that must be refuted.
        pairs: Neighbouring databases.
        confidence: Of the refutation.
        num_draws: Outputs in all; this or seconds, if given, is kept under a budget of pytest.
        seconds: Time to spend, in place of num_draws.
        seed: Of all draws.
        **options: Further arguments of `dpjax.audit`.

    Returns:
        The audit.

    Raises:
        AssertionError: The claim was not refuted; the message says how far it was.
        ValueError, TypeError: As `assert_private`.
    """
    result = _audit(mechanism, epsilon, pairs, confidence, num_draws, seconds, seed, options)
    if result.verdict != VIOLATED:
        raise AssertionError(
            f"{result.mechanism} was not shown to violate {_claim(result)}: with confidence "
            f"{_sure(result)}, epsilon is at least {result.lower_bound:.4f}.\n"
            f"{_witness(result)}\n  detectable   {_detectable(result, epsilon)}\n"
            f"{_replay(result, mechanism, pairs, options)}"
        )
    return result


def _audit(
    mechanism: Any,
    epsilon: float,
    pairs: Any,
    confidence: float,
    num_draws: int | None,
    seconds: float | None,
    seed: int,
    options: dict[str, Any],
) -> AuditResult:
    _validate.non_negative(epsilon=epsilon)
    if num_draws is not None and seconds is not None:
        raise ValueError("num_draws and seconds must not both be given: one decides the other.")
    if num_draws is not None:
        _validate.positive_int(num_draws=num_draws)
    if seconds is not None:
        _validate.positive(seconds=seconds)
    session = getattr(sys.modules.get("pytest_dpjax"), "SESSION", None)
    budgeted = False
    if session is not None and session.budget is not None and num_draws is None and seconds is None:
        budgeted, seconds = True, session.next_share()
    num_pairs = _num_pairs(mechanism, pairs)
    compiled = not isinstance(mechanism, HostSource)

    def run(sizes: Sizes) -> AuditResult:
        return audit(
            mechanism,
            pairs=pairs,
            num_samples=sizes.num_samples,
            num_confirm=sizes.num_confirm,
            confidence=confidence,
            claim=epsilon,
            key=seed,
            guarantee="exact",
            **options,
        )

    start = time.perf_counter()
    if seconds is not None:
        result = audit_within(seconds, num_pairs, run, compiled=compiled)
    else:
        result = run(sizes_of(num_draws or DEFAULT_DRAWS, num_pairs))
    if session is not None:
        sizes = Sizes(result.num_samples, result.num_confirm)
        session.add(
            mechanism=result.mechanism,
            claim=float(epsilon),
            lower_bound=result.lower_bound,
            detectable=detectable_epsilon(result, epsilon),
            draws=sizes.draws(num_pairs),
            seconds=time.perf_counter() - start,
            verdict=result.verdict,
            fewest=budgeted and sizes == fewest_sizes(num_pairs, compiled=compiled),
        )
    return result


def _num_pairs(mechanism: Any, pairs: Any) -> int:
    if pairs is None and hasattr(mechanism, "standard_pairs"):
        pairs = mechanism.standard_pairs()
    if pairs is None:
        return 1
    return max(len(getattr(pairs, "database", pairs)), 1)


def _violation(result: AuditResult, mechanism: Any, pairs: Any, options: dict[str, Any]) -> str:
    delta = _delta(result)
    level = f"({result.claim:g}, {delta:g})" if delta else f"{result.claim:g}"
    return (
        f"{result.mechanism} is not {level}-differentially private.\n"
        f"  claim        {_claim(result)}\n"
        f"  lower bound  {result.lower_bound:.4f}, with confidence {_sure(result)}: a mechanism "
        "that keeps the claim fails so at most once in "
        f"{1 / (1 - result.confidence):.3g} seeds\n"
        f"{_witness(result)}\n{_replay(result, mechanism, pairs, options)}"
    )


def _delta(result: AuditResult) -> float:
    return float(result.settings.get("delta", 0.0))


def _claim(result: AuditResult) -> str:
    delta = _delta(result)
    return f"epsilon = {result.claim:g}" + (f" at delta = {delta:g}" if delta else "")


def _sure(result: AuditResult) -> str:
    return f"1 - {1 - result.confidence:.2g}"


def _witness(result: AuditResult) -> str:
    witness, total = result.witness, result.num_confirm
    first, second = witness.event_counts
    return (
        f"  pair         {witness.pair}: database {witness.database}, neighbor {witness.neighbor}\n"
        f"  event        {witness.event}\n"
        f"  counts       {first} of {total} fresh draws at the database ({first / total:.4g}), "
        f"{second} at the neighbor ({second / total:.4g})"
    )


def _detectable(result: AuditResult, claim: float) -> str:
    least = detectable_epsilon(result, claim)
    return (
        f"at this event and with {result.num_confirm} draws a side, the claim {_claim(result)} is "
        f"likely to be refuted from an epsilon of {least:.4g} on"
    )


def _replay(result: AuditResult, mechanism: Any, pairs: Any, options: dict[str, Any]) -> str:
    """What a reader should know besides, the test, and how to draw the same outputs again."""
    test = running_test()
    lines = [f"  note         {note}" for note in result.notes]
    lines += [f"  test         pytest {shlex.quote(test)}"] if test else []
    code = "\n".join(replay_lines(result, mechanism, pairs, options)).split("\n")
    return "\n".join([*lines, "  replay", *(f"    {line}" for line in code)])
