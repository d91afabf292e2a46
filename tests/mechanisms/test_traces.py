"""Equal programs, operation by operation, without running them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.mechanisms._traces import _same_sequences, same_program

TABLE = np.arange(3.0)


def linear(x):
    return 2.0 * x + TABLE


def squared(x):
    return jax.lax.cond(x[0] > 0, lambda y: y * y, lambda y: -y, x)


def halved(x):
    return jax.lax.cond(x[0] > 0, lambda y: y * y, lambda y: y / 2, x)


def called_back(x):
    return jax.pure_callback(lambda y: y, x, x)


def noisy(key, x):
    return x + jax.random.uniform(key)


OTHERS = [
    lambda x: 3.0 * x + TABLE,
    lambda x: 2.0 * x + (TABLE + 1),
    lambda x: 2.0 * x - TABLE,
    lambda x: TABLE + 2.0 * x,
    lambda x: 2.0 * x,
    lambda x: jnp.sin(2.0 * x + TABLE),
]


def traced(function, shape=(3,)):
    return jax.make_jaxpr(lambda x: function(x))(jnp.zeros(shape))


@pytest.mark.parametrize("function", [linear, squared, jnp.cumsum, lambda x: x])
def test_two_traces_of_a_function_are_the_same_program(function):
    assert same_program(traced(function), traced(function))


@pytest.mark.parametrize("other", OTHERS)
def test_programs_that_differ_in_one_part(other):
    assert not same_program(traced(linear), traced(other))
    assert not same_program(traced(other), traced(linear))


def test_programs_that_differ_within_a_branch_or_in_shape():
    assert not same_program(traced(squared), traced(halved))
    assert not same_program(traced(jnp.sin), traced(jnp.sin, (4,)))
    forward, back = (partial(jax.lax.cumsum, reverse=reverse) for reverse in (False, True))
    assert same_program(traced(back), traced(back))
    assert not same_program(traced(forward), traced(back))


def test_a_number_is_no_variable():
    square, double = (jax.make_jaxpr(f)(2.0) for f in (lambda x: x * x, lambda x: x * 2.0))
    assert not same_program(square, double) and not same_program(double, square)


def test_programs_with_more_constants_differ():
    assert _same_sequences([1, 2.0], (1, 2.0))
    assert not _same_sequences([1], [1, 2.0]) and not _same_sequences([1, 2.0], [1])


def test_equality_with_a_callback_is_never_decided():
    assert not same_program(traced(called_back), traced(called_back))


def test_keys_that_a_function_holds_are_compared():
    first, second = (jax.random.key(seed) for seed in (1, 2))
    assert same_program(traced(partial(noisy, first)), traced(partial(noisy, first)))
    assert not same_program(traced(partial(noisy, first)), traced(partial(noisy, second)))


@pytest.mark.parametrize("other", [1.0, True, "1", np.int32(1), None])
def test_values_of_different_types_are_different(other):
    """Equality alone would not tell 1 from 1.0 and True."""
    assert not _same_sequences([1], [other]) and _same_sequences([1], [int("1")])
