"""Figures; matplotlib is imported when one is made."""

from dpjax.plotting._empirical import plot_empirical_curves as plot_empirical_curves
from dpjax.plotting._empirical import plot_empirical_densities as plot_empirical_densities
from dpjax.plotting._empirical import plot_empirical_noise as plot_empirical_noise
