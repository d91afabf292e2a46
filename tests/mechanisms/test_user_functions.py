"""User functions: mechanisms made by `from_function`, and rejected functions."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax.core import random
from dpjax.core.types import FiniteSpace, IntegerSpace, RealSpace, VectorSpace
from dpjax.mechanisms import from_function
from dpjax.mechanisms._checks import refuse_repeated

FALSE_ALARM = 1e-5


def test_a_user_function_is_batched():
    def noisy(key, x):
        return x + jax.random.normal(key)

    mechanism = from_function(noisy, 0.5)
    assert mechanism.output_space == RealSpace()
    sample = jax.jit(lambda key, x: mechanism.sample(key, x, 2**16))
    draws = np.asarray(sample(random.as_key(1), jnp.float32(0.5)))
    assert draws.dtype == np.float32 and draws.shape == (2**16,)
    assert stats.kstest(draws, stats.norm(0.5).cdf).pvalue > FALSE_ALARM
    key = random.as_key(1)
    one = jax.jit(lambda key: noisy(random.sample_keys(key, 7)[4], 0.5))(key)
    seven = jax.jit(lambda key: mechanism.sample(key, jnp.float32(0.5), 7))(key)
    assert seven[4] == pytest.approx(float(one), rel=1e-6)


def test_output_spaces_of_user_functions():
    spaces = {
        IntegerSpace(): from_function(
            lambda key, x: jnp.int32(x - jax.random.exponential(key)), 3.0
        ),
        FiniteSpace(2): from_function(
            lambda key, x: jax.random.bernoulli(key, x), 0.3, num_outcomes=2
        ),
        VectorSpace(3): from_function(lambda key, x: x + jax.random.normal(key, (3,)), np.zeros(3)),
    }
    for space, mechanism in spaces.items():
        assert mechanism.output_space == space

    def sampled(space, database):
        sample = spaces[space].sample
        return jax.jit(lambda key: sample(key, database, 50))(random.as_key(0))

    draws = sampled(FiniteSpace(2), jnp.float32(0.3))
    assert draws.dtype == jnp.int32 and draws.shape == (50,)
    assert sampled(VectorSpace(3), jnp.zeros(3)).shape == (50, 3)


def branches(key, x):
    return x if jax.random.uniform(key) > 0.5 else -x


def to_numpy(key, x):
    return float(np.asarray(jax.random.uniform(key))) + x


def impure(key, x):
    return x + np.random.default_rng().normal()


def impure_constants(key, x):
    return x + jax.random.uniform(key) + jnp.asarray(np.random.default_rng().normal(size=1000))[7]


def impure_on_the_host(key, x):
    def noise(x):
        return x + np.float32(np.random.default_rng().normal())

    return jax.pure_callback(
        noise, jax.ShapeDtypeStruct((), jnp.float32), x, vmap_method="sequential"
    )


def pure_on_the_host(key, x):
    def cube(x):
        return x**3

    noisy = x + jax.random.laplace(key)
    return jax.pure_callback(
        cube, jax.ShapeDtypeStruct((), x.dtype), noisy, vmap_method="sequential"
    )


SHAPES = itertools.cycle([2, 3])


def of_varying_shape(key, x):
    return x + jax.random.normal(key, (next(SHAPES),))


def crashes(key, x):
    return x @ jnp.ones(3)


def matrix(key, x):
    return x + jax.random.normal(key, (2, 2))


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (3, TypeError, "must be a mechanism or a function, but was 3"),
        (branches, TypeError, "branches cannot be traced by JAX .*dpjax.HostMechanism"),
        (to_numpy, TypeError, "to_numpy cannot be traced by JAX .*jax.numpy and jax.random"),
        (impure, ValueError, "impure gave different outputs .* for the same key.*from the key"),
        (impure_constants, ValueError, "impure_constants gave different outputs"),
        (impure_on_the_host, ValueError, "impure_on_the_host gave different outputs"),
        (of_varying_shape, ValueError, "of_varying_shape gave different outputs or shapes"),
        (crashes, TypeError, r"crashes failed for \(key, database of shape \(\)\)"),
        (lambda key, x: None, TypeError, "must return a number, an array or a pytree of them"),
        (lambda key, x: {"a": x + 1j, "b": x}, TypeError, "must return numbers"),
        (lambda key, x: key, TypeError, "must return numbers, but returned key"),
        (lambda key, x: x + 1j, TypeError, "must return numbers, but returned complex64"),
        (lambda key, x: jnp.ones(0) * x, TypeError, "must return a number, an array or a pytree"),
    ],
)
def test_bad_user_functions(function, error, message):
    with pytest.raises(error, match=message):
        from_function(function, 0.0)


def tossed(key, x):
    return jax.random.bernoulli(key, 0.5 + x, (3,))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("function", "space", "dtype"),
    [
        (lambda key, x: jax.random.randint(key, (3,), 0, 99), VectorSpace(3), np.float32),
        (tossed, VectorSpace(3), np.float32),
        (lambda key, x: jax.random.normal(key, (1,)) + x, RealSpace(), np.float32),
        (lambda key, x: jax.random.normal(key, (1, 1)) + x, RealSpace(), np.float32),
        (lambda key, x: jax.random.randint(key, (1,), 0, 99), IntegerSpace(), np.int32),
        (lambda key, x: {"n": tossed(key, x)[0], "no": jnp.ones(0)}, IntegerSpace(), np.int32),
    ],
)
def test_vectors_of_integers_and_vectors_with_one_entry(function, space, dtype):
    mechanism = from_function(function, 0.0)
    assert mechanism.output_space == space and not mechanism.parts
    found = mechanism.sample(jax.random.key(3), jnp.float32(0), 50)
    assert found.dtype == dtype
    keys = random.sample_keys(jax.random.key(3), 50)
    one = jax.vmap(lambda key: function(key, jnp.float32(0)))(keys)
    expected = one["n"] if isinstance(one, dict) else one
    np.testing.assert_array_equal(found.ravel(), expected.ravel().astype(dtype))


def test_parts_of_an_output_are_one_vector():
    """Entries are in the order of keys, row by row."""

    def parts(key, x):
        return {"b": (x + jnp.array([1, 2]), x), "a": jnp.arange(4).reshape(2, 2), "c": True}

    mechanism = from_function(parts, 0.5)
    assert mechanism.output_space == VectorSpace(8)
    places = ("['a'] [2, 2]", "['b'][0] [2]", "['b'][1] []", "['c'] []")
    assert mechanism.parts == places
    (drawn,) = jax.jit(lambda key: mechanism.sample(key, 0.5, 1))(jax.random.key(0))
    assert drawn.tolist() == [0, 1, 2, 3, 1.5, 2.5, 0.5, 1]
    square = from_function(matrix, 0.0)
    assert square.output_space == VectorSpace(4)
    assert from_function(lambda key, x: {"n": x + jax.random.normal(key)}, 0.0).output_space == (
        RealSpace()
    )


def adds_in_place(key, x):
    x += jax.random.laplace(key)
    return x


def centres_in_place(key, x):
    x -= x.mean()
    return x[0] + jax.random.laplace(key)


@pytest.mark.parametrize(
    ("function", "dimension"),
    [
        (lambda key, x: x.at[0].add(jax.random.laplace(key)), 3),
        (lambda key, x: x[jax.random.randint(key, (), 0, 3)], 1),
        (adds_in_place, 3),
        (centres_in_place, 1),
    ],
)
def test_user_functions_see_jax_arrays_and_change_nothing(function, dimension):
    database = np.arange(1, 4, dtype=np.float32)
    mechanism = from_function(function, database)
    assert mechanism.output_space == (RealSpace() if dimension == 1 else VectorSpace(dimension))
    np.testing.assert_array_equal(database, [1, 2, 3])


@pytest.mark.slow
def test_a_function_may_call_the_host():
    mechanism = from_function(pure_on_the_host, np.float32(2.0))
    key = random.as_key(0)
    noise = jax.jit(lambda key: jax.vmap(jax.random.laplace)(random.sample_keys(key, 4)))
    drawn = jax.jit(lambda key: mechanism.sample(key, jnp.float32(2), 4))(key)
    np.testing.assert_allclose(drawn, (2 + np.asarray(noise(key), float)) ** 3, rtol=1e-5)


def test_outcomes_must_be_integers():
    with pytest.raises(TypeError, match=r"num_outcomes .* returned float32\[\]"):
        from_function(lambda key, x: x + jax.random.normal(key), 0.0, num_outcomes=4)


def test_functions_with_parts_are_audited_by_compiled_programs():
    """The names of the parts are not arguments of a program. The level is 2."""

    def release(key, database):
        first, second = jax.random.split(key)
        return {"count": database + jax.random.laplace(first), "half": jax.random.laplace(second)}

    method = dpjax.Events(num_samples=1000, num_confirm=4000)
    result = dpjax.audit(release, [(0.0, 2.0)], method=method, claim=4.0, confidence=1 - 1e-6)
    assert result.verdict == "not refuted" and 1.0 < result.lower_bound <= 2.0
    assert any("'count'" in note for note in result.notes)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_outputs_of_two_keys_are_the_same(dtype):
    """Missing numbers equal each other; outputs that are often equal prove nothing."""
    outputs = np.arange(40).astype(dtype)
    if dtype is np.float32:
        outputs[::7] = np.nan
    with pytest.raises(
        ValueError, match=r"^f gave the same outputs for two different keys: draw all"
    ):
        refuse_repeated(outputs, outputs.copy(), "f")
    other = outputs.copy()
    other[3] = 99
    refuse_repeated(outputs, other, "f")
    refuse_repeated(np.zeros(40, dtype), np.zeros(40, dtype), "f")
    # 40 fair coins are equal with probability 2^-40, and 20 with 2^-20.
    coins = np.arange(40).astype(dtype) % 2
    with pytest.raises(ValueError, match="for two different keys"):
        refuse_repeated(coins, coins.copy(), "f")
    refuse_repeated(coins[:20], coins[:20].copy(), "f")


def test_large_integers_in_vectors_are_exact_in_x64_only():
    def large(key, x):
        return jnp.full(3, 2**24 + 1)

    assert (from_function(large, 0.0).sample(jax.random.key(0), 0.0, 2) == 2**24).all()
    with jax.enable_x64(True):
        found = from_function(large, 0.0).sample(jax.random.key(0), 0.0, 2)
        assert found.dtype == np.float64 and (found == 2**24 + 1).all()


@pytest.mark.parametrize(
    ("x64", "dtype", "factor"), [(False, np.uint32, 2**31), (True, np.int64, 2**33)]
)
def test_integers_beyond_an_int32_do_not_wrap_around(x64, dtype, factor):
    """In an int32, multiples of 2^33 would all be 0, and no event would differ."""

    def coin(key, x):
        return jnp.asarray(jax.random.bernoulli(key, x), dtype) * np.array(factor, dtype)

    with jax.enable_x64(x64):
        mechanism = from_function(coin, 0.5)
        found = np.asarray(mechanism.sample(jax.random.key(0), jnp.float32(0.5), 50))
        assert mechanism.output_space == IntegerSpace() and found.dtype == dtype
        assert set(found.tolist()) == {0, factor}
        audited = dpjax.audit(coin, [(0.2, 0.8)], method=dpjax.Events(500, 1500), claim=0.5)
        assert audited.verdict == "violated" and "equal to -" not in str(audited)
