"""The functions `audit`, `rerun` (to repeat an audit) and `resume` (to continue one)."""

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from jax import Array

from dpjax.core.errors import contained
from dpjax.core.execution import Execution
from dpjax.core.settings import own_settings
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType, BadValue, term
from dpjax.databases import Pairs
from dpjax.methods import METHODS, Method, pairs_to_audit, settled, within_limit_of
from dpjax.methods._patience import with_warning_about
from dpjax.methods._signposts import signposted
from dpjax.notions import Epsilon, Notion, Terms, bets_of
from dpjax.results import (
    AuditResult,
    build,
    finding_of_repeats,
    notes_of_resume,
    refuse_resume,
)
from dpjax.results._subjects import subject_from_plain
from dpjax.results.provenance import DECISIVE, key_of, versions
from dpjax.results.recipes import (
    has_inputs,
    notion_from_plain,
    options_from_plain,
    pairs_from_plain,
)
from dpjax.sources import ONE_RUN, AnyPairs, Repeats, Source, Trust, as_source
from dpjax.sources._time_limit import TooShort
from dpjax.sources._workers import kept_workers

_RECIPE: JsonObject = {
    "method": dict,
    "notion": dict,
    "pairs": dict | None,
    "distance": int,
    "key": int | list,
}
"""Map from the name of each recipe entry to the type that the entry must have."""


@signposted
@own_settings()
@kept_workers()
def audit(
    subject: object,
    pairs: object = None,
    *,
    method: Method | None = None,
    notion: Notion | None = None,
    claim: object = None,
    confidence: float = 0.999,
    num_claims: int = 1,
    distance: int = 1,
    key: int | Array = 0,
    execution: Execution | None = None,
) -> AuditResult:
    """Return a lower confidence bound on a mechanism's privacy level, with a witness.

    Args:
        subject: Subject of the audit: a mechanism from `dpjax.mechanisms`, a JAX function (key,
            database) -> output that draws one output, a Python function that draws its own random
            numbers, a `dpjax.HostMechanism`, a `dpjax.CommandMechanism`, `dpjax.Recorded` outputs,
            or a `dpjax.OneRun`, which contains the scores of canaries from a single run. A function
            whose first parameter is not named `key` or `..._key`, and which requires only
            (database) or (database, num_samples) besides `seed` and `rng`, is audited as a
            `dpjax.HostMechanism`; all others are JAX functions. An OpenDP measurement or a
            diffprivlib mechanism is also accepted; its claim and neighbors are read from the object
            (see `dpjax.LibraryMechanism`). If the subject is a `dpjax.Family`, the audit first
            searches for the least private member of the family.
        pairs: `dpjax.Pairs`, or a list of (database, neighbor). If `pairs` is a search space that
            `dpjax.neighbors(...)` returned, or a Hypothesis strategy that draws pairs, the audit
            first searches for the best pairs, at most four. The audit also searches if the
            subject's time limit is too short for all pairs of a list. If `pairs` is None, the audit
            uses a built-in mechanism's standard pairs, or the pairs that a library object states.
            For recorded outputs, `pairs` must be None.
        method: `dpjax.Events()`, whose bound is exact for every kind of output; `dpjax.Local()`,
            which estimates densities; `dpjax.Histogram(...)`, whose interval is valid under an
            assumption; or `dpjax.Guesses()`, which is the method for a `dpjax.OneRun`. If `method`
            is None, the audit uses the default method for the kind of subject.
        notion: Privacy notion. The audit computes a lower bound on the level of the notion. For
            `dpjax.Epsilon(delta)`, `Gdp()` and `TotalVariation()`, the audit counts how often a
            single event occurs in the confirmation set. For `Profile()`, `TradeOff()`,
            `Renyi(order)` and `Zcdp()`, the audit counts how often each of several nested events
            occurs. From the counts of nested events, `AuditResult.bound` can also compute bounds
            for every other notion. If `notion` is None, the audit uses the notion of the subject's
            own claim, or epsilon if the subject states no claim.
        claim: Claimed level, in the notion's unit. If the notion is a curve, or epsilon at a given
            delta, the claim may be a curve. A curve is given by pairs of numbers, a function, a
            dp_accounting privacy loss distribution, or an OpenDP privacy curve. If neither a claim
            nor a notion is passed and the subject is a library object, the audit uses the claim
            that the object states.
        confidence: Confidence level at which the bounds from `num_claims` audits hold jointly. If
            `confidence` is 0.999 and `num_claims` is 1, a correct claim is refuted with probability
            at most 0.001 over the choice of `key`.
        num_claims: Number of audits whose bounds must hold jointly, at confidence level
            `confidence`. The bound from each audit fails with probability at most (1 - confidence)
            / num_claims.
        distance: Number k of records in which the databases of each pair differ. The notion's group
            privacy property is used to convert the bounds into bounds for databases that differ in
            one record.
        key: Integer seed or typed key that determines all of the audit's random choices.
        execution: Options that change the speed and memory of the audit, but never its result.

    Returns:
        The result of the audit, with a verdict on the claim.

    Raises:
        ValueError: If an argument is out of range, or if the outputs from the two databases of a
            pair cannot be compared.
        TypeError: If an argument of `audit` has the wrong type.

    References:
        Askin, Kutta, Dette (2022), Algorithm 4; Buehler (1957) for events; Gorla et al.,
        Algorithms 1-4, for histograms.
    """
    start = time.perf_counter()
    if method is not None and (not isinstance(method, Method) or isinstance(method, type)):
        raise TypeError(
            "method must be an object such as dpjax.Events(), dpjax.Sequential(), dpjax.Local() or "
            f"dpjax.Histogram(), but was {method!r}."
        )
    if method is not None and not method.bounded:
        raise TypeError(
            f"method must compute a bound, but {type(method).__name__} only computes estimates: "
            "use this method in a sweep, or use dpjax.Events(), Sequential(), Local() or "
            "Histogram()."
        )
    with contained("the subject"):
        source = as_source(subject)
        before = Terms(notion or Epsilon(), None, confidence, num_claims, key, execution, distance)
        seconds = getattr(method, "seconds", None)
        found = settled(source, pairs, (notion, claim), before, seconds)
    source = found.source
    if notion is None:
        stated = source.stated or (Epsilon(), None)
        notion, claim = stated[0], stated[1] if claim is None else claim
    shown = with_warning_about(method, execution, source)
    terms = replace(before, notion=notion, claim=claim, execution=shown)
    return _audited(source, found.pairs, method, terms, start, found.notes)


def _audited(
    source: Source,
    pairs: object,
    method: Method | None,
    terms: Terms,
    start: float,
    notes: Sequence[str] = (),
) -> AuditResult:
    # Create the root key first, so that an invalid key is rejected before any draw.
    _ = terms.root
    method = METHODS[source.usual_method]() if method is None else method
    if reason := source.refuses(method.name) or method.accepts(source):
        raise BadType(reason)
    limited = within_limit_of(method, source)
    with contained(source.name):
        try:
            pairs, searched = pairs_to_audit(limited, pairs, terms)
            # There are notes if a family was searched, which takes some of the time, too.
            used = time.perf_counter() - start
            timed = limited.with_time_used(used) if searched or notes else limited
            try:
                finding = method.run(timed, pairs, terms, ONE_RUN).finding(0)
            except TooShort:
                # If there is no time for all pairs of a list, search for the best of them.
                from dpjax.methods._pairs import MOST_AUDITED, best_pairs

                if searched or len(AnyPairs.of(pairs)) <= MOST_AUDITED:
                    raise
                left = source.with_time_used(time.perf_counter() - start)
                pairs, searched = best_pairs(left, pairs, terms)
                timed = source.with_time_used(time.perf_counter() - start)
                finding = method.run(timed, pairs, terms, ONE_RUN).finding(0)
            finding = replace(finding, notes=[*finding.notes, *searched])
        except Repeats as found:
            finding = finding_of_repeats(found, terms)
    finding = replace(finding, notes=[*finding.notes, *notes])
    return build(finding, source, method, terms, time.perf_counter() - start)


def _read(result: object) -> AuditResult:
    """Return a result, reading it from its file if `result` is a path."""
    if isinstance(result, AuditResult):
        return result
    if not isinstance(result, str | os.PathLike):
        kind = type(result).__name__
        raise TypeError(
            "result must be a dpjax.AuditResult or the path of its file, but was "
            f"{result!r} ({kind})."
        )
    return AuditResult.from_file(Path(result))


def rerun(
    result: AuditResult | str | Path,
    subject: object = None,
    pairs: object = None,
    *,
    allow_import: Collection[str] = (),
    allow_command: bool = False,
) -> AuditResult:
    """Repeat an audit from the recipe in its result, with the same draws and the same outcome.

    Args:
        result: Result that `audit` returned, or path of a JSON or HTML file that contains such a
            result.
        subject: Subject of the audit. If `subject` is None, the recipe must name a mechanism from
            `dpjax.mechanisms`, recorded files, or a function or program that `allow_import` or
            `allow_command` permits.
        pairs: Pairs of the audit. The pairs are needed only if the recipe does not contain them,
            for instance because the databases are tensors or long arrays.
        allow_import: Modules that may be imported, including their submodules, to find the function
            that the recipe names. By default, no module is imported.
        allow_command: Whether the program that the recipe names may be run.

    Returns:
        The new result. Suppose that the same computations give bitwise equal numbers in both
        audits, as on one computer with unchanged package versions. Then the new result differs from
        the given result only in `seconds`, `device` and `versions`.

    Raises:
        ValueError: If no subject is passed and the recipe names no subject; if the recipe names a
            subject that may not be imported or run; if no pairs are passed and the recipe does not
            contain the pairs; or if the recipe is damaged.
        TypeError: If an entry of the recipe has the wrong type.
    """
    result = _read(result)
    source, arguments = _recipe_of(result, subject, allow_import, allow_command, pairs)
    return audit(source, **arguments)


@own_settings()
def resume(
    result: AuditResult | str | Path,
    subject: object = None,
    pairs: object = None,
    *,
    num_draws: int | None = None,
    seconds: float | None = None,
    allow_import: Collection[str] = (),
    allow_command: bool = False,
) -> AuditResult:
    """Continue a sequential audit so that the bounds from old and new draws hold jointly.

    If there is a claim, an audit that was interrupted and resumed has the same blocks of draws and
    the same bounds as an uninterrupted audit. There are two exceptions: the mechanism draws its own
    randomness, or the earlier audit refuted the claim in a block that was cut short. If there is no
    claim, a sequential audit plans to compute one exact bound near the end. If the audit ends
    before this bound is computed, the resumed audit omits this bound. A rerun of a resumed audit
    runs without interruption. If the mechanism draws its own randomness and the earlier audit was
    interrupted during a block, a note states that the resumed audit draws other outputs instead.

    Args:
        result: Result of an audit with `dpjax.Sequential()`, or path of a file that contains such a
            result.
        subject: Subject of the audit. As in `rerun`, the subject is needed only if the recipe does
            not name it.
        pairs: Pairs of the earlier audit. The pairs are needed only if the recipe does not contain
            them.
        num_draws: Total number of draws per side, including the draws in `result`. If `num_draws`
            is None, the total is 250,000, or unlimited if `seconds` is set.
        seconds: Time limit for the new draws, in seconds.
        allow_import: As in `rerun`.
        allow_command: As in `rerun`.

    Raises:
        ValueError: If the result is not from a sequential audit, if the result was computed with
            other package versions, if the mechanism does not reproduce the first outputs of the
            earlier audit, if a worker process lost outputs of a function without a seed, or if
            `rerun` would raise a ValueError.
    """
    from dpjax.methods import Sequential

    start = time.perf_counter()
    result = _read(result)
    earlier = bets_of(result.evidence.counted)
    if earlier is None:
        raise BadValue(
            f"{term('result', '--resume')} must come from an audit with "
            f"{term('dpjax.Sequential()', '--method sequential')}; other audits cannot be "
            "continued."
        )
    method, drawn = Sequential(num_draws, seconds), int(earlier.wealth.draws[:, 0].sum())
    if num_draws is not None and num_draws < drawn:
        raise BadValue(
            f"{term('num_draws')} must be at least {drawn:,}, because it is a total that includes "
            f"the {drawn:,} draws per side of the earlier audit, but was {num_draws:,}."
        )
    now = versions()
    for name in DECISIVE:
        if result.versions.get(name) != now[name]:
            raise ValueError(
                f"the audit cannot be continued: it ran with {name} {result.versions.get(name)}, "
                f"but {now[name]} is installed. Install the old version, or start a new audit."
            )
    source, given = _recipe_of(result, subject, allow_import, allow_command, pairs)
    refuse_resume(result.settings, source)
    pairs, _ = given.pop("pairs"), given.pop("method")
    terms = Terms(**given, earlier=earlier)
    notes = notes_of_resume(result.settings, result.notes, source)
    return _audited(source, pairs, method, terms, start, notes)


def _recipe_of(
    result: AuditResult,
    subject: object,
    allow_import: Collection[str],
    allow_command: bool,
    pairs: object = None,
) -> tuple[Source, JsonObject]:
    """Read the source and all other arguments of `audit` from a result's recipe.

    Raises:
        ValueError: If the recipe is damaged, or if it needs a subject but none was passed.
    """
    try:
        return _read_recipe(result, subject, Trust(allow_import, allow_command), pairs)
    except (KeyError, AttributeError, IndexError) as error:
        raise ValueError(
            f"the recipe of the result is damaged: {error!r}. Use the result as dpjax wrote it."
        ) from error


def _read_recipe(
    result: AuditResult, subject: object, trust: Trust, pairs: object
) -> tuple[Source, JsonObject]:
    recipe = result.recipe
    for name, kinds in _RECIPE.items():
        if not isinstance(recipe[name], kinds):
            raise ValueError(
                f"the recipe of the result is damaged: {name} = {recipe[name]!r}. Use the result "
                "as dpjax wrote it."
            )
    if subject is None:
        if recipe["subject"] is None:
            raise ValueError(
                f"subject must be given, because {result.mechanism!r} is not built in: the recipe "
                "of the result states how the mechanism was audited, but does not contain the "
                "mechanism."
            )
        first = recipe["pairs"] and recipe["pairs"]["database"][0]
        subject = subject_from_plain(recipe["subject"], first, trust)
    options = dict(recipe["method"])
    method = METHODS[options.pop("name")]
    source = as_source(subject)
    return source, {
        "pairs": _pairs_of(recipe, source) if pairs is None else pairs,
        "method": options_from_plain(method, options),
        "notion": notion_from_plain(recipe["notion"]),
        "claim": result.claim,
        "confidence": result.confidence,
        "num_claims": result.num_claims,
        "distance": recipe["distance"],
        "key": key_of(recipe["key"]),
    }


def _pairs_of(recipe: JsonObject, source: Source) -> object:
    """Return the pairs in a recipe, or None if the source or the method accepts no pairs."""
    pairs = recipe["pairs"]
    if pairs == {}:
        return None
    if not source.takes_pairs or has_inputs(recipe):
        return None
    if pairs is None:
        raise BadValue(
            "pairs must be given, because the recipe of the result does not contain them. A recipe "
            "contains up to 10,000 pairs whose databases are numbers, strings, NumPy arrays, data "
            "frames with rows 0, 1, ..., lists, tuples or dicts, and have at most 2,000 "
            "characters. Pass the pairs of the audit to dpjax.rerun or dpjax.resume."
        )
    if not source.stacks_pairs:
        return pairs_from_plain(pairs, stacked=False)
    made = Pairs.of(list(zip(pairs["database"], pairs["neighbor"], strict=True)))
    return Pairs(made.database, made.neighbor, tuple(pairs["labels"]))
