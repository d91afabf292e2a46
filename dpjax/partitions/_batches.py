"""Batches of encoded outputs."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple, Self

import numpy as np


class Outputs(NamedTuple):
    """A batch of outputs.

    Attributes:
        labels: Index of each output's label in the `names` of an `Encoder`, int32 [n]. The index is
            0 for outputs without a label.
        values: Finite numbers, float64 [n, d]. The numbers are 0 for outputs that have only a
            label.
        alone: Whether each output has only a label and no numbers, bool [n].
    """

    labels: np.ndarray
    values: np.ndarray
    alone: np.ndarray


class Pooled(NamedTuple):
    """The outputs of both sides, concatenated, n in total.

    Attributes:
        outputs: The outputs.
        side: Side of each output, 0 or 1, int [n].
        fold: Fold of each output, int [n].
    """

    outputs: Outputs
    side: np.ndarray
    fold: np.ndarray

    @classmethod
    def of(
        cls, sides: Sequence[Outputs], folds: Sequence[np.ndarray], most: int | None = None
    ) -> Self:
        """Concatenate the outputs of both sides, or the first `most` outputs of each side."""
        parts = [part_of(side, slice(most)) for side in sides]
        outputs = Outputs(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        side = np.repeat([0, 1], [len(part.labels) for part in parts])
        return cls(outputs, side, np.concatenate([fold[:most] for fold in folds]))


def part_of(outputs: Outputs, rows: slice | np.ndarray) -> Outputs:
    """Return a slice of the outputs, without a copy, or those that a mask selects, bool [n]."""
    return Outputs(*(column[rows] for column in outputs))


def joined(batches: Sequence[Outputs]) -> Outputs:
    """Concatenate the outputs of one or more batches."""
    width = max(batch.values.shape[1] for batch in batches)
    return Outputs(
        np.concatenate([batch.labels for batch in batches]),
        np.concatenate([widened(batch.values, width) for batch in batches]),
        np.concatenate([batch.alone for batch in batches]),
    )


def parted(batches: Iterator[Outputs], count: int) -> tuple[Outputs, Iterator[Outputs]]:
    """Split batches into one batch of the first `count` outputs, and batches of the rest."""
    taken, size = [], 0
    for batch in batches:
        taken.append(batch)
        size += len(batch.labels)
        if size >= count:
            break
    whole = joined(taken)
    first, others = (part_of(whole, part) for part in (slice(count), slice(count, None)))
    return first, chain([others], batches)


def in_turn(sides: Sequence[Iterator[Outputs]]) -> Iterator[tuple[int, Outputs]]:
    """Yield the batches of several sides, each from a side that has yielded the fewest outputs.

    The order in which outputs of new kinds occur therefore does not depend on the division of each
    side into batches, if each output of a new kind has a batch of its own.

    Yields:
        Tuples (index of the side, batch).
    """
    left = dict.fromkeys(range(len(sides)), 0)
    while left:
        side = min(left, key=left.__getitem__)
        batch = next(sides[side], None)
        if batch is None:
            del left[side]
        else:
            left[side] += len(batch.labels)
            yield side, batch


def with_numbers(
    sides: Sequence[Outputs], folds: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the numbers and the fold of the outputs of each side, without labels alone.

    Labels alone, such as those of exceptions, are not vectors of zeros. They are kept only if a
    side has nothing else.
    """
    kept = [~side.alone for side in sides]
    if all(has.all() for has in kept) or not all(has.any() for has in kept):
        kept = [slice(None)] * len(sides)
    values = [side.values[has] for side, has in zip(sides, kept, strict=True)]
    return values, [fold[has] for fold, has in zip(folds, kept, strict=True)]


def widened(values: np.ndarray, width: int) -> np.ndarray:
    """Return numbers, [n, width], with columns of zeros after those of `values`, [n, d]."""
    further = width - values.shape[1]
    return np.pad(values, [(0, 0), (0, further)]) if further else values
