"""The built-in mechanisms and their names on the command line."""

from dpjax.core.errors import nearest
from dpjax.mechanisms import (
    _additive,
    _choice,
    _conditioned,
    _integers,
    _local_protocols,
    _noisy_max,
    _rappor,
    _shuffled,
    _sparse_vector,
    _vectors,
)
from dpjax.mechanisms._base import BuiltIn

CATALOGUE: dict[str, type[BuiltIn]] = {
    cls.name: cls
    for cls in (
        _additive.Laplace,
        _additive.Gaussian,
        _shuffled.ShuffledBatches,
        _integers.SnappedLaplace,
        _vectors.ParallelLaplace,
        _additive.TwoSidedGeometric,
        _integers.TruncatedGeometric,
        _integers.DiscreteGaussian,
        _choice.RandomizedResponse,
        _noisy_max.ReportNoisyMax,
        _noisy_max.ReportNoisyMax2,
        _noisy_max.ReportNoisyMax3,
        _noisy_max.ReportNoisyMax4,
        _noisy_max.ContinuousNoisyMax,
        _noisy_max.HalfNoiseMax,
        _conditioned.Exponential,
        _noisy_max.FiniteExponential,
        _noisy_max.PermuteAndFlip,
        _sparse_vector.SVT1,
        _sparse_vector.SVT2,
        _sparse_vector.SVT3,
        _sparse_vector.SVT4,
        _sparse_vector.SVT5,
        _sparse_vector.SVT6,
        _sparse_vector.NumericalSVT,
        _sparse_vector.SVT3And4,
        _conditioned.TruncatedLaplace,
        _conditioned.TruncatedGaussian,
        _additive.NoisyHistogram1,
        _additive.NoisyHistogram2,
        _vectors.PrefixSum,
        _rappor.OneTimeRappor,
        _rappor.Rappor,
        _local_protocols.SymmetricUnaryEncoding,
        _local_protocols.OptimizedUnaryEncoding,
        _vectors.SummedHistogramEncoding,
        _local_protocols.ThresholdedHistogramEncoding,
        _local_protocols.LocalHashing,
        _local_protocols.SubsetSelection,
        _choice.TwoPoint,
    )
}
"""Dictionary from command-line names to classes, in the order that `dpjax mechanisms` prints."""


def is_built_in(mechanism: object) -> bool:
    """Return whether a mechanism's class is in the catalogue; such classes need no validation."""
    return type(mechanism) in CATALOGUE.values()


def find_mechanism(name: str) -> type[BuiltIn]:
    """Return the class of a built-in mechanism; raise ValueError if the name is unknown."""
    if name not in CATALOGUE:
        raise ValueError(f"mechanism {name!r} is not known; {nearest(name, list(CATALOGUE))}")
    return CATALOGUE[name]
