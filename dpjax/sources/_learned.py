"""Choice of a partition for a pair's outputs, and of a score if the outputs are vectors."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpjax.partitions import PILOT, Outputs, Partition, lay, part_of, score_partitions
from dpjax.partitions._digits import digits_partitions
from dpjax.partitions._entries import NO_ENTRIES, Entries
from dpjax.partitions._one_entry import entry_partition
from dpjax.partitions._one_statistic import statistic_partitions
from dpjax.sources._counting import halves_of

_ENOUGH, _ENOUGH_OF_FEW, _FEW = 0.97, 0.9, 5000
"""A simpler score is preferred if its expected bound is at least this share of the largest one.

_ENOUGH_OF_FEW applies if there are fewer than _FEW outputs per side, for which expected bounds are
less precise. For 300 to 5,000 outputs per side, shares from 0.85 to 0.97 lead to equal bounds.
"""

_MOST_ENTRIES, _ROWS = 128, 4000
"""Maximum number of entries that are tried alone, and number of outputs per side by which they are
chosen.
"""

_LEVELS = (0.002, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.998)
"""Quantile levels at which the distributions of an entry are compared."""

_MOST_BOXES = 3
"""Maximum dimension of vectors for which cells are boxes."""

Promise = Callable[[Partition, NDArray[np.int64], int], float]
"""Function (partition, counts, num_partitions) -> expected bound.

The counts have shape [2 halves, 2 sides, cells]. The last argument is the number of partitions
among which the best one is chosen.
"""


def _promising(pilots: Sequence[Outputs], columns: list[int]) -> list[int]:
    """Return the entries whose distributions differ most between the sides, in their order.

    The difference of an entry is the largest difference between the two distribution functions at
    a few quantiles, in standard errors.
    """
    sides = [pilot.values[~pilot.alone][:_ROWS, columns] for pilot in pilots]
    if len(columns) <= _MOST_ENTRIES or not all(map(len, sides)):
        return columns[:_MOST_ENTRIES]
    scale = 1 / len(sides[0]) + 1 / len(sides[1])
    largest = np.zeros(len(columns))
    for cut in np.quantile(np.concatenate(sides), _LEVELS, axis=0):
        for below in (np.less, np.less_equal):
            p, q = (below(side, cut).mean(axis=0) for side in sides)
            middle = np.clip((p + q) / 2, 1e-9, 1 - 1e-9)
            errors = np.sqrt(middle * (1 - middle) * scale)
            largest = np.maximum(largest, np.abs(p - q) / errors)
    chosen = np.sort(np.argsort(-largest, kind="stable")[:_MOST_ENTRIES])
    return [columns[place] for place in chosen]


def lay_best(
    pilots: Sequence[Outputs],
    folds: Sequence[np.ndarray],
    names: Sequence[str],
    promise: Promise,
    entries: Entries = NO_ENTRIES,
    laid_by: Callable[..., Partition] = lay,
    **options: Any,
) -> Partition:
    """For a pair's outputs, choose a partition whose expected bound is nearly the largest.

    Vectors are divided by a score, or into boxes if boxes have a larger expected bound. If
    `options` contain a region, vectors are always divided into boxes.

    Args:
        pilots: First outputs of the search set, from the database and from its neighbor.
        folds: Fold of each output, as one array int [n] per pilot.
        names: Names of all labels that occur in the pilots.
        promise: See `Promise`.
        entries: Entries of the outputs. Descriptions of events contain their paths.
        laid_by: Function that divides numbers, and vectors into boxes, with the arguments of
            `dpjax.partitions.lay`.
        options: Options of `laid_by`.

    Raises:
        ValueError: If `lay` refuses the outputs, or if the outputs have too many dimensions for
            fitting a score.
    """
    dimension = pilots[0].values.shape[1]
    if dimension == 1 or options.get("region") is not None:
        return replace(laid_by(pilots, names, **options), parts=entries.paths)
    first = [part_of(pilot, slice(PILOT)) for pilot in pilots]
    columns = entries.of(dimension)
    tried = _promising(first, columns)
    single = [entry_partition(first, names, column, laid_by) for column in tried]
    others: list[Partition] = [*score_partitions(pilots, folds, names, entries)]
    if dimension <= _MOST_BOXES:
        # Try boxes directly after the linear score, since events that consist of boxes are as easy
        # to describe as events of a linear score.
        others.insert(1, laid_by(first, names, **options))

    digits: list[Partition] = []
    if not entries.candidates:
        others += statistic_partitions(first, names, len(columns), laid_by)
        digits += digits_partitions(first, names, columns, entries.low_bits)

    # All entries compete, although only the most promising ones are tried.
    num_partitions = len(columns) + len(others) + len(digits)

    def promised(cells: Partition, candidates: int = 0) -> float:
        halves = [
            halves_of(cells, outputs, fold, np.arange(len(fold)))
            for outputs, fold in zip(pilots, folds, strict=True)
        ]
        counts = np.stack(halves, axis=1)
        by_chance = candidates * _chance(counts.sum(axis=0)) if candidates else 0.0
        return promise(cells, counts, num_partitions) / (1 + by_chance)

    bounds = [promised(cells, entries.candidates) for cells in single]
    best = int(np.argmax(bounds))
    found = [(single[best], bounds[best]), *((cells, promised(cells)) for cells in others)]
    # The digits of all entries were compared.
    found += [(cells, promised(cells, len(columns))) for cells in digits]
    largest = max(bound for _, bound in found)
    enough = _ENOUGH if min(len(pilot.labels) for pilot in pilots) >= _FEW else _ENOUGH_OF_FEW
    place = next(place for place, (_, bound) in enumerate(found) if bound >= enough * largest)
    if place + 1 < len(found) and found[place + 1][0].is_peer:
        place += found[place + 1][1] > found[place][1]
    return replace(found[place][0], parts=entries.paths)


def _chance(counts: NDArray[np.int64]) -> float:
    """Return the probability that an entry differs as much, if both sides are equal.

    The entry's difference is the largest difference between the sides' shares of a cell, or of all
    cells up to a cell, in standard errors. The counts have the shape [2 sides, cells].
    """
    sizes = counts.sum(axis=1)
    shares = counts / np.maximum(sizes, 1)[:, None]
    shares = np.concatenate([shares, np.cumsum(shares, axis=1)[:, :-1]], axis=1)
    pooled = np.clip((sizes @ shares) / max(sizes.sum(), 1), 1e-300, 1 - 1e-15)
    errors = np.sqrt(pooled * (1 - pooled) * (1 / np.maximum(sizes, 1)).sum())
    return math.erfc((np.abs(shares[0] - shares[1]) / errors).max() / math.sqrt(2))
