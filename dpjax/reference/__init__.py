"""Exact densities and privacy levels, for tests, benchmarks and comparisons."""

from ._truncated import ExactTruncatedGaussian as ExactTruncatedGaussian
from ._truncated import ExactTruncatedLaplace as ExactTruncatedLaplace
