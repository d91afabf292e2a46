"""Scores of outputs of several numbers: large where one of two databases is likelier.

A score is fitted on a part of the outputs that search, and cut into cells. An event of such cells
is post-processing with two outcomes, so a poor score costs power and never the bound.

Outputs are scored by a fit that did not see them, for a fit promises too much on its own outputs:
there is a fit for each of five folds, and fresh outputs have the mean of the five.

References:
    Neyman, Pearson (1933); Chernozhukov et al. (2018), cross-fitting.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy

from dpjax.partitions._features import Features
from dpjax.partitions.outputs import Outputs

FOLDS = 5
"""Parts of the outputs that search."""

_RIDGE = {"linear": 1.0, "additive": 3.0, "products": 10.0}
"""Penalty of squared coefficients, of features with a standard deviation of 1."""

_STEPS, _SETTLED = 12, 1e-4
"""Newton's, at most; and the change of a coefficient at which they end."""

_SHOWN, _TERMS, _NEGLIGIBLE = 3, 6, 0.05
"""Entries that are named; terms of a short formula; the part of the largest that is left out."""


class Score(Protocol):
    """A number for each output, fitted on folds."""

    def words(self, whole: bool) -> str:
        """What it is, such as "0.8 x0 - 0.2 x3", in whole or in short."""
        ...

    def plain(self) -> dict[str, Any]:
        """All that it is, as plain words and numbers."""
        ...

    def values(self, outputs: Outputs, fold: np.ndarray | None = None) -> np.ndarray:
        """float32 [n]; with folds of the outputs, by the fit that did not see each of them."""
        ...


@dataclass(frozen=True)
class Weighted:
    """A weighted sum of the numbers, in their own units.

    Attributes:
        weights: float64 [folds, d].
        mean: float64 [d], of fresh outputs: two digits each, as its words say.
    """

    weights: np.ndarray
    mean: np.ndarray

    def words(self, whole: bool) -> str:
        """The sum, where x0 is the first number; in short its largest terms."""
        (columns,) = np.nonzero(self.mean)
        if not whole and len(columns) > _TERMS:
            largest = np.argsort(-np.abs(self.mean[columns]), kind="stable")[: _TERMS - 1]
            columns = np.sort(columns[largest])
        text = ""
        for column in columns:
            weight = self.mean[column]
            size = "" if abs(weight) == 1 else f"{abs(weight):g} "
            text += f" {'-' if weight < 0 else '+'} {size}x{column}"
        text = text[3:] if text.startswith(" + ") else text.replace(" - ", "-", 1)
        left_out = np.count_nonzero(self.mean) - len(columns)
        return text + (f" and {left_out} more terms" if left_out else "")

    def plain(self) -> dict[str, Any]:
        """The weights."""
        return {"kind": "linear", "weights": self.mean.tolist()}

    def values(self, outputs: Outputs, fold: np.ndarray | None = None) -> np.ndarray:
        """float32 [n]."""
        weights = self.mean[None] if fold is None else self.weights[fold]
        return np.sum(outputs.values * weights, axis=1).astype(np.float32)


@dataclass(frozen=True)
class Combination:
    """A linear combination of features.

    Attributes:
        features: Of the outputs.
        weights: float64 [folds, features].
        entries: Numbers that matter most.
    """

    features: Features
    weights: np.ndarray
    entries: tuple[int, ...]

    def words(self, whole: bool) -> str:
        """Its kind and the entries that matter most."""
        name = {"linear": "linear", "additive": "additive", "products": "quadratic"}
        more = len(self.features.columns.centre) - len(self.entries)
        shown = ", ".join(map(str, self.entries)) + (f" and {more} more" if more else "")
        return f"the {name[self.features.kind]} score of the entries {shown}"

    def plain(self) -> dict[str, Any]:
        """Centres, scales and coefficients."""
        columns = self.features.columns
        return {
            "kind": self.features.kind,
            "centre": columns.centre.tolist(),
            "scale": columns.scale.tolist(),
            "labels": columns.labels.tolist(),
            "atoms": [atoms.tolist() for atoms in columns.atoms],
            "knots": [knots.tolist() for knots in self.features.knots],
            "coefficients": self.weights.mean(axis=0).tolist(),
        }

    def values(self, outputs: Outputs, fold: np.ndarray | None = None) -> np.ndarray:
        """float32 [n]: low bits of a float64 would tell what was added, and not by how much."""
        features = self.features(outputs)
        if fold is None:
            return (features @ self.weights.mean(axis=0)).astype(np.float32)
        scores = features @ self.weights.T
        return scores[np.arange(len(fold)), fold].astype(np.float32)


def fit_combination(
    features: Features, outputs: Outputs, side: np.ndarray, fold: np.ndarray
) -> Score:
    """Logistic regression of the side on features, once without each fold.

    Args:
        features: Of the outputs.
        outputs: n of them, of both sides.
        side: int [n], 0 or 1.
        fold: int [n].
    """
    table, ridge = features(outputs), _RIDGE[features.kind]
    spread = table.std(axis=0)
    spread = np.where(spread > 0, spread, np.inf)
    table /= spread
    fit = _Logistic(table, side, ridge)
    weights = np.stack([fit.without(fold == number) for number in range(FOLDS)])
    # Large where side 0 is likelier.
    weights = -weights[:, :-1] / spread
    owners, mean = features.owners(), weights.mean(axis=0)
    numbers = len(features.columns.centre)
    if features.kind == "linear" and len(owners) == numbers:
        return _weighted(weights, features.columns.scale)
    table *= np.where(np.isfinite(spread), spread, 0.0)
    share = [np.var(table[:, owners == c] @ mean[owners == c]) for c in range(numbers)]
    largest = np.argsort(-np.array(share), kind="stable")[:_SHOWN]
    size = np.abs(mean).max() or 1.0
    return Combination(features, weights / size, tuple(largest.tolist()))


def _weighted(weights: np.ndarray, scale: np.ndarray) -> Weighted:
    """A linear score in the outputs' own units, without entries that hardly matter."""
    matters = np.abs(mean := weights.mean(axis=0)) >= _NEGLIGIBLE * np.abs(mean).max()
    size = np.abs(np.where(matters, mean / scale, 0.0)).max() or 1.0
    rounded = [
        float(f"{weight:.2g}") if kept else 0.0
        for weight, kept in zip(mean / scale / size, matters, strict=True)
    ]
    return Weighted(weights / scale / size, np.array(rounded))


class _Logistic:
    """Logistic regression with a penalty on squared coefficients, but none on the intercept.

    Attributes:
        weights: float64 [features + 1] of side 1, fitted to all outputs; the intercept is the last.

    Args:
        table: [n, features], scaled.
        side: int [n].
        ridge: The penalty.
    """

    def __init__(self, table: np.ndarray, side: np.ndarray, ridge: float):
        self._table = np.concatenate([table, np.ones((len(table), 1))], axis=1)
        self._side, self._penalty = side, np.full(self._table.shape[1], ridge)
        # A little, so that no system is singular.
        self._penalty[-1] = 1e-6
        self.weights = np.zeros(self._table.shape[1])
        for _ in range(_STEPS):
            chance = self._chance(self._table, self.weights)
            weighted = self._table * (chance * (1 - chance))[:, None]
            self._curvature = scipy.linalg.cho_factor(
                weighted.T @ self._table + np.diag(self._penalty)
            )
            if self._stepped(self._table, side):
                break

    def without(self, left_out: np.ndarray) -> np.ndarray:
        """The weights of a fit to the other outputs, bool [n].

        Newton's steps with the curvature of all outputs, which is nearly theirs and is known.
        """
        table, side, whole = self._table[~left_out], self._side[~left_out], self.weights
        for _ in range(_STEPS):
            if self._stepped(table, side):
                break
        found, self.weights = self.weights, whole
        return found

    def _stepped(self, table: np.ndarray, side: np.ndarray) -> bool:
        """Takes a step, and says whether it was the last one."""
        slope = table.T @ (self._chance(table, self.weights) - side)
        step = scipy.linalg.cho_solve(self._curvature, slope + self._penalty * self.weights)
        self.weights = self.weights - step
        return bool(np.abs(step).max() < _SETTLED)

    @staticmethod
    def _chance(table: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return scipy.special.expit(table @ weights)
