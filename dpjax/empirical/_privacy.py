"""Empirical differential privacy: the privacy of a query on real databases, without added noise.

The databases are the only source of randomness, and are assumed to be independent draws from one
distribution. For each individual, the density of query results is estimated with and without the
individual. The hockey-stick divergence between the two densities is the individual's failure
probability delta.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from dpjax.core import validate
from dpjax.core.settings import own_settings
from dpjax.core.wording import BadType, BadValue
from dpjax.empirical._adversary import Adversary
from dpjax.empirical._checks import check_coverage, check_independence
from dpjax.empirical._density import Density, FittedDensity, check_density
from dpjax.empirical._jackknife import jackknife_error
from dpjax.empirical._panel_tables import as_panel
from dpjax.empirical._parts import Bucket, worst_row
from dpjax.empirical._pieces import MAX_EPSILON
from dpjax.empirical._result import EmpiricalPrivacy
from dpjax.empirical._risk import Risk, individual_risk
from dpjax.empirical._samples import sample_query
from dpjax.empirical._user_queries import Progress
from dpjax.results.provenance import versions

_LEAST_FOR_ERROR = 4
"""Minimum number of databases for which a standard error is estimated.

With four databases, the jackknife estimates delta from three databases at a time.
"""


@own_settings()
def empirical_privacy(
    databases: object,
    query: object = "mean",
    *,
    epsilon: float | Sequence[float] | np.ndarray,
    density: Density = Density(),  # noqa: B008 (frozen)
    adversary: Adversary | None = None,
    key: int = 0,
    tolerance: float = 1e-9,
    uncertainty: bool = False,
    progress: Progress | None = None,
) -> EmpiricalPrivacy:
    """Estimate each individual's failure probability delta for a query on real databases.

    Args:
        databases: A dense array [databases, individuals] or [databases, individuals, values] with
            NaN where an individual is missing; a table (pandas, pyarrow, or a path to csv or
            Parquet) with the columns 'database' and 'individual'; or a `Panel`, which
            `panel_from_table` or `panel_from_array` makes from other data.
        query: A built-in query or its name ('count', 'sum', 'mean', 'variance', 'min', 'max',
            'median', 'quantile:0.9', 'regression:y~x'); a `JaxQuery`; a `HostQuery` or any function
            of the records' values; or, for a joint query, a tuple of up to three queries.
        epsilon: One or more privacy levels, from 0 to 500.
        density: Kernel and bandwidth of the densities, or rules that choose them.
        adversary: An adversary whose background knowledge divides the databases into buckets, or
            None for an adversary without background knowledge. If there are buckets, each delta in
            the result is the largest over all buckets.
        key: Seed for random queries, and for random groups of databases if `uncertainty` is True.
        tolerance: Largest delta that is treated as 0 when the result's `epsilon_at_zero` is
            computed.
        uncertainty: Whether to estimate the standard error of delta by a jackknife that leaves out
            one database at a time. If there are more than 50 databases, they are divided into 50
            groups, and one group is left out at a time. The estimated standard error tends to be
            too large, for example by 20 to 28% for 30 databases with the bandwidth 'likelihood'.
        progress: Callback `(done, total)`, called in loops over databases or individuals, or None
            to report no progress.

    Returns:
        The result, including checks of the assumptions.

    Example:
        >>> import numpy as np
        >>> years = np.random.default_rng(0).gamma(2.0, size=(30, 100))
        >>> result = empirical_privacy(years, "mean", epsilon=[0.1, 1.0])
        >>> bool(result.delta[1] < result.delta[0] < result.total_risk[0])
        True

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument is out of range, or if no density can be estimated from the
            query results.

    References:
        Burchard, Daoud, Dotterrer 2020, "Empirical Differential Privacy", Algorithm 1,
        Definition 3 (total risk), Section 4 (adversary), Section 5 (densities).
    """
    epsilons = _epsilons(epsilon)
    validate.non_negative(tolerance=tolerance)
    check_density(density)
    if not (adversary is None or isinstance(adversary, Adversary)):
        raise BadType(f"adversary must be an Adversary or None, but was {adversary!r}.")
    if not isinstance(uncertainty, bool | np.bool_):
        raise BadType(f"uncertainty must be True or False, but was {uncertainty!r}.")
    if not (progress is None or callable(progress)):
        raise BadType(f"progress must be a function (done, total) or None, but was {progress!r}.")
    panel = as_panel(databases)
    validate.within_limit(
        "panel_cells",
        panel.num_individuals * len(epsilons),
        f"{len(epsilons)} levels for {panel.num_individuals} individuals are too many",
    )
    samples = sample_query(query, panel, key=key, progress=progress)
    if len(samples.names) > 3:
        raise BadValue(
            f"query must return at most 3 numbers, but returned {len(samples.names)}: a joint "
            "density of more numbers would need too many databases."
        )
    parts = [("all databases", np.arange(panel.num_databases))]
    if adversary is not None:
        parts = adversary.buckets(panel, key)
    if uncertainty:
        _refuse_few(parts)

    def risk_of(where: str, members: np.ndarray, **options: Any) -> tuple[Risk, FittedDensity]:
        part = samples.select(members)
        fitted = density.fit(part.full, part.database, samples.names, where or None)
        return individual_risk(part, fitted.density, epsilons, **options), fitted

    def delta_without(left_out: np.ndarray) -> np.ndarray:
        kept = [
            (f"{where} except those that the jackknife leaves out", np.setdiff1d(m, left_out))
            for where, (_, m) in zip(places, parts, strict=True)
        ]
        return np.max([risk_of(*part)[0].deltas.max(axis=0) for part in kept], axis=0)

    places = ["" if adversary is None else f"of the bucket '{label}'" for label, _ in parts]
    found = [
        risk_of(where, members, tolerance=tolerance, progress=progress)
        for where, (_, members) in zip(places, parts, strict=True)
    ]
    risks = [risk for risk, _ in found]
    deltas = np.max([risk.deltas for risk in risks], axis=0)
    fitted = found[0][1] if adversary is None else None
    buckets = () if adversary is None else tuple(
        Bucket(label, len(members), str(chosen.density), tuple(risk.deltas.max(axis=0).tolist()))
        for (label, members), (risk, chosen) in zip(parts, found, strict=True)
    )  # fmt: skip
    return EmpiricalPrivacy(
        queries=samples.names,
        individuals=panel.individuals,
        epsilons=epsilons,
        deltas=deltas,
        delta=deltas.max(axis=0),
        delta_error=(
            jackknife_error(delta_without, [members for _, members in parts], key, progress)
            if uncertainty
            else None
        ),
        total_risk=total_risk(deltas),
        epsilon_at_zero=max(risk.epsilon_at_zero for risk in risks),
        tolerance=float(tolerance),
        density=fitted.density if fitted else None,
        log_likelihood=fitted.log_likelihood if fitted else float("nan"),
        integration_error=max(risk.integration_error for risk in risks),
        num_databases=panel.num_databases,
        independence=check_independence(samples.per_database(), samples.names),
        coverage=check_coverage(panel.coverage(), panel.num_databases),
        buckets=buckets,
        notes=(*panel.notes, *samples.notes, *_notes_on_densities(parts, found)),
        results=samples.full,
        results_without_worst=samples.without[worst_row(epsilons, deltas)],
        settings={
            "density": asdict(density),
            "num_buckets": None if adversary is None else adversary.num_buckets,
            "key": key,
            "versions": versions(),
        },
    )


def total_risk(deltas: np.ndarray) -> np.ndarray:
    """Return the probability that the privacy of at least one individual fails.

    For individuals with failure probabilities delta_i, the result is 1 - prod_i (1 - delta_i).

    Args:
        deltas: Failure probabilities delta_i, [individuals, E].

    Returns:
        The total risk at each epsilon, [E].

    References:
        Burchard, Daoud, Dotterrer 2020, Definition 3.
    """
    with np.errstate(divide="ignore"):
        return np.abs(np.expm1(np.log1p(-deltas).sum(axis=0)))


def _epsilons(epsilon: object) -> np.ndarray:
    values = np.asarray(epsilon)
    validate.non_negative(epsilon=values if values.ndim else epsilon)
    values = np.atleast_1d(values).astype(float)
    if values.ndim != 1 or values.max() > MAX_EPSILON:
        raise BadValue(
            f"epsilon must be a number, or a list of numbers, from 0 to {MAX_EPSILON:g}, but was "
            f"{epsilon!r}."
        )
    return values


def _refuse_few(parts: list[tuple[str, np.ndarray]]) -> None:
    """Raise ValueError if a bucket has too few databases for a standard error."""
    for label, members in parts:
        if len(members) < _LEAST_FOR_ERROR:
            raise BadValue(
                f"uncertainty must be False for fewer than {_LEAST_FOR_ERROR} databases, but the "
                f"bucket '{label}' holds {len(members)}."
            )


def _notes_on_densities(
    parts: list[tuple[str, np.ndarray]], found: list[tuple[Risk, FittedDensity]]
) -> list[str]:
    """Return the notes on the density of each bucket; equal notes are not repeated."""
    notes = []
    for (label, members), (_, fitted) in zip(parts, found, strict=True):
        notes += fitted.notes
        if len(members) < 10:
            where = f" in the bucket '{label}'" if len(parts) > 1 else ""
            notes.append(
                f"A density estimated from {len(members)} database{'s' * (len(members) > 1)}"
                f"{where} mostly has the shape of the kernel, and every delta depends strongly on "
                "the bandwidth."
            )
    return [*dict.fromkeys(notes)]
