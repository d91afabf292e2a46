"""Choice of events for many pairs, in batches of pairs whose cells are sorted in the same ways."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.core.types import JsonObject
from dpjax.inference import Event, Hypothesis, Rivals, Shared, choose_event, largest_bound
from dpjax.partitions import Budget, Search

_ROWS = 256
"""Maximum number of search sets per call of `choose_event`, which limits memory use."""


def fresh(budget: Budget) -> int | Shared:
    """Return the number of confirmation draws, as a `Shared` if it may differ between sides."""
    return Shared(budget.num_confirm) if budget.shared else budget.num_confirm


class Asked(NamedTuple):
    """Search set of one pair, with the lines and groups by which its cells are ordered.

    Attributes:
        search: Search set of the pair, in one or more runs.
        positions: Positions of the cells along each line, as `Partition.positions` returns them.
        coarser: Groups of the cells in coarser partitions, as `Partition.coarser` returns them.
    """

    search: Search
    positions: Sequence[NDArray[np.float64]]
    coarser: Sequence[NDArray[np.int64]] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Hashable value that contains all arguments for choosing an event, except the counts."""
        partition, halves, allowed = self.search
        arrays = (*self.positions, *self.coarser)
        may = None if allowed is None else allowed.tobytes()
        kinds = partition.ordered, partition.monotonic
        parts = halves.shape[-1], *kinds, len(self.positions), may
        return (*parts, *(array.tobytes() for array in arrays))


def chosen(asked: Sequence[Asked], budget: Budget, hypothesis: Hypothesis) -> list[Event]:
    """Return one `Event` per search set, chosen by `choose_event` for all runs of the set."""
    found = {}
    for numbers, parts in _together(asked, budget, hypothesis):
        events: list[Event] = []
        for counts, options in parts:
            of_part = choose_event(counts, **options)
            events += [of_part.at((row,)) for row in range(len(counts))]
        for number in numbers:
            batch = asked[number].search.halves.shape[:-3]
            found[number] = Event.stacked(events[: math.prod(batch)], batch)
            del events[: math.prod(batch)]
    return [found[number] for number in range(len(asked))]


def promised(
    asked: Sequence[Asked], budget: Budget, hypothesis: Hypothesis
) -> list[NDArray[np.float64]]:
    """Return the expected bounds of the events that `chosen` returns."""
    found = {}
    for numbers, parts in _together(asked, budget, hypothesis):
        bounds = np.concatenate([largest_bound(counts, **options) for counts, options in parts])
        for number in numbers:
            batch = asked[number].search.halves.shape[:-3]
            found[number] = bounds[: math.prod(batch)].reshape(batch)
            bounds = bounds[math.prod(batch) :]
    return [found[number] for number in range(len(asked))]


def _together(
    asked: Sequence[Asked], budget: Budget, hypothesis: Hypothesis
) -> Iterator[tuple[list[int], Iterator[tuple[NDArray[np.int64], JsonObject]]]]:
    """Group pairs by the orders of their cells, and yield arguments of `choose_event` per group.

    For each group, the function yields the indices of the pairs, and the arguments. The pairs of a
    group are evaluated as if they were runs of one pair. The result for a run does not depend on
    the other runs. The runs are divided into parts of at most `_ROWS` runs, and there is one set of
    arguments per part.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, each in enumerate(asked):
        groups.setdefault(each.key, []).append(number)
    for numbers in groups.values():
        first = asked[numbers[0]]
        batches = [asked[number].search.halves for number in numbers]
        rows = np.concatenate([halves.reshape(-1, *halves.shape[-3:]) for halves in batches])
        options = {
            "num_confirm": fresh(budget),
            "confidence": budget.confidence,
            "allowed": first.search.allowed,
            "hypothesis": hypothesis,
            "coarser": first.coarser,
            "positions": first.positions,
            "ordered": first.search.partition.ordered,
            "monotonic": first.search.partition.monotonic,
            "rivals": Rivals(budget.num_rivals, budget.num_partitions),
        }
        parts = (rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS))
        yield numbers, ((part[:, 0], {**options, "judge": part[:, 1]}) for part in parts)
