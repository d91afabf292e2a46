"""Densities by differencing the empirical distribution function across about sqrt(n) points.

Knots are taken at every sqrt(n)-th order statistic. Mass between knots is spread evenly; the mass
of coinciding knots (ties) is an atom. Both have closed forms, so delta is a finite sum.
"""

import numpy as np

from dpjax.empirical._pieces import Pieces


def ecdf_knots(sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the knots of the differenced distribution function.

    Args:
        sample: Finite values, [n].

    Returns:
        Knots [K], non-decreasing, and the share [K] of the mass up to each, from 0 to 1. A single
        value gives two equal knots: an atom.
    """
    ordered = np.sort(sample)
    last = len(ordered) - 1
    if last == 0:
        return np.repeat(ordered, 2), np.array([0.0, 1.0])
    ranks = np.unique(np.append(np.arange(0, last, max(1, round(len(ordered) ** 0.5))), last))
    return ordered[ranks], ranks / last


def ecdf_pieces(first: np.ndarray, second: np.ndarray) -> Pieces:
    """Return the constant pieces and atoms of two differenced distribution functions.

    Args:
        first: Sample of p, [n].
        second: Sample of q, [m].

    Returns:
        One row of pieces.

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
    """Return the masses of the atoms at k ends, then those spread between the ends, [2 k - 1]."""
    place, first = np.unique(knot, return_index=True)
    last = np.append(first[1:], len(knot)) - 1
    atoms = np.zeros(len(ends))
    atoms[np.searchsorted(ends, place)] = share[last] - share[first]
    spread = np.cumsum(np.append(0.0, share[first[1:]] - share[last[:-1]]))
    masses = np.append(atoms, np.diff(np.interp(ends, place, spread)))
    # Rounding leaves residues of 1e-17 where there is no mass.
    return np.where(masses < 1e-14, 0.0, masses)
