"""Detection of near-copies within one side, such as resamples with a little noise.

If outputs have a density, two neighboring spacings a and b of the sorted values are exchangeable
and nearly exponential, so that min(a, b) / (a + b) is below t with probability 2t. Near-copies lie
far closer to each other than to anything else. Disjoint pairs of spacings are nearly independent,
so the number of pairs below t = 1/1000 is compared with a binomial distribution of 3/1000 per pair.

A distribution may itself form clouds around some numbers, as rounded values with a little noise do.
Two outputs in a cloud then come from both sides as often as from one, unless the distributions are
far apart, whereas near-copies always come from one side.

Values that differ by a few units in the last place are merged first, since rounding moves sums of
floats off their lattice. Spacings are also compared on a logarithmic scale, on which those of very
heavy tails are regular.
"""

from typing import NamedTuple

import numpy as np
import scipy

_RATIO, _SHARE = 1e-3, 3e-3
"""Ratio of spacings below which values are near-copies, and bound on its chance under a density."""

_APART = 5.0
"""Largest ratio of a cloud's probabilities on the two sides that is allowed for."""

_FEWEST = 20
"""Smallest number of pairs of spacings that can reveal a lattice."""

_ULPS = 16
"""Distance up to which values count as equal, in units in the last place."""

_KEPT, _WINDOWS = 2**15, 2**10
"""Largest number of values to keep per column, and number of windows."""

_COLUMNS = 8
"""Largest number of columns to examine."""


class NearCopies(NamedTuple):
    """Evidence of near-copies in spacings.

    Attributes:
        pairs: Number of pairs of neighboring spacings.
        close: Number of pairs with one spacing far smaller than the other.
        alone: Number of these pairs whose two close values come from one side.
        chance: Largest probability of so many close pairs among independent draws.
    """

    pairs: int
    close: int
    alone: int
    chance: float


class Spacings:
    """Values of one side that lie in selected windows of the real line.

    Near-copies share a window, however far apart they were recorded, so memory is constant.
    """

    def __init__(self):
        self._columns: list[_Column] = []

    def add(self, outputs: np.ndarray) -> None:
        """Add values of float [n] or [n, d]; other outputs are ignored."""
        if outputs.dtype.kind != "f" or not len(outputs):
            return
        rows = outputs.reshape(len(outputs), -1)[:, :_COLUMNS]
        if not self._columns:
            self._columns = [_Column() for _ in range(rows.shape[1])]
        for column, values in zip(self._columns, rows.T, strict=False):
            column.add(values[np.isfinite(values)])

    @property
    def irregular(self) -> bool:
        """Whether the distinct values of at least one column do not lie on a lattice."""
        return any(column.irregular for column in self._columns)

    def near_copies(self, other: "Spacings") -> NearCopies:
        """Count near-copies on both sides, in the column with the strongest evidence.

        Args:
            other: Spacings of the other side.
        """
        columns = list(zip(self._columns, other._columns, strict=False))
        found = [_near_copies(*sides) for sides in columns]
        if not found:
            return NearCopies(0, 0, 0, 1.0)
        least = min(found, key=lambda each: each.chance)
        return least._replace(chance=min(least.chance * len(found), 1.0))


class _Column:
    """Distinct values of one column of a side.

    Attributes:
        values: Distinct values, float64 [n], ascending.
        total: Number of values so far, with repetitions.
        precision: Machine epsilon of the column's type, the largest if there are several.
    """

    def __init__(self):
        self.values, self._edges, self._every = np.empty(0), np.empty(0), 1
        self.total, self.precision = 0, 0.0

    def add(self, values: np.ndarray) -> None:
        """Add values that lie in the windows, which the first values define."""
        if not values.size:
            return
        self.total += values.size
        self.precision = max(self.precision, float(np.finfo(values.dtype).eps))
        values = values.astype(np.float64)
        # Filter before sorting, since most values may be dropped.
        values = np.unique(values[self.holds(values)] if self._every > 1 else values)
        if not self._edges.size:
            self._edges = values[:: max(values.size // _WINDOWS, 1)].copy()
        self.values = np.unique(np.concatenate([self.values, values]))
        while self.values.size > _KEPT:
            self._every *= 2
            self.values = self.values[self.holds(self.values)]

    def holds(self, values: np.ndarray) -> np.ndarray:
        """Check whether values [n] lie in a window that is kept."""
        return self.window_of(values) % self._every == 0

    @property
    def irregular(self) -> bool:
        """Whether ratios of neighboring spacings hardly ever repeat."""
        steps = np.diff(self.values)
        first, second = steps[: steps.size // 2 * 2].reshape(-1, 2).T
        ratios = np.unique(np.round(first / (first + second), 6))
        return first.size >= _FEWEST and ratios.size > 0.9 * first.size

    def window_of(self, values: np.ndarray) -> np.ndarray:
        """Return the window numbers of values [n]; while all values are kept, they are all 0."""
        if self._every == 1:
            return np.zeros(len(values), np.int64)
        return np.searchsorted(self._edges, values, side="right")


def _near_copies(x: _Column, y: _Column) -> NearCopies:
    values = np.concatenate([x.values, y.values])
    of_y = np.repeat([False, True], [x.values.size, y.values.size])
    order = np.argsort(values, kind="stable")
    order = order[x.holds(values[order]) & y.holds(values[order])]
    values, of_y = values[order], of_y[order]
    last_place = max(x.precision, y.precision) * np.maximum(
        np.abs(values), np.median(np.abs(values))
    )
    starts = np.flatnonzero(np.diff(values, prepend=-np.inf) > _ULPS * last_place)
    values, both = values[starts], np.maximum.reduceat(of_y, starts)
    both &= ~np.minimum.reduceat(of_y, starts)
    of_y = of_y[starts]
    if values.size < 3:
        return NearCopies(0, 0, 0, 1.0)
    size = (values.size - 1) // 2 * 2 + 1
    left, middle, right = (values[first : size - 2 + first : 2] for first in range(3))
    # Values between two windows were not kept, so a triple must lie in a single window.
    whole = (x.window_of(left) == x.window_of(right)) & (y.window_of(left) == y.window_of(right))
    steps = np.stack([middle - left, right - middle])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.abs(np.diff(np.log(np.abs(np.stack([left, middle, right]))), axis=0))
    close = whole & _close(steps) & (_close(logs) | (np.sign(left) != np.sign(right)))
    # Select the two close values of each triple.
    first = np.arange(0, size - 2, 2) + (steps[1] < steps[0])
    alone = close & (of_y[first] == of_y[first + 1]) & ~both[first] & ~both[first + 1]
    pairs, num_close, num_alone = int(whole.sum()), int(close.sum()), int(alone.sum())
    shares = [x.total * r / (x.total * r + y.total) for r in (1 / _APART, _APART)]
    on_one_side = max(share**2 + (1 - share) ** 2 for share in shares)
    chance = max(_tail(num_close, pairs, _SHARE), _tail(num_alone, num_close, on_one_side))
    return NearCopies(pairs, num_close, num_alone, chance)


def _tail(number: int, trials: int, share: float) -> float:
    """Return the probability that a binomial variable is at least `number`."""
    if number == 0:
        return 1.0
    return float(scipy.special.betainc(number, trials - number + 1, share))


def _close(steps: np.ndarray) -> np.ndarray:
    """Check whether one of two steps [2, n] is far smaller than the other."""
    return steps.min(axis=0) < _RATIO * steps.sum(axis=0)
