"""Search for the best pairs if the source is not a JAX mechanism.

The search has multiple rounds, called rungs. The first rung makes a few dozen draws from each side
of every pair. Each later rung keeps the best fraction 1 / `factor` of the pairs. If the space of
pairs is known, the rung also adds variations of the best pairs. All rungs have about the same total
number of draws. Each rung makes fresh draws. The audit of the chosen pairs makes fresh draws, too.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core import random
from dpjax.core.wording import BadValue
from dpjax.databases.spaces import Proposed, Space
from dpjax.methods._candidates import promised
from dpjax.notions import Notion, Terms
from dpjax.partitions import Budget, RegionLike, Search
from dpjax.sources import AnyPairs, Request, Rounds, Source

_FEWEST = 24
"""Minimum number of draws per side of each pair in the first rung."""

_RUNG_DRAWS = 12_000
"""Default total number of draws in a rung, on both sides of all pairs."""

_WITHOUT_SMALL = 2
"""If the search keeps more pairs than this, one place is reserved for a pair of small databases."""

_VARIED = 0.5
"""Number of variations that a later rung adds for each kept pair."""

_PLANNED, _LEAST_PLANNED = 20_000, 50
"""Limits on the number of confirmation draws per side from which expected bounds are computed.

_PLANNED is the upper limit. If the time limit allows fewer than _LEAST_PLANNED draws for a pair,
the pair is dropped.
"""

_AUDIT_SHARE = 1.5
"""Assumed duration of the audit, divided by the duration of the search."""

_PARTS = 4
"""Number of parts into which a rung is divided if a source has workers and a time limit."""

_WORTH = 300
"""Number of draws per side that an audit with a time limit should be able to make for each pair.

The search keeps only as many pairs as the audit can test with this number of draws within the time
limit.
"""

_SLOWER = 4.0
"""Largest accepted time per output, as a multiple of the best pair's time per output.

Pairs that need more time per output are not audited.
"""


@dataclass(frozen=True)
class Ladder:
    """Plan of a search: its limits, and the numbers of pairs that its rungs keep.

    Attributes:
        budget: Total number of draws in all rungs, over both sides of all pairs, or None for the
            default.
        seconds: Time limit for all rungs in seconds, or None for no limit.
        keep: Number of pairs that the search returns.
        factor: Number of pairs in a rung, divided by the number of pairs that are kept for the next
            rung.
    """

    budget: int | None
    seconds: float | None
    keep: int
    factor: int

    def rungs(self, num_pairs: int) -> list[tuple[int, int]]:
        """Return, for each rung, the number of pairs and the number of draws per side of each pair.

        Raises:
            ValueError: If the budget is too small.
        """
        sizes = [num_pairs]
        while sizes[-1] > self.keep * self.factor:
            kept = max(self.keep, -(-sizes[-1] // self.factor))
            # With variations, a factor of 2 would not reduce a few pairs any further.
            sizes.append(min(kept + round(_VARIED * kept), sizes[-1] - 1))
        each = _RUNG_DRAWS if self.budget is None else self.budget // len(sizes)
        rungs = [(size, each // (2 * size)) for size in sizes]
        if self.budget is None:
            return [(size, max(draws, _FEWEST)) for size, draws in rungs]
        if rungs[0][1] < _FEWEST:
            raise BadValue(
                f"budget must be at least {2 * _FEWEST * len(sizes) * num_pairs} draws for "
                f"{num_pairs} pairs in {len(sizes)} rounds, but was {self.budget}."
            )
        return rungs


class _Ranked(NamedTuple):
    """Scores of the pairs in a rung.

    Attributes:
        scores: float64 [pairs], expected bounds. The score of a pair is -infinity if the pair is
            too slow, or if the rung had no time for the pair.
        paces: float64 [pairs], measured time per output in seconds, or 0 without a time limit.
        drawn: Total number of outputs on both sides of all pairs.
    """

    scores: NDArray[np.float64]
    paces: NDArray[np.float64]
    drawn: int

    def best(self, count: int) -> list[int]:
        """Return the indices of the pairs with the largest finite scores, by decreasing score."""
        order = np.argsort(-self.scores, kind="stable")[:count].tolist()
        # If every pair is too slow, return the first pair. The audit then reports the problem.
        return [place for place in order if self.scores[place] > -np.inf] or [0]


class CountedPairs(NamedTuple):
    """The best pairs of a search, sorted from best to worst.

    Attributes:
        pairs: The best pairs.
        estimates: Expected bound of each pair, minus the level that the bound should exceed.
        rungs: For each rung, the number of pairs and the number of draws per side of each pair.
    """

    pairs: list[Proposed]
    estimates: list[float]
    rungs: list[tuple[int, int]]


Asked = Callable[[Proposed], tuple[Notion, float]]
"""Type of functions that return a pair's notion and the claim that the bound should exceed."""


def search_counted(
    source: Source,
    pairs: object,
    ladder: Ladder,
    terms: Terms,
    region: RegionLike | None,
    root: Array,
    asked: Asked | None = None,
) -> CountedPairs:
    """Search for the pairs with the largest expected bounds.

    Args:
        source: Source of the outputs.
        pairs: Pairs in any form that `dpjax.audit` accepts, or a space of neighbors.
        ladder: Plan of the search.
        terms: Claim, confidence and notion of the audit that will use the pairs.
        region: Region of the outputs that events may contain, or None for all outputs.
        root: Typed JAX key from which the keys of the rungs are derived.
        asked: Function that returns a pair's notion and the level that the pair's bound should
            exceed. If `asked` is None, all pairs have the notion of `terms` and the level 0.

    Returns:
        The best pairs, at most `ladder.keep`.
    """
    space = pairs if isinstance(pairs, Space) else None
    alive = _proposed(pairs)
    began = time.perf_counter()
    asked = asked or (lambda pair: (terms.notion, 0.0))
    rungs = ladder.rungs(len(alive))
    tell, done, ranked = terms.layout.progress, [], _Ranked(np.zeros(0), np.zeros(0), 0)
    spent = 0
    for number, (size, draws) in enumerate(rungs):
        if number:
            alive = _next(alive, ranked, ladder, space, (number, size))
        rung = _Rung(
            source, alive, draws, terms, region, random.fold_in(root, number), asked, began
        )
        if ladder.seconds is None:
            ranked = rung.ranked(None)
        else:
            ranked = rung.ranked(ladder.seconds / len(rungs), ladder.seconds)
        done.append((len(alive), ranked.drawn // (2 * len(alive))))
        spent += ranked.drawn
        if tell is not None:
            left = _left(len(alive), rungs[number + 1 :], ladder, varied=space is not None)
            tell(spent, spent + left)
    best = ranked.best(ladder.keep)
    small = [] if space is None else _places(space.smallest(alive), alive)
    if small and ladder.keep > _WITHOUT_SMALL and not set(small) & set(best):
        best[-1] = max(small, key=lambda place: ranked.scores[place])
    # Drop slow pairs because the slowest pair limits the number of draws in an audit.
    pace = ranked.paces[best[0]]
    best = [place for place in best if ranked.paces[place] <= _SLOWER * pace]
    if ladder.seconds is not None:
        best = best[: max(int(ladder.seconds / (2 * pace * _WORTH)), 1)]
    estimates = [float(ranked.scores[place]) for place in best]
    return CountedPairs([alive[place] for place in best], estimates, done)


def _proposed(pairs: object) -> list[Proposed]:
    if isinstance(pairs, Space):
        return pairs.proposed()
    stacked = AnyPairs.of(pairs)
    return [Proposed(*row) for row in zip(*stacked.sides, stacked.labels, strict=True)]


def _next(
    alive: list[Proposed],
    ranked: _Ranked,
    ladder: Ladder,
    space: Space | None,
    rung: tuple[int, int],
) -> list[Proposed]:
    """Return the pairs of the next rung.

    Args:
        alive: Pairs of the rung that has just ended.
        ranked: Scores of the pairs in `alive`.
        ladder: Plan of the search.
        space: Space of the pairs, or None if the pairs are a list.
        rung: Index and number of pairs of the next rung.
    """
    number, size = rung
    kept = max(ladder.keep, -(-len(alive) // ladder.factor))
    best = [alive[place] for place in ranked.best(kept)]
    if space is None:
        return best
    # Keep pairs of small databases. Rare events occur mostly for such pairs, and such events are
    # seen only after many draws.
    small = [pair for pair in space.smallest(alive) if not _places([pair], best)]
    found = [*best, *small][:size]
    more = [
        space.varied(best[place % len(best)], (number, place)) for place in range(size - len(found))
    ]
    return found + [pair for pair in more if pair is not None]


def _left(num_pairs: int, rungs: list[tuple[int, int]], ladder: Ladder, *, varied: bool) -> int:
    """Return the total number of draws, on both sides of all pairs, planned for later rungs.

    Args:
        num_pairs: Number of pairs in the current rung.
        rungs: For each later rung, the number of pairs, including variations, and the number of
            draws per side of each pair.
        ladder: Plan of the search.
        varied: Whether each rung adds variations to the pairs that are kept.
    """
    total = 0
    for size, draws in rungs:
        kept = min(num_pairs, max(ladder.keep, -(-num_pairs // ladder.factor)))
        num_pairs = size if varied else kept
        total += 2 * num_pairs * draws
    return total


def _places(some: list[Proposed], pairs: list[Proposed]) -> list[int]:
    """Return the index in `pairs` of each object in `some`; objects are compared by identity."""
    wanted = set(map(id, some))
    return [place for place, pair in enumerate(pairs) if id(pair) in wanted]


@dataclass(frozen=True)
class _Rung:
    """One rung of a search, which makes draws for every remaining pair.

    Attributes:
        source: Source of the outputs.
        alive: Remaining pairs.
        draws: Number of draws per side of each pair.
        terms: Claim, confidence and notion of the audit that will use the pairs.
        region: Region of the outputs that events may contain, or None for all outputs.
        key: Typed JAX key for the draws in the rung.
        asked: Function that returns each pair's notion and level.
        began: Value of `time.perf_counter()` at the start of the search.
    """

    source: Source
    alive: list[Proposed]
    draws: int
    terms: Terms
    region: RegionLike | None
    key: Array
    asked: Asked
    began: float

    def ranked(self, seconds: float | None, whole: float = 0.0) -> _Ranked:
        """Return the expected bounds of the pairs.

        Args:
            seconds: Time limit of the rung in seconds, or None for no limit. If there is a limit,
                outputs are drawn for one pair after another, and the remaining time is divided
                equally among the remaining pairs. The score of a pair is -infinity if the pair is
                too slow to be audited, or if the rung has no time for the pair.
            whole: Time limit for all rungs in seconds.
        """
        count = len(self.alive)
        if seconds is None:
            searches = self._searches(range(count), None)
            scores = self._promised(range(count), searches, _PLANNED)
            return _Ranked(scores, np.zeros(count), _drawn(searches))
        scores, paces, total = np.full(count, -np.inf), np.zeros(count), 0
        # Use few parts because workers restart for every part.
        size = -(-count // _PARTS) if getattr(self.source, "workers", 0) else 1
        start = time.perf_counter()
        for first in range(0, count, size):
            part = range(first, min(first + size, count))
            began = time.perf_counter()
            left = seconds - (began - start)
            if left <= 0:
                break
            searches = self._searches(part, left / (2 * (count - first)))
            total += _drawn(searches)
            # With a time limit, the slower side has fewer draws. Include only as many draws from
            # the faster side because the audit needs equal numbers.
            even = 2 * sum(int(search.halves.sum(axis=(0, 1, 3)).min()) for search in searches)
            pace = (time.perf_counter() - began) / max(even, 1)
            paces[part.start : part.stop] = pace
            # Compute the number of draws per side that a confirmation would have time for.
            planned = min(int(_AUDIT_SHARE * whole / (4 * pace)), _PLANNED)
            if planned >= _LEAST_PLANNED:
                scores[part.start : part.stop] = self._promised(part, searches, planned)
        return _Ranked(scores, paces, total)

    def _promised(self, part: range, searches: list[Search], planned: int) -> NDArray[np.float64]:
        budget = Budget(planned, self.terms.own_confidence, len(self.alive))
        scores = []
        for place, search in zip(part, searches, strict=True):
            notion, level = self.asked(self.alive[place])
            scores.append(float(notion.promise(search.at(0), budget)) - level)
        return np.array(scores)

    def _searches(self, part: range, each: float | None) -> list[Search]:
        """Return search sets of some pairs; drawing takes at most about `each` seconds per side."""
        pairs = [self.alive[place] for place in part]
        sides = [pair.database for pair in pairs], [pair.neighbor for pair in pairs]
        request = Request(
            lambda num_pairs: Rounds(self.draws, 0, 0, _PLANNED),
            self.region,
            partial(promised, self.terms),
            random.fold_in(self.key, part.start),
            replace(self.terms.layout, progress=None),
            seconds=each,
        )
        # The search and the audit have a common time limit.
        source = self.source.with_time_used(time.perf_counter() - self.began)
        with source.opened(AnyPairs(sides, tuple(p.label for p in pairs)), request) as opened:
            return opened.search()


def _drawn(searches: list[Search]) -> int:
    return sum(int(search.halves.sum()) for search in searches)
