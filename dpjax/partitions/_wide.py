"""Choice of the entries to compare if vectors have too many entries."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.partitions._batches import Outputs
from dpjax.partitions._features import clipped

MOST_COLUMNS = 1000
"""Largest number of numeric entries in one output that are compared."""

_FURTHER = ("['mean of all entries']", "['norm of all entries']")
"""Paths of two numbers that are computed from all entries."""

_SLICE = 2**22
"""Number of entries that are converted at a time, so that little additional memory is used."""


class Wide(NamedTuple):
    """Vectors of which only some entries are compared, beside their mean and Euclidean norm.

    Attributes:
        chosen: Indices of the entries that are compared, increasing, int64 [k].
        width: Number of all entries.
    """

    chosen: np.ndarray
    width: int

    @classmethod
    def of(cls, pilots: Sequence[Outputs]) -> "Wide | None":
        """Choose the entries that differ most between two sides, in standard errors.

        Args:
            pilots: First outputs of both sides.

        Returns:
            The choice, or None if all entries can be compared.
        """
        width = pilots[0].values.shape[1] if pilots else 0
        if width <= MOST_COLUMNS:
            return None
        means, variances = np.zeros((2, width)), np.zeros(width)
        for side, pilot in enumerate(pilots):
            values, number = pilot.values, max(len(pilot.values), 1)
            for rows in _slices(values):
                means[side] += clipped(rows).sum(axis=0) / number
            for rows in _slices(values):
                variances += ((clipped(rows) - means[side]) ** 2).sum(axis=0) / number**2
        best = by_difference(means, variances)[: MOST_COLUMNS - len(_FURTHER)]
        return cls(np.sort(best), width)

    def narrowed(self, outputs: Outputs) -> Outputs:
        """Return outputs with the chosen entries, their mean and their norm."""
        if outputs.values.shape[1] != self.width:
            return outputs
        further = [
            np.stack([rows.mean(axis=1), np.sqrt((rows**2).sum(axis=1))], axis=1)
            for rows in map(clipped, _slices(outputs.values))
        ]
        values = np.hstack([outputs.values[:, self.chosen], np.concatenate(further)])
        values[outputs.alone] = 0.0
        return outputs._replace(values=values)

    def parts(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return the path of each number that is compared.

        Args:
            paths: Paths of all entries, or () if outputs are vectors.
        """
        known = [paths[int(p)] if paths else f"[{p}]" for p in self.chosen]
        return (*known, *_FURTHER)

    def to_plain(self) -> JsonObject:
        """Return the choice as JSON values."""
        return {"chosen": self.chosen.tolist(), "width": self.width}

    @classmethod
    def restored(cls, plain: JsonObject) -> "Wide":
        """Restore the choice that `to_plain` returned."""
        return cls(np.array(plain["chosen"], int), int(plain["width"]))

    def note(self) -> str:
        """Return a note on the entries that are compared."""
        return (
            f"Outputs have {self.width:,} numbers each. The audit compares the {len(self.chosen)} "
            "numbers that differ most in the search set, and the mean and the norm of all numbers."
        )


def by_difference(means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the indices of columns, from the largest difference in standard errors to the least.

    Columns whose differences are equal up to rounding errors keep their order.

    Args:
        means: Mean of each column on both sides, float64 [2, columns].
        variances: Variance of each difference of means, float64 [columns].
    """
    ratios = in_standard_errors(means, variances)
    return np.argsort(-ratios, kind="stable")


def in_standard_errors(means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the difference of each column's means, divided by its standard error.

    The result is float32, so that differences are equal if they are equal up to rounding errors.

    Args:
        means: Mean of each column on both sides, float64 [2, columns].
        variances: Variance of each difference of means, float64 [columns].
    """
    gaps, errors = np.abs(means[0] - means[1]), np.sqrt(variances)
    ratios = np.divide(gaps, errors, out=np.where(gaps > 0, np.inf, 0.0), where=errors > 0)
    with np.errstate(over="ignore"):
        return ratios.astype(np.float32)


def _slices(values: np.ndarray) -> list[np.ndarray]:
    """Return all rows of a table, [n, d], in parts of about _SLICE entries each."""
    step = max(_SLICE // values.shape[1], 1)
    return [values[start : start + step] for start in range(0, max(len(values), 1), step)]
