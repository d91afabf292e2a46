"""The empirical ROC curve of a membership inference attack."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate
from dpjax.core.wording import BadValue


@dataclass(frozen=True, eq=False)
class Roc:
    """Empirical ROC curve of an attack that guesses "included" for scores above a threshold.

    The curve is linear between adjacent points. A point on the line between two adjacent points is
    achieved by choosing one of the two thresholds at random.

    Attributes:
        false_positive: float64 [thresholds], false positive rates: the fraction of excluded
            canaries with a score above each threshold. The rates increase from 0 to 1.
        true_positive: float64 [thresholds], true positive rates: the fraction of included canaries
            with a score above each threshold.
    """

    false_positive: NDArray[np.float64]
    true_positive: NDArray[np.float64]

    @property
    def area(self) -> float:
        """Area under the curve.

        Consider all pairs of an included and an excluded canary. The area is the fraction of pairs
        in which the included canary has the higher score, where each pair with equal scores counts
        as half a pair.
        """
        return float(np.trapezoid(self.true_positive, self.false_positive))

    def true_positive_at(self, false_positive: ArrayLike) -> NDArray[np.float64]:
        """Return the largest true positive rates at the given false positive rates.

        Args:
            false_positive: False positive rates in [0, 1], an array of any shape.

        Raises:
            ValueError: If a rate is outside [0, 1].
        """
        rates = np.asarray(false_positive, np.float64)
        validate.shares(false_positive=rates)
        x, y = self.false_positive, self.true_positive
        # Use the last point with at most this false positive rate, which is the highest point of a
        # vertical segment.
        at = np.searchsorted(x, rates, side="right") - 1
        after = np.minimum(at + 1, len(x) - 1)
        share = (rates - x[at]) / np.where(after > at, x[after] - x[at], 1.0)
        return y[at] + share * (y[after] - y[at])


def attack_roc(included: ArrayLike, excluded: ArrayLike) -> Roc:
    """Compute an attack's ROC curve from the attack's scores.

    The curve is an estimate of the attack's success, computed from the given canaries. For a lower
    bound on the privacy level, audit `dpjax.Recorded(included, excluded)` or `dpjax.OneRun`.

    Args:
        included: Float [n], scores of canaries that were included in the training data.
        excluded: Float [m], scores of canaries that were excluded from the training data.

    Returns:
        The ROC curve, which has at most n + m + 1 points.

    Raises:
        ValueError: If there are no scores, if a score is NaN, or if the scores are not a vector.

    Example:
        >>> from dpjax.inference import attack_roc
        >>> roc = attack_roc([0.9, 0.8, 0.3], [0.7, 0.2, 0.1, 0.0])
        >>> print(f"{roc.area:.4f} {roc.true_positive_at(0.5):.4f}")
        0.9167 1.0000
    """
    sides = [_scores(included, "included"), _scores(excluded, "excluded")]
    _, places = np.unique(np.concatenate(sides), return_inverse=True)
    size = places.max() + 1
    number = len(sides[0])
    above = [
        np.cumsum(np.bincount(side, minlength=size)[::-1]) / len(side)
        for side in (places[:number], places[number:])
    ]
    true_positive, false_positive = (np.concatenate([[0.0], rates]) for rates in above)
    return Roc(false_positive, true_positive)


def _scores(scores: ArrayLike, name: str) -> NDArray[np.float64]:
    found = np.asarray(scores, np.float64)
    if found.ndim != 1 or not found.size:
        raise BadValue(f"{name} must be a vector of scores, but has shape {found.shape}.")
    if np.isnan(found).any():
        raise BadValue(f"{name} must not contain NaN, but {np.isnan(found).sum()} scores are NaN.")
    return found
