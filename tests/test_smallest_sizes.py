"""The smallest integer that each argument accepts."""

from functools import partial

import jax
import numpy as np
import pytest

import dpjax
from dpjax import databases, empirical
from dpjax.core import types, validate
from dpjax.densities import CrossValidated
from dpjax.inference import FiniteOutputs, LipschitzOutputs
from dpjax.mechanisms import CATALOGUE
from dpjax.methods import Local

SIZES = {
    "continuous-noisy-max": dict(num_queries=2),
    "finite-exponential": dict(num_queries=2),
    "half-noise-max": dict(num_queries=2),
    "local-hashing": dict(num_buckets=2, num_categories=2),
    "numerical-svt": dict(num_queries=1),
    "one-time-rappor": dict(num_hashes=1),
    "optimized-unary-encoding": dict(num_categories=2),
    "parallel-laplace": dict(num_releases=2),
    "permute-and-flip": dict(num_queries=2),
    "prefix-sum": dict(num_queries=2),
    "randomized-response": dict(num_categories=2),
    "rappor": dict(num_hashes=1),
    "report-noisy-max": dict(num_queries=2),
    "report-noisy-max-2": dict(num_queries=2),
    "report-noisy-max-3": dict(num_queries=2),
    "report-noisy-max-4": dict(num_queries=2),
    "shuffled-batches": dict(num_steps=2),
    "subset-selection": dict(subset_size=1),
    "summed-histogram-encoding": dict(num_categories=2),
    "svt1": dict(num_queries=1, max_positives=1),
    "svt2": dict(num_queries=1, max_positives=1),
    "svt3": dict(num_queries=1),
    "svt3-svt4": dict(num_queries=1),
    "svt4": dict(num_queries=1, max_positives=1),
    "svt5": dict(num_queries=1),
    "svt6": dict(num_queries=1),
    "symmetric-unary-encoding": dict(num_categories=2),
    "thresholded-histogram-encoding": dict(num_categories=2),
    "truncated-geometric": dict(largest_count=1),
}


def coin(key, database):
    return jax.random.bernoulli(key).astype(np.int32) + 0 * database


def calls():
    """Return functions of one number, with the name of the argument and its smallest value."""
    for name, sizes in SIZES.items():
        for argument, least in sizes.items():
            yield name, partial_of(CATALOGUE[name], argument), argument, least
    as_mechanism = partial(dpjax.from_function, coin, np.int32(0))
    more = [
        (types.FiniteSpace, "size", 2),
        (types.VectorSpace, "dimension", 2),
        (types.MixedSpace, "num_labels", 2),
        (partial(dpjax.Box, 0.0, 1.0), "num_points", 2),
        (CrossValidated, "num_pilot", 2),
        (partial(FiniteOutputs, least_probability=0.1, num_inputs=2), "num_outputs", 2),
        (partial(FiniteOutputs, least_probability=0.1, num_outputs=2), "num_inputs", 2),
        (partial(LipschitzOutputs, 0.5), "inputs", 2),
        (partial(empirical.Variance), "ddof", 0),
        (partial(empirical.Density), "cells", 4),
        (databases.query_patterns, "num_queries", 2),
        (partial(databases.interval_grid, 0.0, 1.0), "num_points", 2),
        (as_mechanism, "num_outcomes", 2),
        (Local, "num_nodes", 16),
        (databases.AddRemove, "distance", 1),
        (databases.ChangeOne, "distance", 1),
        (partial(dpjax.HostMechanism, print), "workers", 0),
        (partial(dpjax.CanaryRuns, print), "num_canaries", 20),
        (partial(dpjax.neighbors, "add-remove"), "seed", 0),
        (partial(dpjax.neighbors, "add-remove"), "num_pairs", 1),
    ]  # fmt: skip
    for function, argument, least in more:
        plain = getattr(function, "func", function)
        yield plain.__name__, partial_of(function, argument), argument, least


def partial_of(function, argument):
    return lambda value: function(**{argument: value})


CALLS = list(calls())


@pytest.mark.parametrize(
    "name, call, argument, least", CALLS, ids=[f"{c[0]}-{c[2]}" for c in CALLS]
)
def test_smallest_numbers(name, call, argument, least):
    call(least)
    below = -1 if name == "Box" else least - 1
    with pytest.raises(ValueError, match=rf"{argument} must .*but was {below}"):
        call(below)
    with pytest.raises(TypeError, match=rf"{argument} must be an integer >= {least}, but was 4\.0"):
        call(4.0)


def test_whole_numbers_below_two_to_the_63():
    validate.positive_int(number=2**63 - 1, other=1)
    with pytest.raises(ValueError, match=r"^number must be an integer below 2\^63, but was larger"):
        validate.positive_int(number=2**63)
    for wrong in (True, np.float64(2), "2", None):
        with pytest.raises(TypeError, match=r"number must be an integer >= 1, but was"):
            validate.positive_int(number=wrong)
    validate.draws(number=2), validate.draws(number=2**31 - 1)
    with pytest.raises(ValueError, match=r"^number must be below 2\^31, but was 2147483648"):
        validate.draws(number=2**31)
    with pytest.raises(ValueError, match="number must be an integer >= 2, but was 1"):
        validate.draws(number=1)
