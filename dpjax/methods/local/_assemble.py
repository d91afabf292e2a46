"""Joins the estimators (JAX) with inference (NumPy), and makes the result of an audit of both."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from dpjax._errors import Status
from dpjax._numerics import FIXED_POINT, finite_or_none
from dpjax.databases import Pairs
from dpjax.densities import MAX_NODES, find_kernel, finer
from dpjax.methods.local._bounds import KernelSums, LocalBounds, local_bounds
from dpjax.methods.local._loss import privacy_loss
from dpjax.methods.local._runs import LocalStatistics
from dpjax.methods.local._search import Curves
from dpjax.methods.local._settings import LocalSettings
from dpjax.partitions._region import Box, Region
from dpjax.results._provenance import device, numbers_of_process, versions
from dpjax.results._result import AuditResult, Witness, judge

_CURVE_POINTS = 400
_CONSTANT = 1e-9  # a bandwidth this small against the region is that of a constant


def first_run(statistics: LocalStatistics) -> LocalStatistics:
    """The statistics of the first run, without the axis of runs."""
    return jax.tree.map(lambda leaf: leaf[0], statistics)


def refine_lattice(run: Any, settings: LocalSettings) -> tuple[LocalStatistics, LocalSettings]:
    """Runs, with as many lattice nodes as the bandwidth needs; the settings say how many.

    The statistics come to the host, where no step of inference compiles anything.
    """
    kernel = find_kernel(settings.kernel)
    while True:
        statistics = jax.device_get(run(settings))
        nodes = float(np.min(statistics.found.nodes_per_bandwidth))
        if nodes >= kernel.min_nodes:
            return statistics, settings
        if not nodes > _CONSTANT * kernel.min_nodes:
            raise ValueError(
                "the outputs hold NaN or an infinity, or are constant at one of the databases, so "
                "they have no density: return finite reals, or integers with num_outcomes."
            )
        wanted = finer(settings.num_cells, nodes, kernel)
        if wanted > MAX_NODES:
            raise ValueError(
                "region is so wide against the bandwidth of the density estimate that more than "
                f"{MAX_NODES} lattice cells would be needed: narrow the region, or use "
                "method='direct'."
            )
        settings = dataclasses.replace(settings, num_cells=wanted)


def bounds_of(
    statistics: LocalStatistics, settings: LocalSettings, region: Region, confidence: float
) -> LocalBounds:
    """Lower bounds and estimates of any number of runs.

    Args:
        statistics: Of `mpl_runs`, with or without the axis of runs.
        settings: Those of the runs.
        region: That of the runs.
        confidence: Of the bounds.

    Returns:
        NumPy arrays with the leading shape of the runs.
    """
    confirmation = statistics.confirmation
    kernel_sums = None
    sums, squares = confirmation.kernel_sum, confirmation.kernel_sum_of_squares
    if sums is not None and squares is not None and isinstance(region, Box):
        kernel = find_kernel(settings.kernel)
        kernel_sums = KernelSums(
            total=sums.as_int() / FIXED_POINT,
            squares=squares.as_int() / FIXED_POINT,
            bandwidth=np.asarray(confirmation.bandwidth),
            height=kernel.norm(region.dimension),
            roughness=kernel.roughness(region.dimension),
            dimension=region.dimension,
        )
    return local_bounds(
        np.asarray(statistics.found.densities),
        np.asarray(statistics.found.floor),
        confirmation.events.as_int(),
        kernel_sums,
        settings.num_confirm,
        confidence,
    )


def assemble(
    statistics: LocalStatistics,
    settings: LocalSettings,
    region: Region,
    *,
    pairs: Pairs,
    confidence: float,
    own_confidence: float,
    num_claims: int,
    claim: float | None,
    mechanism: str,
    parameters: dict[str, Any],
    seed: Any,
    notes: Sequence[str],
    seconds: float,
    relabel: Callable[[Any], Any] = lambda output: output,
    region_text: str | None = None,
) -> AuditResult:
    """The result of one run (statistics without the axis of runs).

    Args:
        statistics: Of the run, with curves.
        settings: Of the run.
        region: Of the run.
        pairs: That were searched.
        confidence: Of all claims together.
        own_confidence: Of this bound alone.
        num_claims: How many claims there are.
        claim: Epsilon to compare with, or None.
        mechanism: Name for people.
        parameters: Of the mechanism.
        seed: As the caller gave it.
        notes: To begin with.
        seconds: Wall time.
        region_text: The region in the caller's words, where they are not the estimators'.
        relabel: Turns an outcome or a point of the statistics into what the caller knows it as.

    Raises:
        ValueError: No sample fell into the region.
    """
    curves = jax.tree.map(np.asarray, statistics.found.curves)
    if not np.any(curves.densities[:, curves.allowed]):
        raise ValueError(
            f"region {region_text or region} lies outside the support of the outputs: none of the "
            f"{settings.num_samples} draws at either side of the chosen pair fell into it."
        )
    bounds = bounds_of(statistics, settings, region, own_confidence)
    lower_bound = float(bounds.lower_bound)
    verdict, sentence = judge(lower_bound, claim, confidence)
    notes = list(notes)
    if bounds.on_floor:
        notes.append(Status.ON_FLOOR.sentence)
    elif bounds.exact:
        notes.append(
            "Few draws are expected at the witness, so the lower bound is an exact binomial one."
        )
    losses = np.asarray(statistics.pair_losses, float)
    order = np.argsort(-losses, kind="stable")
    return AuditResult(
        lower_bound=lower_bound,
        estimate=finite_or_none(float(bounds.estimate)),
        confidence=float(confidence),
        verdict=verdict,
        sentence=sentence,
        claim=None if claim is None else float(claim),
        witness=_witness(statistics, bounds, region, pairs, relabel),
        bound="exact binomial" if bounds.exact else "normal",
        standard_error=finite_or_none(float(bounds.standard_error)),
        mechanism=mechanism,
        parameters=parameters,
        pair_estimates=tuple((pairs.labels[i], float(losses[i])) for i in order),
        region=region_text or str(region),
        num_samples=settings.num_samples,
        num_confirm=settings.num_confirm,
        seed=seed,
        settings={"guarantee": "normal", "num_claims": num_claims, **_settings(settings)},
        notes=tuple(notes),
        curve=_curve(curves, float(statistics.found.floor), relabel),
        versions=versions(),
        device=device(),
        seconds=seconds,
    )


def _witness(
    statistics: LocalStatistics,
    bounds: LocalBounds,
    region: Region,
    pairs: Pairs,
    relabel: Callable[[Any], Any],
) -> Witness:
    index = int(statistics.pair)
    found, confirmation = statistics.found, statistics.confirmation
    output = relabel(_plain(np.asarray(found.point)))
    bandwidth = float(confirmation.bandwidth) if isinstance(region, Box) else None
    if bandwidth is None:
        event = f"the output is {output}"
    else:
        event = f"the output is within {bandwidth:.4g} of {output} and inside the region"
    counts = confirmation.events.as_int()
    return Witness(
        pair=pairs.labels[index],
        database=np.asarray(pairs.database[index]).tolist(),
        neighbor=np.asarray(pairs.neighbor[index]).tolist(),
        output=output,
        densities=(float(bounds.densities[0]), float(bounds.densities[1])),
        larger="database" if found.densities[0] >= found.densities[1] else "neighbor",
        on_floor=bool(bounds.on_floor),
        floor=float(found.floor),
        event=event,
        event_counts=(int(counts[0]), int(counts[1])),
        bandwidth=bandwidth,
    )


def _plain(point: np.ndarray) -> Any:
    """An outcome as an int, a point as a float or a list of floats."""
    if point.dtype.kind in "iu":
        return int(point)
    return float(point[0]) if len(point) == 1 else [float(v) for v in point]


def _curve(curves: Curves, floor: float, relabel: Callable[[Any], Any]) -> dict | None:
    """Densities and loss of the chosen pair, thinned out for a plot; None for vectors."""
    if curves.points.ndim == 2 and curves.points.shape[1] > 1:
        return None
    index = np.flatnonzero(curves.allowed)
    discrete = curves.points.dtype.kind in "iu"
    if discrete:
        # The outcomes that matter most, in their own order.
        by_loss = np.argsort(-np.max(curves.densities[:, index], axis=0), kind="stable")
        index = np.sort(index[by_loss[:_CURVE_POINTS]])
    else:
        index = index[np.linspace(0, len(index) - 1, min(_CURVE_POINTS, len(index))).astype(int)]
    # Of all points, for which it was compiled once: how many are left differs from run to run.
    loss = np.asarray(privacy_loss(curves.densities[0], curves.densities[1], floor))[index]
    densities = curves.densities[:, index].astype(float)
    points = curves.points.reshape(len(curves.points))[index]
    return {
        "points": [relabel(int(p) if discrete else float(p)) for p in points],
        "density": densities[0].tolist(),
        "neighbor_density": densities[1].tolist(),
        "loss": loss.astype(float).tolist(),
    }


def _settings(settings: LocalSettings) -> dict[str, Any]:
    rule = settings.bandwidth
    return {
        "bandwidth": type(rule).__name__,
        **{f"bandwidth_{k}": v for k, v in vars(rule).items()},
        "floor": None if settings.floor is None else float(settings.floor),
        "kernel": settings.kernel,
        "method": settings.method,
        "objective": settings.objective,
        "num_cells": settings.num_cells,
        "undersmoothing": settings.confirm_undersmoothing,
        **numbers_of_process(),
    }
