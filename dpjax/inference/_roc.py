"""The ROC curve of a membership inference attack: an estimate, not a bound."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate
from dpjax.core.wording import BadValue


@dataclass(frozen=True, eq=False)
class Roc:
    """Empirical ROC curve of an attack that guesses "included" for scores above a threshold.

    Between two points, the curve is straight. An attack reaches the rates on the line between two
    points if it chooses one of the two thresholds at random.

    Attributes:
        false_positive: Share of the excluded canaries that are guessed to be included, for each
            threshold, increasing from 0 to 1, float64 [thresholds].
        true_positive: Share of the included canaries that are guessed to be included, for each
            threshold, float64 [thresholds].
    """

    false_positive: NDArray[np.float64]
    true_positive: NDArray[np.float64]

    @property
    def area(self) -> float:
        """Area under the curve.

        Consider all pairs of an included and an excluded canary. The area is the share of pairs in
        which the included canary has the higher score. Pairs with equal scores count half.
        """
        return float(np.trapezoid(self.true_positive, self.false_positive))

    def true_positive_at(self, false_positive: ArrayLike) -> NDArray[np.float64]:
        """Return the largest rate of true positives at the given rates of false positives.

        Args:
            false_positive: Rates in [0, 1], of any shape.

        Raises:
            ValueError: If a rate is outside [0, 1].
        """
        rates = np.asarray(false_positive, np.float64)
        validate.shares(false_positive=rates)
        x, y = self.false_positive, self.true_positive
        # The last point with at most this rate is the highest one of a vertical piece.
        at = np.searchsorted(x, rates, side="right") - 1
        after = np.minimum(at + 1, len(x) - 1)
        share = (rates - x[at]) / np.where(after > at, x[after] - x[at], 1.0)
        return y[at] + share * (y[after] - y[at])


def attack_roc(included: ArrayLike, excluded: ArrayLike) -> Roc:
    """Return the ROC curve of an attack from its scores.

    The curve describes the success of the attack on the given canaries. It is an estimate. For a
    lower bound on the privacy level, audit `dpjax.Recorded(included, excluded)` or `dpjax.OneRun`.

    Args:
        included: Scores of canaries that were included in a training, shape [n].
        excluded: Scores of canaries that were excluded from the training, shape [m].

    Returns:
        The curve, with at most n + m + 1 points.

    Raises:
        ValueError: If there are no scores, when a score is NaN, or if the scores are not a
            vector.

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
