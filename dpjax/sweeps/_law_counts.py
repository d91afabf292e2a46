"""Histogram counts drawn from their exact law in place of the outputs that would be counted.

An estimate depends on n outputs through their counts alone, and these are multinomial with the
exact probabilities of the intervals. Drawing them costs the same for any n, which is what a search
over n up to 1e8 in thousands of runs needs. It says nothing about a sampler: that is what the
estimator "histogram" is for.
"""

from typing import Any

import jax
import numpy as np
from jax import Array

from dpjax import _random
from dpjax.mechanisms import TruncatedGaussian, TruncatedLaplace


@jax.jit
def run_words(key: Array, runs: Array) -> Array:
    """The words of every run's key, uint32 [runs, 2]."""
    keys = jax.vmap(lambda run: _random.fold_in(key, run))(runs)
    return jax.random.key_data(keys)


def law_counts(mechanism: Any, settings: Any, words: np.ndarray) -> np.ndarray:
    """Counts of n outputs at every input, in independent runs.

    Args:
        mechanism: Truncated Laplace or Gaussian, whose distribution functions are known.
        settings: m, n and the inputs.
        words: Of `run_words`; a run's counts follow from its words alone.

    Returns:
        int64 [runs, k, m].

    Raises:
        TypeError: Another mechanism.
    """
    law = _law(mechanism)
    edges = np.linspace(0, 1, settings.num_intervals + 1)
    rows = np.array([np.diff(law.cdf(x, edges)) for x in settings.inputs])
    rows /= rows.sum(axis=1, keepdims=True)
    return np.stack([_draw(settings.num_samples, rows, run) for run in np.asarray(words)])


def _draw(num_samples: int, rows: np.ndarray, words: np.ndarray) -> np.ndarray:
    generator = np.random.Generator(np.random.Philox(key=[int(word) for word in words]))
    return generator.multinomial(num_samples, rows)


def _law(mechanism: Any) -> Any:
    from dpjax.reference import ExactTruncatedGaussian, ExactTruncatedLaplace

    if isinstance(mechanism, TruncatedLaplace):
        return ExactTruncatedLaplace(float(mechanism.scale))
    if isinstance(mechanism, TruncatedGaussian):
        return ExactTruncatedGaussian(float(mechanism.sigma))
    raise TypeError(
        "mechanism must be truncated-laplace or truncated-gaussian for counts from the exact law, "
        f"but was {type(mechanism).__name__}: the estimator 'histogram' counts its outputs."
    )
