"""Ranking of the pairs in the two rounds of a search, and the choice of the pair to confirm."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.methods._candidates import Candidate, candidates
from dpjax.methods._pooled import Pools
from dpjax.notions import Terms
from dpjax.partitions import Budget, Search
from dpjax.sources import Opened, Rounds

_HOPE = 4
"""Factor that multiplies search counts when the last pair of the second round is chosen."""

_HOPED = 10_000
"""Maximum number of pairs among which the last pair of the second round is chosen."""

_PAIRS_AT_ONCE = 2**12
"""Maximum number of pairs for which events are chosen in one batch; the limit saves memory."""


class Ranks(NamedTuple):
    """Ranking of the pairs after the two rounds of the search.

    Attributes:
        promised: float64 [pairs, runs], expected bounds that were computed after the first round.
            If there was only one round, the array has shape [0, runs].
        kept: int64 [runs, kept], indices of the pairs that were searched in every round.
    """

    promised: NDArray[np.float64]
    kept: NDArray[np.int64]


class Chosen(NamedTuple):
    """Pair and candidate that are confirmed in one run.

    Attributes:
        search: Search set of the chosen pair, with only the draws that were made for this pair.
        candidate: Event or chain to count for the pair.
        pair: Index of the chosen pair.
        scores: Indices and scores of all ranked pairs, sorted from the best pair to the worst.
    """

    search: Search
    candidate: Candidate
    pair: int
    scores: list[tuple[int, float]]


def searched_again(
    searches: list[Search],
    pools: Pools,
    opened: Opened,
    terms: Terms,
    rounds: Rounds,
    num_runs: int,
) -> Ranks:
    """Make the second round's draws for the most promising pairs; add the counts to `searches`."""
    num_pairs = len(searches)
    if not rounds.num_kept:
        return Ranks(np.empty((0, num_runs)), np.tile(np.arange(num_pairs), (num_runs, 1)))
    budget = Budget(opened.num_confirm, terms.own_confidence, num_pairs, opened.shares)
    pooled = pools.pooled(searches)

    def bounds(asked: NDArray[np.int64], times: int) -> NDArray[np.float64]:
        """Return expected bounds, [pairs, runs], for search counts multiplied by `times`.

        The bound of a pair is -infinity in each run whose row of `asked`, [runs, some pairs], does
        not contain the pair.
        """
        found, places = np.full((num_pairs, num_runs), -np.inf), _places(asked)
        for start in range(0, len(places), _PAIRS_AT_ONCE):
            part = [(pair, runs) for pair, (runs, _) in places[start : start + _PAIRS_AT_ONCE]]
            searches = [pooled[pair].at(runs) for pair, runs in part]
            searches = [search._replace(halves=times * search.halves) for search in searches]
            of_part = terms.notion.promises(searches, budget)
            for place, of_pair in zip(part, of_part, strict=True):
                found[place] = of_pair
        return found

    promised = bounds(np.tile(np.arange(num_pairs), (num_runs, 1)), 1)
    # The most promising pairs are kept. The last place goes to one of the next pairs; if there are
    # very many pairs, only the most promising of these are considered.
    order = np.argsort(-promised, axis=0, kind="stable").T
    hoped = bounds(order[:, rounds.num_kept - 1 : _HOPED], _HOPE)
    kept = _kept(promised.T, hoped.T, rounds.num_kept)
    counts = opened.search_again(kept)
    for (run, place), pair in np.ndenumerate(kept):
        search = searches[pair]
        search.halves[run] += counts[run, place, ..., : search.partition.size]
    return Ranks(promised, kept)


def _kept(
    promised: NDArray[np.float64], hoped: NDArray[np.float64], num_kept: int
) -> NDArray[np.int64]:
    """Return the pairs for the second round of the search.

    The pairs have the largest expected bounds, except for the last one. The last pair is the
    remaining pair with the largest expected bound for `_HOPE` times as many draws.

    Args:
        promised: float64 [runs, pairs], expected bounds.
        hoped: float64 [runs, pairs], expected bounds with all search counts multiplied by `_HOPE`.
        num_kept: Number of pairs to keep, at least 2.

    Returns:
        Indices of the pairs, int64 [runs, kept].
    """
    first = np.argsort(-promised, axis=1, kind="stable")[:, : num_kept - 1]
    others = hoped.copy()
    np.put_along_axis(others, first, -np.inf, axis=1)
    return np.column_stack([first, np.argmax(others, axis=1)])


def choices(
    searches: Sequence[Search],
    pools: Pools,
    ranks: Ranks,
    terms: Terms,
    opened: Opened,
    also: bool,
) -> list[Chosen]:
    """Return each run's pair with the largest expected bound, and this pair's candidate."""
    pooled = pools.pooled(searches)
    num_runs, num_kept = ranks.kept.shape
    budget = Budget(opened.num_confirm, terms.own_confidence, num_kept, opened.shares)
    table = np.empty((num_runs, num_kept), object)
    places = _places(ranks.kept)
    for start in range(0, len(places), _PAIRS_AT_ONCE):
        part = places[start : start + _PAIRS_AT_ONCE]
        asked = [pooled[pair].at(runs) for pair, (runs, _) in part]
        found = candidates(asked, terms, budget, also)
        for (_, place), of_pair in zip(part, found, strict=True):
            table[place] = of_pair
    chosen = []
    for run, (row, kept) in enumerate(zip(table, ranks.kept.tolist(), strict=True)):
        best = max(range(num_kept), key=lambda place: (row[place].predicted, row[place].tie))
        # List the pairs of the second round before all other pairs, even if the expected bound
        # of another pair was larger after the first round.
        scores = {pair: row[place].predicted for place, pair in enumerate(kept)}
        promised = {p: s for p, s in enumerate(ranks.promised[:, run]) if p not in scores}
        ranked = [
            sorted(part.items(), key=lambda item: (-item[1], item[0]))
            for part in (scores, promised)
        ]
        search = searches[kept[best]].at(run)
        settled = row[best].settled(pooled[kept[best]].at(run))
        chosen.append(Chosen(search, settled, kept[best], [*ranked[0], *ranked[1]]))
    return chosen


def _places(kept: NDArray[np.int64]) -> list[tuple[int, tuple[NDArray[np.int64], ...]]]:
    """Return the distinct pairs in `kept`, in increasing order, and the positions of each pair."""
    order = np.argsort(kept, axis=None, kind="stable")
    pairs, starts = np.unique(kept.ravel()[order], return_index=True)
    places = (np.unravel_index(part, kept.shape) for part in np.split(order, starts[1:]))
    return list(zip(pairs.tolist(), places, strict=True))
