"""Kernels and bandwidths for the densities of query results, chosen out of sample.

The likelihood of a choice is that of each database's results under the density of all the other
databases' results; several draws on one database stand or fall together, since they are not
independent of each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from dpjax import _validate

KERNELS = ("laplace", "gaussian")
RULES = ("likelihood", "silverman", "scott", "variable")
# Pairwise distances of more samples than this are not worth their memory.
_MAX_PAIRS_SAMPLES = 2000


@dataclass(frozen=True)
class VariableBandwidth:
    """Bandwidths proportional to the distance to the k-th nearest other sample.

    Args:
        factor: The constant of proportionality; None is chosen by likelihood.
        neighbor: k; None is the whole number next to sqrt(n).

    References:
        Breiman, Meisel, Purcell 1977; Burchard, Daoud, Dotterrer 2020, Section 5.
    """

    factor: float | None = None
    neighbor: int | None = None

    def __post_init__(self):
        if self.factor is not None:
            _validate.positive(factor=self.factor)
        if self.neighbor is not None:
            _validate.positive_int(neighbor=self.neighbor)

    def widths(self, sample: np.ndarray) -> np.ndarray:
        """[n] bandwidths at the points of a sample [n], in units of `factor`."""
        distances = nearest_distances(sample, self.neighbor)
        # Ties have distance 0 and would be atoms; a tenth of the typical distance keeps them apart
        # from atoms and still narrow.
        positive = distances[distances > 0]
        floor = 0.1 * np.median(positive) if len(positive) else 1.0
        return np.maximum(distances, floor)


@dataclass(frozen=True)
class DensityChoice:
    """A kernel with its bandwidth, and how it was come by.

    Attributes:
        kernel: 'laplace', 'gaussian' or 'ecdf'.
        bandwidth: [d] scales of the kernel for each query; empty where variable or 'ecdf'.
        variable: The rule of a variable bandwidth, with its factor; else None.
        log_likelihood: Mean leave-one-database-out log-likelihood; NaN where not computed.
        notes: Sentences that belong in a report.
    """

    kernel: str
    bandwidth: tuple[float, ...]
    variable: VariableBandwidth | None = None
    log_likelihood: float = float("nan")
    notes: tuple[str, ...] = ()

    def widths(self, sample: np.ndarray) -> np.ndarray:
        """[n] bandwidths of the kernels at the points of a one-dimensional sample [n]."""
        if self.variable is None:
            return np.full(len(sample), self.bandwidth[0])
        assert self.variable.factor is not None
        return self.variable.factor * self.variable.widths(sample)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "DensityChoice":
        """The choice from what `dataclasses.asdict` made of it, by way of JSON."""
        variable = data["variable"] and VariableBandwidth(**data["variable"])
        return cls(
            data["kernel"],
            tuple(data["bandwidth"]),
            variable,
            float(data["log_likelihood"]),
            tuple(data["notes"]),
        )

    def __str__(self) -> str:
        """The choice in words."""
        if self.kernel == "ecdf":
            return "differences of the distribution function across sqrt(n) points"
        if self.variable is not None:
            return (
                f"{self.kernel} kernel, variable bandwidth "
                f"({self.variable.factor:.4g} times a nearest-neighbour distance)"
            )
        scales = ", ".join(f"{b:.4g}" for b in self.bandwidth)
        return f"{self.kernel} kernel, bandwidth {scales}"


def nearest_distances(sample: np.ndarray, neighbor: int | None = None) -> np.ndarray:
    """[n] distance of each point to its k-th nearest other point, k = round(sqrt(n)) by default."""
    n = len(sample)
    k = min(neighbor or max(1, round(n**0.5)), n - 1)
    if k == 0:
        return np.zeros(n)
    ordered = np.sort(sample)
    padded = np.concatenate([np.full(k, -np.inf), ordered, np.full(k, np.inf)])
    # The k nearest of a point are neighbours in sorted order: try all windows of k + 1 around it.
    windows = np.stack(
        [np.maximum(ordered - padded[s : s + n], padded[s + k : s + k + n] - ordered)
         for s in range(k + 1)]
    )  # fmt: skip
    distances = np.empty(n)
    distances[np.argsort(sample, kind="stable")] = windows.min(axis=0)
    return distances


def leave_one_out_likelihood(
    samples: np.ndarray, groups: np.ndarray, kernel: str, widths: np.ndarray
) -> float:
    """Mean log density of each group's samples under the kernels of all other groups.

    Args:
        samples: [n, d] samples.
        groups: [n] group (database) of each sample; there are at least two.
        kernel: 'laplace' or 'gaussian' (products of these for d > 1).
        widths: [n, d] bandwidths of the kernels at the samples.

    Returns:
        The mean log-likelihood; minus infinity where a sample is out of every kernel's reach.
    """
    z = (samples[:, None] - samples) / widths
    if kernel == "laplace":
        log_kernel = (-np.abs(z) - np.log(2 * widths)).sum(axis=2)
    else:
        log_kernel = (-(z**2) / 2 - np.log(np.sqrt(2 * np.pi) * widths)).sum(axis=2)
    others = groups[:, None] != groups
    log_kernel = np.where(others, log_kernel, -np.inf)
    return float(np.mean(scipy.special.logsumexp(log_kernel, axis=1) - np.log(others.sum(axis=1))))


def choose_density(
    samples: np.ndarray,
    groups: np.ndarray,
    *,
    kernel: str = "laplace",
    bandwidth: Any = "likelihood",
    names: Sequence[str] = ("query",),
) -> DensityChoice:
    """The kernel and bandwidth that the caller asked for, or the likeliest.

    Args:
        samples: [n, d] query results with everybody.
        groups: [n] database of each.
        kernel: 'laplace', 'gaussian', 'ecdf', or 'likelihood' for the likelier of the first two.
        bandwidth: A number, or d of them; 'likelihood', 'silverman', 'scott' or 'variable'; a
            `VariableBandwidth`. With kernel='likelihood', 'likelihood' also tries variable ones.
        names: The queries, for messages.

    Returns:
        The choice.

    Raises:
        ValueError: An argument is not known, or results without spread leave a rule no scale.
    """
    _validate.one_of([*KERNELS, "ecdf", "likelihood"], kernel=kernel)
    num_queries = samples.shape[1]
    if kernel == "ecdf":
        if num_queries > 1:
            raise ValueError("kernel 'ecdf' is for one query; joint ones take a smooth kernel.")
        return DensityChoice("ecdf", ())
    _check_bandwidth(bandwidth, num_queries)
    kernels = KERNELS if kernel == "likelihood" else (kernel,)
    if not isinstance(bandwidth, str | VariableBandwidth):
        scales = np.broadcast_to(np.asarray(bandwidth, float), num_queries)
        widths = np.broadcast_to(scales, samples.shape)
        candidates = [
            DensityChoice(k, tuple(scales.tolist()), None, _likelihood(samples, groups, k, widths))
            for k in kernels
        ]
        return max(candidates, key=lambda c: np.nan_to_num(c.log_likelihood, nan=-np.inf))
    spread = samples.std(axis=0)
    if not spread.all():
        flat = int(np.argmin(spread))
        where = "in the only database" if len(samples) == 1 else "in every database"
        raise ValueError(
            f"query {names[flat]!r} was {samples[0, flat]:g} {where}, so its density has no scale "
            f"and bandwidth {bandwidth!r} cannot be chosen; give bandwidth a number."
        )
    if len(np.unique(groups)) < 2:
        raise ValueError(
            f"bandwidth {bandwidth!r} needs at least two databases; give bandwidth a number."
        )
    rules = [bandwidth]
    if kernel == bandwidth == "likelihood" and num_queries == 1:
        rules.append("variable")
    candidates = [_by_rule(samples, groups, k, rule) for k in kernels for rule in rules]
    return max(candidates, key=lambda c: np.nan_to_num(c.log_likelihood, nan=-np.inf))


def _check_bandwidth(bandwidth: Any, num_queries: int) -> None:
    if isinstance(bandwidth, str):
        _validate.one_of(RULES, bandwidth=bandwidth)
    elif not isinstance(bandwidth, VariableBandwidth):
        _validate.positive(bandwidth=np.asarray(bandwidth) if np.ndim(bandwidth) else bandwidth)
        if np.size(bandwidth) not in (1, num_queries):
            raise ValueError(
                f"bandwidth must be one number, or one for each of the {num_queries} queries, but "
                f"was {bandwidth!r}."
            )
    if num_queries > 1 and (bandwidth == "variable" or isinstance(bandwidth, VariableBandwidth)):
        raise ValueError("bandwidth 'variable' is for one query; joint ones take a fixed one.")


def _by_rule(
    samples: np.ndarray, groups: np.ndarray, kernel: str, rule: str | VariableBandwidth
) -> DensityChoice:
    num_samples, num_queries = samples.shape
    if isinstance(rule, VariableBandwidth) or rule == "variable":
        variable = rule if isinstance(rule, VariableBandwidth) else VariableBandwidth()
        widths = variable.widths(samples[:, 0])[:, None]
        if variable.factor is None:
            best, value, notes = _likeliest(samples, groups, kernel, widths)
        else:
            best, notes = variable.factor, ()
            value = _likelihood(samples, groups, kernel, best * widths)
        return DensityChoice(kernel, (), VariableBandwidth(best, variable.neighbor), value, notes)
    # Silverman's and Scott's factors for a Gaussian; a Laplace kernel of scale b has standard
    # deviation sqrt(2) b.
    constant = {"silverman": (4 / (num_queries + 2)) ** (1 / (num_queries + 4))}.get(rule, 1.0)
    scale = samples.std(axis=0, ddof=1) * num_samples ** (-1 / (num_queries + 4)) * constant
    scale = scale / (np.sqrt(2) if kernel == "laplace" else 1.0)
    widths = np.broadcast_to(scale, samples.shape)
    best, notes = 1.0, ()
    if rule == "likelihood":
        best, value, notes = _likeliest(samples, groups, kernel, widths)
    else:
        value = _likelihood(samples, groups, kernel, widths)
    return DensityChoice(kernel, tuple((best * scale).tolist()), None, value, notes)


def _likelihood(samples: np.ndarray, groups: np.ndarray, kernel: str, widths: np.ndarray) -> float:
    if len(np.unique(groups)) < 2:
        return float("nan")
    keep = _subsample(groups)
    return leave_one_out_likelihood(samples[keep], groups[keep], kernel, widths[keep])


def _likeliest(
    samples: np.ndarray, groups: np.ndarray, kernel: str, widths: np.ndarray
) -> tuple[float, float, tuple[str, ...]]:
    """Factor for `widths`, its likelihood, and a note where the likelihood has no inner maximum."""
    # Here, since it costs more to import than the rest of the library.
    from scipy.optimize import minimize_scalar

    def loss(log_factor: float) -> float:
        value = _likelihood(samples, groups, kernel, np.exp(log_factor) * widths)
        return -max(value, -1e300)

    grid = np.linspace(np.log(1e-3), np.log(1e2), 47)
    losses = [loss(g) for g in grid]
    best = int(np.argmin(losses))
    if best == 0:
        value = _likelihood(samples, groups, kernel, widths)
        return 1.0, value, (
            "Tied query results make the likelihood grow without bound as the bandwidth shrinks, "
            "so the rule of thumb took its place.",
        )  # fmt: skip
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
