"""The built-in mechanisms by their names on the command line."""

from dpjax._errors import nearest
from dpjax.mechanisms import _additive, _choice, _conditioned, _noisy_max, _sparse_vector
from dpjax.mechanisms._base import BuiltIn

CATALOGUE: dict[str, type[BuiltIn]] = {
    cls.name: cls
    for cls in (
        _additive.Laplace,
        _additive.Gaussian,
        _additive.TwoSidedGeometric,
        _choice.RandomizedResponse,
        _noisy_max.ReportNoisyMax,
        _noisy_max.ReportNoisyMax2,
        _noisy_max.ReportNoisyMax3,
        _noisy_max.ReportNoisyMax4,
        _noisy_max.ContinuousNoisyMax,
        _conditioned.Exponential,
        _noisy_max.FiniteExponential,
        _sparse_vector.SVT1,
        _sparse_vector.SVT2,
        _sparse_vector.SVT4,
        _sparse_vector.SVT5,
        _sparse_vector.SVT6,
        _conditioned.TruncatedLaplace,
        _conditioned.TruncatedGaussian,
        _additive.NoisyHistogram1,
        _additive.NoisyHistogram2,
        _choice.TwoPoint,
    )
}
"""Name on the command line -> class, in the order of the table that `dpjax mechanisms` prints."""


def find_mechanism(name: str) -> type[BuiltIn]:
    """The class of a built-in mechanism.

    Raises:
        ValueError: No mechanism has that name; the message offers the nearest.
    """
    if name not in CATALOGUE:
        raise ValueError(f"mechanism {name!r} is not known; {nearest(name, list(CATALOGUE))}.")
    return CATALOGUE[name]
