"""delta of joint queries of two or three numbers, on a grid of cells.

With product kernels the mass of a mixture in a box is a sum of products of one-dimensional masses,
so the masses of all cells of a grid are one matrix product. Within cells that lie on one side of
the crossing the integral is exact; a cell with both signs is counted by its net mass, so the grid
gives a lower bound, which rises with the second power of the cell width. Halving the grid measures
the error, and extrapolation removes most of it.
"""

from collections.abc import Sequence

import numpy as np

from dpjax.estimators._empirical_mixture import Mixture

DEFAULT_CELLS = {2: 256, 3: 64}


class JointGrid:
    """Masses of two joint densities on a grid of cells.

    Args:
        first: [n, d] results with everybody, d = 2 or 3.
        second: [m, d] results without the individual; finite.
        kernel: 'laplace' or 'gaussian'.
        bandwidth: [d] scales of the kernels.
        cells: Cells per axis, an even number; default `DEFAULT_CELLS`.

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

    def delta(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[E] delta, and [E] the estimate of its error (the change from half as many cells)."""
        fine, coarse = (
            np.maximum(*(side.excess(epsilon) for side in sides))
            for sides in (self._fine, self._coarse)
        )
        return np.clip(fine + (fine - coarse) / 3, 0, 1), np.abs(fine - coarse)


class _ByRatio:
    """Cells in falling order of p / q: those above any eps come first, so one sort serves all."""

    def __init__(self, p: np.ndarray, q: np.ndarray):
        p, q = p.ravel(), q.ravel()
        with np.errstate(divide="ignore", invalid="ignore"):
            falling = np.nan_to_num(
                np.log(q) - np.log(p), nan=np.inf, posinf=np.inf, neginf=-np.inf
            )
        order = np.argsort(falling)
        self._falling = falling[order]
        self._sums = [np.concatenate([[0.0], np.cumsum(m[order])]) for m in (p, q)]

    def excess(self, epsilon: np.ndarray) -> np.ndarray:
        """[E] sum over cells of (p - e^eps q)_+."""
        upto = np.searchsorted(self._falling, -epsilon)
        return np.maximum(0, self._sums[0][upto] - np.exp(epsilon) * self._sums[1][upto])


def _halved(masses: np.ndarray) -> np.ndarray:
    for axis in range(masses.ndim):
        pair = (*masses.shape[:axis], masses.shape[axis] // 2, 2, *masses.shape[axis + 1 :])
        masses = masses.reshape(pair).sum(axis=axis + 1)
    return masses


def _edges(
    first: np.ndarray, second: np.ndarray, kernel: str, width: float, cells: int
) -> np.ndarray:
    """[cells + 1] edges that share out the mass of both marginals, with cells also in the tails."""
    reach = {"gaussian": 6.0, "laplace": 16.0}[kernel] * width
    both = np.concatenate([first, second])
    x = np.unique((both[:, None] + np.linspace(-reach, reach, 129)).ravel())
    spread = Mixture(kernel, both, np.full(len(both), 2 * width)).cdf(x)
    # Half by mass, half by length: fine where the mass is, and nowhere too coarse.
    length = np.cumsum(np.concatenate([[0], np.minimum(np.diff(x), width / 4)]))
    share = spread / spread[-1] + length / length[-1]
    edges = np.interp(np.linspace(share[0], share[-1], cells + 1), share, x)
    edges[0], edges[-1] = -np.inf, np.inf
    return edges


def _masses(centers: np.ndarray, edges: np.ndarray, kernel: str, width: float) -> np.ndarray:
    """[centers, cells] mass of each kernel in each cell."""
    inner = (edges[1:-1, None] - centers) / width
    one = Mixture(kernel, np.zeros(1), np.ones(1))
    cdf = one.cdf(inner.ravel()).reshape(inner.shape).T
    full = np.concatenate([np.zeros((len(centers), 1)), cdf, np.ones((len(centers), 1))], axis=1)
    return np.diff(full, axis=1)
