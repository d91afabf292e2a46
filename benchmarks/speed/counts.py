"""Time the counting of numbers in equal intervals: dpjax, NumPy and boost-histogram."""

import importlib
from collections.abc import Iterable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.speed.harness import Contender, Goal, Timing, measure
from dpjax.core.categories import interval_counts
from dpjax.core.streaming import reduce_samples, stored_blocks


def run(
    *, quick: bool = False, intervals: Iterable[int] = (100, 10_000)
) -> tuple[list[Timing], list[Goal]]:
    """Return the timings, and an empty list of goals.

    Args:
        quick: Whether to use fewer samples and rounds.
        intervals: Numbers of intervals.
    """
    size = 200_000 if quick else 4_000_000
    sample = np.random.default_rng(0).random(size, np.float32)
    on_device = jnp.asarray(sample)
    entries = []
    for m in intervals:
        compiled = partial(_counts, on_device, num_intervals=m)
        numpy_counts = partial(np.histogram, sample, m, (0.0, 1.0))
        differing = int(np.sum(np.abs(compiled().as_int()[:-1] - numpy_counts()[0])))
        contenders = {
            # A few counts may differ, because dpjax rounds the ends of the intervals to float32 and
            # NumPy rounds them to float64.
            "dpjax": Contender(compiled, size, {"counts that differ": differing}),
            "numpy.histogram": Contender(numpy_counts, size),
        }
        try:
            boost = importlib.import_module("boost_histogram")
        except ModuleNotFoundError:
            pass
        else:
            for threads in (1, 2):
                contenders[f"boost-histogram, threads={threads}"] = Contender(
                    partial(_boost, boost, sample, m, threads), size
                )
        entries += measure(
            "counts", f"{m} intervals", contenders, unit="sample", rounds=3 if quick else 9
        )
    return entries, []


@partial(jax.jit, static_argnames="num_intervals")
def _counts(sample, num_intervals):
    return reduce_samples(
        stored_blocks(sample), interval_counts(0.0, 1.0, num_intervals), sample.shape[0]
    )


def _boost(boost, sample: np.ndarray, num_intervals: int, threads: int):
    histogram = boost.Histogram(boost.axis.Regular(num_intervals, 0.0, 1.0))
    return histogram.fill(sample, threads=threads)
