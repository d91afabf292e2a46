"""Audits with the exact guarantee: an event is chosen by the search and counted on fresh draws.

An event is post-processing with two outcomes, so this works for every output space, and its counts
bound epsilon at every sample size, without an assumption.

References:
    Askin, Kutta, Dette (2022), Algorithm 4, for the two stages.
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax._batching import Execution
from dpjax._numerics import finite_or_none
from dpjax._streaming import blocks_of
from dpjax._types import MixedSpace, OutputSpace
from dpjax.databases import Pairs
from dpjax.inference import Event, choose_event, event_lower_bound
from dpjax.mechanisms import Mechanism
from dpjax.partitions import (
    Cells,
    Outcomes,
    Region,
    interval_cells,
    mixed_cells,
    outcome_cells,
    product_cells,
)
from dpjax.partitions._curve import curve_of
from dpjax.results._provenance import device, numbers_of_process, versions
from dpjax.results._result import AuditResult, Witness, judge
from dpjax.sources import cell_counts_runs, event_counts_runs

_INTERVALS = {1: 64, 2: 16, 3: 7}
"""Intervals of the region per axis, by dimension."""

_ATOM_SHARE = 0.004
"""A value that makes up this part of a pilot's outputs has a cell of its own."""


class EventRuns(NamedTuple):
    """What a number of independent runs found; every entry has a leading axis of runs.

    Attributes:
        lower_bound: Exact lower bounds on epsilon.
        pair: Number of the chosen pair.
        event: The chosen one, with the expected bound.
        counts: int64 [runs, 2], fresh draws in the event at the database and at its neighbor.
        predicted: [runs, pairs], the bound that was expected of each pair.
        search_counts: int64 [runs, 2, cells] of the chosen pair.
    """

    lower_bound: NDArray[np.float64]
    pair: NDArray[np.int64]
    event: Event
    counts: NDArray[np.int64]
    predicted: NDArray[np.float64]
    search_counts: NDArray[np.int64]


def cells_of(
    space: OutputSpace,
    region: Region,
    pilot: Any = None,
) -> Cells:
    """The cells in which an audit counts outputs.

    Args:
        space: Of the outputs.
        region: Where the cells are fine; all outputs are counted, those outside of it in tails.
        pilot: Outputs that are not used again, [n] or [n, d]: values that repeat in them have cells
            of their own. None if there are none.

    Returns:
        One cell an outcome, or equal intervals of the region on each axis with tails.
    """
    if isinstance(region, Outcomes):
        return outcome_cells(region.size, region.low)
    dimension = region.dimension
    edges = []
    for axis in range(dimension):
        low, high = float(region.low[axis]), float(region.high[axis])
        column = None
        if pilot is not None:
            pilot = np.asarray(pilot)
            at = 1 if isinstance(space, MixedSpace) else axis
            column = pilot if pilot.ndim == 1 else pilot[:, at]
        edges.append(
            np.concatenate([np.linspace(low, high, _INTERVALS[dimension] + 1), _around(column)])
        )
    if isinstance(space, MixedSpace):
        return mixed_cells(space.num_labels, edges[0])
    return interval_cells(edges[0]) if dimension == 1 else product_cells(edges)


def _around(pilot: np.ndarray | None) -> np.ndarray:
    """Edges that part the values which repeat in a pilot from all others."""
    if pilot is None:
        return np.zeros(0)
    values, counts = np.unique(pilot[np.isfinite(pilot)], return_counts=True)
    atoms = values[counts >= max(_ATOM_SHARE * len(pilot), 3)][:100]
    # Beside 0, the smallest number that is not flushed to 0 by a device.
    smallest = np.finfo(atoms.dtype).tiny
    return np.concatenate([atoms, np.where(atoms == 0, smallest, np.nextafter(atoms, np.inf))])


def allowed_cells(cells: Cells, region: Region) -> np.ndarray | None:
    """Bool [cells] where a list of outcomes restricts the events; None where nothing does."""
    if not isinstance(region, Outcomes) or np.all(region.allowed):
        return None
    return np.concatenate([[False], np.asarray(region.allowed, bool), [False]])


def event_runs(
    mechanism: Mechanism,
    pairs: Pairs,
    cells: Cells,
    runs: Any,
    *,
    num_samples: int,
    num_confirm: int,
    confidence: float,
    key: Any,
    execution: Execution,
    allowed: np.ndarray | None = None,
    delta: float = 0.0,
) -> EventRuns:
    """Exact audits of any number of independent runs at once.

    Args:
        mechanism: That is drawn.
        pairs: Of databases.
        cells: Partition of its outputs.
        runs: Run numbers; each run's draws follow from its number and the key alone.
        num_samples: n, draws at each side of each pair in the search.
        num_confirm: N, fresh draws at each side of the chosen pair.
        confidence: Of the bounds.
        key: Typed key.
        execution: Layout on the machine; never changes the bounds.
        allowed: bool [cells] that events may hold, or None.
        delta: Of (epsilon, delta)-differential privacy.
    """
    numbers = np.asarray(runs, np.int32)
    drawn = (mechanism, pairs.database, pairs.neighbor, cells)
    searched = blocks_of(num_samples)
    counts = cell_counts_runs(*drawn, searched, key, numbers, execution=execution).as_int()
    events = _choose(counts, cells, num_confirm, confidence, allowed, delta)
    pair = np.argmax(events.predicted, axis=-1)
    rows = np.arange(len(pair))
    event = Event(
        events.cells[rows, pair],
        events.larger[rows, pair],
        events.share[rows, pair],
        events.predicted[rows, pair],
    )
    confirmed = event_counts_runs(
        *drawn,
        blocks_of(num_confirm),
        key,
        numbers,
        pair.astype(np.int32),
        event.cells,
        execution=execution,
    ).as_int()
    return EventRuns(
        _bounds(event, confirmed, num_confirm, confidence, delta),
        pair,
        event,
        confirmed,
        events.predicted,
        counts[rows, pair],
    )


def _choose(
    counts: NDArray,
    cells: Cells,
    num_confirm: int,
    confidence: float,
    allowed: np.ndarray | None,
    delta: float,
) -> Event:
    return choose_event(
        counts,
        num_confirm,
        confidence,
        allowed=allowed,
        delta=delta,
        coarser=cells.coarser(),
        positions=cells.positions(),
    )


def _bounds(
    event: Event, counts: NDArray, num_confirm: int, confidence: float, delta: float
) -> NDArray:
    larger = np.take_along_axis(counts, event.larger[:, None], axis=-1)[:, 0]
    smaller = np.take_along_axis(counts, 1 - event.larger[:, None], axis=-1)[:, 0]
    return event_lower_bound(
        larger, smaller, num_confirm, num_confirm, confidence, event.share, delta
    )


def assemble_exact(
    found: EventRuns,
    cells: Cells,
    *,
    pairs: Pairs,
    num_samples: int,
    num_confirm: int,
    confidence: float,
    num_claims: int,
    claim: float | None,
    mechanism: str,
    parameters: dict[str, Any],
    seed: Any,
    region: str,
    notes: Sequence[str],
    start: float,
    delta: float = 0.0,
) -> AuditResult:
    """The result of one run.

    Args:
        found: Of one run.
        cells: In which outputs were counted.
        pairs: That were searched.
        num_samples: n.
        num_confirm: N.
        confidence: Of all claims together.
        num_claims: How many claims are made with this confidence.
        claim: Epsilon to compare with, or None.
        mechanism: Name for people.
        parameters: Of the mechanism.
        seed: As the caller gave it.
        region: In words.
        notes: To begin with.
        start: `time.perf_counter()` when the audit began.
        delta: Of (epsilon, delta)-differential privacy.
    """
    index, larger = int(found.pair[0]), int(found.event.larger[0])
    lower_bound = float(found.lower_bound[0])
    counts = [int(count) for count in found.counts[0]]
    shares = [count / num_confirm for count in counts]
    verdict, sentence = judge(lower_bound, claim, confidence, delta)
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.float64(max(shares[larger] - delta, 0))
        estimate = float(np.log(above) - np.log(np.float64(shares[1 - larger])))
    text = cells.describe(found.event.cells[0])
    order = np.argsort(-found.predicted[0], kind="stable")
    return AuditResult(
        lower_bound=lower_bound,
        estimate=finite_or_none(max(estimate, 0.0)) if counts != [0, 0] else 0.0,
        confidence=float(confidence),
        verdict=verdict,
        sentence=sentence,
        claim=None if claim is None else float(claim),
        witness=Witness(
            pair=pairs.labels[index],
            database=np.asarray(pairs.database[index]).tolist(),
            neighbor=np.asarray(pairs.neighbor[index]).tolist(),
            output=text.removeprefix("the output is "),
            densities=(shares[0], shares[1]),
            larger=("database", "neighbor")[larger],
            on_floor=False,
            floor=0.0,
            event=text,
            event_counts=(counts[0], counts[1]),
            bandwidth=None,
        ),
        bound="exact binomial",
        standard_error=None,
        mechanism=mechanism,
        parameters=parameters,
        pair_estimates=tuple((pairs.labels[i], float(found.predicted[0, i])) for i in order),
        region=region,
        num_samples=num_samples,
        num_confirm=num_confirm,
        seed=seed,
        settings={
            "guarantee": "exact",
            "num_claims": num_claims,
            "delta": delta,
            "num_cells": cells.size,
            "predicted": float(found.event.predicted[0]),
            **numbers_of_process(),
        },
        notes=(*notes, "An event was counted: the bound is exact at every sample size."),
        curve=_curve(found, cells),
        versions=versions(),
        device=device(),
        seconds=time.perf_counter() - start,
    )


def _curve(found: EventRuns, cells: Cells) -> dict | None:
    """For a plot; None for vectors."""
    if len(cells.axes) != 1:
        return None
    return curve_of(
        found.search_counts[0],
        found.event.cells[0],
        cells.axes[0].bounds(),
        lambda cell: cells.name_of(cell).removeprefix("the output is "),
    )
