"""Two mixtures of Gaussian or Laplace kernels in which each kernel has its own bandwidth.

If the bandwidths differ, the intervals on which the log ratio of the two mixtures is monotone have
no closed form. The log ratio is therefore tabulated on a lattice with eight nodes per local
bandwidth, and interpolated by Hermite cubics between the nodes. The extrema of the cubics are added
to the nodes. Masses are computed from the exact distribution functions of the mixtures. At a
crossing of the log ratio with epsilon, the integrand of delta is 0, so an error in the crossing's
position changes delta only to second order.

In the notation of this module, p and q are the mixtures, l = ln p - ln q, and
z = (x - center) / bandwidth.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from dpjax.core.wording import BadValue
from dpjax.empirical._pieces import Pieces

_NODES_PER_BANDWIDTH = 8
# A bandwidth must be at least this multiple of the distance between adjacent floats at the kernel's
# center, so that the nodes around the center are distinct floats. Nodes may be a sixteenth of a
# bandwidth apart.
_LEAST_SPACINGS = 64
# Half width, in bandwidths, of the window of nodes around each center. The mass of a kernel outside
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
        """Return the log density at k points x, [k]."""
        return self._log_density_and_slopes(x)[0]

    def table(self, x: np.ndarray) -> np.ndarray:
        """Tabulate the mixture at k points x, [4, k].

        The rows are the log density, its right derivative, its left derivative, and the
        distribution function.
        """
        log_density, slope_right, slope_left = self._log_density_and_slopes(x)
        return np.stack([log_density, slope_right, slope_left, self.cdf(x)])

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """Return the distribution function at k points x, [k]."""
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
        # A Laplace kernel of bandwidth b has a kink at its center: the slope of its log density is
        # 1/b on the left and -1/b on the right.
        kink = 0.0 if gaussian else (weight * (z == 0) / self.bandwidths).sum(axis=1) / total
        return top + np.log(total / norm), slope - kink, slope + kink


@dataclass(frozen=True, eq=False)
class MixturePieces(Pieces):
    """A single row of pieces: the intervals between adjacent nodes of the tabulated log ratio.

    Attributes:
        nodes: Ends of the pieces, [pieces + 1].
        slopes: Slopes of the log ratio at both ends of each piece, [2, pieces].
        below: Masses of p and q to the left of each piece, [2, pieces].
        first: The mixture p.
        second: The mixture q.
        errors: Bounds on the error of delta due to inexact positions of crossings, one bound per
            call of `split`.
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
        """Return float [2, k], the masses of p and q left of the crossing in each of k pieces."""
        del row
        width = np.diff(self.nodes)[piece]
        ends = np.stack([self.left[0, piece], self.right[0, piece]])
        u = _cubic_crossing(ends, self.slopes[:, piece] * width, level)
        x = self.nodes[piece] + u * width
        masses = np.stack([m.cdf(x) for m in (self.first, self.second)]) - self.below[:, piece]
        log_p, log_q = self.first.log_density(x), self.second.log_density(x)
        # Between the computed and the true crossing, the integrand is no larger than at the
        # computed crossing.
        excess = np.exp(np.maximum(log_p, log_q)) * -np.expm1(-np.abs(log_p - log_q - level))
        self.errors.append(float(np.max(excess * width)))
        return masses


def mixture_pieces(first: Mixture, second: Mixture) -> MixturePieces:
    """Return the pieces on which the log ratio of two mixtures with the same kernel is monotone.

    Raises:
        ValueError: If a bandwidth is so small that floats cannot represent the nodes.
    """
    _refuse_narrow(first)
    _refuse_narrow(second)
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


def _refuse_narrow(mixture: Mixture) -> None:
    """Raise ValueError if a bandwidth is too small for the size of the kernel's center."""
    least = _LEAST_SPACINGS * np.spacing(np.abs(mixture.centers))
    worst = int(np.argmax(least / mixture.bandwidths))
    if mixture.bandwidths[worst] < least[worst]:
        raise BadValue(
            f"bandwidth must be at least {least[worst]:.3g} for query results as large as "
            f"{mixture.centers[worst]:.6g}, because of the limited precision of float64, but was "
            f"{mixture.bandwidths[worst]:.3g}: subtract a constant from the results, or choose a "
            "larger bandwidth."
        )


def _lattice(first: Mixture, second: Mixture) -> np.ndarray:
    """Return nodes around each center; their spacing is proportional to the kernel's bandwidth."""
    centers = np.concatenate([first.centers, second.centers])
    bandwidths = np.concatenate([first.bandwidths, second.bandwidths])
    # Round bandwidths down to powers of 2, so that kernels of similar bandwidth share a lattice.
    widest = bandwidths.max()
    level = np.floor(np.log2(bandwidths / widest))
    # Rounding may nearly halve a bandwidth, so the reach is doubled.
    reach = (1 + (level.min() < 0)) * _REACH[first.kernel] * _NODES_PER_BANDWIDTH
    # Laplace kernels have kinks at their centers, so the centers must be nodes.
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
    """Return the extrema of the Hermite cubics in the open intervals between adjacent nodes."""
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
    """Return float [k], the points between 0 and 1 at which k cubics equal their levels.

    Args:
        ends: Values of the cubics at 0 and at 1, [2, k].
        slopes: Slopes of the cubics at 0 and at 1, [2, k].
        level: Value of each cubic at the returned point, [k].
    """
    start, rise = ends[0], ends[1] - ends[0]
    c, e = 3 * rise - 2 * slopes[0] - slopes[1], slopes[0] + slopes[1] - 2 * rise
    return _bisect(
        lambda u: (start + u * (slopes[0] + u * (c + u * e)) < level) == (rise > 0), len(start)
    )


def _bisect(before: Callable[[np.ndarray], np.ndarray], size: int) -> np.ndarray:
    """Find the points between 0 and 1 where `before` turns from true to false, to within 2^-41."""
    low, high = np.zeros(size), np.ones(size)
    for _ in range(40):
        middle = (low + high) / 2
        move = before(middle)
        low, high = np.where(move, middle, low), np.where(move, high, middle)
    return (low + high) / 2
