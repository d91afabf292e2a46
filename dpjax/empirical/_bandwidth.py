"""Bandwidths for the densities of query results, chosen out of sample.

The likelihood of a choice is that of each database's results under the density of all the other
databases' results; several draws on one database stand or fall together, since they are not
independent of each other.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from dpjax.core import validate

_MAX_PAIRS_SAMPLES = 2000
"""Samples whose pairwise distances are worth their memory."""

_TIED = (
    "Tied query results make the likelihood grow without bound as the bandwidth shrinks, so the "
    "rule of thumb took its place."
)


@dataclass(frozen=True)
class VariableBandwidth:
    """Bandwidths proportional to the distance to the k-th nearest other sample.

    Attributes:
        factor: The constant of proportionality; None is chosen by likelihood.
        neighbor: k; None is the whole number next to sqrt(n).

    References:
        Breiman, Meisel, Purcell 1977; Burchard, Daoud, Dotterrer 2020, Section 5.
    """

    factor: float | None = None
    neighbor: int | None = None

    def __post_init__(self):
        if self.factor is not None:
            validate.positive(factor=self.factor)
        if self.neighbor is not None:
            validate.positive_int(neighbor=self.neighbor)

    def widths(self, sample: np.ndarray) -> np.ndarray:
        """[n] bandwidths at the points of a sample [n]; in units of `factor` where it is None."""
        distances = nearest_distances(sample, self.neighbor)
        # Ties have distance 0 and would be atoms; a tenth of the typical distance keeps them apart
        # from atoms and still narrow.
        positive = distances[distances > 0]
        floor = 0.1 * np.median(positive) if len(positive) else 1.0
        return (self.factor or 1.0) * np.maximum(distances, floor)

    def __str__(self) -> str:
        """The rule in words."""
        factor = "likeliest factor" if self.factor is None else f"{self.factor:.4g}"
        return f"{factor} times a nearest-neighbour distance"


def nearest_distances(sample: np.ndarray, neighbor: int | None = None) -> np.ndarray:
    """[n] distance of each point to its k-th nearest other point, k = round(sqrt(n)) by default."""
    n = len(sample)
    k = min(neighbor or max(1, round(n**0.5)), n - 1)
    ordered = np.sort(sample)
    padded = np.concatenate([np.full(k, -np.inf), ordered, np.full(k, np.inf)])
    # The k nearest of a point are neighbours in sorted order: try all windows of k + 1 around it.
    windows = [
        np.maximum(ordered - padded[s : s + n], padded[s + k : s + k + n] - ordered)
        for s in range(k + 1)
    ]
    distances = np.empty(n)
    distances[np.argsort(sample, kind="stable")] = np.min(windows, axis=0)
    return distances


def rule_of_thumb(samples: np.ndarray, kernel: str, rule: str) -> np.ndarray:
    """[d] bandwidths from the spread of samples [n, d], with the factors of scipy.

    Args:
        samples: [n, d] samples.
        kernel: 'laplace' or 'gaussian'.
        rule: 'silverman'; anything else is 'scott'.

    References:
        Scott (1992); Silverman (1986); as in `scipy.stats.gaussian_kde`.
    """
    n, d = samples.shape
    factor = (4 / (d + 2)) ** (1 / (d + 4)) if rule == "silverman" else 1.0
    # A Laplace kernel of scale b has standard deviation sqrt(2) b.
    factor /= np.sqrt(2) if kernel == "laplace" else 1.0
    return factor * samples.std(axis=0, ddof=1) * n ** (-1 / (d + 4))


def log_likelihood(
    samples: np.ndarray, groups: np.ndarray, kernel: str, widths: np.ndarray
) -> float:
    """Mean log density of each group's samples under the kernels of all other groups.

    Args:
        samples: [n, d] samples; of more than 2000, groups all over the sequence are taken.
        groups: [n] group (database) of each sample.
        kernel: 'laplace' or 'gaussian' (products of these for d > 1).
        widths: [n, d] bandwidths of the kernels at the samples.

    Returns:
        The mean log-likelihood; minus infinity where a sample is out of every kernel's reach, NaN
        for a single group.
    """
    keep = _subsample(groups)
    samples, groups, widths = samples[keep], groups[keep], widths[keep]
    others = groups[:, None] != groups
    if not others.any():
        return float("nan")
    z = (samples[:, None] - samples) / widths
    if kernel == "laplace":
        log_kernel = (-np.abs(z) - np.log(2 * widths)).sum(axis=2)
    else:
        log_kernel = (-(z**2) / 2 - np.log(np.sqrt(2 * np.pi) * widths)).sum(axis=2)
    log_kernel = np.where(others, log_kernel, -np.inf)
    return float(np.mean(scipy.special.logsumexp(log_kernel, axis=1) - np.log(others.sum(axis=1))))


def likeliest_factor(
    samples: np.ndarray, groups: np.ndarray, kernel: str, widths: np.ndarray
) -> tuple[float, float, tuple[str, ...]]:
    """Factor for `widths`, its likelihood, and a note where the likelihood has no inner maximum."""
    # Here, since it costs more to import than the rest of the library.
    from scipy.optimize import minimize_scalar

    def loss(log_factor: float) -> float:
        value = log_likelihood(samples, groups, kernel, np.exp(log_factor) * widths)
        return -max(value, -1e300)

    grid = np.linspace(np.log(1e-3), np.log(1e2), 47)
    best = int(np.argmin([loss(g) for g in grid]))
    if best == 0:
        return 1.0, -loss(0.0), (_TIED,)
    ends = grid[best - 1], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x)), -float(found.fun), ()


def _subsample(groups: np.ndarray) -> np.ndarray:
    """Indices of at most `_MAX_PAIRS_SAMPLES` samples, from groups all over the sequence."""
    if len(groups) <= _MAX_PAIRS_SAMPLES:
        return np.arange(len(groups))
    names, sizes = np.unique(groups, return_counts=True)
    count = max(2, int(_MAX_PAIRS_SAMPLES / sizes.mean()))
    chosen = names[np.unique(np.linspace(0, len(names) - 1, count).astype(int))]
    keep = np.flatnonzero(np.isin(groups, chosen))
    return keep[:: max(1, len(keep) // _MAX_PAIRS_SAMPLES)]
