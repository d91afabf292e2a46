"""Findings of the local method, computed from the statistics that `mpl_runs` returns."""

from collections.abc import Callable

import numpy as np

from dpjax.core.errors import Status
from dpjax.core.numerics import FIXED_POINT, finite_or_none
from dpjax.core.random import numbers_of_process
from dpjax.densities import find_kernel
from dpjax.inference import KernelSums, LocalBounds
from dpjax.methods.local._kernels import LocalStatistics
from dpjax.methods.local._loss import privacy_loss
from dpjax.methods.local._options import LocalOptions
from dpjax.methods.local._search import Curves
from dpjax.notions import LocalSums, Terms
from dpjax.partitions import Box, Region
from dpjax.results import Finding, Observed, Witness, compared, conclude
from dpjax.sources import Arrays

_CURVE_POINTS = 400
"""Largest number of points in a plotted curve."""


def refuse_empty(curves: Curves, num_samples: int, region: str) -> None:
    """Raise an error if no draw lies in the region.

    Args:
        curves: Density estimates of the chosen pair, with or without a leading axis of runs.
        num_samples: n, the number of draws per side in the search.
        region: Description of the region.

    Raises:
        ValueError: If no draw lies in the region.
    """
    allowed = np.asarray(curves.allowed)[..., None, :]
    if not np.any(np.where(allowed, curves.densities, 0)):
        raise ValueError(
            f"region {region} lies outside the support of the outputs: none of the {num_samples} "
            "draws on either side of the chosen pair fell into the region."
        )


def evidence_of(statistics: LocalStatistics, settings: LocalOptions, region: Region) -> LocalSums:
    """Return the evidence from the confirmation stage.

    Args:
        statistics: Statistics from `mpl_runs`, with or without the leading axis of runs. The arrays
            in the evidence have the same leading axes.
        settings: Options of the runs.
        region: Region of outputs.
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
    return LocalSums(
        search_densities=np.asarray(statistics.found.densities, np.float64),
        floor=np.asarray(statistics.found.floor, np.float64),
        events=confirmation.events.as_int(),
        kernel=kernel_sums,
        num_confirm=settings.num_confirm,
    )


def finding_of(
    statistics: LocalStatistics, settings: LocalOptions, arrays: Arrays, terms: Terms
) -> Finding:
    """Return the finding of one run.

    Args:
        statistics: Statistics of the run, including curves, without an axis of runs.
        settings: Options of the run.
        arrays: Outputs, with their pairs and their region.
        terms: Notion, claim and confidence of the audit.

    Raises:
        ValueError: If no draw lies in the region.
    """
    curves, pairs = statistics.found.curves, arrays.pairs
    assert curves is not None
    refuse_empty(curves, settings.num_samples, arrays.region_text)

    evidence = evidence_of(statistics, settings, arrays.region)
    found = evidence.bounds(terms.own_confidence)
    lost = arrays.notes_of_lost(np.asarray(curves.densities, float))
    notes = [*terms.notes(), *pairs.equal_notes(), *arrays.notes, *lost]
    if found.on_floor:
        notes.append(Status.ON_FLOOR.sentence)
    elif found.exact:
        notes.append(
            "The lower bound is an exact binomial bound because few draws are expected at the "
            "witness."
        )
    # A score is NaN if an infinite penalty is subtracted from an infinite loss. Round the scores
    # because their last bits depend on the execution options.
    scores = np.nan_to_num(np.asarray(statistics.pair_scores, float), nan=np.inf, posinf=np.inf)
    scores = np.round(scores, 5)
    order = np.argsort(-scores, kind="stable")
    return Finding(
        statement=conclude(evidence, terms),
        evidence=Observed(
            counted=evidence,
            settings={
                "num_nodes": settings.num_nodes,
                "undersmoothing": settings.confirm_undersmoothing,
                **numbers_of_process(),
                **arrays.settings,
            },
            num_samples=settings.num_samples,
            num_confirm=settings.num_confirm,
            region=arrays.region_text,
            pair_scores=tuple((pairs.labels[i], finite_or_none(scores[i].item())) for i in order),
            curve=_curve(curves, float(statistics.found.floor), arrays.relabel),
        ),
        notes=notes,
        witness=_witness(statistics, found, arrays),
        pairs=pairs,
    )


def _witness(statistics: LocalStatistics, bounds: LocalBounds, arrays: Arrays) -> Witness:
    found, confirmation = statistics.found, statistics.confirmation
    output = arrays.relabel(_plain(np.asarray(found.point)))
    bandwidth = float(confirmation.bandwidth) if isinstance(arrays.region, Box) else None
    if bandwidth is None:
        event = f"the output is {output}"
    else:
        event = f"the output is within {bandwidth:.4g} of {output} and inside the region"
    counts = confirmation.events.as_int()
    return Witness(
        **compared(arrays.pairs, int(statistics.pair)),
        output=output,
        densities=(float(bounds.densities[0]), float(bounds.densities[1])),
        larger="database" if found.densities[0] >= found.densities[1] else "neighbor",
        on_floor=bool(bounds.on_floor),
        floor=float(found.floor),
        event=event,
        event_counts=(int(counts[0]), int(counts[1])),
        bandwidth=bandwidth,
    )


def _plain(point: np.ndarray) -> object:
    """Return an outcome as an int, or a point as a float or a list of floats."""
    if point.dtype.kind in "iu":
        return int(point)
    return float(point[0]) if len(point) == 1 else [float(v) for v in point]


def _curve(curves: Curves, floor: float, relabel: Callable[[object], object]) -> dict | None:
    """Return the chosen pair's densities and losses for a plot, or None if outputs are vectors."""
    if curves.points.ndim == 2 and curves.points.shape[1] > 1:
        return None
    index = np.flatnonzero(curves.allowed)
    discrete = curves.points.dtype.kind in "iu"
    if discrete:
        # Keep the outcomes with the largest densities, in increasing order of outcome.
        by_loss = np.argsort(-np.max(curves.densities[:, index], axis=0), kind="stable")
        index = np.sort(index[by_loss[:_CURVE_POINTS]])
    else:
        index = index[np.linspace(0, len(index) - 1, min(_CURVE_POINTS, len(index))).astype(int)]
    # Compute the loss at all points and select afterwards. The number of selected points differs
    # between runs, and JAX would compile the loss again for each such number.
    loss = np.asarray(privacy_loss(curves.densities[0], curves.densities[1], floor))[index]
    densities = curves.densities[:, index].astype(float)
    points = curves.points.reshape(len(curves.points))[index]
    return {
        "points": [relabel(int(p) if discrete else float(p)) for p in points],
        "density": densities[0].tolist(),
        "neighbor_density": densities[1].tolist(),
        "loss": [finite_or_none(value) for value in loss.tolist()],
    }
