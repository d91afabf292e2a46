"""Sets of cells constructed from one half of the search set and evaluated on the other half."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.inference._orders import ByPosition, ByRatio, Candidates

MASSES = np.geomspace(1e-5, 0.99, 56)
"""Sizes of candidate sets, as fractions of the draws."""

_MOST_ENTRIES = 1 << 15
"""Maximum number of entries in a table of ordered cells; such a table fits in a CPU cache."""

_TOGETHER = 16
"""Minimum number of runs in a batch. Cells are left out if no run of a batch has draws in them."""

_LEAST_JUDGED = 0.5
"""Minimum number of draws in the chosen set, as a fraction of the number in the judged set.

Consider a search with 3,091 draws per side for a mechanism with six outcomes. Without this rule, a
tenth of all such searches would choose an outcome with probability 0.01, although the judged set is
an outcome with probability 0.46. The rare outcome has a larger ratio, but is too rare for a bound.
"""


class Sets(NamedTuple):
    """Candidate sets of all runs, except sets with the same counts as the next smaller set.

    Sets are sorted by run, then by order of cells, then by size. Sets of different sizes often have
    the same counts because one cell may contain so many draws that a set with only this cell
    reaches several of the smallest sizes.

    Attributes:
        run: int64 [sets], index of each set's run.
        candidate: int64 [sets], index in `Candidates` of the order from which the set is
            constructed.
        end: int64 [sets], index of the set's size in `MASSES`.
        larger: int64 [sets], count of the set on the side where the set is expected to be more
            likely.
        smaller: int64 [sets], count of the set on the other side.
        starts: int64 [runs], index of each run's first set.
    """

    run: NDArray[np.int64]
    candidate: NDArray[np.int64]
    end: NDArray[np.int64]
    larger: NDArray[np.int64]
    smaller: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, inside: NDArray[np.int64], candidates: Candidates) -> "Sets":
        """Select sets from the counts that `judged` returns.

        Args:
            inside: int64 [side, runs, orders, sizes], counts of the sets.
            candidates: Orders of cells, each with the side where its sets should be more likely.
        """
        _, runs, _, sizes = inside.shape
        is_new = np.ones(inside.shape[1:], bool)
        is_new[..., 1:] = (inside[..., 1:] != inside[..., :-1]).any(axis=0)
        is_new = is_new[:, candidates.order]
        flat = np.flatnonzero(is_new)
        row, end = np.divmod(flat, sizes)
        run, candidate = np.divmod(row, len(candidates.order))
        order, side = candidates.order[candidate], candidates.direction[candidate]
        place = (run * inside.shape[2] + order) * sizes + end
        counts = inside.reshape(2, -1)
        starts = np.searchsorted(run, np.arange(runs))
        larger, smaller = (counts[at, place] for at in (side, 1 - side))
        return cls(run, candidate, end, larger, smaller, starts)

    def largest(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each run's largest value, [runs], from values of the sets, [sets]."""
        return np.maximum.reduceat(values, self.starts)

    def best(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return int64 [runs], the index of the first set with the largest value in each run."""
        (places,) = np.nonzero(values == self.largest(values)[self.run])
        found = self.starts.copy()
        # Assign in reverse order, so that the first of multiple sets with equal values remains.
        found[self.run[places[::-1]]] = places[::-1]
        return found


def judged(halves: NDArray[np.int64], ways: list[ByRatio | ByPosition]) -> NDArray[np.int64]:
    """Count each half's draws in sets that are constructed from the other half.

    Args:
        halves: int64 [runs, half, side, cells], counts of both halves of the search set.
        ways: Ways to order cells.

    Returns:
        Sums of the counts of both halves, int64 [side, runs, orders, sizes].
    """
    found, cells = [], halves.shape[-1]
    together = max(_rows_at_once(ways, cells), _TOGETHER)
    for start in range(0, len(halves), together):
        part, of_part = halves[start : start + together], ways
        needed = _needed(part, ways)
        if 2 * np.count_nonzero(needed) <= cells:
            part, of_part = part[..., needed], [way.only(needed) for way in ways]
        rows = _rows_at_once(ways, part.shape[-1])
        found += [_judged(part[i : i + rows], of_part) for i in range(0, len(part), rows)]
    return np.concatenate(found, axis=1)


def _rows_at_once(ways: list[ByRatio | ByPosition], cells: int) -> int:
    return max(_MOST_ENTRIES // (4 * len(ways) * cells), 1)


def _needed(halves: NDArray[np.int64], ways: list[ByRatio | ByPosition]) -> NDArray[np.bool_]:
    """Return a mask of the cells that may affect the counts of a set, bool [cells].

    A set contains at least one cell but never all cells. Therefore, a cell without draws affects a
    set's counts only if it is the first or the last cell of an order.
    """
    seen = np.asarray(halves.any(axis=(0, 1, 2)))
    needed, unseen = seen.copy(), np.flatnonzero(~seen)
    needed[0] = True
    for way in ways:
        needed[way.ends_of(unseen)] = True
    return needed


def _judged(halves: NDArray[np.int64], ways: list[ByRatio | ByPosition]) -> NDArray[np.int64]:
    made = [way.orders(halves) for way in ways]
    order = np.concatenate([way.order for way in made], axis=-2)
    most = np.concatenate([way.most for way in made], axis=-1)
    ends = np.concatenate([way.ends for way in made], axis=-2)
    held = halves[:, ::-1].transpose(2, 0, 1, 3)
    counts = np.concatenate([held, halves.sum(axis=2)[None]])
    order += _rows(order.shape[:2], counts.shape[-1])[..., None, None]
    running = counts.reshape(3, -1).take(order, axis=1)
    np.cumsum(running, axis=-1, out=running)
    end = _sizes(running[2], most, ends) - 1
    end += _rows(end.shape[:3], counts.shape[-1])[..., None]
    return running[:2].reshape(2, -1).take(end, axis=1).sum(axis=2)


def _rows(shape: tuple[int, ...], length: int) -> NDArray[np.int64]:
    """Return the flat index at which each row begins in a table with rows of equal length."""
    return length * np.arange(math.prod(shape)).reshape(shape)


def _sizes(mass: NDArray, most: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each fraction in `MASSES`, return the size of the smallest set that reaches it.

    Args:
        mass: [..., cells], cumulative counts of the ordered cells.
        most: int64 [...], largest number of cells that are allowed in a set. A set never contains
            all cells.
        ends: int64 [..., cells]. Entry i is the position of the last cell that is tied with the
            cell at position i.

    Returns:
        Numbers of cells, int64 [..., sets], with one set per fraction in `MASSES`.
    """
    rows, cells = mass.reshape(-1, mass.shape[-1]), mass.shape[-1]
    with np.errstate(divide="ignore"):
        place = np.log(rows / (MASSES[0] * np.maximum(rows[:, -1:], 1)))
    # Compute the index of the first fraction above each cumulative count, with a tolerance for
    # rounding errors.
    place *= 1 / np.log(MASSES[1] / MASSES[0])
    place += 1 + 1e-9
    bins = MASSES.size + 1
    np.clip(place, 0, bins - 1, out=place)
    first = place.astype(np.int64)
    first += bins * np.arange(len(rows))[:, None]
    counts = np.bincount(first.ravel(), minlength=bins * len(rows)).reshape(-1, bins)
    below = np.cumsum(counts, axis=-1)[:, :-1].reshape(*mass.shape[:-1], -1)
    size = np.take_along_axis(ends, np.minimum(below, cells - 1), axis=-1) + 1
    return np.minimum(size, np.clip(most, 1, cells - 1)[..., None])


def cells_of(
    counts: NDArray,
    ways: list[ByRatio | ByPosition],
    chosen: NDArray[np.int64],
    end: NDArray[np.int64],
    judged: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Construct each run's chosen set from all draws, and return its cells, bool [runs, cells].

    The order of the cells may differ between all draws and the halves. If a rare cell comes first
    in all draws only, the set of the chosen size may contain only this cell. Therefore, cells are
    added until the set has at least the fraction `_LEAST_JUDGED` of the judged set's draws.

    Args:
        counts: [runs, 2, cells], counts of all draws.
        ways: Ways to order cells.
        chosen: int64 [runs], index of the chosen order among all orders that `ways` defines.
        end: int64 [runs], index of the chosen size in `MASSES`.
        judged: int64 [runs], number of draws in the sets that were judged.
    """
    inside = np.zeros(counts[:, 0].shape, bool)
    for number in np.unique(chosen):
        (rows,) = np.nonzero(chosen == number)
        order, most, ends = (x[:, number % 2] for x in ways[number // 2].orders(counts[rows]))
        mass = np.cumsum(np.take_along_axis(counts[rows].sum(axis=1), order, axis=-1), axis=-1)
        size = np.take_along_axis(_sizes(mass, most, ends), end[rows, None], axis=-1)
        heavy = np.argmax(mass >= _LEAST_JUDGED * judged[rows, None], axis=-1)
        least = np.take_along_axis(ends, heavy[:, None], axis=-1) + 1
        size = np.maximum(size, np.minimum(least, np.clip(most, 1, mass.shape[-1] - 1)[:, None]))
        np.put_along_axis(
            held := np.zeros(order.shape, bool), order, np.arange(order.shape[-1]) < size, -1
        )
        inside[rows] = held
    return inside
