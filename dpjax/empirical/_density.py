"""Density estimation for query results: options, and the choice of kernel and bandwidth."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue
from dpjax.empirical._bandwidth import (
    VariableBandwidth,
    likeliest_factor,
    log_likelihood,
    rule_of_thumb,
)

KERNELS = ("laplace", "gaussian")
RULES = ("likelihood", "silverman", "scott", "variable")


@dataclass(frozen=True)
class Density:
    """Options for estimating the density of query results.

    The densities of the results with and without an individual are estimated with the same
    bandwidth, or with the same rule for variable bandwidths.

    Attributes:
        kernel: 'laplace' (closed-form integrals), 'gaussian', 'likelihood' (the Laplace or Gaussian
            kernel, whichever has the higher out-of-sample likelihood), or 'ecdf' (differences of
            the empirical distribution function, without a bandwidth).
        bandwidth: A number in the unit of the query (for a joint query, one number for all queries
            or one for each); 'likelihood', 'silverman', 'scott' or 'variable'; or a
            `VariableBandwidth`. If both `kernel` and `bandwidth` are 'likelihood', variable
            bandwidths are tried too. The kernel 'ecdf' has no bandwidth.
        cells: Even number of grid cells per axis for a joint query. None means 256 cells for two
            queries, and 64 cells for three queries.

    Raises:
        TypeError: If an attribute has the wrong type.
        ValueError: If the value of an attribute is not allowed.

    References:
        Burchard, Daoud, Dotterrer 2020, Section 5.
    """

    kernel: str = "laplace"
    bandwidth: float | Sequence[float] | str | VariableBandwidth = "likelihood"
    cells: int | None = None

    def __post_init__(self):
        validate.one_of([*KERNELS, "ecdf", "likelihood"], kernel=self.kernel)
        bandwidth = self.bandwidth
        if isinstance(bandwidth, str):
            validate.one_of(RULES, bandwidth=bandwidth)
            bandwidth = VariableBandwidth() if bandwidth == "variable" else bandwidth
        elif not isinstance(bandwidth, VariableBandwidth):
            validate.positive(bandwidth=np.asarray(bandwidth) if np.ndim(bandwidth) else bandwidth)
            bandwidth = np.asarray(bandwidth, float).tolist()
            bandwidth = tuple(bandwidth) if isinstance(bandwidth, list) else bandwidth
        if self.kernel == "ecdf" and bandwidth != "likelihood":
            raise BadValue(
                f"bandwidth has no effect with kernel 'ecdf', but was {self.bandwidth!r}: leave "
                "out the bandwidth, or choose another kernel."
            )
        object.__setattr__(self, "bandwidth", bandwidth)
        if self.cells is not None:
            validate.positive_int(cells=self.cells, at_least=4)
            if self.cells % 2:
                raise ValueError(f"cells must be even, but was {self.cells!r}.")

    @property
    def scales(self) -> tuple[float, ...]:
        """Fixed bandwidths, one for all queries or one per query; () if no bandwidth is fixed."""
        if self.kernel == "ecdf" or isinstance(self.bandwidth, str | VariableBandwidth):
            return ()
        return tuple(np.ravel(self.bandwidth).tolist())

    def widths(self, sample: np.ndarray) -> np.ndarray:
        """Return the kernel bandwidth at each point of a one-dimensional sample, [n]."""
        if isinstance(self.bandwidth, VariableBandwidth):
            return self.bandwidth.widths(sample)
        return np.full(len(sample), self.scales[0])

    def fit(
        self,
        samples: np.ndarray,
        groups: np.ndarray,
        names: Sequence[str] = ("query",),
        where: str | None = None,
    ) -> "FittedDensity":
        """Choose the kernel and the bandwidth from data, as the options specify.

        Args:
            samples: Results of d queries with all individuals present, [n, d].
            groups: Database of each result, [n].
            names: Names of the queries, used in error messages.
            where: Description of the databases, used in error messages; None for all databases.

        Returns:
            The chosen kernel and bandwidth.

        Raises:
            ValueError: If the query is joint but the options are for a single query, or if no rule
                can choose a bandwidth because all results are equal.
        """
        num_queries, bandwidth = samples.shape[1], self.bandwidth
        by_rule = isinstance(bandwidth, str | VariableBandwidth)
        if num_queries > 1 and (self.kernel == "ecdf" or isinstance(bandwidth, VariableBandwidth)):
            raise BadValue(
                "kernel 'ecdf' and variable bandwidths support only one query, but there were "
                f"{num_queries} queries: use another kernel with a fixed bandwidth."
            )
        if not by_rule and np.size(bandwidth) not in (1, num_queries):
            raise BadValue(
                f"bandwidth must be one number, or one for each of the {num_queries} queries, but "
                f"was {bandwidth!r}."
            )
        if self.kernel == "ecdf":
            return FittedDensity(self)
        if by_rule:
            _refuse_without_scale(samples, groups, bandwidth, names, where)
        rules: list[object] = [bandwidth]
        if self.kernel == bandwidth == "likelihood" and num_queries == 1:
            rules.append(VariableBandwidth())
        kernels = KERNELS if self.kernel == "likelihood" else (self.kernel,)
        asked = [replace(self, kernel=k, bandwidth=rule) for k in kernels for rule in rules]
        fitted = [_fitted(samples, groups, density) for density in asked]
        return max(fitted, key=lambda f: np.nan_to_num(f.log_likelihood, nan=-np.inf))

    def __str__(self) -> str:
        if self.kernel == "ecdf":
            return "differences of the distribution function across sqrt(n) points"
        if isinstance(self.bandwidth, VariableBandwidth):
            return f"{self.kernel} kernel, variable bandwidth ({self.bandwidth})"
        scales = ", ".join(f"{b:.4g}" for b in self.scales)
        return f"{self.kernel} kernel, bandwidth {scales or self.bandwidth}"


class FittedDensity(NamedTuple):
    """The kernel and bandwidth chosen by `Density.fit`.

    Attributes:
        density: Density options. The kernel is fixed, and so is the bandwidth or, if the bandwidth
            is variable, its factor.
        log_likelihood: Mean log density of all results, or NaN if it was not computed. The results
            from each database are scored under a density fitted to the other databases.
        notes: Sentences to include in a report.
    """

    density: Density
    log_likelihood: float = float("nan")
    notes: tuple[str, ...] = ()


def check_density(density: object) -> None:
    """Check that the argument `density` is a `Density`.

    Raises:
        TypeError: If `density` has another type.
    """
    if not isinstance(density, Density):
        raise BadType(
            "density must be a dpjax.empirical.Density, for example Density(kernel='laplace'), but "
            f"was {density!r}."
        )


def _refuse_without_scale(
    samples: np.ndarray,
    groups: np.ndarray,
    bandwidth: object,
    names: Sequence[str],
    where: str | None,
) -> None:
    spread = np.ptp(samples, axis=0)
    if not spread.all():
        flat = int(np.argmin(spread))
        every = "in the only database" if len(samples) == 1 else "in every database"
        where = every if where is None else f"in every database {where.strip()}"
        raise ValueError(
            f"query {names[flat]!r} was {samples[0, flat]:g} {where}: bandwidth {bandwidth!r} "
            "cannot be chosen because the results do not vary; pass a number as bandwidth."
        )
    if len(np.unique(groups)) < 2:
        raise ValueError(
            f"bandwidth {bandwidth!r} needs at least two databases; pass a number as bandwidth."
        )


def _fitted(samples: np.ndarray, groups: np.ndarray, asked: Density) -> FittedDensity:
    """Fit a density with a given kernel and a given rule for its bandwidth."""
    rule, kernel = asked.bandwidth, asked.kernel
    if isinstance(rule, VariableBandwidth):
        # The densities with and without an individual must have the same floor.
        rule = replace(rule, floor=rule.floor or rule.floor_of(samples[:, 0]))
        scale, free = rule.widths(samples[:, 0])[:, None], rule.factor is None
    elif isinstance(rule, str):
        scale, free = rule_of_thumb(samples, kernel, rule), rule == "likelihood"
    else:
        scale, free = np.broadcast_to(np.asarray(rule, float), samples.shape[1]), False
    widths = np.broadcast_to(scale, samples.shape)
    if free:
        factor, value, notes = likeliest_factor(samples, groups, kernel, widths)
    else:
        factor, value, notes = 1.0, log_likelihood(samples, groups, kernel, widths), ()
    if isinstance(rule, VariableBandwidth):
        chosen = replace(rule, factor=rule.factor or factor)
    else:
        chosen = tuple((factor * scale).tolist())
    return FittedDensity(replace(asked, bandwidth=chosen), value, notes)
