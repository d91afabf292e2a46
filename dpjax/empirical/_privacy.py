"""Empirical differential privacy: what a query on real databases gives away as it is.

No noise is assumed: the randomness is that of the databases, which are taken to be independent
draws. The densities of the query's results with and without an individual are estimated and
compared; their hockey-stick divergence is that individual's failure probability.
"""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from dpjax import _validate
from dpjax.empirical._bandwidth import DensityChoice, VariableBandwidth, choose_density
from dpjax.empirical._checks import check_coverage, check_independence
from dpjax.empirical._panel import Panel
from dpjax.empirical._panel_tables import as_panel
from dpjax.empirical._pieces import MAX_EPSILON
from dpjax.empirical._result import Bucket, EmpiricalPrivacy, worst_row
from dpjax.empirical._risk import Risk, individual_risk
from dpjax.empirical._samples import JaxQuery, Progress, QuerySamples, sample_query
from dpjax.empirical._uncertainty import jackknife_error

_LEAST_FOR_ERROR = 4
"""Databases of which three are left when one is taken out."""


def empirical_privacy(
    databases: Any,
    query: Any = "mean",
    *,
    epsilon: float | Sequence[float] | np.ndarray,
    kernel: str = "laplace",
    bandwidth: Any = "likelihood",
    adversary: Any = None,
    num_buckets: int = 2,
    num_draws: int = 1,
    seed: int = 0,
    tolerance: float = 1e-9,
    cells: int | None = None,
    uncertainty: bool = False,
    progress: Progress | None = None,
    **table: Any,
) -> EmpiricalPrivacy:
    """Estimates delta of every individual for a query on a sequence of databases.

    Args:
        databases: A table (pandas, pyarrow, or a path to csv or Parquet), a dense array
            [databases, individuals] or [databases, individuals, values] with NaN where an
            individual is missing, or a `Panel`.
        query: A built-in query or its name ('count', 'sum', 'mean', 'variance', 'min', 'max',
            'median', 'quantile:0.9', 'regression:y~x'), a `JaxQuery`, a `HostQuery` or any function
            of the records' values; or a tuple of up to three for a joint query.
        epsilon: One privacy level or many, from 0 to 500.
        kernel: 'laplace' (integrals in closed form), 'gaussian', 'likelihood' (the likelier, out of
            sample), or 'ecdf' (differences of the distribution function).
        bandwidth: A number (in units of the query; for joint queries one for all or one each),
            'likelihood', 'silverman', 'scott', 'variable', or a `VariableBandwidth`. With and
            without an individual the same bandwidth (or rule of a variable one) is used.
        adversary: What the adversary knows: a query g, or [databases] values or labels. Privacy is
            then that given the worst bucket of g.
        num_buckets: Buckets of equal size of a numeric g with more distinct values than that.
        num_draws: Draws of a randomised query per database.
        seed: Seed of randomised queries.
        tolerance: What counts as delta = 0 for `epsilon_at_zero`.
        cells: Cells per axis for joint queries (even); default 256 in 2-d, 64 in 3-d.
        uncertainty: Whether to estimate the standard error of delta, from the same estimate without
            one database after the other (of more than 50, without one group of 50). It tends to be
            too large, not too small: with the bandwidth 'likelihood' by 20 to 28% on 30 databases.
        progress: Called with (done, of how many) by whatever is looped.
        **table: Passed to `as_panel`: database, individual, value (names of columns), mask,
            missing ('error' or 'drop'), records ('many' or 'one').

    Returns:
        The result, with its checks of the premises.

    Example:
        >>> import numpy as np
        >>> years = np.random.default_rng(0).gamma(2.0, size=(30, 100))
        >>> result = empirical_privacy(years, "mean", epsilon=[0.1, 1.0])
        >>> bool(result.delta[1] < result.delta[0] < result.total_risk[0])
        True

    Raises:
        TypeError: An argument is of the wrong kind.
        ValueError: An argument is out of range, or data and query give no density.

    References:
        Burchard, Daoud, Dotterrer 2020, "Empirical Differential Privacy", Algorithm 1,
        Definition 3 (total risk), Section 4 (adversary), Section 5 (densities).
    """
    epsilons = _epsilons(epsilon)
    _validate.non_negative(tolerance=tolerance)
    _validate.positive_int(num_buckets=num_buckets)
    if cells is not None:
        _validate.positive_int(cells=cells, at_least=4)
        if cells % 2:
            raise ValueError(f"cells must be even, but was {cells!r}.")
    panel = as_panel(databases, **table)
    samples = sample_query(query, panel, num_draws=num_draws, seed=seed, progress=progress)
    if len(samples.names) > 3:
        raise ValueError(
            f"query must be of at most 3 numbers, but was of {len(samples.names)}: a joint density "
            "of more cannot be had from so few databases."
        )

    def risk_of(
        part: QuerySamples, progress: Progress | None = progress
    ) -> tuple[Risk, DensityChoice]:
        density = choose_density(
            part.full, part.database, kernel=kernel, bandwidth=bandwidth, names=samples.names
        )
        risk = individual_risk(
            part, density, epsilons, tolerance=tolerance, cells=cells, progress=progress
        )
        return risk, density

    parts = [("all databases", np.arange(panel.num_databases))]
    if adversary is not None:
        parts = _buckets(adversary, panel, num_buckets, seed)
    if uncertainty:
        _refuse_few(parts)
    found = [risk_of(samples.select(members)) for _, members in parts]
    risk = Risk(
        np.max([r.deltas for r, _ in found], axis=0),
        max(r.epsilon_at_zero for r, _ in found),
        max(r.integration_error for r, _ in found),
    )
    density, buckets = found[0][1], []
    if adversary is not None:
        density = None
        buckets = [
            Bucket(label, len(members), str(chosen), tuple(part.deltas.max(axis=0).tolist()))
            for (label, members), (part, chosen) in zip(parts, found, strict=True)
        ]

    def delta_without(left_out: np.ndarray) -> np.ndarray:
        kept = [np.setdiff1d(members, left_out) for _, members in parts]
        risks = [risk_of(samples.select(members), None)[0] for members in kept]
        return np.max([part.deltas.max(axis=0) for part in risks], axis=0)

    delta_error = None
    if uncertainty:
        delta_error = jackknife_error(delta_without, panel.num_databases, seed, progress)
    worst = worst_row(epsilons, risk.deltas)
    return EmpiricalPrivacy(
        queries=samples.names,
        individuals=panel.individuals,
        epsilons=epsilons,
        deltas=risk.deltas,
        delta=risk.deltas.max(axis=0),
        delta_error=delta_error,
        total_risk=total_risk(risk.deltas),
        epsilon_at_zero=risk.epsilon_at_zero,
        tolerance=float(tolerance),
        density=density,
        integration_error=risk.integration_error,
        num_databases=panel.num_databases,
        independence=tuple(
            check_independence(_per_database(samples)[:, k], name)
            for k, name in enumerate(samples.names)
        ),
        coverage=check_coverage(panel.coverage(), panel.num_databases),
        buckets=tuple(buckets),
        notes=(*panel.notes, *samples.notes, *(density.notes if density else ()), *_small(panel)),
        results=samples.full,
        results_without_worst=samples.without[worst],
        settings={
            "kernel": kernel,
            "bandwidth": _setting(bandwidth),
            "num_buckets": num_buckets if buckets else None,
            "num_draws": num_draws,
            "seed": seed,
            "cells": cells,
            "versions": {name: version(name) for name in ("dpjax", "jax", "numpy", "scipy")},
        },
    )


def total_risk(deltas: np.ndarray) -> np.ndarray:
    """[E] chance that the privacy of somebody fails: 1 - prod (1 - delta_i) over [I, E] deltas.

    References:
        Burchard, Daoud, Dotterrer 2020, Definition 3.
    """
    with np.errstate(divide="ignore"):
        return np.abs(np.expm1(np.log1p(-deltas).sum(axis=0)))


def _epsilons(epsilon: Any) -> np.ndarray:
    values = np.asarray(epsilon)
    _validate.non_negative(epsilon=values if values.ndim else epsilon)
    values = np.atleast_1d(values).astype(float)
    if values.ndim != 1 or values.max() > MAX_EPSILON:
        raise ValueError(
            f"epsilon must be a number, or a list of numbers, from 0 to {MAX_EPSILON:g}, but was "
            f"{epsilon!r}."
        )
    return values


def _refuse_few(parts: list[tuple[str, np.ndarray]]) -> None:
    """Refuses a standard error where leaving one database out would leave almost none."""
    for label, members in parts:
        if len(members) < _LEAST_FOR_ERROR:
            raise ValueError(
                f"uncertainty must be False for fewer than {_LEAST_FOR_ERROR} databases, but the "
                f"bucket '{label}' holds {len(members)}."
            )


def _setting(bandwidth: Any) -> Any:
    """The argument as JSON has it."""
    if isinstance(bandwidth, VariableBandwidth):
        return str(bandwidth)
    return bandwidth if isinstance(bandwidth, str) else np.asarray(bandwidth, float).tolist()


def _per_database(samples: QuerySamples) -> np.ndarray:
    """[databases, d] mean over the draws of each database."""
    count = np.bincount(samples.database)
    return np.stack(
        [np.bincount(samples.database, column) / count for column in samples.full.T], axis=1
    )


def _small(panel: Panel) -> tuple[str, ...]:
    if panel.num_databases >= 10:
        return ()
    return (
        f"A density from {panel.num_databases} database{'s' * (panel.num_databases > 1)} is mostly "
        "its kernel: read every delta as a statement about the bandwidth.",
    )


def _buckets(
    adversary: Any, panel: Panel, num_buckets: int, seed: int
) -> list[tuple[str, np.ndarray]]:
    """Label and databases of every bucket of what the adversary knows.

    References:
        Burchard, Daoud, Dotterrer 2020, Definition 4.
    """
    is_query = isinstance(adversary, str) or hasattr(adversary, "answers") or callable(adversary)
    if is_query:
        known = _knowledge(adversary, panel, seed)
    else:
        known = np.asarray(adversary)
        if known.shape != (panel.num_databases,):
            raise ValueError(
                f"adversary must be a query or one value for each of the {panel.num_databases} "
                f"databases, but had shape {known.shape}."
            )
    levels = np.unique(known)
    if len(levels) <= num_buckets or known.dtype.kind not in "iuf":
        parts = [(f"adversary value {v}", np.flatnonzero(known == v)) for v in levels]
    else:
        order = np.argsort(known, kind="stable")
        parts = [
            (f"adversary value {known[m[0]]:.4g} to {known[m[-1]]:.4g}", np.sort(m))
            for m in np.array_split(order, num_buckets)
        ]
    for label, members in parts:
        if len(members) < 2:
            raise ValueError(
                f"num_buckets must leave at least 2 databases in every bucket, but was "
                f"{num_buckets!r}, and the bucket '{label}' holds {len(members)}."
            )
    return parts


def _knowledge(query: Any, panel: Panel, seed: int) -> np.ndarray:
    # Only the answers with everybody are needed, so everybody is one individual; a JAX query is
    # handed values by individual and keeps them.
    if not isinstance(query, JaxQuery):
        panel = Panel(
            panel.databases,
            ("everybody",),
            panel.columns,
            panel.database,
            np.zeros_like(panel.individual),
            panel.values,
        )
    return sample_query(query, panel, seed=seed).full[:, 0]
