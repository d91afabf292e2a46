"""Features of outputs that contain several numbers and labels. Linear scores use these features."""

from dataclasses import dataclass

import numpy as np

from dpjax.core.threads import over_rows
from dpjax.partitions._batches import Outputs, part_of

_CLIP = 10.0
"""Largest magnitude of a standardized value; larger values are clipped."""

SOFT = 0.5
"""Largest magnitude of "common" and "clipped" features. The clipping imitates the log density ratio
of Laplace noise, which is a clipped linear function.
"""

NORMAL_IQR = 1.349
"""Interquartile range of the standard normal distribution."""

LARGE = 2.0**500
"""Scores clip every entry to [-LARGE, LARGE], and no scale is below 1 / LARGE. Differences,
squares and sums of such entries are finite.
"""

_MAX_LABELS, _ATOM_SHARE, _MAX_ATOMS, _OUTPUTS_PER_ATOM = 64, 0.005, 8, 2
"""Parameters of indicators. At most _MAX_LABELS labels and at most _MAX_ATOMS atoms per entry have
an indicator. A value is an atom only if it makes up at least the fraction _ATOM_SHARE of the
outputs. If there are more than one atom for every _OUTPUTS_PER_ATOM outputs, only the most frequent
value of each entry is an atom. A regression on all indicators would take long and predict little.
"""

_SAMPLE, _MOST_INDICATORS = 2**22, 1024
"""Limits for outputs with many entries. Medians, scales and atoms are those of about _SAMPLE
numbers. Only the most frequent value of each entry is an atom if the entries and their atoms would
be more than _MOST_INDICATORS, since the time of a regression grows with the square of their number.
"""

_KNOTS, _FEW_KNOTS, _MANY_COLUMNS, _FEW_VALUES = 7, 3, 20, 8
"""Each column has _KNOTS hinge features, which are max(value - knot, 0) for different knots. If
there are more than _MANY_COLUMNS columns, each column has only _FEW_KNOTS hinge features. In a
column with at most _FEW_VALUES distinct values, every value except the smallest and the largest is
a knot.
"""

_SQUARE = 25.0
"""Largest magnitude of squares and products of standardized values; larger values are clipped."""


def clipped(values: np.ndarray) -> np.ndarray:
    """Return a copy of finite numbers, clipped so that arithmetic on them does not overflow."""
    return np.clip(values, -LARGE, LARGE)


@dataclass(frozen=True)
class Columns:
    """Standardized columns of outputs: numeric entries, followed by indicators of labels and atoms.

    Attributes:
        centre: Medians of the numeric entries without their atoms, [d].
        scale: Robust standard deviations of the numeric entries without their atoms, [d]. The scale
            of a constant entry is 1.
        labels: Labels that have an indicator.
        atoms: For each numeric entry, the frequent values, each of which has an indicator.
    """

    centre: np.ndarray
    scale: np.ndarray
    labels: np.ndarray
    atoms: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, outputs: Outputs, most: int = _MAX_ATOMS) -> "Columns":
        """Fit the columns to the combined search sets of both sides.

        There are at most `most` atoms per entry, or one if there would be more than one for every
        _OUTPUTS_PER_ATOM outputs, or too many for a regression.
        """
        numbers = outputs.values[~outputs.alone]
        numbers = numbers[:: max(numbers.size // _SAMPLE, 1)]
        if not len(numbers):
            numbers = np.zeros((1, outputs.values.shape[1]))
        labels, counts = np.unique(outputs.labels, return_counts=True)
        often = labels[np.argsort(-counts, kind="stable")][:_MAX_LABELS]
        atoms, quantiles, deviations = [], [], []
        for column in numbers.T:
            values, times = np.unique(column, return_counts=True)
            frequent = times >= max(_ATOM_SHARE * len(column), 2)
            heaviest = np.argsort(-times, kind="stable")[: min(frequent.sum(), most)]
            # If all values are frequent, the column has no atoms.
            found = not frequent.all()
            atoms.append(np.sort(values[heaviest]) if found else np.empty(0))
            # Atoms are often codes, such as -1000 for "no answer", far from all other values.
            usual = column if not len(atoms[-1]) else column[~np.isin(column, atoms[-1])]
            usual = clipped(usual)
            quantiles.append(np.quantile(usual, [0.25, 0.5, 0.75]))
            deviations.append(usual.std())
        total = sum(map(len, atoms))
        too_many = numbers.shape[1] + total > _MOST_INDICATORS
        if most > 1 and (too_many or _OUTPUTS_PER_ATOM * total > len(numbers)):
            return cls.of(outputs, 1)
        low, centre, high = np.array(quantiles).T
        scale = np.where(high > low, (high - low) / NORMAL_IQR, deviations)
        return cls(
            centre,
            np.where(scale > 0, np.maximum(scale, 1 / LARGE), 1.0),
            often if len(labels) > 1 else np.empty(0, int),
            tuple(atoms),
        )

    @property
    def num_indicators(self) -> int:
        """Total number of labels and atoms."""
        return len(self.labels) + sum(map(len, self.atoms))

    def places(self, column: int) -> slice:
        """Return the places of an entry's atoms among the indicators."""
        first = len(self.labels) + sum(map(len, self.atoms[:column]))
        return slice(first, first + len(self.atoms[column]))

    def standardize(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Return standardized entries and indicators, in Fortran order.

        Returns:
            Standardized entries [n, d], in which 0 replaces atoms and missing numbers, and
            indicators of the labels and of the atoms, bool [n, labels + atoms].
        """
        # Every step uses one column at a time, so columns are contiguous.
        z = np.array(outputs.values[:, : len(self.centre)].T, order="C")
        found = np.empty((self.num_indicators, len(outputs.labels)), bool)
        for label, row in zip(self.labels, found, strict=False):
            np.equal(outputs.labels, label, out=row)
        for column, atoms in enumerate(self.atoms):
            for atom, row in zip(atoms, found[self.places(column)], strict=True):
                np.equal(z[column], atom, out=row)
        np.clip(z, -LARGE, LARGE, out=z)
        z -= self.centre[:, None]
        z /= self.scale[:, None]
        np.clip(z, -_CLIP, _CLIP, out=z)
        for column in range(len(self.atoms)):
            for row in found[self.places(column)]:
                z[column][row] = 0.0
        if outputs.alone.any():
            z[:, outputs.alone] = 0.0
            found[len(self.labels) :, outputs.alone] = False
        return z.T, found.T


@dataclass(frozen=True)
class Features:
    """A map from outputs to the features of a linear score.

    Attributes:
        kind: "linear", "common", "clipped", "additive" or "products".
        columns: Standardized columns.
        knots: For each numeric entry, the points at which the hinges of the entry begin. Only
            "additive" features have knots.
    """

    kind: str
    columns: Columns
    knots: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, kind: str, columns: Columns, outputs: Outputs) -> "Features":
        """Create features whose knots are quantiles of the outputs."""
        if kind != "additive":
            return cls(kind, columns, ())
        knots = []
        numbers, is_atom = columns.standardize(outputs)
        count = _KNOTS if numbers.shape[1] <= _MANY_COLUMNS else _FEW_KNOTS
        for column, values in enumerate(numbers.T):
            usual = values[~is_atom[:, columns.places(column)].any(axis=1) & ~outputs.alone]
            if len(np.unique(usual[:1000])) > _FEW_VALUES:
                inner = np.unique(np.quantile(usual, np.arange(1, count + 1) / (count + 1)))
            else:
                inner = np.unique(usual)[1:-1][: _FEW_VALUES - 2]
            knots.append(inner)
        return cls(kind, columns, tuple(knots))

    def owners(self) -> np.ndarray:
        """Return int [features], the entry that alone determines each feature, or -1 if none."""
        numbers = np.arange(len(self.columns.centre))
        parts = [
            numbers if self.kind != "common" else np.full(1, -1),
            np.full(self.columns.num_indicators, -1),
        ]
        if self.kind == "additive":
            parts.append(np.repeat(numbers, [len(knots) for knots in self.knots]))
        if self.kind == "products":
            parts += [numbers, numbers]
            if len(numbers) <= _MANY_COLUMNS:
                parts.append(np.full(len(numbers) * (len(numbers) - 1) // 2, -1))
        return np.concatenate(parts)

    def __call__(self, outputs: Outputs, dtype: type = np.float64) -> np.ndarray:
        """Return the features of outputs, [n, features], in Fortran order."""
        found = np.empty((len(self.owners()), len(outputs.labels)), dtype)

        def fill(rows: slice) -> None:
            place = 0
            for part in self.parts(part_of(outputs, rows)):
                found[place : place + len(part), rows] = part
                place += len(part)

        over_rows(fill, len(outputs.labels))
        return found.T

    def parts(self, outputs: Outputs) -> list[np.ndarray]:
        """Return the features of outputs, as a list of arrays whose rows are features."""
        numbers, indicators = self.columns.standardize(outputs)
        z = numbers.T
        if self.kind in ("common", "clipped"):
            np.clip(z, -SOFT, SOFT, out=z)
        if self.kind == "common":
            z = z.sum(axis=0, keepdims=True)
        parts = [z, indicators.T]
        if self.kind == "additive":
            parts += [
                np.maximum(row - knots[:, None], 0)
                for row, knots in zip(z, self.knots, strict=True)
            ]
        if self.kind == "products":
            parts += [np.abs(z), np.minimum(z**2, _SQUARE)]
            if len(z) <= _MANY_COLUMNS:
                products = (z[column] * z[column + 1 :] for column in range(len(z) - 1))
                parts += [np.clip(part, -_SQUARE, _SQUARE, out=part) for part in products]
        return parts
