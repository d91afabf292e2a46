"""Python functions that are audited without `dpjax.HostMechanism`, recognized by their parameters.

The expected source is written by hand for each signature, and audits are compared with those of the
same function in a `HostMechanism`.
"""

from functools import partial

import jax
import numpy as np
import pytest

import dpjax
from dpjax.mechanisms import Laplace
from dpjax.mechanisms.host_form import order_hint
from dpjax.sources import as_source
from dpjax.sources._recognized import recognized
from dpjax.testing import assert_not_private, assert_private

PAIR = [(0.0, 1.0)]


def alone(database):
    return database + np.random.laplace()


def with_rng(database, rng):
    return database + rng.laplace()


def with_optional_rng(database, rng=None):
    return database + rng.laplace()


def with_keyword_seed(database, *, seed):
    return database + np.random.default_rng(seed).laplace()


def with_setting(database, scale=1.0, rng=None):
    return database + rng.laplace(scale=scale)


def many(database, num_samples, rng):
    return database + rng.laplace(size=num_samples)


def many_with_setting(database, n_samples, scale=1.0, seed=0):
    return database + np.random.default_rng(seed).laplace(scale=scale, size=n_samples)


def many_by_default(database, num_samples=1, rng=None):
    return database + rng.laplace(size=num_samples)


def many_last(database, rng, num_samples):
    return database + rng.laplace(size=num_samples)


def many_by_keyword(database, *, num_samples, rng):
    return database + rng.laplace(size=num_samples)


def one_or_many_by_keyword(database, *, num_samples=1):
    return database + np.random.laplace(size=num_samples)


def one_or_many(database, rng, num_samples=1):
    return database + rng.laplace(size=num_samples)


def keys_of_records(keys, rng):
    return float(np.sum(keys)) + rng.laplace()


def bound(database, epsilon, rng):
    return database + rng.laplace(scale=1 / epsilon)


class Release:
    def draw(self, database, rng):
        return database + rng.laplace()

    def __call__(self, database, rng):
        return self.draw(database, rng)


SINGLE = [
    alone, with_rng, with_optional_rng, with_keyword_seed, with_setting, keys_of_records,
    one_or_many, one_or_many_by_keyword, partial(bound, epsilon=1.0), Release().draw, Release(),
    lambda x: x + np.random.laplace(),
]  # fmt: skip
BATCHED = [
    many, many_last, many_by_keyword, many_by_default, many_with_setting,
    partial(many_with_setting, scale=1.0),
]  # fmt: skip

JAX = [
    lambda key, count: count + jax.random.laplace(key),
    lambda prng_key, count=0.0: count + jax.random.laplace(prng_key),
    lambda subkey, count=0.0: count + jax.random.laplace(subkey),
    lambda rng, count: count + jax.random.laplace(rng),
    lambda seed, num_samples: num_samples + jax.random.laplace(seed),
    lambda k, x: x + jax.random.laplace(k),
    lambda k, n: n + jax.random.laplace(k),
    lambda k, count: count + jax.random.laplace(k),
    lambda *both: both[1] + jax.random.laplace(both[0]),
    jax.jit(lambda key, count: count + jax.random.laplace(key)),
    partial(lambda key, count, scale: count + scale * jax.random.laplace(key), scale=1.0),
    Laplace(),
]


@pytest.mark.parametrize("function", SINGLE + BATCHED)
def test_python_functions_are_recognized_by_their_parameters(function):
    source = as_source(function)
    assert (source.kind, source.batched) == ("host", function in BATCHED)
    assert source.function is function
    # The level is 1. Some functions take no seed, so the bound is above it with probability 1e-6.
    terms = {"method": dpjax.Events(300, 400), "confidence": 1 - 1e-6}
    assert dpjax.audit(function, PAIR, **terms).lower_bound <= 1.0


@pytest.mark.parametrize("function", JAX)
def test_jax_functions_and_mechanisms_stay_as_they_were(function):
    assert as_source(function).kind == "mechanism"
    result = dpjax.audit(function, PAIR, method=dpjax.Events(2_000, 4_000), confidence=0.95)
    assert 0.5 < result.lower_bound < 1.1


@pytest.mark.parametrize("function", [with_rng, many, with_setting])
def test_the_audit_is_that_of_the_wrapped_function(function):
    terms = {"method": dpjax.Events(2_000, 4_000), "claim": 0.5}
    plain = dpjax.audit(function, PAIR, **terms)
    wrapped = dpjax.audit(dpjax.HostMechanism(function, batched=function is many), PAIR, **terms)
    assert plain.verdict == "violated" and plain.lower_bound == wrapped.lower_bound
    assert plain.recipe == wrapped.recipe and plain.witness == wrapped.witness


def unclear(database, random_state):
    return float(database) + random_state.laplace()


def gathers(*arguments):
    return float(arguments[0]) + np.random.laplace()


def swapped(rng, database):
    return float(database) + rng.laplace()


def size_first(num_samples, database):
    return float(database) + np.random.laplace(size=num_samples)


def set_last(database, num_samples, epsilon):
    return float(database) + np.random.laplace(scale=1 / epsilon, size=num_samples)


def short_name(database, n, seed):
    return np.random.default_rng(seed).laplace(database, 1.0, n)


def short_name_last(database, rng, size):
    return rng.laplace(database, 1.0, size)


def short_name_by_keyword(database, *, n, rng):
    return rng.laplace(database, 1.0, n)


def other_name(database, k, seed):
    return np.random.default_rng(seed).laplace(database, 1.0, k)


def short_name_first(n, x, seed):
    return np.random.default_rng(seed).laplace(x, 1.0, n)


def key_last(x, key):
    return x + jax.random.laplace(key)


def key_and_size(key, x, n):
    return x + jax.random.laplace(key, (n,))


@pytest.mark.parametrize("function", [short_name, short_name_last, short_name_by_keyword])
def test_a_short_name_of_the_size_is_clear_beside_a_seed(function):
    """A JAX function has no required parameter seed or rng beside two others."""
    terms = {"method": dpjax.Events(300, 600), "claim": 0.1}
    plain = dpjax.audit(function, PAIR, **terms)
    many_ = dpjax.audit(dpjax.HostMechanism(short_name), PAIR, **terms)
    assert recognized(function) == ("host", {"batched": True})
    assert plain.verdict == "violated" and plain.lower_bound == many_.lower_bound


def test_a_call_that_fails_hints_at_the_order_of_the_parameters():
    with pytest.raises(ValueError, match=r"put the database first, as in \(database, n\)"):
        dpjax.audit(dpjax.HostMechanism(short_name_first), PAIR)
    with pytest.raises(ValueError, match=r"put the database first, as in \(database, num_samples"):
        dpjax.audit(dpjax.HostMechanism(size_first), PAIR)


@pytest.mark.parametrize(
    ("function", "order"),
    [
        (lambda n, rng: rng.normal(n), None),
        (lambda n, num_samples: np.random.normal(n, 1.0, num_samples), None),
        (lambda n, epsilon, rng: rng.normal(n), None),
        (lambda count, n: np.random.normal(count, 1.0, n), None),
        (lambda *both: both, None),
        (lambda: 0.0, None),
        (lambda n, x: x, "put the database first, as in (database, n)"),
        (lambda size, database, rng: database, "put the database first, as in (database, size)"),
    ],
)
def test_a_hint_at_the_order_needs_a_parameter_that_may_be_the_database(function, order):
    assert order_hint(function) == order


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (short_name_first, r"put the database first, as in \(database, n\)"),
        (key_last, r"; put the key first, as in \(key, database\)\."),
        (
            key_and_size,
            r"a JAX function has the form \(key, database\) -> one output, and a Python",
        ),
        (lambda: 0.0, r"a JAX function has the form \(key, database\) -> one output, and a Python"),
        (other_name, r"a Python function has .* or \(database, num_samples\) -> outputs"),
        (unclear, "rename the parameter random_state to rng to get a numpy.random.Generator, or"),
        (gathers, r"as dpjax.HostMechanism\(gathers, batched=False\)"),
        (Release.draw, "pass the method of an object instead of its class"),
        (swapped, r"put the database first, as in \(database, rng\)"),
        (size_first, r"put the database first, as in \(database, num_samples\)"),
        (set_last, r"as in functools.partial\(set_last, epsilon=\.\.\.\)"),
        (bound, r"as in functools.partial\(bound, epsilon=\.\.\.\)"),
    ],
)
def test_functions_that_are_not_recognized_are_refused_with_advice(function, advice):
    with pytest.raises(TypeError, match=advice):
        dpjax.audit(function, PAIR)


def test_an_assertion_prints_an_import_of_the_function():
    sizes = {"num_samples": 2_000, "num_confirm": 8_000}
    assert_private(with_rng, epsilon=1.0, pairs=PAIR, **sizes)
    assert_not_private(with_rng, epsilon=0.5, pairs=PAIR, **sizes)
    with pytest.raises(AssertionError, match=r"import with_rng\n *subject = with_rng\n"):
        assert_private(with_rng, epsilon=0.5, pairs=PAIR, **sizes)


def test_noise_from_a_fixed_key_is_not_random():
    """A function of JAX that takes no key is called once per output, and its noise repeats."""
    result = dpjax.audit(
        lambda count: float(count + jax.random.laplace(jax.random.key(3))),
        PAIR,
        claim=1.0,
        method=dpjax.Events(200, 300),
    )
    assert result.verdict == "not random"


def test_a_sweep_takes_the_function(tmp_path):
    from dpjax.sweeps import Entry

    (tmp_path / "released.py").write_text(
        "def release(database, rng):\n    return database + rng.laplace()\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        from released import release

        plain = Entry(release, pairs=PAIR, method=dpjax.Events(50, 100))
        wrapped = Entry(
            dpjax.HostMechanism(release, batched=False), pairs=PAIR, method=dpjax.Events(50, 100)
        )
        assert plain == wrapped
        assert Entry.from_dict(plain.to_dict(), ["released"]) == plain
