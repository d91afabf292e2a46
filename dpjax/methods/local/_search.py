"""Search stage (DPL), which estimates a pair's two densities and the largest privacy loss.

References:
    Askin, Kutta, Dette (2022), Algorithm 3.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.categories import category_counts
from dpjax.core.streaming import drawn_once, reduce_samples
from dpjax.densities import (
    Fixed,
    Lattice,
    as_vectors,
    bandwidth_at,
    density_of_sums,
    find_kernel,
    kernel_sums,
    lattice_counts,
    robust_spread,
    smooth_both,
)
from dpjax.methods.local._loss import largest_loss
from dpjax.methods.local._options import LocalOptions
from dpjax.methods.local._penalty import kernel_penalty, outcome_penalty
from dpjax.partitions import Box, Outcomes, Region, product_grid
from dpjax.sources.streams import SEARCH, Streams

_FLOOR_COUNT, _LARGEST_FLOOR = 20, 0.01
"""Default floor of frequencies from n draws: the smaller of _FLOOR_COUNT / n and _LARGEST_FLOOR."""

_PILOT = 2048
"""Number of draws from which bandwidths are computed. A bandwidth's relative error is about 2%."""

_ZOOM_POINTS = {1: 33, 2: 9, 3: 5}
"""Number of points per axis in the fine grid around the best point, for each dimension."""


class Curves(NamedTuple):
    """Density estimates of one pair at the points where the densities are compared.

    Attributes:
        points: Float [points] or [points, d], points; or int32 [points], outcomes of a finite
            space.
        densities: Float [2, points], densities under the database and under its neighbor. Densities
            below the floor are not raised to the floor.
        allowed: bool [points], whether each point belongs to the region.
    """

    points: Array
    densities: Array
    allowed: Array


class PairSearch(NamedTuple):
    """Result of the search stage for one pair.

    Attributes:
        score: Maximum of the objective: the privacy loss, or the privacy loss minus its penalty.
        loss: Estimated privacy loss at the maximum (DPL's estimate of epsilon for the pair).
        point: Position of the maximum: an outcome, int32, or a point, float [d].
        densities: Float [2], density estimates at the maximum. Densities below the floor are not
            raised to the floor.
        floor: tau, the floor of densities.
        spread: Float [2], spread of the outputs on each side, according to the bandwidth rule, or
            zeros for outcomes of a finite space.
        axes: Float [d], ratios of the bandwidths of the axes to their geometric mean.
        nodes_per_bandwidth: Number of lattice nodes per bandwidth, or infinity if there is no
            lattice.
        curves: Density estimates at all points, or None.
    """

    score: Array
    loss: Array
    point: Array
    densities: Array
    floor: Array
    spread: Array
    axes: Array
    nodes_per_bandwidth: Array
    curves: Curves | None


def search_pair(
    source: Streams,
    pair: Array,
    region: Region,
    settings: LocalOptions,
    at_once: int = 1,
    *,
    with_curves: bool,
) -> PairSearch:
    """Run DPL on one pair.

    Args:
        source: Streams of outputs.
        pair: int32, index of the pair.
        region: Region C of outputs.
        settings: Options of the local method. The function uses the sizes, the objective, and the
            options for density estimation.
        at_once: Number of blocks of draws that are processed in parallel. The direct estimator
            ignores this number, since it compares every draw in a block with every point.
        with_curves: Whether to return the density estimates at all points.
    """
    if isinstance(region, Outcomes):
        search = _search_outcomes(source, pair, region, settings, at_once)
    elif settings.density == "direct" or region.dimension > 1:
        search = _search_direct(source, pair, region, settings)
    else:
        search = _search_binned(source, pair, region, settings, at_once)
    return search if with_curves else search._replace(curves=None)


def _streams(source: Streams, pair: Array, settings: LocalOptions) -> list:
    return [source.draw(pair, side, SEARCH, settings.num_samples) for side in (0, 1)]


def _search_outcomes(
    source: Streams, pair: Array, region: Outcomes, settings: LocalOptions, at_once: int
) -> PairSearch:
    n = settings.num_samples
    reducer = category_counts(region.size, region.low)
    counts = [
        reduce_samples(draw, reducer, n, at_once=at_once).as_float()[:-1]
        for draw in _streams(source, pair, settings)
    ]
    densities = jnp.stack(counts) / n
    floor = _floor_share(n) if settings.floor is None else settings.floor
    outcomes = region.low + jnp.arange(region.size, dtype=jnp.int32)
    curves = Curves(outcomes, densities, jnp.asarray(region.allowed))
    penalty = outcome_penalty(densities, floor, settings)
    return _best(curves, floor, jnp.zeros(2), jnp.ones(1), penalty)


def _search_binned(
    source: Streams, pair: Array, region: Box, settings: LocalOptions, at_once: int
) -> PairSearch:
    n, num_nodes, kernel = settings.num_samples, settings.num_nodes, find_kernel(settings.kernel)
    draws, first, spread, axes, bandwidths, floor = _first_look(source, pair, settings)
    reach = kernel.radius * jnp.max(bandwidths)
    lattice = Lattice.covering(region.low[0], region.high[0], reach, num_nodes)
    reducer = lattice_counts(lattice, num_nodes)
    counts = [
        reduce_samples(draw, reducer, n, first=block, at_once=at_once)
        for draw, block in zip(draws, first, strict=True)
    ]
    densities = smooth_both(jnp.stack(counts), lattice, bandwidths, kernel, n)
    nodes = lattice.nodes(num_nodes)
    allowed = (nodes >= region.low[0]) & (nodes <= region.high[0])
    curves = Curves(nodes, densities, allowed)
    penalty = kernel_penalty(densities, floor, spread, settings, dimension=1)
    best = _best(curves, floor, spread, axes, penalty)
    return best._replace(nodes_per_bandwidth=jnp.min(bandwidths) / lattice.spacing)


def _search_direct(source: Streams, pair: Array, region: Box, settings: LocalOptions) -> PairSearch:
    n, kernel = settings.num_samples, find_kernel(settings.kernel)
    draws, first, spread, axes, bandwidths, floor = _first_look(source, pair, settings)

    def estimate(points: Array) -> Curves:
        densities = []
        for draw, block, bandwidth in zip(draws, first, bandwidths, strict=True):
            reducer = kernel_sums(points, bandwidth * axes, kernel)
            sums = reduce_samples(draw, reducer, n, first=block)
            densities.append(density_of_sums(sums, bandwidth, kernel, n, region.dimension))
        return Curves(points, jnp.stack(densities), jnp.ones(points.shape[0], bool))

    def best_of(curves: Curves) -> PairSearch:
        penalty = kernel_penalty(curves.densities, floor, spread, settings, region.dimension)
        return _best(curves, floor, spread, axes, penalty)

    coarse = estimate(region.grid())
    best = best_of(coarse)
    # Evaluate the draws again on a fine grid around the best point of the coarse grid.
    step = (region.high - region.low) / (region.num_points - 1)
    low = jnp.maximum(best.point - step, region.low)
    high = jnp.minimum(best.point + step, region.high)
    fine = estimate(product_grid(low, high, _ZOOM_POINTS[region.dimension]))
    return best_of(fine)._replace(curves=coarse)


def _first_look(source: Streams, pair: Array, settings: LocalOptions) -> tuple:
    """Read the first block of draws on both sides to determine bandwidths and the floor.

    Returns:
        The draw functions and the first blocks of both sides, the spreads [2], the ratios of the
        axes' bandwidths [d], the bandwidths [2], and the floor.
    """
    draws = _streams(source, pair, settings)
    first = [drawn_once(draw)(jnp.int32(0)) for draw in draws]
    pilots = jnp.stack([as_vectors(block[: min(settings.num_samples, _PILOT)]) for block in first])
    dimension = pilots.shape[2]
    # Process both sides in one batch because dispatching operations on a CPU takes longer than
    # computing a spread.
    spread = _rounded(jax.vmap(settings.bandwidth.spread)(pilots))
    bandwidths = bandwidth_at(settings.bandwidth, spread, settings.num_samples, dimension)
    floor = settings.floor
    if floor is None:
        scale = _rounded(jnp.mean(jax.vmap(robust_spread)(pilots)))
        floor = _floor_share(settings.num_samples) / scale**dimension
    is_fixed = isinstance(settings.bandwidth, Fixed)
    axes = jnp.ones(dimension, pilots.dtype) if is_fixed else _ratios_of_axes(pilots)
    return draws, first, spread, axes, bandwidths, floor


def _ratios_of_axes(pilots: Array) -> Array:
    """Return the ratios of the axes' bandwidths to their geometric mean, [d].

    The axes of outputs may have different units, so each axis has a bandwidth in proportion to its
    spread, up to a factor of 2. The ratios are powers of 2 whose product is 1. They are therefore
    exact, and they are 1 if the axes have similar spreads.

    Args:
        pilots: Samples of both sides, [2, m, d].
    """
    dimension = pilots.shape[2]
    if dimension == 1:
        return jnp.ones(1, pilots.dtype)
    spreads = [jnp.mean(jax.vmap(robust_spread)(pilots[:, :, j, None])) for j in range(dimension)]
    logs = jnp.log2(_rounded(jnp.stack(spreads)))
    # Rounding the partial sums keeps the total at 0 and each power within 1 of its logarithm.
    sums = jnp.round(jnp.cumsum(logs - jnp.mean(logs))[:-1]).astype(jnp.int32)
    powers = jnp.diff(jnp.pad(sums, 1))
    return jnp.ldexp(jnp.ones(dimension, logs.dtype), powers)


def _floor_share(num_samples: int) -> float:
    return min(_FLOOR_COUNT / num_samples, _LARGEST_FLOOR)


def _rounded(values: Array) -> Array:
    """Round values to 12 significant bits.

    The last bits of a mean depend on the order of summation, and XLA chooses this order. Rounded
    values are the same for every order.
    """
    # Use a single operation because XLA repeats the rounding for every sample and node that uses
    # the bandwidth.
    return jax.lax.reduce_precision(values, jnp.finfo(values.dtype).nexp, 11)


def _best(
    curves: Curves, floor: Array | float, spread: Array, axes: Array, penalty: Array | float
) -> PairSearch:
    index, loss, score = largest_loss(
        curves.densities[0], curves.densities[1], floor, curves.allowed, penalty
    )
    point = curves.points[index]
    return PairSearch(
        score=score,
        loss=loss,
        point=point if point.dtype == jnp.int32 else jnp.atleast_1d(point),
        densities=curves.densities[:, index],
        floor=jnp.asarray(floor, curves.densities.dtype),
        spread=spread,
        axes=axes,
        nodes_per_bandwidth=jnp.asarray(jnp.inf, curves.densities.dtype),
        curves=curves,
    )
