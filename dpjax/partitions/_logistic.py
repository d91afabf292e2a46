"""Logistic regression of the side of an output on features, with cross-fitting."""

from collections.abc import Sequence

import numpy as np
import scipy

from dpjax.core.threads import total

FOLDS = 5
"""Number of folds of the search set."""

_STEPS, _SETTLED, _HELD_OUT = 12, 0.01, 1e-4
"""Stopping rule for a fit.

The fit ends after _STEPS Newton steps. It ends earlier if the expected gain of a step is less than
_SETTLED times the number of features. The gain is twice the increase of the penalized log
likelihood. For comparison, chance changes this quantity by about the number of features. For fits
without a fold, _HELD_OUT replaces _SETTLED: these fits begin at the fit to all outputs, and must
forget the outputs of the fold.
"""

_CURVED, _SLOW, _OPERATIONS = 2**15, 0.1, 2e10
"""Constants for the Hessian of a fit. The Hessian is recomputed if the expected gain of a step is
more than the fraction _SLOW of the previous gain. It is computed from all outputs, unless this
takes more than about _OPERATIONS multiplications. Then it is estimated from fewer outputs, but from
at least _CURVED. The fit to all outputs begins at a fit to about _CURVED outputs.
"""

_TOO_LONG, _HALVINGS = 0.5, 20
"""A step is halved, at most _HALVINGS times, while the loss at its end rises along the step by more
than the fraction _TOO_LONG of the rate at which the loss falls at its beginning. Without this rule,
fits that begin where the predicted variances are small would diverge.
"""


def every(table: np.ndarray) -> int:
    """Return the step between rows that gives about `_CURVED` rows of a table."""
    return max(len(table) // _CURVED, 1)


_Factor = tuple[np.ndarray, bool]


class Logistic:
    """Logistic regression with a ridge penalty on every coefficient except the intercept.

    Features are standardized. Otherwise, the Hessian would not be positive definite in float32
    arithmetic if features with large means nearly add up to a constant.

    Attributes:
        weights: Coefficients of the log odds of side 1 for standardized features, fitted to all
            outputs, float64 [features + 1]. The intercept is last.

    Args:
        table: Features, [n, features].
        centre: Number that is subtracted from each feature, float64 [features].
        spread: Scale by which each feature is divided, float64 [features].
        side: Side of each output, 0 or 1, int [n].
        fold: Fold of each output, int [n].
        ridge: Ridge penalty on the coefficients.
    """

    def __init__(
        self,
        table: np.ndarray,
        centre: np.ndarray,
        spread: np.ndarray,
        side: np.ndarray,
        fold: np.ndarray,
        ridge: float,
    ):
        self._table, self._side, self._fold = table, side.astype(table.dtype), fold
        self._centre, self._spread = centre, spread
        self._penalty = np.full(len(spread) + 1, ridge)
        # A tiny penalty on the intercept keeps every linear system nonsingular.
        self._penalty[-1] = 1e-6
        step = every(table)
        # A fit to few outputs takes little time, and is a good start for the fit to all of them.
        start = np.zeros(len(spread) + 1)
        if step > 1:
            some = table[::step], centre, spread, side[::step], fold[::step]
            start = Logistic(*some, ridge).weights
        self._skipped = min(int(table.size * table.shape[1] / _OPERATIONS) + 1, step)
        if self._skipped % FOLDS == 0:
            # Otherwise, all outputs that are not skipped might belong to one fold.
            self._skipped -= 1
        self.weights = self._minimized(start[:, None])[:, 0]

    def without_each_fold(self) -> np.ndarray:
        """Fit without each of the folds, and return the fits' weights, [folds, features + 1].

        Each fit has its own Hessian. With the Hessian of all outputs, a weight of a feature that
        only a few outputs of one fold have would hardly change in the fit without this fold, and
        these outputs would not be held out.
        """
        whole = self._curvatures.sum(axis=0)
        factors = [self._factor(whole - of_fold) for of_fold in self._curvatures]
        used = self._fold[:, None] != np.arange(FOLDS)
        return self._minimized(self.weights[:, None], used, factors).T

    def _minimized(
        self, weights: np.ndarray, used: np.ndarray | None = None, factors: Sequence[_Factor] = ()
    ) -> np.ndarray:
        """Minimize the penalized loss of each fit by Newton steps, which are shortened if too long.

        Args:
            weights: Weights at which all fits begin, [features + 1, 1].
            used: See `_slope`.
            factors: Factors of the Hessian of each fit. By default, the Hessian is computed.

        Returns:
            Weights of the fits, [features + 1, fits].
        """
        slope, before, gain = self._slope(weights, used), 0.0, np.inf
        for _ in range(_STEPS):
            if used is None and gain > _SLOW * before:
                self._curvatures = self._curvatures_at(weights[:, 0])
                factors = [self._factor(self._curvatures.sum(axis=0))]
            steps = zip(factors, slope.T, strict=True)
            step = np.stack([scipy.linalg.cho_solve(*given) for given in steps], axis=1)
            gains = np.sum(step * slope, axis=0)
            weights = weights - step
            before, gain = gain, gains.max()
            if gain < (_SETTLED if used is None else _HELD_OUT) * len(self._spread):
                break
            slope = self._slope(weights, used)
            for _ in range(_HALVINGS):
                # The loss is convex, so that its derivative along the step rises from -gains.
                too_long = -np.sum(step * slope, axis=0) > _TOO_LONG * gains
                if not too_long.any():
                    break
                half = np.where(too_long, step / 2, 0.0)
                weights, step = weights + half, step - half
                gains = np.where(too_long, gains / 2, gains)
                slope = self._slope(weights, used)
        return weights

    def _factor(self, curvature: np.ndarray) -> _Factor:
        """Return the Cholesky factor of the Hessian of the loss with its penalty."""
        return scipy.linalg.cho_factor(curvature + np.diag(self._penalty))

    def _curvatures_at(self, weights: np.ndarray) -> np.ndarray:
        """Return the Hessian of each fold's loss, float64 [folds, features + 1, features + 1]."""
        table, fold = self._table[:: self._skipped], self._fold[:: self._skipped]
        centre, spread, weights = (
            numbers.astype(table.dtype) for numbers in (self._centre, self._spread, weights)
        )

        def of_rows(rows: slice) -> np.ndarray:
            features = (table[rows] - centre) / spread
            some = np.column_stack([features, np.ones(len(features), table.dtype)])
            chance = scipy.special.expit(some @ weights)
            some *= np.sqrt(chance * (1 - chance))[:, None]
            parts = (some[fold[rows] == number] for number in range(FOLDS))
            return np.stack([part.T @ part for part in parts]).astype(np.float64)

        return self._skipped * total(of_rows, len(table))

    def _slope(self, weights: np.ndarray, used: np.ndarray | None = None) -> np.ndarray:
        """Return the gradient of each fit, float64 [features + 1, fits].

        Args:
            weights: Weights of each fit, [features + 1, fits], or [features + 1, 1] if all fits
                have the same weights.
            used: Whether each fit uses each output, bool [n, fits], or None if all do.
        """
        scaled = weights[:-1] / self._spread[:, None]
        constant = (weights[-1] - self._centre @ scaled).astype(self._table.dtype)
        scaled = scaled.astype(self._table.dtype)

        def of_rows(rows: slice) -> np.ndarray:
            table = self._table[rows]
            error = scipy.special.expit(table @ scaled + constant) - self._side[rows, None]
            if used is not None:
                error = error * used[rows]
            parts = [table.T @ error, error.sum(axis=0, keepdims=True)]
            return np.concatenate(parts, dtype=np.float64)

        found = total(of_rows, len(self._table))
        found[:-1] -= self._centre[:, None] * found[-1]
        found[:-1] /= self._spread[:, None]
        return found + self._penalty[:, None] * weights
