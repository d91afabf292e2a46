"""Exact distributions and levels of mechanisms whose outputs are vectors with Laplace noise."""

import numpy as np

from dpjax.mechanisms import BuiltIn, ParallelLaplace, PrefixSum, SummedHistogramEncoding
from dpjax.reference._laws import law_of
from dpjax.reference._noise import laplace_log_pdf


@law_of.register
def _(mechanism: ParallelLaplace, database, outputs):
    return _laplace_entries(outputs - database, 1 / float(mechanism.epsilon))


@law_of.register
def _(mechanism: PrefixSum, database, outputs):
    # The differences between adjacent prefix sums are the noisy answers. Taking differences
    # preserves volume, so the density of the outputs equals the density of the differences.
    steps = np.diff(outputs, axis=1, prepend=0.0)
    return _laplace_entries(steps - database, 1 / float(mechanism.epsilon))


@law_of.register
def _(mechanism: SummedHistogramEncoding, database, outputs):
    encoded = np.arange(mechanism.num_categories) == database
    return _laplace_entries(outputs - encoded, 2 / float(mechanism.epsilon))


def _laplace_entries(noise: np.ndarray, scale: float) -> np.ndarray:
    return (laplace_log_pdf(noise / scale) - np.log(scale)).sum(axis=-1)


def vector_level(mechanism: BuiltIn, database: np.ndarray, neighbor: np.ndarray) -> float:
    """Return the supremum of a vector mechanism's loss over all outputs, in closed form."""
    match mechanism:
        case ParallelLaplace():
            distance = mechanism.num_releases * abs(database - neighbor)
        case PrefixSum():
            distance = np.abs(database - neighbor).sum()
        case SummedHistogramEncoding():
            distance = database != neighbor
        case _:
            raise NotImplementedError
    return float(mechanism.epsilon) * float(distance)
