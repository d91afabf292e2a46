"""Search for pairs in a large space of pairs, by successive halving.

The search has multiple rounds, called rungs. In each rung, the DPL algorithm of Askin, Kutta and
Dette estimates the privacy loss of every remaining pair from fresh draws. Only the best pairs enter
the next rung, which makes more draws per pair. The search does not reduce the confidence of a later
audit because `dpjax.audit` makes its own draws, which are independent of the search even if both
use the same seed.
"""

from dataclasses import dataclass, replace

import jax
import numpy as np
from jax import Array

from dpjax.core import random, validate
from dpjax.core.errors import neutral
from dpjax.core.execution import Execution
from dpjax.core.notebook import html_titled
from dpjax.core.settings import own_settings
from dpjax.core.types import MixedSpace
from dpjax.core.wording import COLUMNS, BadType, BadValue, amount
from dpjax.databases import Pairs
from dpjax.databases.spaces import Space, as_space
from dpjax.databases.trees import nth
from dpjax.methods._pairs_counted import CountedPairs, notes_of_untried, search_counted
from dpjax.methods._patience import with_search_warning
from dpjax.methods._rungs import RUNG_DRAWS, Ladder
from dpjax.methods._stacks import stacks_of
from dpjax.methods.local import Local, dpl_runs
from dpjax.notions import Epsilon, Terms
from dpjax.partitions import RegionLike, as_region
from dpjax.partitions.previews import preview_database
from dpjax.sources import ONE_RUN, AnyPairs, Source, as_source
from dpjax.sources._subject import check_shape, mechanism_at, pairs_of
from dpjax.sources._workers import kept_workers
from dpjax.sources.streams import DrawnStreams

_STAGE, _BEFORE = "search of pairs", "pairs of an audit"
_METHOD = "events"
"""Method whose bounds a search expects; a source that refuses this method cannot be searched."""

_FEWEST = 128
_BUDGET = 1_000_000
"""Default budget for a JAX mechanism: the total number of draws on both sides of all pairs."""

_RUNGS = 4
"""Number of rungs for which the default budget of a JAX mechanism is enough."""

_CONFIDENCE = 0.999
MOST_AUDITED, _FACTOR = 4, 4
"""Maximum number of pairs to audit after a search, and factor by which each rung of the search
reduces the number of pairs.
"""

TIME_SHARE = 0.35
"""Fraction of a source's time limit that the search for pairs before an audit may take."""

_SEARCH_SHARE = 0.9
"""Fraction of a source's time limit in which `search_pairs` makes draws; the rest is for scores."""


@dataclass(frozen=True)
class FoundPairs:
    """The best pairs that a search found.

    Attributes:
        pairs: Best pairs, sorted from best to worst, in a form that `dpjax.audit` accepts.
        estimates: One number per pair. If the source is a JAX mechanism, the number is the privacy
            loss estimated in the last rung; for other sources, it is the expected bound.
        rungs: For each rung, the number of pairs and the number of draws per side of each pair.
        probes: Total number of draws made to find sizes of a database at which the outputs jump.
        untried: Number of pairs that the search never tried, because of a time limit.
    """

    pairs: Pairs | AnyPairs
    estimates: tuple[float, ...]
    rungs: tuple[tuple[int, int], ...]
    probes: int = 0
    untried: int = 0

    @property
    def num_draws(self) -> int:
        """Total number of draws, over both sides of all pairs."""
        return self.probes + sum(2 * pairs * samples for pairs, samples in self.rungs)

    def rows(self) -> list[tuple[str, str]]:
        """Return the estimated loss and the databases of each pair, sorted from best to worst."""
        sides = AnyPairs.of(self.pairs).sides
        return [
            (f"{loss:.4f}", f"{label}: [{_shown(first)}, {_shown(second)}]")
            for loss, label, first, second in zip(
                self.estimates, self.pairs.labels, *sides, strict=True
            )
        ]

    def __str__(self) -> str:
        """Return text with a title and one line per pair, shortened to the width of a terminal."""
        lines = [self._title(), "  loss    pair", *(f"  {a}  {b}" for a, b in self.rows())]
        lines = [neutral(line) for line in lines]
        return "\n".join(
            line if len(line) <= COLUMNS else f"{line[: COLUMNS - 1]}…" for line in lines
        )

    def _repr_html_(self) -> str:
        """Show the pairs in a notebook."""
        return html_titled(self._title(), self.rows())

    def _title(self) -> str:
        number = self.rungs[0][0]
        return (
            f"the best {len(self.estimates)} of {number:,} pairs, found with "
            f"{self.num_draws:,} draws"
        )


def _shown(database: object) -> str:
    """Return a string that shows a database without the dtypes of its arrays."""
    if isinstance(database, np.ndarray | np.generic) and database.dtype == np.float32:
        # As a Python float, the float32 0.9 would be shown as 0.8999999761581421.
        database = np.asarray(database).astype(str).astype(float)
    return preview_database(database.tolist() if hasattr(database, "tolist") else database)  # pyright: ignore[reportAttributeAccessIssue]


@own_settings()
@kept_workers()
def search_pairs(
    subject: object,
    pairs: object = None,
    *,
    budget: int | None = None,
    keep: int = 3,
    factor: int = 4,
    region: RegionLike | None = None,
    key: int | Array = 0,
    execution: Execution | None = None,
) -> FoundPairs:
    """Find the pairs with the largest estimated loss, by successive halving.

    For a list of pairs and a JAX mechanism, pairs are ranked by the privacy loss that the local
    method estimates. In all other cases, pairs are ranked by the expected bound from an event. If
    `pairs` comes from `dpjax.neighbors`, the search also tries variations of the best pairs. For a
    JAX mechanism, it leaves out pairs that the types of JAX cannot represent, and returns only
    pairs of the same shape as the best pair.

    Args:
        subject: Subject of the search, in any form that `dpjax.audit` accepts.
        pairs: `dpjax.Pairs`, a list of (database, neighbor) tuples, or the result of
            `dpjax.neighbors`. The functions in `dpjax.databases` generate pairs. If `pairs` is
            None, the search uses the standard pairs of a built-in mechanism, or the neighbors that
            a library's object specifies.
        budget: Maximum total number of draws on both sides of all pairs. The draws are divided
            equally among the rungs. If `budget` is None, the maximum is about 1,000,000 for JAX
            mechanisms, and about 12,000 per rung for other sources, whose time limit then applies
            to the search, too.
        keep: Number of pairs to return. If the time limit of the source applies, the search returns
            fewer pairs if an audit within this limit could not test all of them.
        factor: Factor by which each rung reduces the number of pairs. Each rung keeps at least
            `keep` pairs.
        region: Region of outputs, as in the methods of `dpjax.audit`. A region is required for a
            list of pairs and a JAX function whose outputs are not the integers from 0 to
            num_outcomes - 1.
        key: Integer seed or typed JAX key. The audit may use the same key.
        execution: Execution options, which never change the result.

    Returns:
        The best pairs, in a form that `dpjax.audit` accepts.

    Raises:
        ValueError: If an argument is out of range, or if the budget allows fewer than 128 draws per
            side of each pair in the first rung.
        TypeError: If an argument has the wrong type.

    References:
        Jamieson, Talwalkar (2016), Algorithm 1 (successive halving); Askin, Kutta, Dette (2022),
        Algorithm 3, in every rung.
    """
    validate.positive_int(keep=keep)
    if budget is not None:
        validate.positive_int(budget=budget)
    validate.positive_int(at_least=2, factor=factor)
    root = random.fold_in(random.as_key(key), random.stable_hash(_STAGE))
    source = as_source(subject)
    if reason := source.refuses(_METHOD):
        raise BadType(reason)
    pairs = source.usual_pairs if pairs is None else as_space(pairs)
    if source.sampler is None or isinstance(pairs, Space):
        shown = with_search_warning(execution, source) if budget is None else execution
        terms = Terms(Epsilon(), None, _CONFIDENCE, 1, key, shown)
        limit, seconds = getattr(source, "time_limit", None), None
        if limit is not None and budget is None:
            seconds = _SEARCH_SHARE * limit
        ladder = Ladder(budget, seconds, keep, factor, _rung_draws(source))
        return _found(source, search_counted(source, pairs, ladder, terms, region, root))
    budget = _BUDGET if budget is None else budget
    return _found_by_losses(source, pairs, budget, keep, factor, region, root, execution)


def _found_by_losses(
    source: Source,
    pairs: object,
    budget: int,
    keep: int,
    factor: int,
    region: RegionLike | None,
    root: Array,
    execution: Execution | None,
) -> FoundPairs:
    """Search a list of pairs for a JAX mechanism by losses that the local method estimates.

    The arguments are those of `search_pairs`. The keys of the rungs are derived from `root`.
    """
    pairs = pairs_of(source.sampler, pairs)
    mechanism = mechanism_at(source.sampler, pairs)
    check_shape(mechanism, pairs)
    if isinstance(mechanism.output_space, MixedSpace):
        raise ValueError(
            f"the search for pairs does not support {mechanism.output_space} because outputs with "
            "atoms have no density: pass all pairs to dpjax.audit(...)."
        )
    if region is None:
        region = getattr(mechanism, "standard_region", None)
    region = as_region(region, mechanism.output_space)
    sizes = _rung_sizes(len(pairs), keep, factor)
    rungs = [(size, budget // (2 * len(sizes) * size)) for size in sizes]
    if rungs[0][1] < _FEWEST:
        raise BadValue(
            f"budget must be at least {2 * _FEWEST * len(sizes) * len(pairs)} draws for "
            f"{amount(len(pairs), 'pair')} in {amount(len(sizes), 'round')}, but was {budget}."
        )
    alive = np.arange(len(pairs))
    losses, spent, tell = np.zeros(len(pairs)), 0, execution.progress if execution else None
    for number, (size, num_samples) in enumerate(rungs):
        key = random.fold_in(root, number)
        found = dpl_runs(
            DrawnStreams(mechanism, nth(pairs.database, alive), nth(pairs.neighbor, alive), key),
            region,
            # num_confirm affects only the penalty of the search.
            Local(num_samples=num_samples, num_confirm=num_samples + 1),
            ONE_RUN,
            execution=execution or Execution(),
        )
        score, losses = (np.asarray(jax.device_get(x))[0] for x in (found.score, found.loss))
        after = rungs[number + 1][0] if number + 1 < len(rungs) else min(keep, size)
        best = np.argsort(-score, kind="stable")[:after]
        alive, losses = alive[best], losses[best]
        spent += 2 * size * num_samples
        if tell is not None:
            tell(spent, sum(2 * size * num_samples for size, num_samples in rungs))
    return FoundPairs(
        pairs=Pairs(
            nth(pairs.database, alive),
            nth(pairs.neighbor, alive),
            tuple(pairs.labels[i] for i in alive),
        ),
        estimates=tuple(float(loss) for loss in losses),
        rungs=tuple(rungs),
    )


def best_pairs(
    source: Source, pairs: object, terms: Terms, least: int = 0
) -> tuple[Pairs | AnyPairs, list[str]]:
    """Return the best pairs, ranked by expected bounds, and notes; see `pairs_to_audit`."""
    limit = getattr(source, "time_limit", None)
    seconds = None if limit is None else TIME_SHARE * limit
    each = max(least, _rung_draws(source))
    ladder = Ladder(None, seconds, keep=MOST_AUDITED, factor=_FACTOR, each=each)
    root = random.fold_in(terms.root, random.stable_hash(_BEFORE))
    terms = replace(terms, execution=with_search_warning(terms.execution, source))
    found = _found(source, search_counted(source, pairs, ladder, terms, None, root))
    return found.pairs, _notes(found, varied=isinstance(pairs, Space))


def _rung_draws(source: Source) -> int:
    """Return the default total number of draws in a rung."""
    return RUNG_DRAWS if source.sampler is None else _BUDGET // _RUNGS


def _notes(found: FoundPairs, *, varied: bool) -> list[str]:
    proposed = f"{found.rungs[0][0]} {'proposed pairs and their variations' if varied else 'pairs'}"
    note = (
        f"The audit used the best {len(found.pairs)} of {proposed}; the search for these pairs "
        f"used {found.num_draws} separate draws."
    )
    return [note, *notes_of_untried(found.untried)]


def _found(source: Source, counted: CountedPairs) -> FoundPairs:
    """Return the best pairs of a search.

    Raises:
        TypeError, ValueError: If the source does not accept the best pair.
    """
    stacks = stacks_of(source, counted.pairs)
    if not stacks:
        # No pair is accepted; the error says why.
        only = Pairs.of([counted.pairs[0][:2]])
        check_shape(mechanism_at(source.sampler, only), only)
    estimates, rungs = tuple(counted.estimates), tuple(counted.rungs)
    return FoundPairs(stacks[0].pairs, estimates, rungs, counted.probes, counted.untried)


def _rung_sizes(num_pairs: int, keep: int, factor: int) -> list[int]:
    """Return the number of pairs in each rung. The last rung has at most `keep * factor` pairs."""
    sizes = [num_pairs]
    while sizes[-1] > keep * factor:
        sizes.append(max(keep, -(-sizes[-1] // factor)))
    return sizes
