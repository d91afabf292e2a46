"""Integrals over the real line of products of Laplace densities and distribution functions.

Between two adjacent kinks, a product of Laplace densities and distribution functions is a sum of
exponentials, for which Gauss-Legendre quadrature converges faster than geometrically. Beyond the
outermost kink on either side, let u be e^(-r / s), where r is the distance from that kink and s is
the largest scale in the integrand. For all mechanisms in this package, an integrand has at most two
scales, and the larger scale is an integer multiple of the smaller scale. Beyond the outermost kink,
the integrand is therefore a polynomial in u, for which Gauss-Legendre quadrature is exact. All
terms of the integrals are positive, so small probabilities have full relative precision.
"""

from itertools import pairwise

import numpy as np

NUM_NODES = 64
"""Number of quadrature nodes per panel.

With 64 nodes, quadrature in a tail is exact for polynomials of degree up to 127.
"""


def line_rule(
    kinks: np.ndarray, tail_scale: float, panel_width: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and weights of a quadrature rule for integrals over the real line.

    Args:
        kinks: One or more points at which the integrand is not smooth, in any order.
        tail_scale: Largest scale of the exponentials in the integrand.
        panel_width: Maximum width of a finite panel. A width of a few times the smallest scale of
            the exponentials is narrow enough.

    Returns:
        The nodes, [num_nodes], and the weights, [num_nodes].
    """
    nodes, weights = np.polynomial.legendre.leggauss(NUM_NODES)
    unit, weight = (nodes + 1) / 2, weights / 2
    kinks = np.unique(kinks)
    edges = [kinks[:1]]
    for low, high in pairwise(kinks):
        num_panels = int(np.ceil((high - low) / panel_width))
        edges.append(np.linspace(low, high, num_panels + 1)[1:])
    edges = np.concatenate(edges)
    width = np.diff(edges)[:, None]
    distance, tail_weight = -tail_scale * np.log(unit), tail_scale * weight / unit
    return (
        np.concatenate(
            [kinks[0] - distance, (edges[:-1, None] + width * unit).ravel(), kinks[-1] + distance]
        ),
        np.concatenate([tail_weight, (width * weight).ravel(), tail_weight]),
    )
