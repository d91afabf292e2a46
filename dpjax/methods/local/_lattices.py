"""Refinement of the lattices of binned density estimates.

The lattice of a run is refined until it has enough nodes per bandwidth of the kernel.
"""

import dataclasses
from collections.abc import Callable
from typing import TypeVar

import jax
import numpy as np
from numpy.typing import NDArray

from dpjax.core.errors import Stopped, signals_wait
from dpjax.core.streaming import fetched
from dpjax.densities import MAX_NODES, find_kernel, finer
from dpjax.methods.local._options import LocalOptions

Statistics = TypeVar("Statistics")

_TOO_COARSE = 1e-9
"""Smallest accepted number of nodes per bandwidth on the first lattice of a run.

The limit is expressed as a fraction of the number of nodes per bandwidth that the kernel requires.
A run with fewer nodes is rejected without refinement.
"""


def refined(
    run: Callable[[LocalOptions], Statistics],
    options: LocalOptions,
    nodes_of: Callable[[Statistics], NDArray[np.floating]],
    refuse: Callable[[Statistics, LocalOptions, int], None],
) -> tuple[Statistics, list[LocalOptions]]:
    """Compute statistics of a batch of runs, and refine the lattice of each run as necessary.

    The lattice of a run does not depend on the other runs in the batch.

    Args:
        run: Function that maps options to the statistics of all runs, as arrays on the device.
        options: Options with the number of nodes of the first lattice.
        nodes_of: Function that maps the statistics to a float array [runs]. An entry of the array
            is the number of lattice nodes that lie within one bandwidth.
        refuse: Function that raises an error for a run that has no suitable lattice. The arguments
            of `refuse` are the statistics, the options and the index of the run.

    Returns:
        The statistics as NumPy arrays, and a list with the options of each run.
    """
    kernel = find_kernel(options.kernel)
    found = _on_host(run, options)
    nodes = nodes_of(found)
    each = [options] * len(nodes)
    while (coarse := ~(nodes >= kernel.min_nodes)).any():
        # Refine by the smallest factor that is sufficient for one more run. Skip runs whose
        # bandwidth is 0 or NaN.
        most = max((float(n) for n in nodes[coarse] if n > 0), default=0.0)
        wanted = MAX_NODES + 1
        if most > _TOO_COARSE * kernel.min_nodes:
            wanted = finer(options.num_nodes, most, kernel)
        if wanted > MAX_NODES:
            refuse(found, options, int(np.argmax(coarse)))
        options = dataclasses.replace(options, num_nodes=wanted)
        better = _on_host(run, options)
        found = better if coarse.all() else _of_each(coarse, better, found)
        nodes = np.where(coarse, nodes_of(better), nodes)
        each = [options if c else old for c, old in zip(coarse, each, strict=True)]
    return found, each


def _on_host(run: Callable[[LocalOptions], Statistics], options: LocalOptions) -> Statistics:
    try:
        with signals_wait():
            started = run(options)
        return fetched(started)
    except KeyboardInterrupt:
        raise Stopped(
            "Stopped during the compiled search and confirmation: there is no result."
        ) from None


def _of_each(chosen: NDArray[np.bool_], new: Statistics, old: Statistics) -> Statistics:
    """Return the statistics in `new` for the chosen runs, and in `old` for all other runs."""

    def pick(first: NDArray, second: NDArray) -> NDArray:
        return np.where(chosen.reshape(-1, *[1] * (np.ndim(first) - 1)), first, second)

    return jax.tree.map(pick, new, old)
