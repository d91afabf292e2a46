"""Exact densities and privacy levels of the built-in mechanisms, computed in float64.

NumPy and SciPy code computes the exact values from closed forms and by quadrature. Tests,
benchmarks, scripts and the command line compare estimates with the exact values. Estimators never
use the exact values.
"""

from dpjax.reference._density import density as density
from dpjax.reference._density import log_density as log_density
from dpjax.reference._levels import best_level as best_level
from dpjax.reference._levels import pair_level as pair_level
from dpjax.reference._truncated import ExactTruncatedGaussian as ExactTruncatedGaussian
from dpjax.reference._truncated import ExactTruncatedLaplace as ExactTruncatedLaplace
