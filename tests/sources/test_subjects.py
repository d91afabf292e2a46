"""What JAX can audit: pairs, shapes, pilots, and objects that are not mechanisms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import random
from dpjax.databases import Pairs
from dpjax.mechanisms import Laplace, ParallelLaplace, ReportNoisyMax
from dpjax.sources._subject import (
    check_shape,
    inner_range,
    mechanism_at,
    pairs_of,
    pilot_outputs,
)


class Module:
    """Looks like the class of torch models, by its name and the start of its module."""


Module.__module__ = "torch.nn.modules.module"


class Model(Module):
    pass


class Data:
    """An object that is neither a function nor a mechanism."""


class Client:
    """An object that releases outputs, but cannot be called."""

    def __init__(self):
        self.budget = 1.0

    def release(self, database):
        return database

    def spend(self):
        return self.budget


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        (
            Client(),
            r"type Client, which cannot be called: pass .* has the methods release, spend\.",
        ),
        ("laplace", r"was the name 'laplace': make one with dpjax.mechanisms.find_mechanism"),
        (Laplace, r"was the class Laplace: write Laplace\(\.\.\.\)"),
        (Model(), "was the torch module Model"),
        (Data(), "was of type Data: pass outputs that were recorded"),
        (np.zeros(3), "was of type ndarray"),
    ],
)
def test_what_is_no_mechanism_is_refused(subject, message):
    with pytest.raises(TypeError, match=message):
        pairs_of(subject, [(0.0, 1.0)])


def test_pairs_that_are_left_out_are_those_of_the_mechanism():
    standard = Laplace(1.0).standard_pairs()
    assert pairs_of(Laplace(1.0), None).labels == standard.labels
    assert pairs_of(Laplace(1.0), [(0.0, 3.0)]).neighbor.tolist() == [3.0]
    with pytest.raises(ValueError, match="pairs must be given for a mechanism that is not built"):
        pairs_of(lambda key, database: database, None)


@pytest.mark.parametrize(
    ("mechanism", "database", "neighbor", "message"),
    [
        (Laplace(1.0), 0.0, [1.0, 2.0], r"of the same shape for this mechanism, but had .* and "),
        (Laplace(1.0), [0.0], [1.0], r"hold single numbers for this mechanism.* shape \(1,\)"),
        (ReportNoisyMax(1.0, 3), [0.0, 1.0], [0.0, 2.0], r"with 3 query answers .* shape \(2,\)"),
    ],
)
def test_databases_of_another_shape_are_refused(mechanism, database, neighbor, message):
    pairs = Pairs(np.array([database]), np.array([neighbor]), ("a pair",))
    with pytest.raises(ValueError, match=message):
        check_shape(mechanism, pairs)


def test_databases_of_the_right_shape_are_taken():
    check_shape(Laplace(1.0), Pairs(np.zeros(2), np.ones(2), ("one", "two")))
    check_shape(ReportNoisyMax(1.0, 3), Pairs(np.zeros((2, 3)), np.ones((2, 3)), ("one", "two")))

    class Own:
        """Only built-in mechanisms have to declare the shapes that they accept."""

    check_shape(Own(), Pairs({"a": np.zeros(1)}, {"a": np.ones((1, 2))}, ("one",)))


def test_outputs_of_one_kind_at_both_sides():
    def counted(key, database):
        noise = jax.random.laplace(key)
        return jnp.round(noise).astype(jnp.int32) if database.size == 2 else noise + database.sum()

    same = Pairs(np.zeros((1, 3)), np.ones((1, 4)), ("reals",))
    assert mechanism_at(counted, same).output_space == Laplace(1.0).output_space
    both = Pairs(np.zeros((1, 3)), np.ones((1, 2)), ("other",))
    with pytest.raises(ValueError, match="counted has outputs that are reals for the database and"):
        mechanism_at(counted, both)


def test_pilots_have_4096_draws_at_every_database_by_keys_of_their_own():
    """Laplace noise of scale .5; the standard error of a mean of 4096 draws is .011."""
    pairs = Pairs(np.array([0.0, 10.0]), np.array([0.0, 20.0]), ("equal", "other"))
    root = random.as_key(3)
    found = pilot_outputs(Laplace(2.0), pairs, root)
    assert found.shape == (4 * 4096,)
    means = found.reshape(4, 4096).mean(axis=1)
    np.testing.assert_allclose(means, [0.0, 10.0, 0.0, 20.0], atol=0.06)
    assert not np.array_equal(found[:4096], found[2 * 4096 : 3 * 4096])
    np.testing.assert_array_equal(found, pilot_outputs(Laplace(2.0), pairs, root))
    vectors = pilot_outputs(ParallelLaplace(1.0, 2), Pairs(np.zeros(1), np.ones(1)), root)
    assert vectors.shape == (2 * 4096, 2)


def test_the_inner_range_has_99_percent_of_the_outputs():
    values = np.random.default_rng(0).permutation(1001).astype(float)
    low, high = inner_range(np.stack([values, -2 * values], axis=1))
    np.testing.assert_allclose((low, high), ([5.0, -1990.0], [995.0, -10.0]))
    with pytest.raises(ValueError, match="in a pilot, the mechanism returned a constant"):
        inner_range(np.stack([values, np.zeros(1001)], axis=1))
    with pytest.raises(ValueError, match="in a pilot, the mechanism returned NaN or an infinity"):
        inner_range(np.append(values, np.inf))
