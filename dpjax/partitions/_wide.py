"""Choice of the entries to compare if vectors have too many entries."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.partitions._batches import Outputs, with_numbers
from dpjax.partitions._cells import name_of_path
from dpjax.partitions._entries import Entries
from dpjax.partitions._logistic import FOLDS
from dpjax.partitions._moments import Moments, in_slices
from dpjax.partitions._spread_of_vectors import SpreadOfVectors
from dpjax.partitions._transforms import NUM_PARTS, Table

MOST_COLUMNS = 1000
"""Largest number of numeric entries in one output that are compared."""

_FURTHER = ("['mean of all entries']", "['norm of all entries']")
"""Paths of two numbers that are computed from all entries."""

_MOST_SCORED = 2**17
"""Maximum number of entries for which there are scores of all entries."""


class Wide(NamedTuple):
    """Vectors of which only some entries are compared, beside numbers that use all entries.

    These numbers are the mean, the Euclidean norm, and linear scores if they seem to differ.

    Attributes:
        chosen: Indices of the entries that are compared, int64 [k]. They increase among the
            reliable entries, and among the others.
        reliable: Number of the first chosen entries whose differences are no chance.
        width: Number of all entries.
        spread: Linear scores of all entries, or None.
        num_outputs: Number of outputs per side from which the entries were chosen.
    """

    chosen: np.ndarray
    reliable: int
    width: int
    spread: SpreadOfVectors | None
    num_outputs: int

    @classmethod
    def of(
        cls, pilots: Sequence[Outputs], folds: Sequence[np.ndarray], paths: Sequence[str] = ()
    ) -> "Wide | None":
        """Choose the entries whose means or scales differ most, in standard errors.

        Args:
            pilots: First outputs of both sides.
            folds: Fold of each output, int [n] for each side.
            paths: Path of each column, or () if outputs are vectors.

        Returns:
            The choice, or None if all entries can be compared.
        """
        width = pilots[0].values.shape[1] if pilots else 0
        if len(Entries(tuple(paths)).of(width)) <= MOST_COLUMNS:
            return None
        sides, folds = with_numbers(pilots, folds)
        tables = Table.of(sides)
        moments = Moments.of(tables, folds)
        order, number = moments.by_difference(parts=NUM_PARTS)
        # The columns are fewer than the entries, so that their number tells them apart.
        most = min(MOST_COLUMNS, width - FOLDS - 1) - len(_FURTHER)
        number = min(number, most)
        others = order[number:most]
        chosen = np.concatenate([np.sort(order[:number]), np.sort(others)])
        spread = None
        if width <= _MOST_SCORED:
            spread = SpreadOfVectors.of(tables, folds, moments)
        return cls(chosen, number, width, spread, min(map(len, folds)))

    @property
    def size(self) -> int:
        """Number of columns, which `entries` would take longer to count."""
        scores = 0 if self.spread is None else FOLDS
        return len(_FURTHER) + len(self.chosen) + scores

    def entries(self, paths: Sequence[str]) -> Entries:
        """Describe the columns: numbers that use all entries, the entries, and scores.

        Args:
            paths: Paths of all entries, or () if outputs are vectors.
        """

        def path(place: int) -> str:
            return paths[place] if paths else f"[{place}]"

        scores: tuple[str, ...] = ()
        if self.spread is not None:
            scores = self.spread.paths(lambda place: name_of_path(path(place)))
        every = (*_FURTHER, *map(path, self.chosen.tolist()), *scores)
        return Entries(every, self.width, len(_FURTHER) + self.reliable, self.num_outputs)

    def narrowed(self, outputs: Outputs) -> Outputs:
        """Return outputs with the chosen entries and the numbers that use all entries."""
        if outputs.values.shape[1] != self.width:
            return outputs
        further = [
            np.stack([rows.mean(axis=1), np.sqrt((rows**2).sum(axis=1))], axis=1)
            for _, rows in in_slices(outputs.values)
        ]
        columns = [np.concatenate(further), outputs.values[:, self.chosen]]
        if self.spread is not None:
            columns.append(self.spread.scores(outputs.values))
        values = np.hstack(columns)
        values[outputs.alone] = 0.0
        return outputs._replace(values=values)

    def to_plain(self) -> JsonObject:
        """Return the choice as JSON values."""
        spread = None if self.spread is None else self.spread.to_plain()
        return self._asdict() | {"chosen": self.chosen.tolist(), "spread": spread}

    @classmethod
    def restored(cls, plain: JsonObject) -> "Wide":
        """Restore the choice that `to_plain` returned."""
        spread = None if plain["spread"] is None else SpreadOfVectors.restored(plain["spread"])
        reliable, width, size = (int(plain[name]) for name in ("reliable", "width", "num_outputs"))
        return cls(np.array(plain["chosen"], int), reliable, width, spread, size)

    def note(self) -> str:
        """Return a note on the entries that are compared."""
        return (
            f"Outputs have {self.width:,} numbers each. The audit compares the {len(self.chosen)} "
            "numbers that differ most in the search set, and the mean"
            f"{' and the norm' if self.spread is None else ', the norm and a linear score'} of all "
            "numbers."
        )
