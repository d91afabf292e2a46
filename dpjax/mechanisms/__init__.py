"""Mechanisms: pure JAX samplers with a known output space.

The true privacy level of each built-in mechanism is also known.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpjax.core.types import FiniteSpace as FiniteSpace
    from dpjax.core.types import IntegerSpace as IntegerSpace
    from dpjax.core.types import MixedSpace as MixedSpace
    from dpjax.core.types import OutputSpace as OutputSpace
    from dpjax.core.types import RealSpace as RealSpace
    from dpjax.core.types import VectorSpace as VectorSpace
    from dpjax.mechanisms import training as training
    from dpjax.mechanisms._additive import Gaussian as Gaussian
    from dpjax.mechanisms._additive import Laplace as Laplace
    from dpjax.mechanisms._additive import NoisyHistogram1 as NoisyHistogram1
    from dpjax.mechanisms._additive import NoisyHistogram2 as NoisyHistogram2
    from dpjax.mechanisms._additive import TwoSidedGeometric as TwoSidedGeometric
    from dpjax.mechanisms._base import BuiltIn as BuiltIn
    from dpjax.mechanisms._base import Mechanism as Mechanism
    from dpjax.mechanisms._catalogue import CATALOGUE as CATALOGUE
    from dpjax.mechanisms._catalogue import find_mechanism as find_mechanism
    from dpjax.mechanisms._catalogue import is_built_in as is_built_in
    from dpjax.mechanisms._checks import check_mechanism as check_mechanism
    from dpjax.mechanisms._checks import refuse_repeated as refuse_repeated
    from dpjax.mechanisms._choice import RandomizedResponse as RandomizedResponse
    from dpjax.mechanisms._choice import TwoPoint as TwoPoint
    from dpjax.mechanisms._conditioned import Exponential as Exponential
    from dpjax.mechanisms._conditioned import TruncatedGaussian as TruncatedGaussian
    from dpjax.mechanisms._conditioned import TruncatedLaplace as TruncatedLaplace
    from dpjax.mechanisms._functions import FromFunction as FromFunction
    from dpjax.mechanisms._functions import from_function as from_function
    from dpjax.mechanisms._integers import DiscreteGaussian as DiscreteGaussian
    from dpjax.mechanisms._integers import SnappedLaplace as SnappedLaplace
    from dpjax.mechanisms._integers import TruncatedGeometric as TruncatedGeometric
    from dpjax.mechanisms._local_protocols import LocalHashing as LocalHashing
    from dpjax.mechanisms._local_protocols import OptimizedUnaryEncoding as OptimizedUnaryEncoding
    from dpjax.mechanisms._local_protocols import SubsetSelection as SubsetSelection
    from dpjax.mechanisms._local_protocols import SymmetricUnaryEncoding as SymmetricUnaryEncoding
    from dpjax.mechanisms._local_protocols import (
        ThresholdedHistogramEncoding as ThresholdedHistogramEncoding,
    )
    from dpjax.mechanisms._noisy_max import ContinuousNoisyMax as ContinuousNoisyMax
    from dpjax.mechanisms._noisy_max import FiniteExponential as FiniteExponential
    from dpjax.mechanisms._noisy_max import HalfNoiseMax as HalfNoiseMax
    from dpjax.mechanisms._noisy_max import NoisyMax as NoisyMax
    from dpjax.mechanisms._noisy_max import PermuteAndFlip as PermuteAndFlip
    from dpjax.mechanisms._noisy_max import ReportNoisyMax as ReportNoisyMax
    from dpjax.mechanisms._noisy_max import ReportNoisyMax2 as ReportNoisyMax2
    from dpjax.mechanisms._noisy_max import ReportNoisyMax3 as ReportNoisyMax3
    from dpjax.mechanisms._noisy_max import ReportNoisyMax4 as ReportNoisyMax4
    from dpjax.mechanisms._rappor import OneTimeRappor as OneTimeRappor
    from dpjax.mechanisms._rappor import Rappor as Rappor
    from dpjax.mechanisms._rappor import bloom_filter as bloom_filter
    from dpjax.mechanisms._shuffled import ShuffledBatches as ShuffledBatches
    from dpjax.mechanisms._sparse_vector import SVT1 as SVT1
    from dpjax.mechanisms._sparse_vector import SVT2 as SVT2
    from dpjax.mechanisms._sparse_vector import SVT3 as SVT3
    from dpjax.mechanisms._sparse_vector import SVT4 as SVT4
    from dpjax.mechanisms._sparse_vector import SVT5 as SVT5
    from dpjax.mechanisms._sparse_vector import SVT6 as SVT6
    from dpjax.mechanisms._sparse_vector import NumericalSVT as NumericalSVT
    from dpjax.mechanisms._sparse_vector import SparseVector as SparseVector
    from dpjax.mechanisms._sparse_vector import SVT3And4 as SVT3And4
    from dpjax.mechanisms._vectors import ParallelLaplace as ParallelLaplace
    from dpjax.mechanisms._vectors import PrefixSum as PrefixSum
    from dpjax.mechanisms._vectors import SummedHistogramEncoding as SummedHistogramEncoding
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
