"""Two mixtures of Gaussian or Laplace kernels, in which each kernel has a bandwidth of its own.

If the bandwidths of the kernels differ, the pieces on which the log ratio of two mixtures is
monotone have no closed form. The log ratio is tabulated on a lattice with eight nodes per local
bandwidth, and interpolated by Hermite cubics between the nodes. The extrema of the Hermite cubics
are added to the nodes. Masses come from the exact distribution functions of the mixtures. At a
crossing, the integrand of delta is 0, so an error in the position of the crossing changes delta
only to second order.

In the notation of this module, p and q are the mixtures, l = ln p - ln q, and
z = (x - center) / bandwidth.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from dpjax.empirical._pieces import Pieces

_NODES_PER_BANDWIDTH = 8
# Half width, in bandwidths, of the window of nodes around a center. The mass of a kernel outside of
# its window is below 1e-16.
_REACH = {"gaussian": 9, "laplace": 37}


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of equally weighted kernels.

    Args:
        kernel: 'gaussian' or 'laplace'.
        centers: Centers, [n].
        bandwidths: Bandwidth of each kernel, [n].
    """

    kernel: str
    centers: np.ndarray
    bandwidths: np.ndarray

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return the log density at the points x, [k]."""
        return self._log_density_and_slopes(x)[0]

    def table(self, x: np.ndarray) -> np.ndarray:
        """Return the log density, its right slope, its left slope and the cdf at x, [4, k]."""
        log_density, slope_right, slope_left = self._log_density_and_slopes(x)
        return np.stack([log_density, slope_right, slope_left, self.cdf(x)])

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """Return the distribution function at the points x, [k]."""
        z = self._standardize(x)
        if self.kernel == "gaussian":
            return scipy.special.ndtr(z).mean(axis=1)
        tail = np.exp(-np.abs(z)) / 2
        return np.where(z > 0, 1 - tail, tail).mean(axis=1)

    def _standardize(self, x: np.ndarray) -> np.ndarray:
        return (x[:, None] - self.centers) / self.bandwidths

    def _log_density_and_slopes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        z = self._standardize(x)
        gaussian = self.kernel == "gaussian"
        exponent = -(z**2) / 2 if gaussian else -np.abs(z)
        exponent = exponent - np.log(self.bandwidths)
        top = exponent.max(axis=1)
        weight = np.exp(exponent - top[:, None])
        total = weight.sum(axis=1)
        norm = len(self.centers) * (np.sqrt(2 * np.pi) if gaussian else 2.0)
        steep = z if gaussian else np.sign(z)
        slope = -(weight * steep / self.bandwidths).sum(axis=1) / total
        # A Laplace kernel has a kink at its center: its log slope is 1/b on the left, -1/b on the
        # right.
        kink = 0.0 if gaussian else (weight * (z == 0) / self.bandwidths).sum(axis=1) / total
        return top + np.log(total / norm), slope - kink, slope + kink


@dataclass(frozen=True, eq=False)
class MixturePieces(Pieces):
    """One row of pieces, each of which is an interval between two nodes of the tabulated log ratio.

    Attributes:
        nodes: Ends of the pieces, [pieces + 1].
        slopes: Slopes of the log ratio at both ends of each piece, [2, pieces].
        below: Masses of p and q to the left of each piece, [2, pieces].
        first: The mixture p.
        second: The mixture q.
        errors: Bounds on the error of delta from inexact positions of crossings, one for each call
            of `split`.
    """

    nodes: np.ndarray
    slopes: np.ndarray
    below: np.ndarray
    first: Mixture
    second: Mixture
    errors: list[float]

    @property
    def error(self) -> float:
        """Bound on the error of every delta computed so far."""
        return max(self.errors, default=0.0)

    def split(self, row: np.ndarray, piece: np.ndarray, level: np.ndarray) -> np.ndarray:
        """Return the masses of p and q between the left end and the crossing of each piece."""
        del row
        width = np.diff(self.nodes)[piece]
        ends = np.stack([self.left[0, piece], self.right[0, piece]])
        u = _cubic_crossing(ends, self.slopes[:, piece] * width, level)
        x = self.nodes[piece] + u * width
        masses = np.stack([m.cdf(x) for m in (self.first, self.second)]) - self.below[:, piece]
        log_p, log_q = self.first.log_density(x), self.second.log_density(x)
        # Between the computed and the true crossing, the integrand is at most as large as at the
        # computed crossing.
        excess = np.exp(np.maximum(log_p, log_q)) * -np.expm1(-np.abs(log_p - log_q - level))
        self.errors.append(float(np.max(excess * width)))
        return masses


def mixture_pieces(first: Mixture, second: Mixture) -> MixturePieces:
    """Return the monotone pieces of two mixtures of the same kind of kernel."""
    nodes = _lattice(first, second)
    tables = np.stack([m.table(nodes) for m in (first, second)])
    extrema = _extrema(nodes, tables[0] - tables[1])
    if len(extrema):
        more = np.stack([m.table(extrema) for m in (first, second)])
        nodes, order = np.unique(np.concatenate([nodes, extrema]), return_index=True)
        tables = np.concatenate([tables, more], axis=2)[:, :, order]
    log_ratio, slope_right, slope_left, _ = tables[0] - tables[1]
    mass = np.diff(tables[:, 3], axis=1)
    return MixturePieces(
        left=log_ratio[None, :-1],
        right=log_ratio[None, 1:],
        mass_p=mass[0][None],
        mass_q=mass[1][None],
        nodes=nodes,
        slopes=np.stack([slope_right[:-1], slope_left[1:]]),
        below=tables[:, 3, :-1],
        first=first,
        second=second,
        errors=[],
    )


def _lattice(first: Mixture, second: Mixture) -> np.ndarray:
    """Return nodes around each center, with a spacing proportional to the kernel's bandwidth."""
    centers = np.concatenate([first.centers, second.centers])
    bandwidths = np.concatenate([first.bandwidths, second.bandwidths])
    # Round bandwidths down to powers of 2, so that kernels of similar width share one lattice.
    widest = bandwidths.max()
    level = np.floor(np.log2(bandwidths / widest))
    # Rounding may have nearly halved a bandwidth, so double the reach.
    reach = (1 + (level.min() < 0)) * _REACH[first.kernel] * _NODES_PER_BANDWIDTH
    # The centers of Laplace kernels, where they have kinks, must be nodes.
    nodes = [centers] if first.kernel == "laplace" else []
    for power in np.unique(level):
        step = widest * 2.0**power / _NODES_PER_BANDWIDTH
        near = np.unique(np.round(centers[level == power] / step))
        # Merge overlapping windows into ranges of lattice points, so that no point is repeated.
        far = np.concatenate([[True], np.diff(near) > 2 * reach])
        starts = near[far] - reach
        stops = near[np.concatenate([far[1:], [True]])] + reach
        nodes += [np.arange(a, b + 1) * step for a, b in zip(starts, stops, strict=True)]
    return np.unique(np.concatenate(nodes))


def _extrema(nodes: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the extrema of the Hermite cubics that lie strictly between adjacent nodes."""
    value, slope_right, slope_left, _ = table
    d0, d1 = slope_right[:-1], slope_left[1:]
    cell = np.flatnonzero(d0 * d1 < 0)
    width = np.diff(nodes)[cell]
    d0, d1, rise = d0[cell] * width, d1[cell] * width, np.diff(value)[cell]
    # The slope d0 + 2 c u + 3 e u^2 of the cubic changes sign once in (0, 1).
    c, e = 3 * rise - 2 * d0 - d1, d0 + d1 - 2 * rise
    turn = _bisect(lambda u: (d0 + u * (2 * c + 3 * e * u)) * d0 > 0, len(cell))
    return nodes[cell] + turn * width


def _cubic_crossing(ends: np.ndarray, slopes: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Return the points in [0, 1] where k cubics equal `level`, given their ends and slopes."""
    start, rise = ends[0], ends[1] - ends[0]
    c, e = 3 * rise - 2 * slopes[0] - slopes[1], slopes[0] + slopes[1] - 2 * rise
    return _bisect(
        lambda u: (start + u * (slopes[0] + u * (c + u * e)) < level) == (rise > 0), len(start)
    )


def _bisect(before: Callable[[np.ndarray], np.ndarray], size: int) -> np.ndarray:
    """Return the points in [0, 1] where `before` turns from true to false, to within 2^-41."""
    low, high = np.zeros(size), np.ones(size)
    for _ in range(40):
        middle = (low + high) / 2
        move = before(middle)
        low, high = np.where(move, middle, low), np.where(move, high, middle)
    return (low + high) / 2
