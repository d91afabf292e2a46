"""Noise that gives query results similar densities with and without an individual.

Each noise class provides a density, a sampler and the expected absolute value. Draws are NumPy
float64 numbers and are not protected against attacks on the low-order bits of released numbers.

In the notation of this module, lambda is the scale of the Laplace noise that hides an individual.
The bandwidth of the density estimate is called b for Laplace kernels, and s for Gaussian kernels.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy

from dpjax.core import validate
from dpjax.core.wording import BadValue, term

LAPLACE = term("noise='laplace'", "--noise-kind laplace")


@dataclass(frozen=True)
class LaplaceNoise:
    """Laplace noise, reduced by the smoothing that a Laplace kernel already provides.

    The noise is 0 with probability (b / lambda)^2, and otherwise Laplace-distributed with scale
    lambda. The sum of the noise and a draw from the kernel is exactly Laplace-distributed with
    scale lambda. If b >= lambda, the noise is always 0.

    Attributes:
        scale: Scale lambda, in the unit of the query; 0 if no noise is needed.
        bandwidth: Bandwidth b of the kernel. A bandwidth of 0 means pure Laplace noise, which is
            safe for any kernel.
    """

    scale: float
    bandwidth: float = 0.0

    def __post_init__(self):
        validate.non_negative(scale=self.scale, bandwidth=self.bandwidth)

    @property
    def atom(self) -> float:
        """Probability that the noise is exactly 0."""
        return 1.0 if self.bandwidth >= self.scale else (self.bandwidth / self.scale) ** 2

    def density(self, x: np.ndarray) -> np.ndarray:
        """Return the density of the continuous part of the noise at x, without the atom at 0."""
        if self.atom == 1:
            return np.zeros_like(np.asarray(x, float))
        return (1 - self.atom) * np.exp(-np.abs(x) / self.scale) / (2 * self.scale)

    @property
    def expected_error(self) -> float:
        """Expected absolute value of the noise."""
        return (1 - self.atom) * self.scale

    def sample(self, size: int, generator: np.random.Generator) -> np.ndarray:
        """Return draws of the noise, [size]."""
        draws = generator.laplace(0.0, self.scale, size)
        return np.where(generator.random(size) < self.atom, 0.0, draws)

    def __str__(self) -> str:
        if self.atom == 1:
            return "no noise (the density's own bandwidth hides every individual)"
        laplace = f"Laplace noise of scale {self.scale:.6g}"
        return f"0 with probability {self.atom:.4g}, else {laplace}" if self.atom else laplace


# Half widths, in bandwidths, of two intervals around 0. Within `_CORE`, the noise density is the
# tapered inverse. The taper causes oscillations. A wider core would extend them into the tails,
# where they distort density ratios most. Outside `_REACH`, the density of the noise plus a draw
# from the kernel equals a Laplace density to within 1e-16.
_CORE, _REACH = 3.0, 13.0
_NODES_PER_BANDWIDTH = 50


@dataclass(frozen=True)
class TaperedDeconvolution:
    """Noise that approximately turns a Gaussian kernel into a Laplace kernel.

    The noisy result has only approximately the required density, so measure the log ratio with
    `released_log_ratio` before you use the noise.

    No noise distribution turns a Gaussian kernel exactly into a Laplace kernel, because the
    quotient of the two Fourier transforms, Laplace over Gaussian, is unbounded. The quotient is
    therefore multiplied by a squared cosine that reaches 0 at the quotient's minimum. The product
    is transformed back, clipped at 0 and renormalized.

    The tails of the noise need no approximation. Far from 0, the convolution of a Laplace density
    with the Gaussian kernel is the Laplace density times a constant. The noise density in the tails
    is therefore the Laplace density divided by this constant.

    Attributes:
        scale: Scale lambda of the Laplace kernel, in the unit of the query.
        bandwidth: Standard deviation s of the Gaussian kernel, which must be below sqrt(2) lambda.
        atom: Probability that the noise is exactly 0; always 0 for this class.

    Raises:
        ValueError: If the bandwidth is at least sqrt(2) lambda, so that the quotient of the Fourier
            transforms has no minimum.

    References:
        Burchard, Daoud, Dotterrer 2020, Section 6, equation (2); Diggle, Hall 1993 (tapering).
    """

    scale: float
    bandwidth: float
    atom: ClassVar[float] = 0.0

    def __post_init__(self):
        validate.positive(scale=self.scale, bandwidth=self.bandwidth)
        if self.bandwidth >= 2**0.5 * self.scale:
            raise BadValue(
                f"bandwidth must be below sqrt(2) times the noise scale {self.scale:g} for a "
                f"tapered inverse, but was {self.bandwidth:g}; {LAPLACE} works for any bandwidth."
            )

    @cached_property
    def _core(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes between the tails, and the density of the noise at the nodes."""
        s, scale = self.bandwidth, self.scale
        cut = np.sqrt(2 / s**2 - 1 / scale**2)
        panels = np.concatenate([[0.0], np.geomspace(1e-3 / scale, cut, 80)])
        point, weight = np.polynomial.legendre.leggauss(20)
        half = np.diff(panels)[:, None] / 2
        w = (panels[:-1, None] + half * (1 + point)).ravel()
        taper = np.cos(np.pi * w / (2 * cut)) ** 2
        quotient = np.exp((s * w) ** 2 / 2) / (1 + (scale * w) ** 2)
        nodes = s * np.linspace(-_CORE, _CORE, round(2 * _CORE * _NODES_PER_BANDWIDTH) + 1)
        values = np.cos(nodes[:, None] * w) @ ((half * weight).ravel() * quotient * taper) / np.pi
        values = np.maximum(values, 0)
        total = np.trapezoid(values, nodes) + 2 * self._raw_tail_mass
        return nodes, values / total

    @property
    def _raw_tail_mass(self) -> float:
        s, scale = self.bandwidth, self.scale
        return float(np.exp(-((s / scale) ** 2) / 2 - _CORE * s / scale) / 2)

    @property
    def _tail_mass(self) -> float:
        """Mass of each tail of the noise."""
        nodes, values = self._core
        return (1 - float(np.trapezoid(values, nodes))) / 2

    def density(self, x: np.ndarray) -> np.ndarray:
        """Return the density of the noise at x."""
        nodes, values = self._core
        beyond = np.exp(-(np.abs(x) - nodes[-1]) / self.scale) * self._tail_mass / self.scale
        return np.where(np.abs(x) <= nodes[-1], np.interp(x, nodes, values), beyond)

    @property
    def expected_error(self) -> float:
        """Expected absolute value of the noise."""
        nodes, values = self._core
        inside = np.trapezoid(np.abs(nodes) * values, nodes)
        return float(inside + 2 * self._tail_mass * (nodes[-1] + self.scale))

    def sample(self, size: int, generator: np.random.Generator) -> np.ndarray:
        """Return draws of the noise, [size]."""
        nodes, values = self._core
        step = np.diff(nodes)
        masses = (values[:-1] + values[1:]) / 2 * step
        inside = generator.random(size) >= 2 * self._tail_mass
        cell = generator.choice(len(masses), size, p=masses / masses.sum())
        # The density is linear within a cell, so the distribution function can be inverted. The
        # formula also holds for a constant density.
        low, high, v = values[cell], values[cell + 1], generator.random(size)
        mean = (low + high) / 2
        place = (
            2 * v * mean / np.maximum(low + np.sqrt(low**2 + 2 * v * mean * (high - low)), 1e-300)
        )
        tail = nodes[-1] + generator.exponential(self.scale, size)
        tail = np.where(generator.random(size) < 0.5, tail, -tail)
        return np.where(inside, nodes[cell] + place * step[cell], tail)

    def log_released(self, x: np.ndarray) -> np.ndarray:
        """Return the log density, at x, of the noise plus a draw from the kernel centered at 0."""
        table_x, table = self._released
        edge = table_x[-1]
        return np.interp(x, table_x, table) - np.maximum(np.abs(x) - edge, 0) / self.scale

    def log_ratio_bound(self, distance: float) -> float:
        """Return an upper bound on the log ratio between two densities of noisy results.

        Let r be the density of the sum of the noise and a draw from the kernel. The bound is the
        maximum of |log r(x) - log r(y)| over all x and y with |x - y| <= `distance`. The bound
        holds for any two samples whose infinity-Wasserstein distance is at most `distance`.
        """
        x, log_r = self._released
        near = np.abs(x[:, None] - x) <= distance
        inside = np.where(near, np.abs(log_r[:, None] - log_r), 0).max()
        ends = [np.abs(log_r - self.log_released(x + d)).max() for d in (-distance, distance)]
        return float(max(inside, *ends, distance / self.scale))

    @cached_property
    def _released(self) -> tuple[np.ndarray, np.ndarray]:
        s, scale = self.bandwidth, self.scale
        nodes, values = self._core
        point, weight = np.polynomial.legendre.leggauss(3)
        half = np.diff(nodes)[:, None] / 2
        y = (nodes[:-1, None] + half * (1 + point)).ravel()
        mass = (half * weight).ravel() * np.interp(y, nodes, values)
        x = s * np.linspace(-_REACH, _REACH, round(2 * _REACH * _NODES_PER_BANDWIDTH) + 1)
        z = (x[:, None] - y) / s
        core = np.exp(-(z**2) / 2) @ mass / (s * np.sqrt(2 * np.pi))
        # Each tail of the noise is an exponential density that starts at an edge of the core. Its
        # convolution with the kernel has a closed form.
        tails = [
            np.log(self._tail_mass / scale)
            + (nodes[-1] - side * x) / scale
            + (s / scale) ** 2 / 2
            + scipy.special.log_ndtr((side * x - nodes[-1]) / s - s / scale)
            for side in (1, -1)
        ]
        with np.errstate(divide="ignore"):
            return x, np.logaddexp.reduce([np.log(core), *tails])

    def __str__(self) -> str:
        return (
            f"noise that approximately turns a Gaussian kernel of bandwidth {self.bandwidth:.6g} "
            f"into a Laplace kernel of scale {self.scale:.6g}"
        )


Noise = LaplaceNoise | TaperedDeconvolution


def released_log_ratio(noise: TaperedDeconvolution, first: np.ndarray, second: np.ndarray) -> float:
    """Return the largest |log ratio| between two densities of noisy results.

    The two densities are those of the noisy results with and without an individual.

    Args:
        noise: The noise.
        first: Results with all individuals present, [n].
        second: Results without the individual, [m].

    Returns:
        The maximum over a lattice that covers all results; the distance between lattice points is a
        twentieth of the bandwidth. Outside the lattice, both densities have Laplace tails, and the
        ratio of two such tails has no extremum.
    """
    offsets = noise.bandwidth * np.linspace(-_REACH, _REACH, round(2 * _REACH * 20) + 1)
    both = np.concatenate([first, second])
    x = np.unique(np.round((both[:, None] + offsets).ravel() / noise.bandwidth * 20))
    x = x * noise.bandwidth / 20
    largest = 0.0
    for block in np.array_split(x, max(1, len(x) * len(both) // 2**20)):
        logs = [
            scipy.special.logsumexp(noise.log_released(block[:, None] - s), axis=1) - np.log(len(s))
            for s in (first, second)
        ]
        largest = max(largest, float(np.abs(logs[0] - logs[1]).max()))
    return largest
