"""Search for the best pairs if the source is not a JAX mechanism.

The search has multiple rounds, called rungs. The first rung makes a few dozen draws from each side
of every pair. Each later rung keeps the best fraction 1 / `factor` of the pairs. If the space of
pairs is known, the rung also adds variations of the best pairs. All rungs have about the same total
number of draws. Each rung makes fresh draws. The audit of the chosen pairs makes fresh draws, too.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from jax import Array

from dpjax.core import random
from dpjax.databases.spaces import Proposed, Space
from dpjax.methods._jumps import most_draws, search_jumps
from dpjax.methods._rungs import Asked, Ladder, Ranked, Rung
from dpjax.methods._stacks import stacks_of
from dpjax.notions import Terms
from dpjax.partitions import RegionLike
from dpjax.sources import AnyPairs, Source

_WARM = "first calls of a search"

_WITHOUT_SMALL = 2
"""If the search keeps more pairs than this, one place is reserved for a pair of small databases."""

_WORTH = 300
"""Number of draws per side that an audit with a time limit should be able to make for each pair.

The search keeps only as many pairs as the audit can test with this number of draws within the time
limit.
"""

_SLOWER = 4.0
"""Largest accepted time per output, as a multiple of the best pair's time per output.

Pairs that need more time per output are not audited.
"""


class CountedPairs(NamedTuple):
    """The best pairs of a search, sorted from best to worst.

    Attributes:
        pairs: The best pairs that an audit can test together.
        estimates: Expected bound of each pair, minus the level that the bound should exceed.
        rungs: For each rung, the number of pairs and the number of draws per side of each pair.
        probes: Total number of draws that the search for jumps made.
        untried: Number of pairs for which the first rung had no time.
    """

    pairs: list[Proposed]
    estimates: list[float]
    rungs: list[tuple[int, int]]
    probes: int = 0
    untried: int = 0


def notes_of_untried(number: int) -> list[str]:
    """Return a note if the time limit of a search left some pairs untried."""
    if not number:
        return []
    pairs = "a pair" if number == 1 else f"{number} pairs"
    return [f"The time limit left the search no time for {pairs}."]


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
    rung_of = partial(Rung, source=source, terms=terms, region=region, began=began, asked=asked)
    most = 0.0 if space is None else most_draws(space.paths(), ladder, len(alive))
    plan = ladder.without_jumps(most) if most else ladder
    rungs = plan.rungs(len(alive))
    if plan.seconds is not None:
        source.warm(alive[0].database, random.fold_in(root, random.stable_hash(_WARM)))
    tell, done, ranked = terms.layout.progress, [], Ranked(np.zeros(0), np.zeros(0), 0)
    spent = probes = untried = 0
    taken = 0.0  # Seconds that the rungs have taken so far.
    for number, (size, draws) in enumerate(rungs):
        limits = None
        if plan.seconds is not None:
            limits = plan.time_of_rung(number, len(rungs), taken)
            if number and limits[0] <= 0:
                break  # Earlier rungs took all the time, so their ranking is the last one.
        if number:
            alive = _next(alive, ranked, ladder, space, (number, size))
        rung = rung_of(alive=alive, draws=draws, key=random.fold_in(root, number))
        # Only slow sources need reports within a rung, and a time limit makes the total unknown.
        if tell is not None and limits is None and source.sampler is None:
            left = _left(len(alive), rungs[number + 1 :], ladder, varied=space is not None)
            whole = spent + 2 * len(alive) * draws + left
            rung = replace(rung, tell=partial(_tell_part, tell, spent, whole))
        if limits is None:
            ranked = rung.ranked(None)
        else:
            start = time.perf_counter()
            ranked = rung.ranked(limits[0], ladder.seconds, limits[1])
            taken += time.perf_counter() - start
            untried = untried if number else int((ranked.paces == 0).sum())
        if space is not None and most and not number:
            pace = ranked.pace
            jumps = search_jumps(space, ladder.seconds, most, rung_of, draws, pace, root)
            probes = jumps.drawn
            # Large databases are slow, so keep a pair of them only if no other pair has a higher
            # expected bound.
            better = np.flatnonzero(jumps.ranked.scores >= ranked.scores.max()).tolist()
            alive = alive + [jumps.pairs[place] for place in better]
            ranked = ranked.joined(jumps.ranked, better)
        done.append((len(alive), ranked.drawn // (2 * len(alive))))
        spent += ranked.drawn + (0 if number else probes)
        if tell is not None:
            left = _left(len(alive), rungs[number + 1 :], ladder, varied=space is not None)
            tell(spent, spent + left)
    best = _kept(_together(source, alive, ranked.best(len(alive))), alive, ranked, ladder, space)
    estimates = [float(ranked.scores[place]) for place in best]
    return CountedPairs([alive[place] for place in best], estimates, done, probes, untried)


def _kept(
    places: list[int], alive: list[Proposed], ranked: Ranked, ladder: Ladder, space: Space | None
) -> list[int]:
    """Return the places in `alive` of the pairs that an audit can use in its time, the best first.

    Args:
        places: Places of the pairs that may be used together, the best first.
        alive: Pairs of the last rung.
        ranked: Scores of the pairs in `alive`.
        ladder: Plan of the search.
        space: Space of the pairs, or None if the pairs are a list.
    """
    best = places[: ladder.keep]
    small = [] if space is None else _places(space.smallest(alive), alive)
    small = [place for place in small if place in places]
    if small and ladder.keep > _WITHOUT_SMALL and not set(small) & set(best):
        best[-1] = max(small, key=lambda place: ranked.scores[place])
    # Drop slow pairs because the slowest pair limits the number of draws in an audit.
    pace = ranked.paces[best[0]]
    best = [place for place in best if ranked.paces[place] <= _SLOWER * pace]
    if ladder.seconds is not None and pace > 0:
        best = best[: max(int(ladder.seconds / (2 * pace * _WORTH)), 1)]
    return best


def _tell_part(tell: Callable[[int, int], object], before: int, whole: int, done: int) -> None:
    """Report the draws within a rung, after the draws of earlier rungs."""
    tell(before + done, max(whole, before + done))


def _proposed(pairs: object) -> list[Proposed]:
    if isinstance(pairs, Space):
        return pairs.proposed()
    stacked = AnyPairs.of(pairs)
    return [Proposed(*row) for row in zip(*stacked.sides, stacked.labels, strict=True)]


def _next(
    alive: list[Proposed],
    ranked: Ranked,
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


def _together(source: Source, alive: list[Proposed], ranked: list[int]) -> list[int]:
    """Return the indices, among those in `ranked`, of pairs that an audit can test together."""
    stacks = stacks_of(source, [alive[place] for place in ranked])
    places = stacks[0].places if stacks else range(1)
    return [ranked[place] for place in places]


def _places(some: list[Proposed], pairs: list[Proposed]) -> list[int]:
    """Return the index in `pairs` of each object in `some`; objects are compared by identity."""
    wanted = set(map(id, some))
    return [place for place, pair in enumerate(pairs) if id(pair) in wanted]
