"""Scores of vector outputs. A high score favors the database over the neighbor.

A score is fitted to part of the search set, and the range of the score is divided into cells.
Scoring is post-processing, so bounds are valid for every score. A score that fits poorly makes
bounds smaller but not invalid.

On the outputs to which a score was fitted, it overestimates the difference between the two sides.
Therefore, the score is fitted five times, each time without one of the five folds. The score of an
output in the search set comes from the fit without the output's fold. The score of a fresh output
is the mean over all five fits.

References:
    Neyman, Pearson (1933); Chernozhukov et al. (2018), cross-fitting.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpjax.core.threads import ROWS, over_rows, total
from dpjax.core.types import Plain
from dpjax.partitions._batches import Outputs, Pooled, part_of
from dpjax.partitions._cells import entry_name
from dpjax.partitions._features import Columns, Features, clipped
from dpjax.partitions._logistic import Logistic, every
from dpjax.partitions._spread_of_vectors import SpreadOfVectors, name_of_column
from dpjax.partitions._transforms import Transforms

_RIDGE = {"linear": 1.0, "common": 1.0, "clipped": 1.0, "additive": 3.0, "products": 10.0}
"""Ridge penalty on the coefficients of standardized features, for each kind of feature."""

_CONSTANT, _TINY = 1e-6, 1e-30
"""A feature is constant if the ratio of its standard deviation to its mean is at most _CONSTANT, or
if its standard deviation is at most _TINY. Features are float32 numbers.
"""

_LARGEST = float(np.finfo(np.float32).max)
"""Largest score. Larger scores are clipped."""

_SHOWN, _TERMS, _NEGLIGIBLE = 3, 6, 0.05
"""Maximum number of entries in a short description (_SHOWN), and maximum number of terms in a short
formula (_TERMS). A coefficient is negligible if its ratio to the largest coefficient is below
_NEGLIGIBLE.
"""


class Score(Protocol):
    """A function from outputs to real numbers, fitted once per fold, to all other folds."""

    def words(self, whole: bool, parts: tuple[str, ...] = ()) -> str:
        """Describe the score, as in "0.8 x0 - 0.2 x3".

        Args:
            whole: Whether to return the complete description instead of a short one.
            parts: Paths of the numeric entries in an output, as in `Cells`.
        """
        ...

    def plain(self) -> Plain:
        """Return the score as a dict of strings, numbers and lists."""
        ...

    def values(self, outputs: Outputs, fold: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of outputs, float32 [n].

        If `fold` is given, each output's score comes from the fit without the output's fold.
        """
        ...


@dataclass(frozen=True)
class Weighted:
    """A score that is a weighted sum of an output's entries, without standardization.

    Attributes:
        weights: Weights of the fits, float64 [folds, d]. Row k contains the weights of the fit
            without fold k.
        mean: Weights for fresh outputs, float64 [d], rounded to the two digits that the description
            shows.
        shift: Number that is subtracted from the scores of each fit, float64 [folds]. After the
            subtraction, a typical output has the same score in all fits and with the weights
            `mean`.
    """

    weights: np.ndarray
    mean: np.ndarray
    shift: np.ndarray

    @property
    def constant(self) -> float:
        """Number that is added to the scores of fresh outputs."""
        return 0.0

    def words(self, whole: bool, parts: tuple[str, ...] = ()) -> str:
        """Return a formula that shows all terms or only the largest; x0 denotes the first entry."""
        (columns,) = np.nonzero(self.mean)
        if not whole and len(columns) > _TERMS:
            largest = np.argsort(-np.abs(self.mean[columns]), kind="stable")[: _TERMS - 1]
            columns = np.sort(columns[largest])
        text = ""
        for column in columns:
            weight = self.mean[column]
            size = "" if abs(weight) == 1 else f"{abs(weight):g} "
            name = self.variable(int(column), parts)
            text += f" {'-' if weight < 0 else '+'} {size}{name}"
        text = text[3:] if text.startswith(" + ") else text.replace(" - ", "-", 1)
        left_out = np.count_nonzero(self.mean) - len(columns)
        return text + (f" and {left_out} more terms" if left_out else "")

    def variable(self, place: int, parts: tuple[str, ...]) -> str:
        """Return the name of the number that a weight multiplies, such as x0."""
        return f"x{parts[place] if place < len(parts) else place}"

    def numbers(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers that the weights multiply, float64 [n, d].

        Args:
            values: Columns of outputs, [n, columns]. Columns after the entries are other scores.
        """
        return clipped(values[:, : len(self.mean)])

    def plain(self) -> Plain:
        """Return the weights."""
        return {"kind": "linear", "weights": self.mean.tolist()}

    def values(self, outputs: Outputs, fold: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of outputs, float32 [n]; see `Score`."""
        found = np.empty(len(outputs.values))

        def fill(rows: slice) -> None:
            numbers = self.numbers(outputs.values[rows])
            if fold is None:
                found[rows] = np.sum(numbers * self.mean[None], axis=1) + self.constant
            else:
                of = fold[rows]
                found[rows] = np.sum(numbers * self.weights[of], axis=1) - self.shift[of]

        over_rows(fill, len(found))
        return np.clip(found, -_LARGEST, _LARGEST).astype(np.float32)


@dataclass(frozen=True)
class Cancelling(Weighted):
    """A weighted sum of many entries whose terms may cancel, so that weights are not rounded.

    Attributes:
        largest: Indices of the numbers with the largest influence.
        transforms: Transforms of the entries, whose columns have weights, or None if only the
            entries have weights.
    """

    largest: tuple[int, ...]
    transforms: Transforms | None

    @classmethod
    def of(cls, given: SpreadOfVectors) -> "Cancelling":
        """Return the linear scores of all entries, one for each fold, as one score."""
        spread, weights = given.spread, given.spread.weights.T
        return cls(weights, weights.mean(axis=0), spread.shift, spread.largest, given.transforms)

    @property
    def constant(self) -> float:
        """See `Weighted`. Without it, scores, which are float32, would be equal for large means."""
        return float(-self.shift.mean())

    def words(self, whole: bool, parts: tuple[str, ...] = ()) -> str:
        """Return the formula, or only the names of the most important entries."""
        if whole:
            constant = self.constant
            return f"{super().words(whole, parts)} {'-' if constant < 0 else '+'} {abs(constant):g}"
        names = [self._name(place, entry_name, parts) for place in self.largest]
        return score_of("linear", names, int(np.count_nonzero(self.mean)))

    def variable(self, place: int, parts: tuple[str, ...]) -> str:
        """Return the name of the number that a weight multiplies, such as x0 or |x0 - 0.25|."""
        return self._name(place, super().variable, parts)

    def numbers(self, values: np.ndarray) -> np.ndarray:
        """Return entries, and their transforms if these have weights; see `Weighted`."""
        if self.transforms is None:
            return super().numbers(values)
        return self.transforms.columns(values[:, : len(self.transforms.centre)])

    def _name(
        self, place: int, name: Callable[[int, tuple[str, ...]], str], parts: tuple[str, ...]
    ) -> str:
        return name_of_column(place, lambda entry: name(entry, parts), self.transforms)

    def plain(self) -> Plain:
        """Return the weights and the constant."""
        given = {} if self.transforms is None else self.transforms._asdict()
        further = {name: numbers.tolist() for name, numbers in given.items()}
        return {**super().plain(), **further, "constant": self.constant}


@dataclass(frozen=True)
class Combination:
    """A score that is a linear combination of features.

    Attributes:
        features: Features of the outputs.
        weights: Weights of the fits, float64 [folds, features]. Row k contains the weights of the
            fit without fold k.
        entries: Indices of the most important numeric entries.
        shift: Number that is subtracted from the scores of each fit, float64 [folds]. After the
            subtraction, a typical output has the score 0 in all fits.
    """

    features: Features
    weights: np.ndarray
    entries: tuple[int, ...]
    shift: np.ndarray

    def words(self, whole: bool, parts: tuple[str, ...] = ()) -> str:
        """Return a description of the score's kind and of its most important entries."""
        if self.features.kind == "common":
            return "a clipped sum of all entries"
        name = {"linear": "linear", "clipped": "clipped linear", "additive": "additive",
                "products": "quadratic"}  # fmt: skip
        number = len(self.features.columns.centre)
        names = [entry_name(entry, parts) for entry in self.entries]
        return score_of(name[self.features.kind], names, number)

    def plain(self) -> Plain:
        """Return the centres, scales, coefficients and constant of the linear combination."""
        columns = self.features.columns
        return {
            "kind": self.features.kind,
            "centre": columns.centre.tolist(),
            "scale": columns.scale.tolist(),
            "labels": columns.labels.tolist(),
            "atoms": [atoms.tolist() for atoms in columns.atoms],
            "knots": [knots.tolist() for knots in self.features.knots],
            "coefficients": self.weights.mean(axis=0).tolist(),
            "constant": float(-self.shift.mean()),
        }

    def values(self, outputs: Outputs, fold: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of outputs, float32 [n]; see `Score`."""
        found = np.empty(len(outputs.labels), np.float32)
        weights, shift = self.weights, self.shift
        if fold is None:
            weights, shift = weights.mean(axis=0, keepdims=True), shift.mean(keepdims=True)

        def fill(rows: slice) -> None:
            scores, place = -shift[:, None], 0
            for part in self.features.parts(part_of(outputs, rows)):
                scores = scores + product(weights[:, place : place + len(part)], part)
                place += len(part)
            of = 0 if fold is None else fold[rows]
            found[rows] = scores[of, np.arange(scores.shape[1])]

        over_rows(fill, len(found))
        return found


@dataclass(frozen=True)
class OfAll:
    """A linear score of all entries that was computed for each fold when outputs were encoded.

    Attributes:
        column: Index of the first of the columns with the scores, one for each fold.
        text: Description of the score.
    """

    column: int
    text: str

    def words(self, whole: bool, parts: tuple[str, ...] = ()) -> str:
        """Return the description."""
        return self.text

    def plain(self) -> Plain:
        """Return the kind of the score."""
        return {"kind": "linear score of all entries"}

    def values(self, outputs: Outputs, fold: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of outputs, float32 [n]; see `Score`."""
        each = outputs.values[:, self.column :]
        if fold is None:
            found = each.mean(axis=1)
        else:
            found = np.take_along_axis(each, fold[:, None], axis=1)[:, 0]
        return np.clip(found, -_LARGEST, _LARGEST).astype(np.float32)


def score_of(kind: str, names: Sequence[str], number: int) -> str:
    """Describe a score of a number of entries by its kind and its most important entries."""
    more = number - len(names)
    others = f" and {more} more" if more else ""
    return f"the {kind} score of the entries {', '.join(names)}{others}"


def product(weights: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return the matrix product of weights [folds, features] and features [features, n <= ROWS].

    BLAS rounds products of matrices of different shapes differently. Therefore, there is only one
    shape, so that equal outputs on both sides have equal scores.
    """
    width = part.shape[1]
    if width < ROWS:
        part = np.pad(part, ((0, 0), (0, ROWS - width)))
    return (weights @ part)[:, :width]


def fit_combination(features: Features, pooled: Pooled) -> Weighted | Combination:
    """Fit a logistic regression of the side on the features, once without each fold."""
    outputs, side, fold = pooled
    table = features(outputs, np.float32)
    usual, spread = _mean_and_spread(table)
    # Constant features have the weight 0.
    spread = np.where(spread > np.maximum(_CONSTANT * np.abs(usual), _TINY), spread, np.inf)
    fit = Logistic(table, usual, spread, side, fold, _RIDGE[features.kind])
    weights = fit.without_each_fold()
    # The regression predicts side 1, but scores must be large where side 0 is more likely.
    weights = -weights[:, :-1] / spread
    owners, mean = features.owners(), weights.mean(axis=0)
    numbers = len(features.columns.centre)
    if features.kind == "linear" and len(owners) == numbers:
        return _weighted(weights, features.columns)
    some = table[:: every(table)]
    share = [np.var(some[:, owners == c] @ mean[owners == c]) for c in range(numbers)]
    largest = np.argsort(-np.array(share), kind="stable")[:_SHOWN]
    weights = weights / (np.abs(mean).max() or 1.0)
    return Combination(features, weights, tuple(largest.tolist()), weights @ usual)


def _weighted(weights: np.ndarray, columns: Columns) -> Weighted:
    """Return a linear score of the entries before standardization, without negligible terms."""
    scale = columns.scale
    matters = np.abs(mean := weights.mean(axis=0)) >= _NEGLIGIBLE * np.abs(mean).max()
    size = np.abs(np.where(matters, mean / scale, 0.0)).max() or 1.0
    rounded = [
        float(f"{weight:.2g}") if kept else 0.0
        for weight, kept in zip(mean / scale / size, matters, strict=True)
    ]
    weights = weights / scale / size
    if len(scale) == 1:
        # The fits agree up to a factor, which may be large or negative if the mean is almost 0.
        weights = np.tile(rounded, (len(weights), 1))
    return Weighted(weights, np.array(rounded), (weights - rounded) @ columns.centre)


def _mean_and_spread(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the standard deviation of each column, float64 [columns]."""
    size = len(table)
    mean = total(lambda rows: table[rows].sum(axis=0, dtype=np.float64), size) / size
    square = total(lambda rows: np.sum(np.square(table[rows] - mean), axis=0), size) / size
    return mean, np.sqrt(square)
