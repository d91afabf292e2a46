"""Detection of near-copies within one side, such as resampled outputs plus a little noise.

Sort the outputs of both sides together, and let a and b be two adjacent spacings. If outputs have a
density, a and b are exchangeable and nearly exponential. Therefore the ratio min(a, b) / (a + b) is
below t with probability 2t. Two near-copies are far closer to each other than to other outputs. If
the spacing between them is a or b, the ratio is therefore small. Disjoint pairs of spacings are
nearly independent. Therefore the number of pairs of spacings whose ratio is below t = 1/1000 is
compared with a binomial distribution. The test assumes a probability of 3/1000 per pair, which is
larger than 2t.

Some distributions consist of narrow clouds around certain values, for example rounded values plus a
little noise. Unless the two distributions are far apart, two outputs in one cloud come from
different sides about as often as from the same side. Two near-copies, in contrast, always come from
the same side.

Values that differ by a few units in the last place are merged first. The test is repeated with the
logarithms of the values, because very heavy tails have irregular spacings on a linear scale.
"""

from typing import NamedTuple

import numpy as np
import scipy

from dpjax.partitions._bins import bins_of

_RATIO, _SHARE = 1e-3, 3e-3
"""A ratio of adjacent spacings below _RATIO indicates near-copies. If outputs have a density, the
probability of such a ratio is at most _SHARE.
"""

_APART = 5.0
"""Largest assumed ratio between the two sides' probabilities of a narrow cloud of values. The test
for near-copies is valid if no cloud has a larger ratio.
"""

_FEWEST = 20
"""Minimum number of pairs of spacings that is needed to decide whether values lie on a lattice."""

_ULPS = 16
"""Largest difference, in units in the last place, between values that are treated as equal."""

_KEPT, _WINDOWS = 2**15, 2**10
"""_KEPT is the maximum number of values to keep per column. _WINDOWS is the number of windows into
which the real line is divided.
"""

_COMPARED = 16
"""Maximum number of selected windows for which every value is compared with their ends. Comparisons
with 16 windows take 5 ns per value, and locating the window of a value takes 8 ns.
"""

_COLUMNS = 8
"""Maximum number of columns to examine if outputs are vectors."""


class NearCopies(NamedTuple):
    """Evidence, from the spacings of sorted values, that some outputs are near-copies of others.

    Attributes:
        pairs: Number of pairs of adjacent spacings.
        close: Number of pairs of adjacent spacings in which one spacing is far smaller than the
            other.
        alone: Number of pairs counted in `close` in which the two close values come from the same
            side.
        chance: Upper bound on the probability that independent draws show such evidence.
    """

    pairs: int
    close: int
    alone: int
    chance: float


class Spacings:
    """One side's values, restricted to selected windows of the real line.

    As values arrive, fewer and fewer windows are selected, so that memory is constant.
    """

    def __init__(self):
        self._columns: list[_Column] = []

    def add(self, outputs: np.ndarray) -> None:
        """Add outputs that are floats, [n] or [n, d], and ignore outputs of other types."""
        if outputs.dtype.kind != "f" or not len(outputs):
            return
        rows = outputs.reshape(len(outputs), -1)[:, :_COLUMNS]
        if not self._columns:
            self._columns = [_Column() for _ in range(rows.shape[1])]
        for column, values in zip(self._columns, rows.T, strict=False):
            column.add(values[np.isfinite(values)])

    @property
    def irregular(self) -> bool:
        """Whether the values in at least one column do not lie on a lattice."""
        return any(column.irregular for column in self._columns)

    def near_copies(self, other: "Spacings") -> NearCopies:
        """Return the evidence for near-copies from the column in which it is strongest."""
        columns = list(zip(self._columns, other._columns, strict=False))
        found = [_near_copies(*sides) for sides in columns]
        if not found:
            return NearCopies(0, 0, 0, 1.0)
        least = min(found, key=lambda each: each.chance)
        return least._replace(chance=min(least.chance * len(found), 1.0))


class _Column:
    """The distinct values in one column of a side, restricted to selected windows.

    Attributes:
        values: Distinct values, float64 [n], ascending.
        total: Number of all values so far, including repetitions and values outside the selected
            windows.
        precision: Largest machine epsilon of the column's dtypes.
    """

    def __init__(self):
        self.values, self._edges, self._every = np.empty(0), np.empty(0), 1
        self.total, self.precision = 0, 0.0

    def add(self, values: np.ndarray) -> None:
        """Add the values that lie in selected windows. The first call defines the windows."""
        if not values.size:
            return
        self.total += values.size
        self.precision = max(self.precision, float(np.finfo(values.dtype).eps))
        values = values.astype(np.float64)
        # Select values before sorting, since most values may be dropped.
        values = values[self.holds(values)] if self._every > 1 else values
        self.values = np.unique(np.concatenate([self.values, values]))
        if not self._edges.size:
            self._edges = self.values[:: max(self.values.size // _WINDOWS, 1)].copy()
        while self.values.size > _KEPT:
            self._every *= 2
            self.values = self.values[self.holds(self.values)]

    def holds(self, values: np.ndarray) -> np.ndarray:
        """Return whether each value lies in a selected window, bool [n]."""
        if self._every == 1 or self._edges.size > _COMPARED * self._every:
            return self.window_of(values) % self._every == 0
        # Comparing values with the ends of a few windows is faster than locating them.
        ends = np.concatenate([[-np.inf], self._edges, [np.inf]])
        found = np.zeros(len(values), bool)
        for window in range(0, len(ends) - 1, self._every):
            found |= (values >= ends[window]) & (values < ends[window + 1])
        return found

    @property
    def irregular(self) -> bool:
        """Whether hardly any ratio of adjacent spacings occurs twice, unlike on a lattice."""
        steps = np.diff(self.values)
        first, second = steps[: steps.size // 2 * 2].reshape(-1, 2).T
        ratios = np.unique(np.round(first / (first + second), 6))
        return first.size >= _FEWEST and ratios.size > 0.9 * first.size

    def window_of(self, values: np.ndarray) -> np.ndarray:
        """Return the index of each value's window, [n], or zeros if all windows are kept."""
        if self._every == 1:
            return np.zeros(len(values), np.int64)
        return bins_of(self._edges, values)


def _near_copies(x: _Column, y: _Column) -> NearCopies:
    values = np.concatenate([x.values, y.values])
    of_y = np.repeat([False, True], [x.values.size, y.values.size])
    order = np.argsort(values, kind="stable")
    order = order[x.holds(values[order]) & y.holds(values[order])]
    values, of_y = values[order], of_y[order]
    if values.size < 3:
        return NearCopies(0, 0, 0, 1.0)
    # Differences and sums of two quarters do not overflow.
    parts = values / 4
    last_place = max(x.precision, y.precision) * np.maximum(np.abs(parts), np.median(np.abs(parts)))
    starts = np.flatnonzero(np.diff(parts, prepend=-np.inf) > _ULPS * last_place)
    values, both = values[starts], np.maximum.reduceat(of_y, starts)
    both &= ~np.minimum.reduceat(of_y, starts)
    of_y = of_y[starts]
    if values.size < 3:
        return NearCopies(0, 0, 0, 1.0)
    size = (values.size - 1) // 2 * 2 + 1
    left, middle, right = (values[first : size - 2 + first : 2] for first in range(3))
    # Use only triples within a single window, since values between selected windows were dropped.
    whole = (x.window_of(left) == x.window_of(right)) & (y.window_of(left) == y.window_of(right))
    steps = np.stack([middle / 4 - left / 4, right / 4 - middle / 4])
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
    """Return the probability of at least `number` successes in `trials` independent trials."""
    if number == 0:
        return 1.0
    return float(scipy.special.betainc(number, trials - number + 1, share))


def _close(steps: np.ndarray) -> np.ndarray:
    """Return whether one of two spacings, [2, n], is far smaller than the other, bool [n]."""
    return steps.min(axis=0) < _RATIO * steps.sum(axis=0)
