"""Audits for assertions, with given sizes, a time limit, or the default size."""

import time
from collections.abc import Sized
from dataclasses import dataclass, replace
from typing import NamedTuple

from jax import Array

from dpjax.audit import audit
from dpjax.core import validate
from dpjax.core.execution import Execution
from dpjax.core.wording import BadValue
from dpjax.methods import METHODS, Events, Guesses, Method, Sequential, pairs_to_audit
from dpjax.methods._patience import with_warning
from dpjax.notions import Epsilon, Notion, Terms
from dpjax.partitions import RegionLike
from dpjax.results import REFUTING, AuditResult, refuse_cut_short
from dpjax.sources import AnyPairs, Source, as_source
from dpjax.sources._workers import kept_workers
from dpjax.testing import _session
from dpjax.testing._budget import Sizes, audit_within, detectable_epsilon, fewest_sizes, sizes_of

DEFAULT_CONFIDENCE = 1 - 1e-6
"""Default confidence: a correct mechanism fails `assert_private` for at most 1 in 10^6 keys."""

DEFAULT_DRAWS = 400_000
"""Total number of draws in an audit if the test passes neither sizes nor seconds."""

_FEWEST_DRAWS = 20_000
"""Number of draws below which the table reports a sequential audit as too short."""

_LEAST_SECONDS, _LEAST_DRAWS = 1.0, 200
"""If the budget leaves less than _LEAST_SECONDS for a sequential audit, the audit still makes
_FEWEST_DRAWS draws, or as many as it can within _LEAST_SECONDS. If there are many pairs, it makes
_LEAST_DRAWS draws per side of each pair.
"""

_LEAST_LEFT = 0.05
"""Minimum time limit, in seconds, of an audit whose search for pairs used all of its time."""

_OF_EVENTS = ("num_samples", "num_confirm", "num_draws", "region")
"""Names of the options that only the method `Events` has."""

_SHORTER = (
    "Pass seconds=60 to limit the test to a minute, or run pytest with --dpjax-budget 600 to limit "
    "all privacy tests together to ten minutes."
)
"""Sentence that says how to shorten a test of a slow function."""


@dataclass(frozen=True)
class Asked:
    """An audit that a test requests; `dpjax.testing._assertions.Options` describes the fields."""

    subject: object
    pairs: object
    notion: Notion = Epsilon()  # noqa: RUF009 (frozen)
    claim: object = None
    region: RegionLike | None = None
    confidence: float = DEFAULT_CONFIDENCE
    num_samples: int | None = None
    num_confirm: int | None = None
    num_draws: int | None = None
    num_calls: int | None = None
    seconds: float | None = None
    key: int | Array = 0
    distance: int = 1

    @property
    def has_sizes(self) -> bool:
        """Whether the test passes `num_samples`, `num_confirm`, `num_draws` or `num_calls`."""
        sizes = self.num_samples, self.num_confirm, self.num_draws, self.num_calls
        return sizes != (None, None, None, None)

    def after_search(self, used: float) -> "Asked":
        """Return the audit with its time limit, if any, reduced by the time of a search."""
        if self.seconds is None:
            return self
        return replace(self, seconds=max(self.seconds - used, _LEAST_LEFT))


class _Ran(NamedTuple):
    """A finished audit."""

    result: AuditResult
    ready: float
    draws: float
    is_fewest: bool = False


@kept_workers()
def run(asked: Asked) -> AuditResult:
    """Run an audit; if the pytest plugin is active, add a row to the session's table.

    Raises:
        ValueError, TypeError: If `dpjax.audit` rejects an argument, or if both sizes and seconds
            are passed.
    """
    if asked.seconds is not None:
        if asked.has_sizes:
            raise BadValue(
                "num_samples, num_confirm, num_draws and num_calls must not be passed together "
                "with seconds: sizes determine the time."
            )
        validate.positive(seconds=asked.seconds)
    session, source = _session.CURRENT, as_source(asked.subject)
    draws = source.takes_pairs
    start = time.perf_counter()
    timed = asked.seconds is not None and draws
    follows_budget = draws and not timed and not asked.has_sizes
    budgeted = follows_budget and session is not None and session.budget is not None
    if session is not None and budgeted:
        share, limit = session.next_share(), getattr(source, "time_limit", None)
        timed, asked = True, replace(asked, seconds=min(share, limit or share))
    if draws:
        limited = source.with_time_limit(asked.seconds) if timed else source
        pairs, searched = _pairs_of(limited, asked)
        asked, used = replace(asked, pairs=pairs), time.perf_counter() - start
        source = source.with_time_used(used)
        asked = asked.after_search(used) if searched else asked
    if not timed:
        ran = _with_sizes(source, asked)
    elif _is_sequential(asked):
        ran = _sequential(source, asked, budgeted)
    else:
        ran = _within(source, asked)
    result = ran.result
    if session is not None:
        # An audit that follows the budget could have stopped at the time `ready`. Without a budget,
        # this time is unknown. An audit with sizes or seconds of its own needs its whole duration.
        end = ran.ready if budgeted else start if follows_budget else time.perf_counter()
        session.add(
            mechanism=result.mechanism,
            notion=_written(result.notion),
            delta=result.delta,
            claim=result.claim,
            lower_bound=result.lower_bound,
            detectable=detectable_level(result),
            draws=ran.draws,
            seconds=time.perf_counter() - start,
            least=end - start,
            verdict=result.verdict,
            fewest=budgeted and ran.is_fewest,
        )
    return result


def _pairs_of(source: Source, asked: Asked) -> tuple[object, bool]:
    """Return the test's pairs, and whether they were searched for in a space of neighbors.

    Raises:
        ValueError: If the two databases of every pair are equal, so that any mechanism would pass.
    """
    shown = with_warning(None, source, _SHORTER)
    terms = Terms(asked.notion, asked.claim, asked.confidence, 1, asked.key, shown, asked.distance)
    pairs, searched = pairs_to_audit(source, asked.pairs, terms)
    if pairs is not None:
        AnyPairs.of(pairs).refuse_equal()
    return pairs, bool(searched)


def _written(notion: Notion) -> str:
    order = getattr(notion, "order", None)
    return notion.name if order is None else f"{notion.name}:{order:g}"


def _is_sequential(asked: Asked) -> bool:
    """Return whether `dpjax.Sequential` can run the audit."""
    one_event = asked.claim is not None and asked.notion.hypothesis() is not None
    return one_event and asked.region is None


def _sequential(source: Source, asked: Asked, budgeted: bool) -> _Ran:
    """Run a sequential audit, which ends when the claim is refuted or the time is up.

    Args:
        source: Source of the audit.
        asked: The audit, with a time limit.
        budgeted: Whether the time limit is a share of the budget. An audit with a small share makes
            the minimum number of draws.

    Raises:
        KeyboardInterrupt, ValueError: If the audit was cut short; see `refuse_cut_short`.
    """
    arrived: list[float] = []

    def note(drawn: int, total: int) -> None:
        if drawn and not arrived:
            arrived.append(time.perf_counter())

    assert asked.seconds is not None
    method = Sequential(seconds=asked.seconds)
    is_short = budgeted and asked.seconds < _LEAST_SECONDS
    if is_short:
        least = max(_FEWEST_DRAWS // 2, _LEAST_DRAWS * _num_pairs(asked.subject, asked.pairs))
        method = Sequential(num_draws=least, seconds=_LEAST_SECONDS)
    result = _audit(source, asked, method, asked.key, Execution(progress=note))
    refuse_cut_short(result.settings)
    # An audit that found repeated noise ends before it counts its draws.
    draws = 2 * result.settings.get("drawn", 0)
    few = (is_short or draws < _FEWEST_DRAWS) and result.verdict not in REFUTING
    return _Ran(result, arrived[0], draws, few)


def _with_sizes(source: Source, asked: Asked) -> _Ran:
    """Run an audit with the sizes that the test passes, and default sizes otherwise."""
    num_pairs = _num_pairs(asked.subject, asked.pairs)
    usual = sizes_of(DEFAULT_DRAWS, num_pairs)
    given = asked.num_samples, asked.num_confirm
    sizes = Sizes(*(u if g is None else g for g, u in zip(given, usual, strict=True)))
    shown = None if asked.has_sizes else with_warning(None, source, _SHORTER)
    result = _audit(source, asked, _method(source, asked, sizes), asked.key, shown)
    draws = _spent(result, sizes).draws(num_pairs)
    if asked.num_draws is not None:
        draws = 2 * asked.num_draws
    # A time limit of the function may permit fewer calls; recorded calls have their own number.
    if "calls_to_learn" in result.settings:
        draws = sum(result.settings[f"calls_to_{stage}"] for stage in ("learn", "guess"))
    return _Ran(result, time.perf_counter(), draws)


def _within(source: Source, asked: Asked) -> _Ran:
    """Run an audit with fixed sizes, which are as large as the time allows."""
    num_pairs, compiled = _num_pairs(asked.subject, asked.pairs), source.sampler is not None
    drawn: list[tuple[Sizes, float]] = []

    def audit_of(sizes: Sizes, key: int | Array) -> AuditResult:
        # JAX would compile the streamed layout again for larger sizes, so the gathered layout is
        # used.
        execution = Execution(layout="gathered")
        result = _audit(source, asked, _method(source, asked, sizes), key, execution)
        drawn.append((sizes, time.perf_counter()))
        return result

    assert asked.seconds is not None
    result = audit_within(asked.seconds, num_pairs, audit_of, asked.key, compiled=compiled)
    spent = _spent(result, drawn[-1][0])
    fewest = spent == fewest_sizes(num_pairs, compiled=compiled)
    return _Ran(result, drawn[0][1], spent.draws(num_pairs), fewest)


def _audit(
    source: Source,
    asked: Asked,
    method: Method,
    key: int | Array,
    execution: Execution | None = None,
) -> AuditResult:
    return audit(
        source,
        asked.pairs,
        method=method,
        notion=asked.notion,
        claim=asked.claim,
        confidence=asked.confidence,
        distance=asked.distance,
        key=key,
        execution=execution,
    )


def _method(source: Source, asked: Asked, sizes: Sizes) -> Method:
    """Return the method of a test with sizes: `Guesses` for calls, or the source's default method.

    Raises:
        ValueError: If numbers of draws or a region are passed, but the method is not `Events`.
    """
    if asked.num_calls is not None:
        for name in _OF_EVENTS:
            if getattr(asked, name) is not None:
                raise BadValue(f"{name} must not be passed together with num_calls.")
        return Guesses(num_calls=asked.num_calls)
    if source.usual_method == Events.name:
        if asked.num_draws is not None:
            return Events(asked.num_samples, asked.num_confirm, asked.region, asked.num_draws)
        return Events(sizes.num_samples, sizes.num_confirm, asked.region)
    for name in _OF_EVENTS:
        if getattr(asked, name) is not None:
            raise BadValue(f"{name} must be left out for {source.name}, which draws no outputs.")
    return METHODS[source.usual_method]()


def _spent(result: AuditResult, planned: Sizes) -> Sizes:
    """Return an audit's numbers of draws, or return `planned` if the search had two rounds."""
    if "rounds" in result.settings:
        return planned
    return Sizes(result.num_samples or 0, result.num_confirm or 0)


def _num_pairs(subject: object, pairs: object) -> int:
    if pairs is None:
        pairs = getattr(subject, "standard_pairs", lambda: None)()
    databases = getattr(pairs, "database", pairs)
    return max(len(databases), 1) if isinstance(databases, Sized) else 1


def detectable_level(result: AuditResult) -> float | None:
    """Return the smallest true epsilon for which the audit would probably refute the claim.

    The result is None if the notion is not epsilon, if the claim is not a number, if the method has
    no confirmation draws, or if the databases of a pair differ in more than one record.
    """
    counted = result.notion.takes_delta and result.num_confirm is not None
    if not counted or not isinstance(result.claim, float) or result.recipe["distance"] > 1:
        return None
    return detectable_epsilon(result, result.claim)
