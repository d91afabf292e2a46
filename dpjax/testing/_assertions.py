"""Assertions about the privacy of mechanisms; messages explain how to reproduce a failure."""

import shlex
import time
from contextlib import nullcontext
from dataclasses import replace
from typing import TypedDict, Unpack

from jax import Array

from dpjax.core import validate
from dpjax.core.types import JsonObject
from dpjax.core.warned import warn
from dpjax.core.wording import BadType, Powerless, Unvaried
from dpjax.methods import settled
from dpjax.methods._signposts import refuse_misplaced, signposted
from dpjax.notions import Epsilon, Gdp, Notion, Terms, TotalVariation, Zcdp, guesses_of
from dpjax.partitions import RegionLike
from dpjax.partitions.previews import preview
from dpjax.results import DOUBTFUL, NOT_RANDOM, REFUTING, AuditResult
from dpjax.sources import Family, Recorded, as_source, family_of
from dpjax.testing import _session
from dpjax.testing._budget import too_few_draws
from dpjax.testing._refusals import briefly
from dpjax.testing._replay import replay_lines, running_test
from dpjax.testing._run import Asked, detectable_level, run

_NAMED = {"gdp": Gdp(), "zcdp": Zcdp(), "total_variation": TotalVariation()}
"""Map from each argument that states a claim, such as `gdp=0.5`, to the notion of the claim."""

_CLAIMS = ("notion", "claim")
"""Two options that state a claim together; pass both or neither."""


class AuditOptions(TypedDict, total=False):
    """Options for an audit in a test.

    Attributes:
        region: Region of outputs that the event may contain, as in `dpjax.Events`.
        confidence: Minimum probability, over random keys, that a correct mechanism passes.
        num_samples: Number n of search draws per side and pair. By default, the audit draws
            `DEFAULT_DRAWS` outputs in total or, under pytest with --dpjax-budget, as many outputs
            as the budget allows. The default applies if you pass neither sizes (`num_samples`,
            `num_confirm`, `num_draws` or `num_calls`) nor `seconds`. A budget does not change sizes
            that you pass, but the time of the audit counts towards the budget.
        num_confirm: Number N of confirmation draws per side, for the chosen pair.
        num_draws: Total number of draws per side for search and confirmation, such as the result of
            `dpjax.plan_draws`, in place of `num_samples` and `num_confirm`.
        num_calls: Number of calls of a function or program whose outputs depend on earlier calls,
            such as running times. The audit then uses `dpjax.Guesses`, and no other size is passed.
        seconds: Time limit for the audit in seconds, including compilation; pass either `seconds`
            or sizes.
        key: Integer seed or typed key for all draws.
        distance: Number k of records in which the databases of each pair differ, as in
            `dpjax.audit`. The claim is about databases that differ in one record.
        notion: Privacy notion, as in `dpjax.audit`.
        claim: Claimed level of the notion.
    """

    region: RegionLike | None
    confidence: float
    num_samples: int | None
    num_confirm: int | None
    num_draws: int | None
    num_calls: int | None
    seconds: float | None
    key: int | Array
    distance: int
    notion: Notion
    claim: object


class Options(AuditOptions, total=False):
    """Options for an assertion, including alternative forms of the claim.

    Attributes:
        delta: Delta of (epsilon, delta)-differential privacy.
        gdp: Claimed mu of Gaussian differential privacy, in place of epsilon.
        zcdp: Claimed rho of zero-concentrated differential privacy, in place of epsilon.
        total_variation: Claimed total variation distance, in place of epsilon.
    """

    delta: float
    gdp: float
    zcdp: float
    total_variation: float


@signposted
@briefly
def assert_private(
    subject: object, epsilon: float | None = None, pairs: object = None, **options: Unpack[Options]
) -> AuditResult:
    """Fail if outputs show that a mechanism violates its claim.

    The bound is exact for every sample size, so a mechanism that satisfies its claim fails with
    probability at most 1 - confidence over random keys. With fixed numbers of draws and a fixed
    key, the outcome is always the same. With a time limit or a time budget, the audit is sequential
    if possible. A sequential audit ends as soon as the claim is refuted, or when the time is up.
    The number of draws in a sequential audit depends on the speed of the machine. If the true level
    of the mechanism is close to the claim, the outcome may depend on the speed, too.

    Args:
        subject: Anything that `dpjax.audit` accepts.
        epsilon: Claimed epsilon of (epsilon, delta)-differential privacy. If you pass no claim and
            the subject is a library object, the claim of this object is tested.
        pairs: Neighboring databases, or a space from `dpjax.neighbors`. If `pairs` is None, the
            audit uses the standard pairs of a built-in mechanism, or pairs that a library object
            implies.
        **options: `delta`, `region`, `confidence`, `num_samples`, `num_confirm`, `num_draws`,
            `num_calls`, `seconds`, `key` and `distance`. In place of epsilon, another claim may be
            passed: one of `gdp`, `zcdp` and `total_variation`, or both `notion` and `claim` as in
            `dpjax.audit`.

    Returns:
        Result of the audit. From this result, `dpjax.testing.detectable_epsilon` computes the
        smallest true epsilon for which the audit would probably have refuted the claim.

    Raises:
        AssertionError: If the mechanism violates the claim, or if its outputs do not look like
            independent draws. The message shows the witness, and code that repeats the audit.
        ValueError, TypeError: If `dpjax.audit` rejects an argument, or if both sizes and `seconds`
            are passed.
    """
    __tracebackhide__ = True
    asked = _asked(subject, epsilon, pairs, options)
    result = _audit(asked)
    if result.verdict in REFUTING:
        raise AssertionError(_violation(result, asked))
    if result.verdict == DOUBTFUL:
        raise AssertionError(_doubtful(result, asked))
    for note in result.notes:
        # Constant outputs are private, but perhaps the test audits the wrong function. A test that
        # cannot fail tests nothing.
        if isinstance(note, Unvaried | Powerless):
            warn(f"{result.mechanism}: {note}")
    if few := too_few_draws(result):
        warn(f"{result.mechanism}: {few}")
    return result


@signposted
@briefly
def assert_not_private(
    subject: object, epsilon: float | None = None, pairs: object = None, **options: Unpack[Options]
) -> AuditResult:
    """Fail unless outputs show that a mechanism violates its claim.

    If a mechanism satisfies its claim, the assertion passes with probability at most
    1 - confidence. If a mechanism violates its claim, the assertion may still fail because the
    audit has too few draws.

    Args:
        subject: Anything that `dpjax.audit` accepts.
        epsilon: Claimed epsilon that must be refuted.
        pairs: Neighboring databases, or a space from `dpjax.neighbors`.
        **options: Options for the audit, or a claim in place of epsilon, as in `assert_private`.

    Returns:
        Result of the audit.

    Raises:
        AssertionError: If the claim was not refuted, or if recorded outputs do not look like
            independent draws. The message shows the lower bound and how large epsilon must be for a
            refutation.
        ValueError, TypeError: If `assert_private` would reject an argument.
    """
    __tracebackhide__ = True
    asked = _asked(subject, epsilon, pairs, options)
    result = _audit(asked)
    if result.verdict == DOUBTFUL:
        raise AssertionError(_doubtful(result, asked))
    if result.verdict not in REFUTING:
        raise AssertionError(
            f"{result.mechanism} was not shown to violate {_said(result)}: with confidence "
            f"{_sure(result)}, {result.notion.quantity} is at least {result.lower_bound:.4f}.\n"
            f"{_witness(result)}{_detectable(result)}{_replay(result, asked)}"
        )
    return result


@briefly
def audit_in_test(
    subject: object, pairs: object = None, **options: Unpack[AuditOptions]
) -> AuditResult:
    """Run an audit in a test without asserting anything.

    The fixture `dpjax_audit` returns this function. The time of the audit counts towards
    --dpjax-budget, and the table after the tests contains a row for the audit.

    Args:
        subject: Anything that `dpjax.audit` accepts.
        pairs: Neighboring databases. If `pairs` is None, the audit uses the standard pairs of a
            built-in mechanism.
        **options: `notion`, `claim`, `region`, `confidence`, `num_samples`, `num_confirm`,
            `num_draws`, `num_calls`, `seconds`, `key` and `distance`, as in `assert_private`. By
            default, the notion is epsilon and there is no claim.

    Raises:
        ValueError: If `dpjax.audit` rejects an argument, or if both sizes and `seconds` are passed.
        TypeError: If `dpjax.audit` rejects the type of an argument, or if an unknown option such as
            `epsilon` is passed.
    """
    refuse_misplaced("dpjax_audit", options, AuditOptions.__annotations__)
    return _audit(Asked(subject, pairs, **options))


def _asked(subject: object, epsilon: float | None, pairs: object, options: Options) -> Asked:
    """Return the audit that an assertion requests; the claim is stored as notion and level."""
    if isinstance(epsilon, list | tuple):
        level = " and epsilon=LEVEL instead of claim" if "claim" in options else ""
        raise BadType(
            f"epsilon must be a number, but was {preview(epsilon)}: to pass pairs, write "
            f"pairs=[(database, neighbor)]{level}."
        )
    rest: JsonObject = {**options}
    family = family_of(subject)
    delta = rest.pop("delta", 0.0)
    given = ["epsilon"] * (epsilon is not None)
    given += [name for name in rest if name in _CLAIMS or name not in Asked.__dataclass_fields__]
    if given == ["epsilon"]:
        validate.non_negative(epsilon=epsilon)
        rest |= {"notion": Epsilon(delta), "claim": epsilon}
    elif len(given) == 1 and given[0] in _NAMED:
        rest |= {"notion": _NAMED[given[0]], "claim": rest.pop(given[0])}
    elif not given and family is None:
        stated = as_source(subject).stated
        if stated is None:
            raise _no_claim(given)
        rest |= {"notion": stated[0], "claim": stated[1]}
    elif given and sorted(given) != ["claim", "notion"]:
        raise _no_claim(given)
    if "delta" in options and given != ["epsilon"]:
        raise BadType(
            "delta must be passed together with epsilon; for the claim of another notion, pass "
            "notion and claim, such as notion=dpjax.Profile()."
        )
    if "claim" in rest and rest["claim"] is None:
        raise BadType(f"{given[-1]} must be the claimed level, but was None.")
    asked = Asked(subject, pairs, **rest)
    return asked if family is None else _of_member(family, asked, rest)


def _no_claim(given: list[str]) -> TypeError:
    said = f"one claim must be given: epsilon, {', '.join(_NAMED)}, or notion together with claim"
    if given == ["claim"]:
        return TypeError(f"{said}; to claim an epsilon, write epsilon=LEVEL instead of claim.")
    return TypeError(f"{said}; given: {', '.join(given) or 'none'}.")


def _of_member(family: Family, asked: Asked, given: JsonObject) -> Asked:
    """Search a family of mechanisms; return the audit of the most likely violation of the claim."""
    if asked.seconds is not None:
        validate.positive(seconds=asked.seconds)
    terms = Terms(asked.notion, None, asked.confidence, 1, asked.key, distance=asked.distance)
    claimed, start = (given.get("notion"), given.get("claim")), time.perf_counter()
    found = settled(family, asked.pairs, claimed, terms, asked.seconds)
    asked = asked.after_search(time.perf_counter() - start)
    notion, claim = claimed if "claim" in given else found.source.stated or (None, None)
    if notion is None:
        raise _no_claim([])
    return replace(asked, subject=found.source, pairs=found.pairs, notion=notion, claim=claim)


def _audit(asked: Asked) -> AuditResult:
    """Run an audit; if the pytest plugin is active, count the audit in the session."""
    __tracebackhide__ = True
    with nullcontext() if _session.CURRENT is None else _session.CURRENT.counted():
        return run(asked)


def _violation(result: AuditResult, asked: Asked) -> str:
    if result.verdict == NOT_RANDOM:
        return f"{result.mechanism} is not private. {result.sentence}\n" + (
            f"  claim        {_said(result)}\n{_witness(result)}{_replay(result, asked)}"
        )
    if asked.notion.takes_delta:
        delta, said = result.delta, result.claim
        level = f"({said:g}, {delta:g})" if delta else f"{said:g}"
        verb = "are" if result.mechanism == Recorded.name else "is"
        head = f"{result.mechanism} {verb} not {level}-differentially private."
    else:
        head = f"{result.mechanism} violates its claim. {result.sentence}"
    chance = "keys" if as_source(asked.subject).repeatable else "recordings"
    return (
        f"{head}\n"
        f"  claim        {_said(result)}\n"
        f"  lower bound  {result.lower_bound:.4f}, with confidence {_sure(result)}: a mechanism "
        "that satisfies the claim fails for at most one in "
        f"{1 / (1 - result.confidence):.3g} {chance}\n"
        f"{_guesses(result)}{_witness(result)}{_replay(result, asked)}"
    )


def _doubtful(result: AuditResult, asked: Asked) -> str:
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
    """Return the lines that describe the witness in a message, or "" if there is no witness."""
    witness, totals = result.witness, result.evidence.trials
    if witness is None:
        return ""
    pair = f"database {witness.database}, neighbor {witness.neighbor}"
    if witness.difference is not None:
        pair = witness.difference
    lines = f"  pair         {witness.pair}: {pair}\n"
    if guesses_of(result.evidence.counted) is not None and witness.event is not None:
        return f"{lines}  event        {witness.event}\n"
    if witness.event_counts is None or not all(totals):
        return lines
    first, second = (
        f"{count} of {total} draws from the {side} ({count / total:.4g})"
        for side, count, total in zip(
            ("database", "neighbor"), witness.event_counts, totals, strict=True
        )
    )
    return f"{lines}  event        {witness.event}\n  counts       {first}, {second}\n"


def _guesses(result: AuditResult) -> str:
    """Return the line with the counts of guesses, or "" if the audit made no guesses."""
    if (made := guesses_of(result.evidence.counted)) is None:
        return ""
    counts = dict(made.rows(result.statement, _sure(result)))["guesses"]
    return f"  guesses      {counts}\n"


def _detectable(result: AuditResult) -> str:
    least = detectable_level(result)
    if least is None:
        return ""
    return (
        f"  detectable   with this event and {result.num_confirm} draws per side, the claim "
        f"{_said(result)} is likely to be refuted if the true epsilon is at least {least:.4g}\n"
    )


def _replay(result: AuditResult, asked: Asked) -> str:
    """Return the end of a message: notes, the test's id, and code that repeats the audit."""
    test = running_test()
    lines = [f"  note         {note}" for note in result.notes]
    lines += [f"  test         pytest {shlex.quote(test)}"] if test else []
    code = "\n".join(replay_lines(result, asked.subject, asked.pairs)).split("\n")
    return "\n".join([*lines, "  replay", *(f"    {line}" for line in code)])
