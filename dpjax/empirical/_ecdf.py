"""Densities from differences of the empirical distribution function.

In a sample of size n, every sqrt(n)-th order statistic is a knot, and the probability mass between
two adjacent knots is spread evenly. If two adjacent knots coincide because of ties, their mass is
an atom. The estimated density is constant between knots, so delta is a finite sum in closed form.
"""

import numpy as np

from dpjax.empirical._pieces import Pieces


def ecdf_knots(sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the knots of a sample; the estimated density is constant between adjacent knots.

    Args:
        sample: Finite values, [n].

    Returns:
        The knots [K] in non-decreasing order, and the share of the mass up to each knot, [K]. The
        shares rise from 0 to 1. A sample of size 1 has two equal knots, so all of its mass is an
        atom.
    """
    ordered = np.sort(sample)
    last = len(ordered) - 1
    if last == 0:
        return np.repeat(ordered, 2), np.array([0.0, 1.0])
    ranks = np.unique(np.append(np.arange(0, last, max(1, round(len(ordered) ** 0.5))), last))
    return ordered[ranks], ranks / last


def ecdf_pieces(first: np.ndarray, second: np.ndarray) -> Pieces:
    """Return the pieces of two densities: intervals where both densities are constant, and atoms.

    References:
        Burchard, Daoud, Dotterrer 2020, Section 5.
    """
    knots = [ecdf_knots(s) for s in (first, second)]
    ends = np.unique(np.concatenate([k for k, _ in knots]))
    p, q = (_masses(knot, share, ends) for knot, share in knots)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.nan_to_num(np.log(p) - np.log(q), nan=0.0, posinf=np.inf, neginf=-np.inf)
    return Pieces(log_ratio[None], log_ratio[None], p[None], q[None])


def _masses(knot: np.ndarray, share: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the masses of k atoms, followed by the masses of the k - 1 intervals between them."""
    place, first = np.unique(knot, return_index=True)
    last = np.append(first[1:], len(knot)) - 1
    atoms = np.zeros(len(ends))
    atoms[np.searchsorted(ends, place)] = share[last] - share[first]
    spread = np.cumsum(np.append(0.0, share[first[1:]] - share[last[:-1]]))
    masses = np.append(atoms, np.diff(np.interp(ends, place, spread)))
    # Rounding errors leave masses of about 1e-17 in places without mass.
    return np.where(masses < 1e-14, 0.0, masses)
