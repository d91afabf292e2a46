"""Exact densities and privacy levels, for tests, benchmarks and comparisons."""

from dpjax.reference._truncated import ExactTruncatedGaussian as ExactTruncatedGaussian
from dpjax.reference._truncated import ExactTruncatedLaplace as ExactTruncatedLaplace
