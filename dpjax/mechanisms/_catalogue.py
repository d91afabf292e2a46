"""The built-in mechanisms and their names on the command line."""

from dpjax.core.errors import nearest
from dpjax.core.lazy import Classes
from dpjax.mechanisms._base import BuiltIn

CATALOGUE: Classes[type[BuiltIn]] = Classes(
    "dpjax.mechanisms",
    {
        "laplace": "_additive:Laplace",
        "gaussian": "_additive:Gaussian",
        "shuffled-batches": "_shuffled:ShuffledBatches",
        "snapped-laplace": "_integers:SnappedLaplace",
        "parallel-laplace": "_vectors:ParallelLaplace",
        "two-sided-geometric": "_additive:TwoSidedGeometric",
        "truncated-geometric": "_integers:TruncatedGeometric",
        "discrete-gaussian": "_integers:DiscreteGaussian",
        "randomized-response": "_choice:RandomizedResponse",
        "report-noisy-max": "_noisy_max:ReportNoisyMax",
        "report-noisy-max-2": "_noisy_max:ReportNoisyMax2",
        "report-noisy-max-3": "_noisy_max:ReportNoisyMax3",
        "report-noisy-max-4": "_noisy_max:ReportNoisyMax4",
        "continuous-noisy-max": "_noisy_max:ContinuousNoisyMax",
        "half-noise-max": "_noisy_max:HalfNoiseMax",
        "exponential": "_conditioned:Exponential",
        "finite-exponential": "_noisy_max:FiniteExponential",
        "permute-and-flip": "_noisy_max:PermuteAndFlip",
        "svt1": "_sparse_vector:SVT1",
        "svt2": "_sparse_vector:SVT2",
        "svt3": "_sparse_vector:SVT3",
        "svt4": "_sparse_vector:SVT4",
        "svt5": "_sparse_vector:SVT5",
        "svt6": "_sparse_vector:SVT6",
        "numerical-svt": "_sparse_vector:NumericalSVT",
        "svt3-svt4": "_sparse_vector:SVT3And4",
        "truncated-laplace": "_conditioned:TruncatedLaplace",
        "truncated-gaussian": "_conditioned:TruncatedGaussian",
        "noisy-histogram-1": "_additive:NoisyHistogram1",
        "noisy-histogram-2": "_additive:NoisyHistogram2",
        "prefix-sum": "_vectors:PrefixSum",
        "one-time-rappor": "_rappor:OneTimeRappor",
        "rappor": "_rappor:Rappor",
        "symmetric-unary-encoding": "_local_protocols:SymmetricUnaryEncoding",
        "optimized-unary-encoding": "_local_protocols:OptimizedUnaryEncoding",
        "summed-histogram-encoding": "_vectors:SummedHistogramEncoding",
        "thresholded-histogram-encoding": "_local_protocols:ThresholdedHistogramEncoding",
        "local-hashing": "_local_protocols:LocalHashing",
        "subset-selection": "_local_protocols:SubsetSelection",
        "two-point": "_choice:TwoPoint",
    },
)
"""Map from command-line names to classes, in the order that `dpjax mechanisms` prints."""


def is_built_in(mechanism: object) -> bool:
    """Return whether a mechanism's class is in the catalogue; such classes need no validation."""
    name = getattr(type(mechanism), "name", None)
    return isinstance(name, str) and CATALOGUE.get(name) is type(mechanism)


def find_mechanism(name: str) -> type[BuiltIn]:
    """Return the class of a built-in mechanism; raise ValueError if the name is unknown."""
    if name not in CATALOGUE:
        raise ValueError(f"mechanism {name!r} is not known; {nearest(name, list(CATALOGUE))}")
    return CATALOGUE[name]
