"""Library objects for tests in other processes."""

import opendp.prelude as dp

dp.enable_features("contrib")

release = dp.m.make_laplace(
    dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0
)
