"""Two mixtures of Laplace kernels of one bandwidth, in closed form.

Between neighbouring sample points a mixture is A e^-s + B e^-(h-s), with s the distance from the
left point and h the gap, both in bandwidths. Hence the ratio of two mixtures is monotone there (a
Moebius function of e^2s), is constant in the tails, and takes its extremes at sample points.

Notation: a, b the two samples; t their merged points; A, B as above.
"""

from dataclasses import dataclass

import numpy as np

from dpjax.empirical._pieces import Pieces


@dataclass(frozen=True, eq=False)
class LaplacePieces(Pieces):
    """Pieces between merged sample points, for many second samples against one first sample.

    Attributes:
        from_left: [2, rows, pieces] A of both mixtures.
        from_right: [2, rows, pieces] B of both mixtures.
        gap: [rows, pieces] h.
    """

    from_left: np.ndarray
    from_right: np.ndarray
    gap: np.ndarray

    def split(self, row: np.ndarray, piece: np.ndarray, level: np.ndarray) -> np.ndarray:
        """[2, k] masses of p and q left of where the log ratio crosses `level`."""
        a, b = self.from_left[:, row, piece], self.from_right[:, row, piece]
        h = self.gap[row, piece]
        # A zero of (A_p - e^level A_q) e^-s + (B_p - e^level B_q) e^-(h-s); at a crossing the two
        # brackets differ in sign, but rounding may take either to 0, where the zero is at an end.
        ratio = np.exp(np.minimum(level, 0.0)), np.exp(np.minimum(-level, 0.0))
        falls = a[0] * ratio[1] - a[1] * ratio[0]
        rises = b[0] * ratio[1] - b[1] * ratio[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            s = (h + np.log(np.abs(falls)) - np.log(np.abs(rises))) / 2
        s = np.clip(np.nan_to_num(s, nan=0.0), 0.0, h)
        return (a * -np.expm1(-s) + b * (np.exp(s - h) - np.exp(-h))) / 2


def laplace_pieces(first: np.ndarray, second: np.ndarray, bandwidth: float) -> LaplacePieces:
    """Monotone pieces of two Laplace-kernel density estimates.

    Args:
        first: [n] sample of p.
        second: [rows, m] samples of q, one per row; NaN entries are left out.
        bandwidth: Scale of the kernels.

    Returns:
        [rows, n + m + 1] pieces; the outer two are the tails.
    """
    rows = len(second)
    sizes = np.count_nonzero(~np.isnan(second), axis=1)
    points = np.concatenate([np.broadcast_to(first, (rows, len(first))), second], axis=1)
    weights = np.zeros((2, *points.shape))
    weights[0, :, : len(first)] = 1 / len(first)
    weights[1, :, len(first) :] = np.where(np.isnan(second), 0.0, 1 / sizes[:, None])
    # A point that is left out keeps its place without weight, on top of some other point.
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

    # Pieces: left tail, the gaps, right tail; the tails have one of A and B only.
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
    """Largest |ln p - ln q| over the real line, exact.

    Args:
        first: [n] sample of p.
        second: [rows, m] samples of q; NaN entries are left out.
        bandwidth: Scale of the Laplace kernels of both.

    Returns:
        [rows] the largest log ratio.
    """
    return np.abs(laplace_pieces(first, second, bandwidth).left).max(axis=1)
