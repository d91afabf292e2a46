"""Mechanisms of the corpus that run on the host and cannot be implemented in JAX."""

import numpy as np


def textbook_laplace(count, num_samples, rng):
    """Laplace noise from the logarithm of one double; low bits reveal the count (Mironov 2012)."""
    u = rng.random(num_samples) - 0.5
    return count - np.sign(u) * np.log(1 - 2 * np.abs(u))


def snapped_laplace(count, num_samples, rng, bound=1024.0):
    """The snapping mechanism in doubles at epsilon 1, with the power of two above 1 as step."""
    scale = 1 + bound * 2.0**-49
    step = 2.0 ** np.frexp(scale)[1]
    noise = scale * np.log(1 - rng.random(num_samples))
    sign = np.where(rng.random(num_samples) < 0.5, -1.0, 1.0)
    noisy = np.clip(count, -bound, bound) + sign * noise
    return np.clip(step * np.round(noisy / step), -bound, bound)


def mean_that_crashes(count, rng):
    """Noisy mean of `count` ones; without ones, it divides by zero before it adds noise."""
    return sum(1.0 for _ in range(int(count))) / int(count) + rng.laplace(0.0, 1.0)


def mean_that_guards(count, rng):
    """Noisy mean of `count` ones; the mean of no records is 0."""
    return sum(1.0 for _ in range(int(count))) / max(int(count), 1) + rng.laplace(0.0, 1.0)
