"""Density estimators: kernel density estimates and relative frequencies, truncated at a floor."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpjax.densities._bandwidth import RULES as RULES
    from dpjax.densities._bandwidth import BandwidthRule as BandwidthRule
    from dpjax.densities._bandwidth import CrossValidated as CrossValidated
    from dpjax.densities._bandwidth import Fixed as Fixed
    from dpjax.densities._bandwidth import HoelderRate as HoelderRate
    from dpjax.densities._bandwidth import Scott as Scott
    from dpjax.densities._bandwidth import Silverman as Silverman
    from dpjax.densities._bandwidth import as_rule as as_rule
    from dpjax.densities._bandwidth import bandwidth_at as bandwidth_at
    from dpjax.densities._bandwidth import robust_spread as robust_spread
    from dpjax.densities._direct import as_vectors as as_vectors
    from dpjax.densities._direct import density_of_sums as density_of_sums
    from dpjax.densities._direct import kernel_sums as kernel_sums
    from dpjax.densities._direct import kernel_values as kernel_values
    from dpjax.densities._estimate import binned_density as binned_density
    from dpjax.densities._estimate import direct_density as direct_density
    from dpjax.densities._estimate import truncated_frequencies as truncated_frequencies
    from dpjax.densities._estimate import truncated_kde as truncated_kde
    from dpjax.densities._kernels import KERNELS as KERNELS
    from dpjax.densities._kernels import Kernel as Kernel
    from dpjax.densities._kernels import find_kernel as find_kernel
    from dpjax.densities._lattice import MAX_NODES as MAX_NODES
    from dpjax.densities._lattice import Lattice as Lattice
    from dpjax.densities._lattice import finer as finer
    from dpjax.densities._lattice import lattice_counts as lattice_counts
    from dpjax.densities._lattice import smooth_both as smooth_both
    from dpjax.densities._lattice import smooth_counts as smooth_counts
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
