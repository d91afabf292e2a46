"""A score of the directions in which outputs vary more on one side than on the other.

If noise is drawn twice on one side and reused on the other, the difference of two numbers varies on
one side only. If a total is released beside its parts, it equals their sum on one side only. No
single number shows such a difference, and no linear score does, because the means are equal.

The directions are generalized eigenvectors of the covariance matrices of both sides. A direction
counts if the ratio of its variances is larger than any ratio would be by chance. The score compares
the densities of both sides along these directions. The densities are those of Student's t, since
noise often has heavier tails than the normal distribution.

References:
    Fukunaga (1990), Introduction to Statistical Pattern Recognition, section 10.2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from dpjax.core.threads import over_rows
from dpjax.core.types import Plain
from dpjax.partitions._batches import Outputs, Pooled, part_of
from dpjax.partitions._cells import entry_name
from dpjax.partitions._features import Columns, clipped
from dpjax.partitions._logistic import FOLDS
from dpjax.partitions._scores import product, score_of

_CLIP = 100.0
"""Largest magnitude of a standardized number; larger numbers are clipped."""

_SEEN = 1.5
"""A direction counts if the logarithm of the ratio of its variances is at least _SEEN times as
large as it is by chance in any direction, for normal outputs with equal covariance matrices.
Numbers with heavier tails have larger ratios.
"""

_SAME, _LEAST = 1e-12, 1e-10
"""Smallest ratio of the variance along an axis to the largest one. Along other axes, outputs do not
vary on either side, apart from rounding errors. Variances along a direction are at least _LEAST if
their mean on both sides is 1.
"""

_FREEDOM = 5.0
"""Degrees of freedom of Student's t."""

_SHOWN = 3
"""Maximum number of entries in a description."""


class _Fit(NamedTuple):
    """Directions that are fitted without a fold.

    Attributes:
        axes: Weights of the standardized numbers, float64 [directions, numbers].
        centres: Median on each side, float64 [2 sides, directions].
        variances: Variance on each side, float64 [2 sides, directions].
    """

    axes: np.ndarray
    centres: np.ndarray
    variances: np.ndarray

    @classmethod
    def of(cls, sides: Sequence[np.ndarray]) -> Self:
        """Find directions whose variances differ between sides, float64 [n, numbers] each."""
        first, second = (np.cov(side, rowvar=False, bias=True) for side in sides)
        values, vectors = np.linalg.eigh((first + second) / 2)
        varies = values > max(_SAME * values[-1], 0)
        whitening = vectors[:, varies] / np.sqrt(values[varies])
        # The variances of both sides sum to 2 in each direction.
        variances, rotation = np.linalg.eigh(whitening.T @ first @ whitening)
        both = np.maximum(np.stack([variances, 2 - variances]), _LEAST)
        differs = np.abs(np.log(both[0] / both[1])) > _SEEN * _by_chance(varies.sum(), sides)
        axes = (whitening @ rotation[:, differs]).T
        centres = np.stack([np.median(side @ axes.T, axis=0) for side in sides])
        return cls(axes, centres, both[:, differs])

    def scores(self, table: np.ndarray) -> np.ndarray:
        """Return the log ratio of both densities at standardized numbers, [numbers, n]."""
        along = product(self.axes, table)
        found = [
            (_FREEDOM + 1) / 2 * np.log1p((along - centre[:, None]) ** 2 / size[:, None] / _FREEDOM)
            + np.log(size[:, None]) / 2
            for centre, size in zip(self.centres, self.variances, strict=True)
        ]
        return np.sum(found[1] - found[0], axis=0)


@dataclass(frozen=True)
class Directions:
    """A score of the directions in which the variances of both sides differ; see `Score`.

    Attributes:
        centre: Number that is subtracted from each entry, float64 [d].
        scale: Number by which each entry is then divided, float64 [d].
        fits: The directions without each fold.
        entries: Indices of the most important numeric entries.
    """

    centre: np.ndarray
    scale: np.ndarray
    fits: tuple[_Fit, ...]
    entries: tuple[int, ...]

    @classmethod
    def of(cls, columns: Columns, pooled: Pooled) -> "Directions | None":
        """Find the directions, once without each fold, or return None if there are none."""
        outputs, side, fold = pooled
        centre, scale = columns.centre, columns.scale
        table, fits = _standardized(outputs.values, centre, scale), []
        for number in range(FOLDS):
            used = ~outputs.alone & (fold != number)
            parts = [table[used & (side == which)] for which in (0, 1)]
            if min(map(len, parts)) <= len(centre):
                return None
            fits.append(_Fit.of(parts))
        if not all(len(fit.axes) for fit in fits):
            return None
        extreme = [fit.axes[np.argmin(fit.variances.min(axis=0))] for fit in fits]
        influence = np.mean(np.square(extreme) * table.var(axis=0), axis=0)
        shown = np.argsort(-influence, kind="stable")[: min(_SHOWN, np.count_nonzero(influence))]
        return cls(centre, scale, tuple(fits), tuple(shown.tolist()))

    def words(self, whole: bool, parts: tuple[str, ...] = ()) -> str:
        """Return a description with the entries of the most important direction."""
        names = [entry_name(entry, parts) for entry in self.entries]
        return score_of("dispersion", names, len(self.centre))

    def plain(self) -> Plain:
        """Return the standardization and the directions of each fit."""
        return {
            "kind": "dispersion",
            "centre": self.centre.tolist(),
            "scale": self.scale.tolist(),
            "fits": [
                {name: part.tolist() for name, part in fit._asdict().items()} for fit in self.fits
            ],
        }

    def values(self, outputs: Outputs, fold: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of outputs, float32 [n]; see `Score`."""
        found = np.empty(len(outputs.labels), np.float32)

        def fill(rows: slice) -> None:
            values = part_of(outputs, rows).values
            table = _standardized(values, self.centre, self.scale).T
            each = np.stack([fit.scores(table) for fit in self.fits])
            if fold is None:
                found[rows] = each.mean(axis=0)
            else:
                found[rows] = each[fold[rows], np.arange(each.shape[1])]

        over_rows(fill, len(found))
        return found


def _by_chance(number: int, sides: Sequence[np.ndarray]) -> float:
    """Return the logarithm of the largest ratio of variances by chance, for normal outputs.

    The limit is that of the eigenvalues of a multivariate F matrix; see Wachter (1980).
    """
    share = number / (2 * min(map(len, sides)))
    return math.log1p(g := 2 * math.sqrt(share * (1 - share))) - math.log1p(-g)


def _standardized(values: np.ndarray, centre: np.ndarray, scale: np.ndarray) -> np.ndarray:
    numbers = clipped(values[:, : len(centre)])
    return np.clip((numbers - centre) / scale, -_CLIP, _CLIP)
