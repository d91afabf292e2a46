"""Figures; matplotlib is imported when one is made."""

from ._empirical import plot_empirical_curves as plot_empirical_curves
from ._empirical import plot_empirical_densities as plot_empirical_densities
from ._empirical import plot_empirical_noise as plot_empirical_noise
