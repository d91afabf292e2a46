"""Bandwidths for densities of query results, chosen by out-of-sample likelihood.

The results from each database are scored under a density fitted to the results from all other
databases. All results from one database are left out together because they depend on each other.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from dpjax.core import validate
from dpjax.core.wording import BadValue

_MAX_PAIRS_SAMPLES = 2000
"""Maximum number of samples for which all pairwise distances are computed."""

_LEAST_FACTOR = 1e-12
"""Smallest factor to try: rounding errors are smaller than this multiple of the results' spread."""

_TIED = (
    "Some query results are equal, so the likelihood has no maximum; a rule of thumb chose the "
    "bandwidth instead."
)


@dataclass(frozen=True)
class VariableBandwidth:
    """A rule that sets bandwidths in proportion to the distance to the k-th nearest point.

    Attributes:
        factor: Ratio of the bandwidth to the distance to the k-th nearest point, or None to let
            `Density.fit` choose the factor with the largest likelihood.
        neighbor: The number k, or None to use sqrt(n), rounded, for a sample of size n.
        floor: Smallest distance to use, in the unit of the query, or None to compute the floor from
            each sample. `Density.fit` sets the floor that all samples share.

    References:
        Breiman, Meisel, Purcell 1977; Burchard, Daoud, Dotterrer 2020, Section 5.
    """

    factor: float | None = None
    neighbor: int | None = None
    floor: float | None = None

    def __post_init__(self):
        if self.factor is not None:
            validate.positive(factor=self.factor)
        if self.neighbor is not None:
            validate.positive_int(neighbor=self.neighbor)
        if self.floor is not None:
            validate.positive(floor=self.floor)

    def widths(self, sample: np.ndarray) -> np.ndarray:
        """Return the bandwidth at each point of a sample, [n].

        A `factor` of None is treated as 1. No bandwidth is below `factor` times the floor.

        Raises:
            ValueError: If there is no floor, and all points of the sample are equal.
        """
        floor = self.floor_of(sample) if self.floor is None else self.floor
        return (self.factor or 1.0) * np.maximum(nearest_distances(sample, self.neighbor), floor)

    def floor_of(self, sample: np.ndarray) -> float:
        """Return the floor of a sample: a tenth of the median positive distance between neighbors.

        The distances are those to the k-th nearest point. If ties make all of them 0, the distances
        between adjacent distinct points are used.

        Raises:
            ValueError: If all points of the sample are equal.
        """
        # Tied points have distance 0, and a bandwidth of 0 would turn them into an atom. The floor
        # is small but positive.
        distances = nearest_distances(sample, self.neighbor)
        positive = distances[distances > 0]
        positive = positive if len(positive) else np.diff(np.unique(sample))
        if not len(positive):
            raise BadValue(
                "variable bandwidths need results that vary, but all results were "
                f"{sample[0]:g}: pass a number as bandwidth."
            )
        return float(0.1 * np.median(positive))

    def __str__(self) -> str:
        factor = "likeliest factor" if self.factor is None else f"{self.factor:.4g}"
        return f"{factor} times a nearest-neighbor distance"


def nearest_distances(sample: np.ndarray, neighbor: int | None = None) -> np.ndarray:
    """Return float [n], the distance from each point of a sample to its k-th nearest other point.

    The argument `neighbor` is the number k, or None to use sqrt(n), rounded.
    """
    n = len(sample)
    k = min(neighbor or max(1, round(n**0.5)), n - 1)
    ordered = np.sort(sample)
    padded = np.concatenate([np.full(k, -np.inf), ordered, np.full(k, np.inf)])
    # In sorted order, a point and its k nearest neighbors form a window of k + 1 adjacent points.
    # It is therefore enough to try the windows that contain the point.
    windows = [
        np.maximum(ordered - padded[s : s + n], padded[s + k : s + k + n] - ordered)
        for s in range(k + 1)
    ]
    distances = np.empty(n)
    distances[np.argsort(sample, kind="stable")] = np.min(windows, axis=0)
    return distances


def rule_of_thumb(samples: np.ndarray, kernel: str, rule: str) -> np.ndarray:
    """Return float [d], one bandwidth per column, by Scott's or Silverman's rule.

    References:
        Scott (1992); Silverman (1986). The formulas agree with `scipy.stats.gaussian_kde`.
    """
    n, d = samples.shape
    factor = (4 / (d + 2)) ** (1 / (d + 4)) if rule == "silverman" else 1.0
    # A Laplace kernel of scale b has standard deviation sqrt(2) b.
    factor /= np.sqrt(2) if kernel == "laplace" else 1.0
    return factor * samples.std(axis=0, ddof=1) * n ** (-1 / (d + 4))


def log_likelihood(
    samples: np.ndarray, groups: np.ndarray, kernel: str, widths: np.ndarray
) -> float:
    """Return the mean out-of-sample log density of the samples.

    The density at a sample is estimated from the samples of all other groups.

    Args:
        samples: Samples, [n, d]. If there are more than 2000 samples, only some of the groups are
            used.
        groups: Group (database) of each sample, [n].
        kernel: 'laplace' or 'gaussian'; for d > 1, the kernels are products over the axes.
        widths: Bandwidths of the kernels at the samples, [n, d].

    Returns:
        The mean log density. It is minus infinity if the density is 0 at some sample, and NaN if
        there is only one group.
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
    """Find the bandwidth factor that maximizes the out-of-sample likelihood.

    The function returns the factor, the mean log density for this factor, and notes for a report.
    If results are tied, the likelihood grows without bound as the factor shrinks. In this case, the
    function returns the factor 1 and a note.
    """
    # scipy.optimize is imported only here because importing it takes longer than importing the rest
    # of dpjax.
    from scipy.optimize import minimize_scalar

    def loss(log_factor: float) -> float:
        value = log_likelihood(samples, groups, kernel, np.exp(log_factor) * widths)
        return -max(value, -1e300)

    grid = np.linspace(np.log(1e-3), np.log(1e2), 47)
    best = int(np.argmin([loss(g) for g in grid]))
    # The results may form clusters that are far apart compared to the distances within a cluster.
    while best == 0 and grid[0] > np.log(_LEAST_FACTOR) and not _are_tied(samples, groups):
        grid = grid - (grid[-2] - grid[0])
        best = int(np.argmin([loss(g) for g in grid]))
    if best == 0:
        return 1.0, -loss(0.0), (_TIED,)
    ends = grid[best - 1], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x)), -float(found.fun), ()


def _are_tied(samples: np.ndarray, groups: np.ndarray) -> bool:
    """Return whether every sample equals a sample of another group, so that no factor is best."""
    _, places, sizes = np.unique(samples, axis=0, return_inverse=True, return_counts=True)
    own = np.stack([places.ravel(), groups])
    _, of_own, repeats = np.unique(own, axis=1, return_inverse=True, return_counts=True)
    return bool((sizes[places.ravel()] > repeats[of_own.ravel()]).all())


def _subsample(groups: np.ndarray) -> np.ndarray:
    """Return the indices of about `_MAX_PAIRS_SAMPLES` samples from evenly spaced groups."""
    if len(groups) <= _MAX_PAIRS_SAMPLES:
        return np.arange(len(groups))
    names, sizes = np.unique(groups, return_counts=True)
    count = max(2, int(_MAX_PAIRS_SAMPLES / sizes.mean()))
    chosen = names[np.unique(np.linspace(0, len(names) - 1, count).astype(int))]
    keep = np.flatnonzero(np.isin(groups, chosen))
    return keep[:: max(1, len(keep) // _MAX_PAIRS_SAMPLES)]
