"""Closed-form comparison of two mixtures of Laplace kernels with the same bandwidth.

Consider two adjacent points of the merged samples. Let h be the distance between them, and let s be
the distance from the left point to a place in between, both in units of the bandwidth. Between the
two points, a mixture is A e^-s + B e^-(h-s). The ratio of two mixtures is therefore a Moebius
function of e^(2s), and hence monotone. In the tails, the ratio is constant. The ratio therefore
attains its extremes at sample points.
"""

from dataclasses import dataclass

import numpy as np

from dpjax.empirical._pieces import Pieces


@dataclass(frozen=True, eq=False)
class LaplacePieces(Pieces):
    """Intervals of the real line between adjacent points of two merged samples.

    All rows share the first sample, and each row has its own second sample.

    Attributes:
        from_left: Coefficients A of e^-s on each piece, one per mixture, [2, rows, pieces].
        from_right: Coefficients B of e^-(h-s) on each piece, one per mixture, [2, rows, pieces].
        gap: Length h of each piece, in units of the bandwidth, [rows, pieces].
    """

    from_left: np.ndarray
    from_right: np.ndarray
    gap: np.ndarray

    def split(self, row: np.ndarray, piece: np.ndarray, level: np.ndarray) -> np.ndarray:
        """Return float [2, k], the masses of p and q left of the crossing in each of k pieces."""
        a, b = self.from_left[:, row, piece], self.from_right[:, row, piece]
        h = self.gap[row, piece]
        # The crossing s solves (A_p - e^level A_q) e^-s + (B_p - e^level B_q) e^-(h-s) = 0, where
        # the two differences have opposite signs. If a difference is rounded to 0, s is an end of
        # the piece.
        ratio = np.exp(np.minimum(level, 0.0)), np.exp(np.minimum(-level, 0.0))
        falls = a[0] * ratio[1] - a[1] * ratio[0]
        rises = b[0] * ratio[1] - b[1] * ratio[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            s = (h + np.log(np.abs(falls)) - np.log(np.abs(rises))) / 2
        s = np.clip(np.nan_to_num(s, nan=0.0), 0.0, h)
        return (a * -np.expm1(-s) + b * (np.exp(s - h) - np.exp(-h))) / 2


def laplace_pieces(first: np.ndarray, second: np.ndarray, bandwidth: float) -> LaplacePieces:
    """Return the pieces on which the ratio of two Laplace-kernel density estimates is monotone.

    Args:
        first: Sample from which the density p is estimated, [n].
        second: Samples from which the densities q are estimated, one per row, [rows, m]. NaN
            entries are ignored.
        bandwidth: Scale of the kernels.

    Returns:
        The pieces, [rows, n + m + 1]. The first and the last piece of each row are the tails.
    """
    rows = len(second)
    sizes = np.count_nonzero(~np.isnan(second), axis=1)
    points = np.concatenate([np.broadcast_to(first, (rows, len(first))), second], axis=1)
    weights = np.zeros((2, *points.shape))
    weights[0, :, : len(first)] = 1 / len(first)
    weights[1, :, len(first) :] = np.where(np.isnan(second), 0.0, 1 / sizes[:, None])
    # A NaN entry gets weight 0 and the position of another point, so it has no effect.
    points = np.where(np.isnan(points), first[0], points)
    order = np.argsort(points, axis=1, kind="stable")
    t = np.take_along_axis(points, order, axis=1)
    weights = np.take_along_axis(weights, order[None], axis=2)
    gap = np.diff(t, axis=1) / bandwidth
    decay = np.exp(-gap)

    from_left, from_right = weights.copy(), weights.copy()
    for k in range(1, t.shape[1]):
        from_left[:, :, k] += from_left[:, :, k - 1] * decay[:, k - 1]
    for k in range(t.shape[1] - 2, -1, -1):
        from_right[:, :, k] += from_right[:, :, k + 1] * decay[:, k]

    height = from_left + from_right - weights
    with np.errstate(divide="ignore"):
        log_ratio = np.log(height[0]) - np.log(height[1])

    # The pieces are the left tail, the gaps and the right tail. The left tail has A = 0, and the
    # right tail has B = 0.
    nothing = np.zeros((2, rows, 1))
    far = np.full((rows, 1), np.inf)
    a = np.concatenate([nothing, from_left], axis=2)
    b = np.concatenate([from_right, nothing], axis=2)
    h = np.concatenate([far, gap, far], axis=1)
    mass = (a + b) * -np.expm1(-h) / 2
    return LaplacePieces(
        left=np.concatenate([log_ratio[:, :1], log_ratio], axis=1),
        right=np.concatenate([log_ratio, log_ratio[:, -1:]], axis=1),
        mass_p=mass[0],
        mass_q=mass[1],
        from_left=a,
        from_right=b,
        gap=h,
    )


def laplace_log_ratio(first: np.ndarray, second: np.ndarray, bandwidth: float) -> np.ndarray:
    """Return float [rows], the exact maximum of |ln p - ln q| over the real line for each row.

    Args:
        first: Sample from which the density p is estimated, [n].
        second: Samples from which the densities q are estimated, one per row, [rows, m]. NaN
            entries are ignored.
        bandwidth: Scale of the Laplace kernels of p and q.
    """
    return np.abs(laplace_pieces(first, second, bandwidth).left).max(axis=1)
