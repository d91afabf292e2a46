"""Time density estimates at 512 points for many data sets, with equal accuracy.

Each method that uses its own grid, including dpjax, gets the smallest power of two of cells such
that its largest relative error on the first data set is at most the target. For scikit-learn's
trees, the target is the relative tolerance. The error is computed against a direct sum in float64,
at points where the density is not too small. The data are Laplace draws.
"""

import importlib
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import gaussian_kde

from benchmarks.speed.harness import Contender, Goal, Timing, by_name, measure, ratio
from dpjax.densities import binned_density, direct_density

NUM_POINTS, TARGET = 512, 1e-4
_ENDS = (-4.0, 4.0)


def run(*, quick: bool = False, sizes: Iterable[int] | None = None) -> tuple[list[Timing], list]:
    """Return timings and goals.

    Args:
        quick: Whether to use only the smaller sample size, and fewer data sets and rounds.
        sizes: Sample sizes; overrides the sample sizes of `quick`.
    """
    entries, goals = [], []
    for size in sizes or ((20_000,) if quick else (20_000, 1_000_000)):
        timed = _case(size, num_sets=20 if quick else 100, rounds=3 if quick else 7)
        entries += timed
        named = by_name(timed)
        ours = named["dpjax binned"]
        goals.append(
            Goal("density", f"n={size}: error of dpjax", ours.facts["error"], TARGET, False)
        )
        for rival, target in (("KDEpy FFTKDE", 6.0), ("scipy gaussian_kde", 500.0)):
            if rival in named:
                what = f"n={size}: times faster than {rival}"
                goals.append(Goal("density", what, ratio(named[rival], ours), target))
    return entries, goals


def _case(size: int, num_sets: int, rounds: int) -> list[Timing]:
    rng = np.random.default_rng(0)
    sets = rng.laplace(size=(num_sets, size))
    points = np.linspace(*_ENDS, NUM_POINTS)
    widths = np.array([_silverman(x) for x in sets])
    truth = direct_sum(sets[0], points, widths[0])
    seen = truth > min(20 / size, 0.01)

    def error(density: Any) -> float:
        return float(np.max(np.abs(np.asarray(density, float)[seen] / truth[seen] - 1)))

    contenders = {}
    cells = _smallest(lambda m: error(_binned(sets[:1], points, widths[:1], m)()[0][0]))
    binned = _binned(sets, points, widths, cells)
    contenders["dpjax binned"] = Contender(
        binned, num_sets, {"error": error(binned()[0][0]), "cells": cells, "sets": num_sets}
    )
    few = 4 if size <= 100_000 else 1
    direct = _direct(sets[:few], points, widths[:few])
    contenders["dpjax direct"] = Contender(
        direct, few, {"error": error(direct()[0]), "sets": few, "scaled": few < num_sets}
    )
    for name, (make, many) in _RIVALS.items():
        try:
            estimate, facts = make(sets[0], points, widths[0], error)
        except ModuleNotFoundError:
            continue
        count = num_sets if many else 1
        contenders[name] = Contender(
            partial(_all, estimate, sets[:count], points, widths[:count]),
            count,
            {
                "error": error(estimate(sets[0], points, widths[0])),
                "sets": count,
                "scaled": count < num_sets,
                **facts,
            },
        )
    case = f"{NUM_POINTS} points, n={size}"
    return measure("density", case, contenders, unit="data set", rounds=rounds)


def direct_sum(sample: np.ndarray, points: np.ndarray, bandwidth: float) -> np.ndarray:
    """Return the Gaussian kernel density estimate [points], computed as a direct float64 sum."""
    total = np.zeros(len(points))
    for part in np.array_split(sample, -(-len(sample) // 20_000)):
        total += np.exp(-0.5 * ((points[:, None] - part[None, :]) / bandwidth) ** 2).sum(axis=1)
    return total / (len(sample) * bandwidth * np.sqrt(2 * np.pi))


def _silverman(sample: np.ndarray) -> float:
    lower, upper = np.percentile(sample, [25, 75])
    return float(0.9 * min(np.std(sample), (upper - lower) / 1.34) * len(sample) ** -0.2)


def _smallest(error: Callable[[int], float]) -> int:
    """Return the smallest power of two such that a grid of this size reaches the target."""
    for power in range(9, 18):
        if error(2**power) <= TARGET:
            return 2**power
    raise ValueError(f"no grid of up to 2^17 cells had an error within {TARGET:g}.")


def _all(estimate: Callable, sets: np.ndarray, points: np.ndarray, widths: np.ndarray) -> None:
    for sample, width in zip(sets, widths, strict=True):
        estimate(sample, points, width)


def _binned(sets, points, widths, num_nodes: int) -> Callable[[], list]:
    """Return a function that estimates all data sets, which are divided among the devices."""
    devices = jax.local_devices()[: len(sets)]
    parts = [np.array_split(values, len(devices)) for values in (sets, widths)]
    shares = [
        [jax.device_put(values.astype(np.float32), device) for values in (s, points, w)]
        for device, s, w in zip(devices, *parts, strict=True)
    ]
    return lambda: [_binned_sets(*share, num_nodes=num_nodes) for share in shares]


@partial(jax.jit, static_argnames="num_nodes")
def _binned_sets(sets, points, widths, num_nodes):
    return jax.lax.map(
        lambda one: binned_density(one[0], points, one[1], num_nodes=num_nodes), (sets, widths)
    )


def _direct(sets, points, widths) -> Callable[[], jax.Array]:
    arrays = [jnp.asarray(x, jnp.float32) for x in (sets, points, widths)]
    compiled = jax.jit(
        lambda sets, points, widths: jax.lax.map(
            lambda one: direct_density(one[0][:, None], points[:, None], one[1]), (sets, widths)
        )
    )
    return lambda: compiled(*arrays)


def _kdepy(sample, points, width, error):
    fft_kde = importlib.import_module("KDEpy").FFTKDE

    def estimate(sample, points, width, cells):
        grid, values = fft_kde(bw=width).fit(sample).evaluate(cells)
        return np.interp(points, grid, values)

    cells = _smallest(lambda m: error(estimate(sample, points, width, m)))
    return partial(estimate, cells=cells), {"cells": cells}


def _statsmodels(sample, points, width, error):
    with warnings.catch_warnings():
        # Hide the deprecation warnings of statsmodels, which do not concern dpjax.
        warnings.simplefilter("ignore")
        univariate = importlib.import_module("statsmodels.nonparametric.kde").KDEUnivariate

    def estimate(sample, points, width, cells):
        fitted = univariate(sample)
        fitted.fit(bw=width, fft=True, gridsize=cells)
        return np.interp(points, fitted.support, fitted.density)

    cells = _smallest(lambda m: error(estimate(sample, points, width, m)))
    return partial(estimate, cells=cells), {"cells": cells}


def _scikit_learn(sample, points, width, error):
    neighbors = importlib.import_module("sklearn.neighbors")

    def estimate(sample, points, width):
        fitted = neighbors.KernelDensity(bandwidth=width, rtol=TARGET).fit(sample[:, None])
        return np.exp(fitted.score_samples(points[:, None]))

    return estimate, {}


def _scipy(sample, points, width, error):
    def estimate(sample, points, width):
        return gaussian_kde(sample, width / np.std(sample, ddof=1))(points)

    return estimate, {}


_RIVALS = {
    "KDEpy FFTKDE": (_kdepy, True),
    "statsmodels KDEUnivariate": (_statsmodels, False),
    "scikit-learn KernelDensity": (_scikit_learn, False),
    "scipy gaussian_kde": (_scipy, False),
}
"""Map from a name to (function that makes an estimator, whether it is timed on all data sets)."""
