"""Densities by differencing the empirical distribution function across about sqrt(n) points.

Between knots taken at every sqrt(n)-th order statistic the mass is spread evenly; where knots
coincide (ties), their mass is an atom. Both are exact, so delta is a finite sum.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class SteppedPieces:
    """Pieces on which both densities are constant, and atoms; build with `ecdf_pieces`."""

    left: np.ndarray
    right: np.ndarray
    mass_p: np.ndarray
    mass_q: np.ndarray

    def split(self, row: np.ndarray, piece: np.ndarray, level: np.ndarray) -> np.ndarray:
        """Never needed: the log ratio is constant on every piece."""
        raise AssertionError("A constant log ratio crosses nothing.")


def ecdf_knots(sample: np.ndarray, stride: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Knots of the differenced distribution function.

    Args:
        sample: [n] finite values.
        stride: Order statistics per knot; default the whole number next to sqrt(n).

    Returns:
        [K] knots, not decreasing, and [K] shares of the mass up to each, from 0 to 1. One sample
        gives two equal knots: an atom.
    """
    ordered = np.sort(sample)
    stride = stride or max(1, round(len(ordered) ** 0.5))
    last = len(ordered) - 1
    if last == 0:
        return np.repeat(ordered, 2), np.array([0.0, 1.0])
    ranks = np.unique(np.append(np.arange(0, last, stride), last))
    return ordered[ranks], ranks / last


def ecdf_pieces(first: np.ndarray, second: np.ndarray) -> SteppedPieces:
    """Constant pieces and atoms of two differenced distribution functions.

    Args:
        first: [n] sample of p.
        second: [m] sample of q; NaN entries are left out.

    Returns:
        One row of pieces.

    References:
        Burchard, Daoud, Dotterrer 2020, Section 5.
    """
    samples = (first, second[~np.isnan(second)])
    knots = [ecdf_knots(s) for s in samples]
    t = np.unique(np.concatenate([k for k, _ in knots]))
    masses = []
    for knot, share in knots:
        upto, before = _cdf(knot, share, t, "right"), _cdf(knot, share, t, "left")
        masses.append(np.concatenate([upto - before, before[1:] - upto[:-1]]))
    p, q = np.clip(masses, 0, None)
    # Rounding leaves dust of 1e-17 where there is no mass.
    p, q = np.where(p < 1e-14, 0, p), np.where(q < 1e-14, 0, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.nan_to_num(np.log(p) - np.log(q), nan=0.0, posinf=np.inf, neginf=-np.inf)
    return SteppedPieces(log_ratio[None], log_ratio[None], p[None], q[None])


def _cdf(knot: np.ndarray, share: np.ndarray, t: np.ndarray, side: str) -> np.ndarray:
    """Share of the mass below each t, the atom at t included ('right') or not ('left')."""
    right = np.searchsorted(knot, t, "right")
    left = np.searchsorted(knot, t, "left")
    at_knot = right > left
    position = np.clip((right - 1) if side == "right" else left, 0, len(knot) - 1)
    between = np.interp(t, *_distinct(knot, share))
    return np.where(at_knot, share[position], between)


def _distinct(knot: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For points strictly between knots: a jump becomes two knots an ulp apart."""
    first = np.concatenate([[True], np.diff(knot) > 0])
    last = np.concatenate([np.diff(knot) > 0, [True]])
    x = np.concatenate([knot[first], np.nextafter(knot[last], np.inf)])
    y = np.concatenate([share[first], share[last]])
    order = np.argsort(x, kind="stable")
    return np.append(x[order], np.inf), np.append(y[order], 1.0)
