"""Joins the kernels of the local approach (JAX) with its inference (NumPy)."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from dpjax.core.errors import Status, Stopped, signals_wait
from dpjax.core.numerics import FIXED_POINT, finite_or_none
from dpjax.core.random import numbers_of_process
from dpjax.core.streaming import fetched
from dpjax.core.wording import EVENTS, BadValue, Sentence, term
from dpjax.densities import MAX_NODES, find_kernel, finer
from dpjax.methods.local._bounds import KernelSums, LocalBounds, local_bounds
from dpjax.methods.local._kernels import LocalStatistics
from dpjax.methods.local._loss import privacy_loss
from dpjax.methods.local._options import Local
from dpjax.methods.local._search import Curves
from dpjax.notions import Statement, Terms, smallest_error
from dpjax.partitions import Box, Region
from dpjax.results import Finding, Witness, plain_database
from dpjax.sources import AnyPairs

_CURVE_POINTS = 400
_DIRECT = term("density='direct'", "--density 'direct'")

_CONSTANT = 1e-30
"""The spread of outputs that are all the same is the smallest float, or a little less."""

_TOO_COARSE = 1e-9
"""Part of the nodes that a bandwidth needs, below which no lattice has them."""


def first_run(statistics: LocalStatistics) -> LocalStatistics:
    """The statistics of the first run, without the axis of runs."""
    return jax.tree.map(lambda leaf: leaf[0], statistics)


def refine_lattice(
    run: Callable[[Local], Any], settings: Local, region: str
) -> tuple[LocalStatistics, Local]:
    """Runs, with as many lattice nodes as the bandwidth needs; the settings say how many.

    The statistics come to the host, where no step of inference compiles anything.

    Args:
        run: Settings -> statistics of a run, on the device.
        settings: To begin with.
        region: In the caller's words.

    Raises:
        ValueError: No lattice is fine enough; the message says why.
    """
    kernel = find_kernel(settings.kernel)
    while True:
        try:
            with signals_wait():
                started = run(settings)
            statistics = fetched(started)
        except KeyboardInterrupt:
            raise Stopped(
                "Stopped in the compiled call that searches and confirms, so nothing was shown."
            ) from None
        nodes = float(np.min(statistics.found.nodes_per_bandwidth))
        if nodes >= kernel.min_nodes:
            return statistics, settings
        # None has them where the bandwidth is 0 or NaN.
        wanted = MAX_NODES + 1
        if nodes > _TOO_COARSE * kernel.min_nodes:
            wanted = finer(settings.num_nodes, nodes, kernel)
        if wanted > MAX_NODES:
            _refuse_lattice(statistics, settings, region)
        settings = dataclasses.replace(settings, num_nodes=wanted)


def _refuse_lattice(statistics: LocalStatistics, settings: Local, region: str) -> None:
    """Says why no lattice is fine enough."""
    spread = np.asarray(statistics.found.spread, float)
    if not (spread > _CONSTANT).all():
        what = "hold NaN or an infinity" if np.isnan(spread).any() else "are constant"
        raise BadValue(
            f"the outputs {what} at one of the databases, so they have no density there: return "
            f"finite reals, or integers with {term('num_outcomes')}, or use {EVENTS}."
        )
    _refuse_empty(statistics, settings, region)
    raise ValueError(
        Sentence(
            f"region {region} is so wide against the bandwidth of the density estimate (the "
            f"outputs spread over about {spread.min():.3g}) that more than {MAX_NODES} lattice "
            f"nodes would be needed: narrow the region, or use {_DIRECT}."
        )
    )


def _refuse_empty(statistics: LocalStatistics, settings: Local, region: str) -> None:
    """Refuses a region into which nothing fell."""
    curves = statistics.found.curves
    assert curves is not None
    allowed = np.asarray(curves.allowed)[..., None, :]
    if not np.any(np.where(allowed, curves.densities, 0)):
        raise ValueError(
            f"region {region} lies outside the support of the outputs: none of the "
            f"{settings.num_samples} draws at either side of the chosen pair fell into it."
        )


def bounds_of(
    statistics: LocalStatistics, settings: Local, region: Region, confidence: float
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


def finding_of(
    statistics: LocalStatistics,
    settings: Local,
    region: Region,
    pairs: AnyPairs,
    terms: Terms,
    *,
    options: dict[str, Any],
    notes: Sequence[str],
    relabel: Callable[[Any], Any] = lambda output: output,
    region_text: str | None = None,
) -> Finding:
    """What one run found (statistics without the axis of runs).

    Args:
        statistics: Of the run, with curves.
        settings: Of the run.
        region: Of the run.
        pairs: That were searched.
        terms: Of the audit.
        options: Of the source, that change the answer.
        notes: To begin with.
        relabel: Turns an outcome or a point of the statistics into what the caller knows it as.
        region_text: The region in the caller's words, where they are not the kernels'.

    Raises:
        ValueError: No sample fell into the region.
    """
    _refuse_empty(statistics, settings, region_text or str(region))
    curves = jax.tree.map(np.asarray, statistics.found.curves)

    def bounds(confidence: float) -> LocalBounds:
        return bounds_of(statistics, settings, region, confidence)

    found, claim, error = bounds(terms.own_confidence), terms.level, None
    if claim is not None:
        error = smallest_error(lambda sure: float(bounds(sure).lower_bound), claim)
    notes = [*terms.notes(), *pairs.equal_notes(), *notes]
    if found.on_floor:
        notes.append(Status.ON_FLOOR.sentence)
    elif found.exact:
        notes.append(
            "Few draws are expected at the witness, so the lower bound is an exact binomial one."
        )
    # NaN is an infinite loss less an infinite penalty. Last bits follow from the layout.
    scores = np.nan_to_num(np.asarray(statistics.pair_scores, float), nan=np.inf, posinf=np.inf)
    scores = np.round(scores, 5)
    order = np.argsort(-scores, kind="stable")
    return Finding(
        statement=Statement(
            lower_bound=float(found.lower_bound),
            estimate=finite_or_none(float(found.estimate)),
            basis="exact binomial" if found.exact else "normal",
            standard_error=finite_or_none(float(found.standard_error)),
            smallest_error=None if error is None else min(error * terms.num_claims, 1.0),
        ),
        witness=_witness(statistics, found, region, pairs, relabel),
        pairs=pairs,
        pair_scores=tuple((pairs.labels[i], finite_or_none(scores[i].item())) for i in order),
        region=region_text or str(region),
        num_samples=settings.num_samples,
        num_confirm=settings.num_confirm,
        settings={
            "num_nodes": settings.num_nodes,
            "undersmoothing": settings.confirm_undersmoothing,
            **numbers_of_process(),
            **options,
        },
        notes=notes,
        curve=_curve(curves, float(statistics.found.floor), relabel),
    )


def _witness(
    statistics: LocalStatistics,
    bounds: LocalBounds,
    region: Region,
    pairs: AnyPairs,
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
        database=plain_database(pairs.sides[0][index]),
        neighbor=plain_database(pairs.sides[1][index]),
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
        "loss": [finite_or_none(value) for value in loss.tolist()],
    }
