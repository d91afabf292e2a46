"""From statistics to statements: confidence bounds in float64 NumPy, without JAX."""

from dpjax.inference._binomial import binomial_lower_bound as binomial_lower_bound
from dpjax.inference._binomial import clopper_pearson as clopper_pearson
from dpjax.inference._local import KernelSums as KernelSums
from dpjax.inference._local import LocalBounds as LocalBounds
from dpjax.inference._local import local_bounds as local_bounds
from dpjax.inference._normal import frequency_standard_error as frequency_standard_error
from dpjax.inference._normal import kernel_exact_standard_error as kernel_exact_standard_error
from dpjax.inference._normal import kernel_standard_error as kernel_standard_error
from dpjax.inference._normal import normal_lower_bound as normal_lower_bound
