"""User-defined mechanism classes, whose outputs are validated before anything is counted."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax
from dpjax.mechanisms import (
    FiniteSpace,
    IntegerSpace,
    MixedSpace,
    RealSpace,
    VectorSpace,
)
from dpjax.mechanisms._checks import check_mechanism, refuse_impure
from dpjax.sweeps import Entry


def mechanism(space, sample):
    """Return an instance of a user-defined class with that space and sampler."""

    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Own:
        output_space = space

        def sample(self, key, database, num_samples):
            return sample(key, database, num_samples)

    return Own()


def laplace(key, database, num_samples):
    return database + jax.random.laplace(key, (num_samples,))


def coins(key, database, num_samples):
    return jax.random.bernoulli(key, 0.3, (num_samples,)).astype(jnp.int32)


RIGHT = [
    (RealSpace(), laplace),
    (FiniteSpace(2), coins),
    (IntegerSpace(), coins),
    (VectorSpace(3), lambda k, d, n: d + jax.random.normal(k, (n, 3))),
    (MixedSpace(2), lambda k, d, n: jnp.zeros((n, 2)) + jax.random.bernoulli(k, 0.5, (n, 1))),
]


@pytest.mark.parametrize(("space", "sample"), RIGHT, ids=[str(space) for space, _ in RIGHT])
def test_right_ones_pass(space, sample):
    check_mechanism(mechanism(space, sample), 0.0)


WRONG = [
    (RealSpace(), lambda k, d, n: laplace(k, d, n)[:, None], r"returned float32\[256, 1\]"),
    (RealSpace(), lambda k, d, n: laplace(k, d, 100), r"shape \[256\] .* returned float32\[100\]"),
    (RealSpace(), lambda k, d, n: laplace(k, d, 1)[0], r"returned float32\[\]"),
    (RealSpace(), coins, r"must return float32 .* reals, but returned int32"),
    (RealSpace(), lambda k, d, n: laplace(k, d, n).astype(jnp.bfloat16), r"returned bfloat16"),
    (RealSpace(), lambda k, d, n: laplace(k, d, n).astype(jnp.float16), r"returned float16"),
    (FiniteSpace(2), laplace, r"must return int32 .* finite \(2\), but returned float32"),
    (FiniteSpace(2), lambda k, d, n: coins(k, d, n) == 1, r"returned bool"),
    (FiniteSpace(2), lambda k, d, n: coins(k, d, n).astype(jnp.uint8), r"returned uint8"),
    (VectorSpace(3), laplace, r"shape \[256, 3\]"),
    (MixedSpace(2), laplace, r"shape \[256, 2\]"),
    (RealSpace(), lambda k, d, n: (laplace(k, d, n), 1), r"but returned \(ShapeDtypeStruct"),
    (RealSpace(), lambda k, d, n: 1 / 0, r"Own.sample failed .* ZeroDivisionError"),
    (RealSpace(), lambda k, d, n: laplace(k, d, n) if d > 0 else 0, r"Own.sample cannot be traced"),
]


@pytest.mark.parametrize(("space", "sample", "message"), WRONG)
def test_wrong_shapes_and_types_are_named(space, sample, message):
    with pytest.raises(TypeError, match=message):
        dpjax.audit(mechanism(space, sample), [(0.0, 1.0)])


def test_a_class_that_is_no_pytree_is_named():
    class Plain:
        output_space = RealSpace()

        def sample(self, key, database, num_samples):
            return laplace(key, database, num_samples)

    with pytest.raises(TypeError, match="Plain is not registered as one: make it a frozen"):
        dpjax.audit(Plain(), [(0.0, 1.0)])


def test_randomness_from_elsewhere_is_refused():
    """Its draws would repeat one block, so any verdict would be accidental."""

    def outside(key, database, num_samples):
        return database + jnp.asarray(np.random.laplace(size=num_samples), jnp.float32)

    with pytest.raises(ValueError, match="different outputs or shapes for the same key"):
        dpjax.audit(mechanism(RealSpace(), outside), [(0.0, 1.0)])


@pytest.mark.parametrize("space", [RealSpace(), FiniteSpace(2)], ids=str)
def test_a_key_that_is_not_used_is_refused(space):
    sample = laplace if space == RealSpace() else coins

    def fixed(key, database, num_samples):
        return sample(jax.random.key(3), database, num_samples)

    with pytest.raises(ValueError, match="same outputs for two different keys"):
        dpjax.audit(mechanism(space, fixed), [(0.0, 1.0)])


def test_rare_events_may_be_the_same_under_two_keys():
    """An event of probability 1e-3 is absent from 256 draws, twice, with probability 0.6."""

    def rare(key, database, num_samples):
        return (jax.random.uniform(key, (num_samples,)) < 1e-3).astype(jnp.int32)

    refuse_impure(rare, "rare", np.float32(0))
    refuse_impure(lambda key, database, n: jnp.full(n, database), "constant", np.float32(0))


def test_all_front_doors_look():
    wrong = mechanism(RealSpace(0.0, 1.0), lambda k, d, n: laplace(k, d, n)[:, None])
    with pytest.raises(TypeError, match=r"Own\.sample must return"):
        dpjax.audit(wrong, [(0.0, 1.0)], method=dpjax.Histogram(lipschitz=0.5))
    with pytest.raises(TypeError, match=r"Own\.sample must return"):
        dpjax.audit(wrong, [(0.0, 1.0)], method=dpjax.Local())
    with pytest.raises(TypeError, match=r"Own\.sample must return"):
        dpjax.search_pairs(wrong, [(0.0, 1.0)], budget=10_000, region=(0.0, 1.0))


def test_narrow_floats_of_functions_are_widened():
    def narrow(key, database):
        return (database + jax.random.laplace(key)).astype(jnp.bfloat16)

    result = dpjax.audit(narrow, [(0.0, 1.0)])
    assert 0.5 < result.lower_bound <= 1


def counts(key, database):
    return database + jax.random.laplace(key)


def test_a_class_is_looked_at_once():
    traced = []

    def sample(key, database, num_samples):
        traced.append(num_samples)
        return laplace(key, database, num_samples)

    own = mechanism(RealSpace(), sample)
    check_mechanism(own, 0.0)
    first = len(traced)
    check_mechanism(own, 1.0)
    assert len(traced) == first > 1
    check_mechanism(own, np.zeros(3)[:1])
    assert len(traced) > first, "another shape of databases is another look"
    again = len(traced)
    check_mechanism(own, np.int32(1))
    assert len(traced) > again, "another type of databases is another look"


def test_entries_of_sweeps_take_functions_and_look_at_classes():
    method = dpjax.Local(num_samples=1000, num_confirm=2000, region=(-3.0, 4.0))
    entry = Entry(counts, method, [(0.0, 1.0)])
    assert entry.mechanism.output_space == RealSpace()
    assert Entry.from_dict(entry.to_dict(), [__name__]) == entry
    wrong = mechanism(RealSpace(), lambda k, d, n: laplace(k, d, n)[:, None])
    with pytest.raises(TypeError, match=r"Own\.sample must return"):
        Entry(wrong, method, [(0.0, 1.0)])


def test_parameters_of_own_classes_are_in_the_result():
    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Scaled:
        output_space = RealSpace()
        scale: float
        shifts: np.ndarray

        def sample(self, key, database, num_samples):
            return laplace(key, database, num_samples) * self.scale + self.shifts[0]

    own = Scaled(2.0, np.array([0.5, 1.0]))
    result = dpjax.audit(own, [(0.0, 1.0)])
    assert result.parameters == {"scale": 2.0, "shifts": [0.5, 1.0]}
    assert dpjax.AuditResult.from_json(result.to_json()).parameters == result.parameters
