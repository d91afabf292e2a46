"""Exact privacy of the truncated Laplace and Gaussian mechanisms on [0, 1].

Inputs and outputs lie in [0, 1]. The density of the output is a Laplace or Gaussian kernel centered
at the input, truncated to [0, 1] and normalized. The density is Lipschitz in the output and in the
input, as required by the histogram estimators.

In the notation of this module, x is the input, y is the output, B is the scale of Laplace noise,
sigma is the standard deviation of Gaussian noise, C is the value of `lipschitz`, D is the value of
`input_lipschitz`, alpha is the order, and Z(x) is the mass of the untruncated distribution on
[0, 1].

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Definition II.5, Table I, Section III-E.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpjax.core import validate
from dpjax.inference import check_order


class _Truncated:
    """Base class of mechanisms whose output density is a kernel centered at the input.

    The kernel is truncated to [0, 1]. Array arguments of all methods lie in [0, 1] and are
    broadcast against each other.
    """

    def _log_kernel(self, distance: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _log_mass(self, x: ArrayLike) -> np.ndarray:
        """Return the log of the integral over [0, 1] of the kernel centered at x."""
        raise NotImplementedError

    def _divergence(self, p: float, q: float, order: float) -> float:
        """Return the Renyi divergence of the outputs for input p from the outputs for input q."""
        raise NotImplementedError

    def log_density(self, x: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Return the log density of output y for input x."""
        x, y = np.asarray(x, float), np.asarray(y, float)
        return self._log_kernel(y - x) - self._log_mass(x)

    def pair_epsilon(self, x1: float, x2: float) -> float:
        """Return the local DP epsilon for a pair of inputs (the maximum over both directions)."""
        # The log ratio of two densities is monotone in y, so its extremes are at the ends 0 and 1.
        ends = np.array([0.0, 1.0])
        return float(np.max(np.abs(self.log_density(x1, ends) - self.log_density(x2, ends))))

    def pair_renyi(self, x1: float, x2: float, order: float) -> float:
        """Return the Renyi divergence between two inputs' output distributions, in closed form.

        The Renyi divergence is not symmetric; the larger value of the two directions is returned.

        Raises:
            ValueError: If `order` is not above 1.
        """
        check_order(order)
        return max(self._divergence(x1, x2, order), self._divergence(x2, x1, order))


@dataclass(frozen=True)
class ExactTruncatedLaplace(_Truncated):
    """Laplace distribution centered at x and truncated to [0, 1].

    Attributes:
        scale: Scale B > 0 of the Laplace distribution before truncation.

    Raises:
        TypeError: If `scale` is not a number.
        ValueError: If `scale` is not above 0.

    References:
        Gorla et al., Definition II.5 and Table I.
    """

    scale: float

    def __post_init__(self):
        validate.positive(scale=self.scale)

    def _log_mass(self, x: ArrayLike) -> np.ndarray:
        # The kernel e^(-|distance| / B) / B has the integral 2 before truncation, so the result is
        # the log of 2 Z(x).
        x = np.asarray(x, float)
        return np.log(-np.expm1(-x / self.scale) - np.expm1(-(1 - x) / self.scale))

    def _log_kernel(self, distance: np.ndarray) -> np.ndarray:
        return -np.abs(distance) / self.scale - math.log(self.scale)

    def cdf(self, x: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Return P(output <= y) for input x, both in [0, 1]; shapes are broadcast."""
        x, y = np.asarray(x, float), np.asarray(y, float)
        below = np.exp(-(x - np.minimum(y, x)) / self.scale) - np.exp(-x / self.scale)
        above = -np.expm1(-(np.maximum(y, x) - x) / self.scale)
        return (below + above) / np.exp(self._log_mass(x))

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant C of the density in y: the absolute slope at x = y = 0."""
        return 1 / (self.scale**2 * -math.expm1(-1 / self.scale))

    @property
    def input_lipschitz(self) -> float:
        """Lipschitz constant D of the density in x: the limit of the slope as x -> 0 for y < x."""
        return 2 * self.lipschitz

    @property
    def epsilon(self) -> float:
        """Local DP epsilon over all pairs of inputs; the pair (0, 1) attains the maximum."""
        return 1 / self.scale

    def _divergence(self, p: float, q: float, order: float) -> float:
        if p > q:
            p, q = 1 - p, 1 - q
        # p(y)^alpha q(y)^(1 - alpha) is an exponential function on each of [0, p], [p, q], [q, 1].
        centre = order * p + (1 - order) * q
        pieces = [
            _log_exponential(0.0, p, -centre, 1.0, self.scale),
            _log_exponential(p, q, p - centre, 1 - 2 * order, self.scale),
            _log_exponential(q, 1.0, centre - q, -1.0, self.scale),
        ]
        log_integral = np.logaddexp.reduce(pieces) - math.log(self.scale)
        masses = order * self._log_mass(p) + (1 - order) * self._log_mass(q)
        return float(log_integral - masses) / (order - 1)


def _log_exponential(low: float, high: float, start: float, slope: float, scale: float) -> float:
    """Return the log of the integral over [low, high] of exp((start + slope (y - low)) / scale)."""
    if high <= low:
        return -math.inf
    peak = max(start, start + slope * (high - low)) / scale
    rate = abs(slope) / scale
    return peak + math.log(-math.expm1(-rate * (high - low)) / rate)


@dataclass(frozen=True)
class ExactTruncatedGaussian(_Truncated):
    """Gaussian distribution centered at x and truncated to [0, 1].

    Attributes:
        sigma: Standard deviation before truncation, > 0.

    Raises:
        TypeError: If `sigma` is not a number.
        ValueError: If `sigma` is not above 0.

    References:
        Gorla et al., Table I.
    """

    sigma: float

    def __post_init__(self):
        validate.positive(sigma=self.sigma)

    def _log_mass(self, x: ArrayLike) -> np.ndarray:
        """Return the logarithm of Z(x); x may lie outside [0, 1]."""
        x = np.asarray(x, float)
        # Values of x above 0.5 are reflected, so that the cdf is evaluated in its lower tail.
        # There, differences of the cdf are precise even for x far outside [0, 1].
        x = np.where(x > 0.5, 1 - x, x)
        near, far = (scipy.special.log_ndtr(-(end - x) / self.sigma) for end in (0, 1))
        return near + np.log1p(-np.exp(far - near))

    def _log_kernel(self, distance: np.ndarray) -> np.ndarray:
        return -((distance / self.sigma) ** 2) / 2 - math.log(self.sigma * math.sqrt(2 * math.pi))

    def cdf(self, x: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Return P(output <= y) for input x, both in [0, 1]; shapes are broadcast."""
        x, y = np.asarray(x, float), np.asarray(y, float)
        low, here = (scipy.special.log_ndtr((end - x) / self.sigma) for end in (0, y))
        return (np.exp(here) - np.exp(low)) / np.exp(self._log_mass(x))

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant C of the density in the output.

        The absolute slope of the density is largest at x = 0 and y = min(sigma, 1).
        """
        y = min(self.sigma, 1.0)
        return y / self.sigma**2 * math.exp(float(self.log_density(0.0, y)))

    @property
    def input_lipschitz(self) -> float:
        """Lipschitz constant D of the density in the input: the absolute slope at x = y = 0."""
        at_zero = math.exp(float(self.log_density(0.0, 0.0)))
        at_one = math.exp(float(self.log_density(0.0, 1.0)))
        return at_zero * (at_zero - at_one)

    @property
    def epsilon(self) -> float:
        """Local DP epsilon over all pairs of inputs; the pair (0, 1) attains the maximum."""
        return 1 / (2 * self.sigma**2)

    def _divergence(self, p: float, q: float, order: float) -> float:
        # Completing the square shows that p(y)^alpha q(y)^(1 - alpha) is a constant times a
        # Gaussian kernel around `centre`.
        centre = order * p + (1 - order) * q
        log_integral = self._log_mass(centre) - order * self._log_mass(p)
        log_integral -= (1 - order) * self._log_mass(q)
        return float(log_integral) / (order - 1) + order * ((p - q) / self.sigma) ** 2 / 2
