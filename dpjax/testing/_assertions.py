"""Assertions on the privacy of a mechanism, with messages that a developer can act on."""

import shlex
import time
from collections.abc import Sized
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypedDict, Unpack

from dpjax.audit import audit
from dpjax.core import validate
from dpjax.core.execution import Execution
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadValue
from dpjax.methods import METHODS, Events, Method
from dpjax.notions import Epsilon, Gdp, Notion, TotalVariation, Zcdp
from dpjax.results import DOUBTFUL, VIOLATED, AuditResult
from dpjax.sources import AnyPairs, Source, as_source
from dpjax.testing import _session
from dpjax.testing._budget import Sizes, audit_within, detectable_epsilon, fewest_sizes, sizes_of
from dpjax.testing._replay import replay_lines, running_test

DEFAULT_CONFIDENCE = 1 - 1e-6
"""A right mechanism fails `assert_private` at most once in a million keys."""

_NAMED = {"gdp": Gdp(), "zcdp": Zcdp(), "total_variation": TotalVariation()}
"""Name of a claim -> notion."""

_CLAIMS = ("notion", "claim")
"""Names that make a claim together."""

DEFAULT_DRAWS = 400_000
"""Draws in all, where neither sizes nor seconds are given."""


class AuditOptions(TypedDict, total=False):
    """Options of an audit of a test.

    Attributes:
        region: Outputs that the event may hold, as in `dpjax.Events`.
        confidence: Least probability, over keys, that a right mechanism passes.
        num_samples: n, outputs at each side of each pair that search. If neither sizes nor seconds
            are given, `DEFAULT_DRAWS` in all, or under pytest with --dpjax-budget what the budget
            allows; what is given here is kept under a budget, too, and its time counts against it.
        num_confirm: N, fresh outputs at each side of the pair that was chosen.
        seconds: Time to spend, compilation included, in place of sizes.
        key: Integer seed or typed key of all draws.
        notion: What is bounded, as in `dpjax.audit`.
        claim: Level of the notion to compare with.
    """

    region: object
    confidence: float
    num_samples: int | None
    num_confirm: int | None
    seconds: float | None
    key: object
    notion: Notion
    claim: object


class Options(AuditOptions, total=False):
    """Options of an assertion, whose claim may be written in other ways.

    Attributes:
        delta: Delta of (epsilon, delta)-differential privacy.
        gdp: A claimed mu of Gaussian differential privacy, in place of epsilon.
        zcdp: A claimed rho of zero-concentrated differential privacy, in place of epsilon.
        total_variation: A claimed total variation, in place of epsilon.
    """

    delta: float
    gdp: float
    zcdp: float
    total_variation: float


def assert_private(
    subject: object, epsilon: float | None = None, pairs: object = None, **options: Unpack[Options]
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
        **options: `delta`, `region`, `confidence`, `num_samples`, `num_confirm`, `seconds`, `key`,
            or a claim of another kind in place of epsilon: one of `gdp`, `zcdp` and
            `total_variation` with its number, or `notion` and `claim` as in `dpjax.audit`.

    Returns:
        The audit. `dpjax.testing.detectable_epsilon` says what it could have refuted.

    Raises:
        AssertionError: The mechanism is not private, or its recorded outputs do not look like
            independent draws; the message has the witness and a replay.
        ValueError, TypeError: As `dpjax.audit`; or sizes and seconds were both given.
    """
    __tracebackhide__ = True
    asked = _asked(subject, epsilon, pairs, options)
    result = _audit(asked)
    if result.verdict == VIOLATED:
        raise AssertionError(_violation(result, asked))
    if result.verdict == DOUBTFUL:
        raise AssertionError(_doubtful(result, asked))
    return result


def assert_not_private(
    subject: object, epsilon: float | None = None, pairs: object = None, **options: Unpack[Options]
) -> AuditResult:
    """Fails unless outputs show that a mechanism is not as private as claimed.

    A mechanism that keeps the claim passes with a probability of at most 1 - confidence. One that
    does not may fail for want of draws.

    Args:
        subject: As in `assert_private`, as all other arguments.
        epsilon: The claim that must be refuted.
        pairs: Neighbouring databases.
        **options: As in `assert_private`.

    Returns:
        The audit.

    Raises:
        AssertionError: The claim was not refuted, or the outputs are doubtful; the message says
            how far it was.
        ValueError, TypeError: As `assert_private`.
    """
    __tracebackhide__ = True
    asked = _asked(subject, epsilon, pairs, options)
    result = _audit(asked)
    if result.verdict == DOUBTFUL:
        raise AssertionError(_doubtful(result, asked))
    if result.verdict != VIOLATED:
        raise AssertionError(
            f"{result.mechanism} was not shown to violate {_said(result)}: with confidence "
            f"{_sure(result)}, {result.notion.quantity} is at least {result.lower_bound:.4f}.\n"
            f"{_witness(result)}{_detectable(result)}{_replay(result, asked)}"
        )
    return result


def audit_in_test(
    subject: object, pairs: object = None, **options: Unpack[AuditOptions]
) -> AuditResult:
    """An audit of a test that asserts nothing by itself: the fixture `dpjax_audit`.

    Its time is a part of --dpjax-budget, and it has a row in the table at the end.

    Args:
        subject: Anything that `dpjax.audit` takes.
        pairs: Neighbouring databases; a built-in mechanism's standard pairs if None.
        **options: `notion`, `claim`, `region`, `confidence`, `num_samples`, `num_confirm`,
            `seconds` and `key`, as in `assert_private`; epsilon without a claim if not given.

    Raises:
        ValueError, TypeError: As `dpjax.audit`; or sizes and seconds were both given.
    """
    return _audit(_Asked(subject, pairs, **options))


@dataclass(frozen=True)
class _Asked:
    """An audit as a test wrote it; see `Options`."""

    subject: object
    pairs: object
    notion: Notion = Epsilon()  # noqa: RUF009 (frozen)
    claim: object = None
    region: object = None
    confidence: float = DEFAULT_CONFIDENCE
    num_samples: int | None = None
    num_confirm: int | None = None
    seconds: float | None = None
    key: object = 0


def _asked(subject: object, epsilon: float | None, pairs: object, options: Options) -> _Asked:
    """The audit of an assertion, whose claim is written in one of several ways."""
    rest: JsonObject = {**options}
    delta = rest.pop("delta", 0.0)
    given = ["epsilon"] * (epsilon is not None)
    given += [name for name in rest if name in _CLAIMS or name not in _Asked.__dataclass_fields__]
    if given == ["epsilon"]:
        validate.non_negative(epsilon=epsilon)
        rest |= {"notion": Epsilon(delta), "claim": epsilon}
    elif len(given) == 1 and given[0] in _NAMED:
        rest |= {"notion": _NAMED[given[0]], "claim": rest.pop(given[0])}
    elif sorted(given) != ["claim", "notion"]:
        raise TypeError(
            f"one claim must be given: epsilon, {', '.join(_NAMED)}, or notion with claim, but "
            f"there was {', '.join(given) or 'none'}."
        )
    return _Asked(subject, pairs, **rest)


def _audit(asked: _Asked) -> AuditResult:
    """The audit, which the session counts if there is one."""
    __tracebackhide__ = True
    with nullcontext() if _session.CURRENT is None else _session.CURRENT.counted():
        return _audited(asked)


def _audited(asked: _Asked) -> AuditResult:
    sizes, seconds = (asked.num_samples, asked.num_confirm), asked.seconds
    given = sizes != (None, None)
    if given and seconds is not None:
        raise BadValue(
            "num_samples, num_confirm and seconds must not be given together: sizes decide the "
            "time."
        )
    if seconds is not None:
        validate.positive(seconds=seconds)
    session, source = _session.CURRENT, as_source(asked.subject)
    budgeted = False
    draws = getattr(source, "takes_pairs", True)
    if asked.pairs is not None and draws:
        # Any mechanism would pass.
        AnyPairs.of(asked.pairs).refuse_equal()
    if session is not None and session.budget is not None and seconds is None and draws:
        if not given:
            budgeted, seconds = True, session.next_share()
    num_pairs = _num_pairs(asked.subject, asked.pairs)
    compiled = source.sampler is not None
    start = time.perf_counter()
    drawn: list[Sizes] = []
    ended: list[float] = []

    def run(sizes: Sizes, key: object) -> AuditResult:
        drawn.append(sizes)
        result = audit(
            source,
            asked.pairs,
            method=_method(asked, source, sizes),
            notion=asked.notion,
            claim=asked.claim,
            confidence=asked.confidence,
            key=key,
            # Another layout would compile anew once there are many draws.
            execution=Execution(layout="gathered") if seconds is not None else None,
        )
        ended.append(time.perf_counter())
        return result

    if seconds is not None and draws:
        result = audit_within(seconds, num_pairs, run, asked.key, compiled=compiled)
    else:
        usual = sizes_of(DEFAULT_DRAWS, num_pairs)
        chosen = (u if g is None else g for g, u in zip(sizes, usual, strict=True))
        result = run(Sizes(*chosen), asked.key)
    if session is not None:
        found = Sizes(result.num_samples or 0, result.num_confirm or 0)
        # The numbers of several rounds were spent as planned.
        found = drawn[-1] if "rounds" in result.settings else found
        session.add(
            mechanism=result.mechanism,
            claim=result.claim,
            lower_bound=result.lower_bound,
            detectable=_detectable_level(result),
            draws=found.draws(num_pairs),
            seconds=time.perf_counter() - start,
            # Everything with given sizes, else the first pilot, which compiles.
            least=(ended[0] if budgeted else ended[-1]) - start,
            verdict=result.verdict,
            fewest=budgeted and found == fewest_sizes(num_pairs, compiled=compiled),
        )
    return result


def _method(asked: _Asked, source: Source, sizes: Sizes) -> Method:
    """Events, or what is usual for a source that has none.

    Raises:
        ValueError: Numbers of draws or a region were given for such a source.
    """
    if source.usual_method == Events.name:
        return Events(sizes.num_samples, sizes.num_confirm, asked.region)
    for name in ("num_samples", "num_confirm", "region"):
        if getattr(asked, name) is not None:
            raise BadValue(f"{name} must be left out for {source.name}, whose scores are given.")
    return METHODS[source.usual_method]()


def _num_pairs(subject: object, pairs: object) -> int:
    if pairs is None:
        pairs = getattr(subject, "standard_pairs", lambda: None)()
    databases = getattr(pairs, "database", pairs)
    return max(len(databases), 1) if isinstance(databases, Sized) else 1


def _violation(result: AuditResult, asked: _Asked) -> str:
    if asked.notion.takes_delta:
        delta, said = result.delta, result.claim
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
        f"{_witness(result)}{_replay(result, asked)}"
    )


def _doubtful(result: AuditResult, asked: _Asked) -> str:
    doubts = "".join(f"  doubt        {doubt}\n" for doubt in result.doubts)
    return f"{result.mechanism} was not tested. {result.sentence}\n{doubts}{_replay(result, asked)}"


def _said(result: AuditResult) -> str:
    if not isinstance(result.claim, float):
        return "its curve"
    more = f" at delta = {result.delta:g}" if result.delta else ""
    return f"{result.notion.quantity} = {result.claim:g}{more}"


def _sure(result: AuditResult) -> str:
    return f"1 - {1 - result.confidence:.2g}"


def _witness(result: AuditResult) -> str:
    """Lines on the witness, where there is one."""
    witness, total = result.witness, result.num_confirm
    if witness is None:
        return ""
    pair = f"database {witness.database}, neighbor {witness.neighbor}"
    lines = f"  pair         {witness.pair}: {pair}\n"
    if witness.event_counts is None or not total:
        return lines
    first, second = witness.event_counts
    return (
        f"{lines}"
        f"  event        {witness.event}\n"
        f"  counts       {first} of {total} fresh draws at the database ({first / total:.4g}), "
        f"{second} at the neighbor ({second / total:.4g})\n"
    )


def _detectable_level(result: AuditResult) -> float | None:
    """What the audit could have refuted, for epsilon alone."""
    counted = result.notion.takes_delta and result.num_confirm is not None
    if not counted or not isinstance(result.claim, float):
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


def _replay(result: AuditResult, asked: _Asked) -> str:
    """What a reader should know besides, the test, and how to draw the same outputs again."""
    test = running_test()
    lines = [f"  note         {note}" for note in result.notes]
    lines += [f"  test         pytest {shlex.quote(test)}"] if test else []
    code = "\n".join(replay_lines(result, asked.subject, asked.pairs)).split("\n")
    return "\n".join([*lines, "  replay", *(f"    {line}" for line in code)])
