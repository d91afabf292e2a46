"""The result of an audit of counted events."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dpjax._numerics import finite_or_none
from dpjax.databases import Pairs
from dpjax.databases._pairs import rows_of
from dpjax.inference import event_lower_bound
from dpjax.methods.events._choice import Found
from dpjax.notions._terms import own_confidence_of
from dpjax.partitions._curve import curve_of
from dpjax.partitions._output_cells import OutputCells
from dpjax.results._provenance import versions
from dpjax.results._result import AuditResult, Witness, judge

_SHOWN = 2000


class HostPairs(NamedTuple):
    """Pairs of databases of any kind.

    Attributes:
        sides: The databases, and their neighbors.
        labels: Names for people.
    """

    sides: tuple[list[Any], list[Any]]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


def host_pairs(pairs: Any, labels: Sequence[str] = ()) -> HostPairs:
    """Makes pairs of what a person writes: `Pairs`, or (database, neighbor)s of any objects.

    Raises:
        TypeError: It is neither.
        ValueError: There is none.
    """
    if isinstance(pairs, Pairs):
        return HostPairs((list(pairs.database), list(pairs.neighbor)), pairs.labels)
    rows = rows_of(pairs)
    if not rows:
        raise ValueError("pairs must hold at least one (database, neighbor), but was empty.")
    names = tuple(labels) or tuple(f"pair {number}" for number in range(len(rows)))
    return HostPairs(([row[0] for row in rows], [row[1] for row in rows]), names)


def refuse_foreign(**options: Any) -> None:
    """Options that outputs of the host do not have, where one of them was given.

    Raises:
        ValueError: One is not None.
    """
    for name, value in options.items():
        if value is not None:
            raise ValueError(
                f"{name} is for JAX mechanisms, and for arrays with guarantee='normal': all other "
                "outputs are counted in cells, all of them."
            )


def streamed_result(
    found: Sequence[Found],
    best: int,
    confirmed: Sequence[tuple[int, int]],
    *,
    pairs: HostPairs,
    mechanism: str,
    confidence: float,
    num_claims: int,
    claim: float | None,
    delta: float,
    seed: Any,
    settings: dict[str, Any],
    notes: Sequence[str],
    seconds: float,
) -> AuditResult:
    """The result, from what the search found and what was confirmed.

    Args:
        found: For each pair.
        best: Number of the pair that was confirmed.
        confirmed: (outputs in the event, of how many) at the database and at its neighbor.
        pairs: That were searched.
        mechanism: Name for people.
        confidence: Of all claims together.
        num_claims: How many claims are made with this confidence.
        claim: Epsilon to compare with, or None.
        delta: The part of the probability that the claim leaves out.
        seed: As the caller gave it.
        settings: That change the answer.
        notes: To begin with.
        seconds: Wall time.
    """
    cells, counts, event = found[best]
    notes = list(notes)
    mask = event.cells
    if not any(inside for inside, _ in confirmed):
        # Its probability on either side is unknown, so what always happened is shown instead.
        confirmed = [(trials, trials) for _, trials in confirmed]
        if mask.any():
            notes.append("The event that the search chose did not happen in the draws to confirm.")
        mask = ~mask
    larger = int(event.larger)
    (inside, trials), (other, other_trials) = confirmed[larger], confirmed[1 - larger]
    lower_bound = float(
        event_lower_bound(
            inside,
            other,
            trials,
            other_trials,
            own_confidence_of(confidence, num_claims),
            float(event.share),
            delta=delta,
        )
    )
    verdict, sentence = judge(lower_bound, claim, confidence, delta)
    share = [k / n for k, n in confirmed]
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = np.float64(max(share[larger] - delta, 0)), np.float64(share[1 - larger])
        estimate = float(np.fmax(np.log(up) - np.log(down), 0.0)) if up > 0 else 0.0
    text, whole = cells.describe(mask), cells.describe(mask, whole=True)
    if not event.cells.any():
        reason = cells.describe(mask & ~mask) if delta else "no event: nothing tells the two apart"
        text = whole = f"{whole} ({reason})"
    predicted = [float(f.event.predicted) for f in found]
    order = np.argsort(-np.array(predicted), kind="stable")
    return AuditResult(
        lower_bound=lower_bound,
        estimate=finite_or_none(estimate),
        confidence=float(confidence),
        verdict=verdict,
        sentence=sentence,
        claim=None if claim is None else float(claim),
        witness=Witness(
            pair=pairs.labels[best],
            database=_plain(pairs.sides[0][best]),
            neighbor=_plain(pairs.sides[1][best]),
            output=text.removeprefix("the output is "),
            densities=(share[0], share[1]),
            larger=("database", "neighbor")[larger],
            on_floor=False,
            floor=0.0,
            event=whole,
            event_counts=(confirmed[0][0], confirmed[1][0]),
            bandwidth=None,
        ),
        bound="exact binomial",
        standard_error=None,
        mechanism=mechanism,
        parameters={},
        pair_estimates=tuple((pairs.labels[i], predicted[i]) for i in order),
        region="all outputs",
        num_samples=int(counts.sum(axis=1).min()),
        num_confirm=min(trials, other_trials),
        seed=seed,
        settings={
            **settings,
            "guarantee": "exact",
            "num_claims": num_claims,
            "delta": delta,
            "num_cells": cells.size,
            "confirmed": [confirmed[0][1], confirmed[1][1]],
            "share": float(event.share),
            "generator": "philox4x64",
        },
        notes=tuple(notes),
        curve=_curve(cells, counts, mask),
        versions=versions(),
        device="host",
        seconds=seconds,
    )


def _curve(cells: OutputCells, counts: np.ndarray, event: np.ndarray) -> dict[str, list] | None:
    """For a plot: labels that came with numbers are taken without them. None for vectors."""
    if len(cells.shape) > 1:
        return None
    if cells.boxed.tolist() not in ([], [0]):
        cells, counts, event = _without_numbers(cells, counts, event)
    names = [*cells.names, "some other label"]
    return curve_of(counts, event, cells.bounds(), names.__getitem__)


def _without_numbers(
    cells: OutputCells, counts: np.ndarray, event: np.ndarray
) -> tuple[OutputCells, np.ndarray, np.ndarray]:
    """Cells of labels alone; in the event are those of which all that happened is."""
    label = cells.labels()
    alone = OutputCells(cells.names, (np.empty(0),), (np.empty(0),), np.empty(0, int))
    summed = np.stack([np.bincount(label, side, alone.size) for side in counts])
    outside = np.bincount(label, counts.sum(axis=0) * ~event, alone.size)
    return alone, summed, (outside == 0) & summed.any(axis=0)


def _plain(database: Any) -> Any:
    """A database as JSON can hold it, or the beginning of its text."""
    if isinstance(database, np.ndarray | np.generic):
        database = database.tolist()
    text = repr(database)
    if len(text) > _SHOWN:
        return f"{text[:_SHOWN]}..."
    return database if _is_plain(database) else text


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, float):
        return bool(np.isfinite(value))
    return value is None or isinstance(value, str | int)
