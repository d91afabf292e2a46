"""Assertions on the privacy of a mechanism, with messages that a developer can act on."""

import shlex
import time
from typing import Any, NamedTuple

from dpjax.audit import audit, source_of
from dpjax.core import validate
from dpjax.core.execution import Execution
from dpjax.methods import Events
from dpjax.notions import Epsilon, Gdp, Notion, TotalVariation, Zcdp
from dpjax.results import VIOLATED, AuditResult
from dpjax.sources import AnyPairs, Drawn
from dpjax.testing import _session
from dpjax.testing._budget import (
    Sizes,
    audit_within,
    detectable_epsilon,
    fewest_sizes,
    sizes_of,
)
from dpjax.testing._replay import replay_lines, running_test

DEFAULT_CONFIDENCE = 1 - 1e-6
"""A right mechanism fails `assert_private` at most once in a million keys."""

_NAMED = {"gdp": Gdp(), "zcdp": Zcdp(), "total_variation": TotalVariation()}
"""Name of a claim -> notion."""

DEFAULT_DRAWS = 400_000
"""Draws in all, where neither sizes nor seconds are given."""


def assert_private(
    subject: Any,
    epsilon: float | None = None,
    pairs: Any = None,
    *,
    delta: float = 0.0,
    region: Any = None,
    confidence: float = DEFAULT_CONFIDENCE,
    num_samples: int | None = None,
    num_confirm: int | None = None,
    seconds: float | None = None,
    key: Any = 0,
    **level: Any,
) -> AuditResult:
    """Fails if outputs show that a mechanism is not as private as claimed.

    The bound is exact at every sample size, so a mechanism that keeps its claim fails with a
    probability of at most 1 - confidence over keys. With numbers of draws and a key the outcome is
    always the same; with seconds the draws, and so the outcome of a wrong mechanism near the claim,
    depend on the machine.

    Args:
        subject: Anything that `dpjax.audit` takes.
        epsilon: The claim, where it is of (epsilon, delta)-differential privacy.
        pairs: Neighbouring databases; a built-in mechanism's standard pairs if None.
        delta: Of (epsilon, delta)-differential privacy.
        region: Outputs that the event may hold, as in `dpjax.Events`.
        confidence: Least probability, over keys, that a right mechanism passes.
        num_samples: n, outputs at each side of each pair that search. If neither sizes nor seconds
            are given, `DEFAULT_DRAWS` in all, or under pytest with --dpjax-budget what the budget
            allows; what is given here is kept under a budget, too, and its time counts against it.
        num_confirm: N, fresh outputs at each side of the pair that was chosen.
        seconds: Time to spend, compilation included, in place of sizes.
        key: Integer seed or typed key of all draws.
        **level: A claim of another kind in place of epsilon: one of `gdp`, `zcdp` and
            `total_variation` with its number, or `notion` and `claim` as in `dpjax.audit`.

    Returns:
        The audit. `dpjax.testing.detectable_epsilon` says what it could have refuted.

    Raises:
        AssertionError: The mechanism is not private; the message has the witness and a replay.
        ValueError, TypeError: As `dpjax.audit`; or sizes and seconds were both given.
    """
    __tracebackhide__ = True
    notion, claimed = _claimed(epsilon, delta, level)
    claim = _Claim(subject, claimed, pairs, notion, region, confidence)
    result = _audit(claim, (num_samples, num_confirm), seconds, key)
    if result.verdict == VIOLATED:
        raise AssertionError(_violation(result, claim))
    return result


def assert_not_private(
    subject: Any,
    epsilon: float | None = None,
    pairs: Any = None,
    *,
    delta: float = 0.0,
    region: Any = None,
    confidence: float = DEFAULT_CONFIDENCE,
    num_samples: int | None = None,
    num_confirm: int | None = None,
    seconds: float | None = None,
    key: Any = 0,
    **level: Any,
) -> AuditResult:
    """Fails unless outputs show that a mechanism is not as private as claimed.

    A mechanism that keeps the claim passes with a probability of at most 1 - confidence. One that
    does not may fail for want of draws.

    Args:
        subject: As in `assert_private`, as all other arguments.
        epsilon: The claim that must be refuted.
        pairs: Neighbouring databases.
        delta: Of (epsilon, delta)-differential privacy.
        region: Outputs that the event may hold.
        confidence: Of the refutation.
        num_samples: n, outputs that search.
        num_confirm: N, fresh outputs.
        seconds: Time to spend, in place of sizes.
        key: Of all draws.
        **level: A claim of another kind.

    Returns:
        The audit.

    Raises:
        AssertionError: The claim was not refuted; the message says how far it was.
        ValueError, TypeError: As `assert_private`.
    """
    __tracebackhide__ = True
    notion, claimed = _claimed(epsilon, delta, level)
    claim = _Claim(subject, claimed, pairs, notion, region, confidence)
    result = _audit(claim, (num_samples, num_confirm), seconds, key)
    if result.verdict != VIOLATED:
        raise AssertionError(
            f"{result.mechanism} was not shown to violate {_said(result)}: with confidence "
            f"{_sure(result)}, {result.level.split(' at delta')[0]} is at least "
            f"{result.lower_bound:.4f}.\n{_witness(result)}\n{_detectable(result)}"
            f"{_replay(result, claim)}"
        )
    return result


def audit_in_test(
    subject: Any,
    pairs: Any = None,
    *,
    notion: Notion = Epsilon(),  # noqa: B008 (frozen)
    claim: Any = None,
    region: Any = None,
    confidence: float = DEFAULT_CONFIDENCE,
    num_samples: int | None = None,
    num_confirm: int | None = None,
    seconds: float | None = None,
    key: Any = 0,
) -> AuditResult:
    """An audit of a test that asserts nothing by itself: the fixture `dpjax_audit`.

    Its time is a part of --dpjax-budget, and it has a row in the table at the end.

    Args:
        subject: Anything that `dpjax.audit` takes.
        pairs: Neighbouring databases; a built-in mechanism's standard pairs if None.
        notion: What is bounded.
        claim: To compare with, or None.
        region: Outputs that the event may hold.
        confidence: Of the bound.
        num_samples: As in `assert_private`, as all that follows.
        num_confirm: N.
        seconds: Time to spend, in place of sizes.
        key: Of all draws.

    Raises:
        ValueError, TypeError: As `dpjax.audit`; or sizes and seconds were both given.
    """
    asked = _Claim(subject, claim, pairs, notion, region, confidence)
    return _audit(asked, (num_samples, num_confirm), seconds, key)


class _Claim(NamedTuple):
    """What an assertion says, as the caller wrote it."""

    subject: Any
    level: Any
    pairs: Any
    notion: Notion
    region: Any
    confidence: float


def _claimed(epsilon: float | None, delta: float, level: dict[str, Any]) -> tuple[Notion, Any]:
    """The notion and the claim of an assertion, of which there is one."""
    if epsilon is not None and not level:
        validate.non_negative(epsilon=epsilon)
        return Epsilon(delta), epsilon
    if epsilon is None and set(level) == {"notion", "claim"}:
        return level["notion"], level["claim"]
    if epsilon is None and len(level) == 1 and (name := next(iter(level))) in _NAMED:
        return _NAMED[name], level[name]
    given = ["epsilon"] * (epsilon is not None) + list(level)
    raise TypeError(
        f"one claim must be given: epsilon, {', '.join(_NAMED)}, or notion with claim, but there "
        f"was {', '.join(given) or 'none'}."
    )


def _audit(
    claim: _Claim, sizes: tuple[int | None, int | None], seconds: float | None, key: Any
) -> AuditResult:
    given = sizes != (None, None)
    if given and seconds is not None:
        raise ValueError(
            "num_samples, num_confirm and seconds must not be given together: sizes decide the "
            "time."
        )
    if seconds is not None:
        validate.positive(seconds=seconds)
    session, source = _session.CURRENT, source_of(claim.subject)
    budgeted = False
    draws = getattr(source, "takes_pairs", True)
    if claim.pairs is not None and draws:
        # Any mechanism would pass.
        AnyPairs.of(claim.pairs).refuse_equal()
    if session is not None and session.budget is not None and seconds is None and draws:
        if not given:
            budgeted, seconds = True, session.next_share()
    num_pairs = _num_pairs(claim.subject, claim.pairs)
    compiled = isinstance(source, Drawn)
    start = time.perf_counter()
    drawn: list[Sizes] = []
    ended: list[float] = []

    def run(sizes: Sizes, key: Any) -> AuditResult:
        drawn.append(sizes)
        result = audit(
            source,
            claim.pairs,
            method=Events(sizes.num_samples, sizes.num_confirm, claim.region),
            notion=claim.notion,
            claim=claim.level,
            confidence=claim.confidence,
            key=key,
            # Another layout would compile anew once there are many draws.
            execution=Execution(layout="gathered") if seconds is not None else None,
        )
        ended.append(time.perf_counter())
        return result

    if seconds is not None and draws:
        result = audit_within(seconds, num_pairs, run, key, compiled=compiled)
    else:
        usual = sizes_of(DEFAULT_DRAWS, num_pairs)
        chosen = (u if g is None else g for g, u in zip(sizes, usual, strict=True))
        result = run(Sizes(*chosen), key)
    if session is not None:
        found = Sizes(result.num_samples, result.num_confirm)
        # Of several rounds the numbers were spent as they were planned.
        found = drawn[-1] if "rounds" in result.settings else found
        session.add(
            mechanism=result.mechanism,
            claim=result.claim,
            lower_bound=result.lower_bound,
            detectable=_detectable_level(result),
            draws=found.draws(num_pairs),
            seconds=time.perf_counter() - start,
            # Of what has its sizes, all; else the first pilot, which compiles.
            least=(ended[0] if budgeted else ended[-1]) - start,
            verdict=result.verdict,
            fewest=budgeted and found == fewest_sizes(num_pairs, compiled=compiled),
        )
    return result


def _num_pairs(subject: Any, pairs: Any) -> int:
    if pairs is None and hasattr(subject, "standard_pairs"):
        pairs = subject.standard_pairs()
    if pairs is None:
        return 1
    return max(len(getattr(pairs, "database", pairs)), 1)


def _violation(result: AuditResult, claim: _Claim) -> str:
    delta, said = result.delta, result.claim
    if isinstance(claim.notion, Epsilon):
        level = f"({said:g}, {delta:g})" if delta else f"{said:g}"
        head = f"{result.mechanism} is not {level}-differentially private."
    else:
        head = f"{result.mechanism} does not keep its claim. {result.sentence}"
    return (
        f"{head}\n"
        f"  claim        {_said(result)}\n"
        f"  lower bound  {result.lower_bound:.4f}, with confidence {_sure(result)}: a mechanism "
        "that keeps the claim fails so at most once in "
        f"{1 / (1 - result.confidence):.3g} keys\n"
        f"{_witness(result)}\n{_replay(result, claim)}"
    )


def _said(result: AuditResult) -> str:
    if not isinstance(result.claim, float):
        return "its curve"
    name, *rest = result.level.split(" at delta")
    return f"{name} = {result.claim:g}" + "".join(f" at delta{part}" for part in rest)


def _sure(result: AuditResult) -> str:
    return f"1 - {1 - result.confidence:.2g}"


def _witness(result: AuditResult) -> str:
    witness, total = result.witness, result.num_confirm
    first, second = witness.event_counts or (0, 0)
    return (
        f"  pair         {witness.pair}: database {witness.database}, neighbor {witness.neighbor}\n"
        f"  event        {witness.event}\n"
        f"  counts       {first} of {total} fresh draws at the database ({first / total:.4g}), "
        f"{second} at the neighbor ({second / total:.4g})"
    )


def _detectable_level(result: AuditResult) -> float | None:
    """What is known of epsilon alone."""
    if "name" in result.recipe["notion"] or not isinstance(result.claim, float):
        return None
    return detectable_epsilon(result, result.claim)


def _detectable(result: AuditResult) -> str:
    least = _detectable_level(result)
    if least is None:
        return ""
    return (
        f"  detectable   at this event and with {result.num_confirm} draws a side, the "
        f"claim {_said(result)} is likely to be refuted from an epsilon of {least:.4g} on\n"
    )


def _replay(result: AuditResult, claim: _Claim) -> str:
    """What a reader should know besides, the test, and how to draw the same outputs again."""
    test = running_test()
    lines = [f"  note         {note}" for note in result.notes]
    lines += [f"  test         pytest {shlex.quote(test)}"] if test else []
    code = "\n".join(replay_lines(result, claim.subject, claim.pairs)).split("\n")
    return "\n".join([*lines, "  replay", *(f"    {line}" for line in code)])
