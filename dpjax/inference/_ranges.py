"""Replacement of complicated events by simpler ones: half-lines and ranges."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpjax.inference._choice import errors_by_ratio
from dpjax.inference._events import Event, best_ratio, expected_bound, shrunk
from dpjax.inference._hypotheses import Hypothesis
from dpjax.inference._sizes import Shared

Shares = tuple[NDArray[np.float64], NDArray[np.float64]]

WORTH = 0.98
"""Smallest accepted ratio of the simpler event's predicted bound to the original event's bound."""

_ENDS = 64
"""Maximum number of positions at which ranges may begin and end."""


def simpler(
    event: Event,
    halves: NDArray[np.int64],
    lines: Sequence[NDArray[np.float64]],
    allowed: NDArray[np.bool_] | None,
    num_confirm: int | Shared,
    confidence: float,
    hypothesis: Hypothesis,
) -> Event:
    """Replace an event with a simpler event if both have almost the same expected bound.

    A half-line is preferred to a range and to the complement of a range. The simpler event contains
    all cells of the original event that have no position on the line. As in `choose_event`,
    candidates are constructed from each half of the search set and evaluated on the other half. The
    returned event is constructed from all draws.

    Args:
        event: Event of one run, chosen by `choose_event`.
        halves: int64 [half, side, cells], counts of the draws from each side in each half of the
            search set.
        lines: For each numeric axis, the positions of the cells along this axis, or NaN for cells
            without a position.
        allowed: bool [cells], whether each cell is allowed in an event. If `allowed` is None, all
            cells are allowed.
        num_confirm: N, the number of fresh draws per side. If `num_confirm` is a `Shared`, the
            draws are divided optimally for each event.
        confidence: Confidence of the bound.
        hypothesis: Hypothesis whose level is bounded.
    """
    total = halves.sum(axis=0)
    seen = total.any(axis=0)
    may = np.ones(len(seen), bool) if allowed is None else allowed
    if not event.cells.any() or any(_is_simple(event.cells, line, seen & may) for line in lines):
        return event
    larger, smaller = int(event.larger), 1 - int(event.larger)
    errors = errors_by_ratio(halves)

    def shares_of(inside: NDArray, counts: NDArray) -> Shares:
        """Estimate the probabilities of sets from their counts `inside`, and shrink the ratios."""
        draws = counts.sum(axis=-1)
        return shrunk(inside[larger], draws[larger], inside[smaller], draws[smaller], errors)

    def predicted(shares: Shares) -> NDArray[np.float64]:
        return expected_bound(*shares, num_confirm, confidence, hypothesis)

    found: list[tuple[bool, float, NDArray[np.bool_], Shares]] = []
    for line in lines:
        placed = np.isfinite(line) & may
        ends = _ends(line, placed & seen, event.cells, total)
        if len(ends) < 3:
            continue
        ranges = _Ranges(line, placed, event.cells & ~np.isfinite(line), ends)
        for half_line in (True, False):
            chosen = []
            for counts in (*halves, total):
                value = predicted(shares_of(ranges.counts(counts), counts))
                value = np.where(ranges.half_lines == half_line, value, -np.inf)
                chosen.append(ranges.cells(int(np.argmax(value))))
            first, second, cells = chosen
            judged = halves[1][:, first].sum(axis=1) + halves[0][:, second].sum(axis=1)
            shares = shares_of(judged[:, None], total)
            found.append((half_line, float(predicted(shares)[0]), cells, shares))
    for kind in (True, False):
        best = max((f for f in found if f[0] == kind), key=lambda f: f[1], default=None)
        if best is not None and best[1] >= WORTH * event.predicted:
            ratio = event.ratio
            if isinstance(num_confirm, Shared):
                ratio = best_ratio(*best[3], num_confirm, confidence, hypothesis)[0]
            return event._replace(
                cells=best[2], predicted=np.minimum(best[1], event.predicted), ratio=ratio
            )
    return event


class _Ranges:
    """All ranges between given positions along a line of cells, and their complements.

    Attributes:
        half_lines: bool [sets], whether each set is a half-line, which has only one end.
    """

    def __init__(
        self,
        line: NDArray[np.float64],
        placed: NDArray[np.bool_],
        alone: NDArray[np.bool_],
        ends: NDArray[np.float64],
    ):
        self._line, self._placed, self._alone, self._ends = line, placed, alone, ends
        low, high = np.triu_indices(len(ends), 1)
        some = high - low < len(ends) - 1
        self._low, self._high = low[some], high[some]
        half = (self._low == 0) | (self._high == len(ends) - 1)
        self.half_lines = np.concatenate([half, half])

    def counts(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return [2, sets], the number of draws from each side in each set."""
        number = np.searchsorted(self._ends, self._line[self._placed], side="right")
        size = len(self._ends) + 1
        bins = np.stack([np.bincount(number, c, size) for c in counts[:, self._placed]])
        below = np.cumsum(bins, axis=1)[:, : len(self._ends)]
        between = below[:, self._high] - below[:, self._low]
        sets = np.concatenate([between, below[:, -1:] - between], axis=1)
        return sets + counts[:, self._alone].sum(axis=1)[:, None]

    def cells(self, number: int) -> NDArray[np.bool_]:
        """Return whether each cell is in a set, bool [cells]."""
        outside, number = divmod(number, len(self._low))
        low, high = self._ends[self._low[number]], self._ends[self._high[number]]
        inner = (self._line >= low) & (self._line < high)
        return self._placed & (inner != bool(outside)) | self._alone


def _is_simple(
    cells: NDArray[np.bool_], line: NDArray[np.float64], seen: NDArray[np.bool_]
) -> bool:
    """Return whether an event is a range along a line or the complement of a range.

    Cells that are not in `seen` are ignored.
    """
    placed = np.flatnonzero(seen & np.isfinite(line))
    held = cells[placed[np.argsort(line[placed], kind="stable")]]
    # A range has two ends, and so does its complement.
    return int(np.count_nonzero(np.diff(held))) <= 2


def _ends(
    line: NDArray[np.float64],
    placed: NDArray[np.bool_],
    cells: NDArray[np.bool_],
    counts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return candidate ends of ranges: ends of the event's parts and equally spaced quantiles."""
    places, number = np.unique(line[placed], return_inverse=True)
    if len(places) > _ENDS:
        mass = np.cumsum(np.bincount(number, counts[:, placed].sum(axis=0)))
        even = np.searchsorted(mass, np.linspace(0, mass[-1], _ENDS // 2)[1:-1])
        held = np.bincount(number, cells[placed]) > 0
        edges = np.flatnonzero(np.diff(held)) + 1
        kept = np.unique(np.concatenate([[0], even, edges[: _ENDS // 2]]))
        places = places[kept]
    return np.concatenate([[-np.inf], places[1:], [np.inf]])
