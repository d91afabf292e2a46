"""Confirmation stage of MPL: statistics of fresh draws for one pair at one output.

References:
    Askin, Kutta, Dette (2022), Algorithm 4, lines 7-10.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.numerics import WideCount, to_fixed_point
from dpjax.core.streaming import Reducer, reduce_samples
from dpjax.densities import Kernel, as_vectors, find_kernel, kernel_values
from dpjax.methods.local._options import LocalOptions
from dpjax.methods.local._penalty import confirm_bandwidth
from dpjax.methods.local._search import PairSearch
from dpjax.partitions import Box, Outcomes, Region
from dpjax.sources.streams import CONFIRM, Streams


class Confirmation(NamedTuple):
    """Sufficient statistics of the confirmation stage, with one entry per side.

    Attributes:
        events: WideCount [2], for each side, the number of draws that lie in the witness's event.
            If the witness is an outcome of a finite space, the event contains only this outcome. If
            the witness is a point, the event contains all outputs in the region that differ from
            the point by at most a bandwidth on every axis.
        kernel_sum: WideCount [2], sums of the kernel values k at the point, in fixed-point format,
            or None for outcomes of a finite space.
        kernel_sum_of_squares: WideCount [2], sums of k^2, in fixed-point format, or None for
            outcomes of a finite space.
        bandwidth: Bandwidth for both sides, or 0 for outcomes of a finite space.
    """

    events: WideCount
    kernel_sum: WideCount | None
    kernel_sum_of_squares: WideCount | None
    bandwidth: Array


def confirm_pair(
    source: Streams,
    pair: Array,
    found: PairSearch,
    region: Region,
    settings: LocalOptions,
    at_once: int = 1,
) -> Confirmation:
    """Compute the statistics of N fresh draws on each side of the chosen pair.

    Both sides have the same bandwidth h, which the search stage determines. On each side, the mean
    of the kernel density estimate is a smoothed density: the density of a noisy output, which is
    the output plus h times independent noise. Since adding noise is post-processing, the privacy
    loss between the two smoothed densities does not exceed epsilon. If the two sides had different
    bandwidths, the privacy loss between the smoothed densities could exceed epsilon.

    Args:
        source: Streams of outputs.
        pair: int32, index of the chosen pair.
        found: Result of the search stage.
        region: Region C of outputs.
        settings: Options of the local method. The function uses N, the kernel and the bandwidth
            rule.
        at_once: Number of blocks of draws that are processed in parallel.
    """
    if isinstance(region, Outcomes):
        bandwidth = jnp.zeros(())
        reducer = _outcome_events(found.point)
    else:
        kernel = find_kernel(settings.kernel)
        bandwidth = confirm_bandwidth(found.spread, settings, region.dimension)
        reducer = _kernel_statistics(found.point, bandwidth * found.axes, kernel, region)
    number = settings.num_confirm
    sides = [
        reduce_samples(source.draw(pair, side, CONFIRM, number), reducer, number, at_once=at_once)
        for side in (0, 1)
    ]
    columns = WideCount(*(jnp.stack(limbs, axis=-1) for limbs in zip(*sides, strict=True)))
    events, *kernel_sums = (WideCount(low, high) for low, high in zip(*columns, strict=True))
    kernel_sum, kernel_sum_of_squares = kernel_sums or (None, None)
    return Confirmation(events, kernel_sum, kernel_sum_of_squares, bandwidth)


def _outcome_events(outcome: Array) -> Reducer:
    """Return a reducer that counts an outcome. The reducer's carry is a WideCount of shape [1]."""

    def update(counts: WideCount, samples: Array, valid: Array) -> WideCount:
        return counts.add(jnp.sum((samples == outcome) & valid, dtype=jnp.int32)[None])

    return Reducer(lambda: WideCount.zeros((1,)), update, reads_once=True)


def _kernel_statistics(point: Array, bandwidth: Array, kernel: Kernel, region: Box) -> Reducer:
    """Return a reducer that computes the event's count and the sums of k and k^2.

    The carry of the reducer is a WideCount of shape [3].
    """
    low = jnp.maximum(point - bandwidth, region.low)
    high = jnp.minimum(point + bandwidth, region.high)

    def update(sums: WideCount, samples: Array, valid: Array) -> WideCount:
        samples = as_vectors(samples)
        # Without the barrier, XLA would compute the kernel values separately for each sum.
        values = jax.lax.optimization_barrier(kernel_values(samples, point, bandwidth, kernel))
        values = jnp.where(valid, values, 0)
        inside = jnp.all((samples >= low[None, :]) & (samples <= high[None, :]), axis=1)
        summands = inside & valid, to_fixed_point(values), to_fixed_point(values**2)
        return sums.add(jnp.stack([jnp.sum(summand, dtype=jnp.int32) for summand in summands]))

    return Reducer(lambda: WideCount.zeros((3,)), update)
