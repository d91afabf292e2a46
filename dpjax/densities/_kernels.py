"""Spherically symmetric kernels for density estimates.

In the notation of this module, K(u) = c_d k(|u|), where the profile k decreases from k(0) = 1, and
the constant c_d makes K integrate to 1 over R^d.

References:
    Askin, Kutta, Dette (2022), conditions (K1) and (K2).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from dpjax.core import validate


@dataclass(frozen=True)
class Kernel:
    """A kernel, defined by its profile.

    Attributes:
        name: Name of the kernel.
        profile: Function that maps r^2 to k(r) in [0, 1], elementwise.
        radius: Distance beyond which the profile k is 0 or below 2e-8.
        moment: Function that maps (d, p) to the integral of k^p over R^d, for p = 1 and p = 2.
        min_nodes: Minimum number of lattice nodes per bandwidth. With this number of nodes, the
            binned estimate is within about 1e-3 of the direct estimate. Smooth kernels need few
            nodes; kernels with a kink or an edge need many.
        spectrum: Function that maps w^2 to the Fourier transform of K over R at frequency w,
            elementwise, or None if the transform does not vanish beyond the highest frequency of a
            lattice. If `spectrum` is None, the profile at the nodes is transformed numerically.
    """

    name: str
    profile: Callable[[Array], Array]
    radius: float
    moment: Callable[[int, int], float]
    min_nodes: int
    spectrum: Callable[[Array], Array] | None = None

    def norm(self, dimension: int) -> float:
        """Return c_d, the value of the kernel at distance 0."""
        return 1 / self.moment(dimension, 1)

    def roughness(self, dimension: int) -> float:
        """Return the integral of K^2 over R^d, which is (4 pi)^(-d/2) for the Gaussian kernel."""
        return self.moment(dimension, 2) / self.moment(dimension, 1) ** 2


def _ball(d: int) -> float:
    return math.pi ** (d / 2) / math.gamma(d / 2 + 1)


def _polynomial_moment(power: int) -> Callable[[int, int], float]:
    """Return the `Kernel.moment` function for the profile (1 - r^2)^power on the unit ball."""

    def moment(d: int, p: int) -> float:
        q = power * p
        beta = math.gamma(d / 2) * math.gamma(q + 1) / math.gamma(d / 2 + q + 1)
        return d * _ball(d) * beta / 2

    return moment


KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        Kernel(
            "gaussian",
            lambda r2: jnp.exp(-r2 / 2),
            6.0,
            lambda d, p: (2 * math.pi / p) ** (d / 2),
            8,
            lambda w2: jnp.exp(-w2 / 2),
        ),
        Kernel(
            "laplace",
            lambda r2: jnp.exp(-jnp.sqrt(r2)),
            18.0,
            lambda d, p: math.gamma(d + 1) * _ball(d) / p**d,
            200,
        ),
        Kernel("epanechnikov", lambda r2: jnp.maximum(1 - r2, 0), 1.0, _polynomial_moment(1), 200),
        Kernel("biweight", lambda r2: jnp.maximum(1 - r2, 0) ** 2, 1.0, _polynomial_moment(2), 200),
    )
}


def find_kernel(name: str) -> Kernel:
    """Return the kernel with the given name; raise ValueError if the name is unknown."""
    validate.one_of(KERNELS, kernel=name)
    return KERNELS[name]
