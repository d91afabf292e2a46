"""Computation of delta, on a grid of cells, for a joint query that returns two or three numbers.

With product kernels, the mass of a mixture in a box is a sum of products of one-dimensional masses,
so one matrix product yields the masses of all cells. delta is the integral of the positive part of
p - e^eps q. The net mass of a cell is the integral of p - e^eps q over the cell. If p - e^eps q has
the same sign in the whole cell, the cell contributes exactly the positive part of its net mass. If
the sign changes within the cell, p - e^eps q is assumed to be linear there. The cell then
contributes more than the positive part of its net mass. The excess of a cell is its contribution
minus the positive part of its net mass.

The error estimate has two terms: the difference from the delta on a grid with half as many cells
per axis, and a tenth of the total excess of all cells.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from dpjax.empirical._mixture import Mixture

DEFAULT_CELLS = {2: 256, 3: 64}
# Smaller masses are rounding errors; they are raised to this value to keep logarithms finite.
_DUST = 1e-18


class JointGrid:
    """Masses of two joint densities in the cells of a grid.

    Args:
        first: Results with all individuals present, [n, d], where d is 2 or 3.
        second: Finite results without the individual, [m, d].
        kernel: 'laplace' or 'gaussian'.
        bandwidth: Scales of the kernels, [d].
        cells: Even number of cells per axis, or None for the default in `DEFAULT_CELLS`.

    References:
        Burchard, Daoud, Dotterrer 2020, Section 3 (composition).
    """

    def __init__(
        self,
        first: np.ndarray,
        second: np.ndarray,
        kernel: str,
        bandwidth: Sequence[float],
        cells: int | None = None,
    ):
        num_cells = cells or DEFAULT_CELLS[first.shape[1]]
        shape = (num_cells,) * len(bandwidth)
        axes = [
            _edges(first[:, k], second[:, k], kernel, width, num_cells)
            for k, width in enumerate(bandwidth)
        ]
        masses = []
        for sample in (first, second):
            mass = np.full((len(sample), 1), 1 / len(sample))
            *outer, last = (
                _masses(sample[:, k], edges, kernel, bandwidth[k]) for k, edges in enumerate(axes)
            )
            for along in outer:
                mass = (mass[:, :, None] * along[:, None]).reshape(len(sample), -1)
            masses.append((mass.T @ last).reshape(shape))
        self._fine = [_ByRatio(*pair) for pair in (masses, masses[::-1])]
        halves = [_halved(m) for m in masses]
        self._coarse = [_ByRatio(*pair) for pair in (halves, halves[::-1])]

    def delta(self, epsilon: np.ndarray, undefined: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return float [E], delta at each epsilon, and float [E], the estimated errors of delta.

        The number `undefined` is the probability that a result without the individual is undefined;
        see `hockey_stick`.
        """
        shift = np.log1p(-undefined)
        fine, coarse = (
            [
                sides[0].excess(epsilon + shift),
                [[undefined], [0.0]] + (1 - undefined) * sides[1].excess(epsilon - shift),
            ]
            for sides in (self._fine, self._coarse)
        )
        (value, share), (rough, _) = (
            np.where(one[0] > other[0], one, other) for one, other in (fine, coarse)
        )
        return np.clip(value, 0, 1), np.abs(value - rough) + share / 10


class _ByRatio:
    """Cells of a grid with masses p and q, sorted by decreasing ratio p / q."""

    def __init__(self, p: np.ndarray, q: np.ndarray):
        log_ratio = np.log(np.maximum(p, _DUST)) - np.log(np.maximum(q, _DUST))
        order = np.argsort(-log_ratio, axis=None)
        self._falling = -log_ratio.ravel()[order]
        self._sums = [np.concatenate([[0.0], np.cumsum(m.ravel()[order])]) for m in (p, q)]
        # Half the change of the log ratio across each cell, along each axis, as estimated from the
        # adjacent cells.
        slopes = np.abs([np.gradient(log_ratio, axis=k).ravel() / 2 for k in range(p.ndim)])
        keep = p.ravel() + q.ravel() > 1e-12
        self._cells = (p.ravel()[keep], q.ravel()[keep], log_ratio.ravel()[keep], slopes[:, keep])

    def excess(self, epsilon: np.ndarray) -> np.ndarray:
        """Return float [2, E]: the integral of (p - e^eps q)_+, and the total excess of all cells.

        The excess of a cell is its contribution to the integral minus the positive part of the
        integral of p - e^eps q over the cell. The excess of a cell is 0 unless p - e^eps q changes
        sign in the cell.
        """
        upto = np.searchsorted(self._falling, -epsilon)
        net = np.maximum(0, self._sums[0][upto] - np.exp(epsilon) * self._sums[1][upto])
        share = np.array([self._crossed(e) for e in epsilon])
        return np.stack([net + share, share])

    def _crossed(self, epsilon: float) -> float:
        p, q, log_ratio, slopes = self._cells
        hit = np.abs(log_ratio - epsilon) < slopes.sum(axis=0)
        p, q = p[hit], np.exp(epsilon) * q[hit]
        if not len(p):
            return 0.0
        net = p - q
        ranges = (p + q) / 2 * slopes[:, hit]
        ranges = np.maximum(ranges, 0.02 * ranges.max(axis=0))
        return float((_mean_positive_part(net, ranges) - np.maximum(net, 0)).sum())


def _mean_positive_part(center: np.ndarray, ranges: np.ndarray) -> np.ndarray:
    """For each of k linear functions, return the mean of the positive part over the function's box.

    Args:
        center: Mean of each function over its box, [k].
        ranges: Half of each function's change along each axis of its box; positive, [d, k].

    Returns:
        Float [k], the expectations of (center + sum_a ranges_a U_a)_+, where the U_a are
        independent and uniform between -1 and 1.
    """
    d = len(ranges)
    total = np.zeros_like(center)
    for signs in itertools.product((1, -1), repeat=d):
        corner = np.maximum(center + np.tensordot(signs, ranges, 1), 0)
        total += math.prod(signs) * corner ** (d + 1)
    return total / (math.factorial(d + 1) * 2**d * ranges.prod(axis=0))


def _halved(masses: np.ndarray) -> np.ndarray:
    for axis in range(masses.ndim):
        pair = (*masses.shape[:axis], masses.shape[axis] // 2, 2, *masses.shape[axis + 1 :])
        masses = masses.reshape(pair).sum(axis=axis + 1)
    return masses


def _edges(
    first: np.ndarray, second: np.ndarray, kernel: str, width: float, cells: int
) -> np.ndarray:
    """Return float [cells + 1], the edges along one axis, from -infinity to infinity."""
    reach = {"gaussian": 6.0, "laplace": 16.0}[kernel] * width
    both = np.concatenate([first, second])
    x = np.unique((both[:, None] + np.linspace(-reach, reach, 129)).ravel())
    spread = Mixture(kernel, both, np.full(len(both), 2 * width)).cdf(x)
    # The spacing of the edges depends equally on mass and on length. Cells are therefore small in
    # regions with much mass, and nowhere too large.
    length = np.cumsum(np.concatenate([[0], np.minimum(np.diff(x), width / 4)]))
    share = spread / spread[-1] + length / length[-1]
    edges = np.interp(np.linspace(share[0], share[-1], cells + 1), share, x)
    edges[0], edges[-1] = -np.inf, np.inf
    return edges


def _masses(centers: np.ndarray, edges: np.ndarray, kernel: str, width: float) -> np.ndarray:
    """Return the mass of each kernel in each cell along one axis, [centers, cells]."""
    inner = (edges[1:-1, None] - centers) / width
    one = Mixture(kernel, np.zeros(1), np.ones(1))
    cdf = one.cdf(inner.ravel()).reshape(inner.shape).T
    full = np.concatenate([np.zeros((len(centers), 1)), cdf, np.ones((len(centers), 1))], axis=1)
    return np.diff(full, axis=1)
