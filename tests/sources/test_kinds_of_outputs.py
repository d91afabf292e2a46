"""Outputs of unusual types are treated equally if drawn one by one, in lists, or recorded."""

from decimal import Decimal
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax
from dpjax import HostMechanism, Recorded

METHOD = dpjax.Events(num_samples=800, num_confirm=1600)

CLAIM = 1.0
"""The first outcome has the probability 0.9 or 0.1, so the true epsilon is log 9 = 2.2."""

APART = {
    "huge integers": (2**60, 2**60 + 1),
    "text and number": ("1", 1),
    "text and missing": ("None", None),
    "NumPy's booleans": (np.True_, np.False_),
    "complex": (1j, -1j),
    "times": (np.datetime64("2020-01-01", "ns"), np.datetime64("2020-01-01T00:00:00.000000001")),
    "texts that end with NUL": (("a", "b\0"), ("a", "b")),
    "empty and missing": ((), None),
    "a vector or nothing": ([0.5, 1.5], None),
    "a vector or an empty one": (np.array([0.5, 1.5]), []),
    "matrices": (np.zeros((2, 2)), np.ones((2, 2))),
    "shapes": (np.zeros((2, 3)), np.zeros((3, 2))),
    "arrays of JAX": (jnp.array([1.0, 2.0]), jnp.array([1.0, 3.0])),
    "arrays of text": (np.array(["a", "b"]), np.array(["a", "c"])),
    "lists of dicts": ([{"a": 1.0}, {"b": 2.0}], [{"b": 2.0}, {"a": 1.0}]),
    "ranges": (range(3), range(4)),
    "decimals": (Decimal("0.5"), Decimal("0.50000000000000000001")),
}

EQUAL = {
    "number types": (1, 1.0),
    "booleans": (True, np.True_),
    "vectors": ((1.0, 2.0), [1.0, 2.0]),
    "arrays": (np.array([1.0, 2.0]), jnp.array([1.0, 2.0])),
    "dyadic fractions": (Fraction(1, 4), 0.25),
}

REFUSED = {
    "fractions": ((Fraction(1, 3), 1 / 3), "Fraction.*float64 cannot represent exactly"),
    "vectors with fractions": (([0.5, Fraction(1, 3)], [0.5, 1 / 3]), "cannot represent exactly"),
    "nested fractions": (({"a": Fraction(1, 3)}, {"a": 1 / 3}), "cannot represent exactly"),
    "long doubles": ((np.longdouble(1) + np.longdouble(2) ** -60, 1.0), "cannot represent exactly"),
    "vectors of huge integers": (([0.5, 2**60], [0.5, 2**60 + 1]), "integers above 2\\^53"),
    "byte arrays": ((bytearray(b"a"), bytearray(b"b")), "numbers, vectors or labels"),
}


def outputs(two, database, size, seed):
    first = np.random.default_rng(seed).random(size) < (0.9 if database else 0.1)
    return [two[0] if each else two[1] for each in first]


def audited(layout, two):
    if layout == "recorded":
        x, y = (outputs(two, database, 2400, database) for database in (0, 1))
        return dpjax.audit(dpjax.Recorded(x, y), claim=CLAIM)
    if layout == "list":
        source = dpjax.HostMechanism(
            lambda database, num_samples, seed: outputs(two, database, num_samples, seed)
        )
    else:
        source = dpjax.HostMechanism(
            lambda database, seed: outputs(two, database, 1, seed)[0], batched=False
        )
    return dpjax.audit(source, [(0, 1)], claim=CLAIM, method=METHOD)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("layout", ["one by one", "list", "recorded"])
@pytest.mark.parametrize("two", APART.values(), ids=APART)
def test_different_outputs_are_told_apart(layout, two):
    result = audited(layout, two)
    assert result.verdict == "violated" and 1.5 < result.lower_bound < np.log(9)


@pytest.mark.parametrize("layout", ["one by one", "list", "recorded"])
@pytest.mark.parametrize("two", EQUAL.values(), ids=EQUAL)
def test_outputs_of_equal_value_are_one_outcome(layout, two):
    assert audited(layout, two).lower_bound == 0


@pytest.mark.one_in(4)
@pytest.mark.parametrize("layout", ["one by one", "list", "recorded"])
@pytest.mark.parametrize(("two", "reason"), REFUSED.values(), ids=REFUSED)
def test_outputs_that_would_be_merged_are_refused(layout, two, reason):
    with pytest.raises((TypeError, ValueError), match=reason):
        audited(layout, two)


def one_in_five_is_nan(shift, dimension):
    """Return Laplace noise, shifted in the first entry; other entries do not depend on the side."""
    random = np.random.default_rng([int(10 * shift), dimension])
    rows = random.laplace(size=(4000, dimension))
    rows[:, 0] += shift
    rows[random.random(rows.shape) < 0.2] = np.nan
    return rows


@pytest.mark.parametrize("dimension", [2, 3, 6, 20])
def test_nan_hides_no_other_entry(dimension):
    """With 20 entries, hardly any two outputs have NaN in the same entries."""
    sides = [one_in_five_is_nan(shift, dimension) for shift in (0.0, 1.0)]
    result = dpjax.audit(Recorded(*sides), claim=0.5)
    assert result.verdict == "violated" and result.lower_bound < 1.0


@pytest.mark.slow
def test_a_constant_entry_without_a_number_hides_nothing():
    def mean_and_deviation(key, x):
        return {"mean": x + jax.random.laplace(key), "deviation": jnp.nan}

    drawn = dpjax.audit(mean_and_deviation, [(0.0, 1.0)], method=dpjax.Events(2000, 4000))
    assert 0.8 < drawn.lower_bound < 1.0
    noise = np.random.default_rng(7).laplace(size=(2, 6000))
    noise[1] += 1.0
    for constant in (np.nan, np.inf):
        x, y = (np.stack([side, np.full(6000, constant)], axis=1) for side in noise)
        recorded = dpjax.audit(Recorded(x, y), method=dpjax.Sequential())
        assert 0.8 < recorded.lower_bound < 1.0
    leak = HostMechanism(lambda x, n: np.tile([np.nan, x], (n, 1)))
    assert dpjax.audit(leak, [(0.0, 1.0)], claim=1.0, method=dpjax.Events(200, 400)).lower_bound > 3


@pytest.mark.parametrize("empty", [[[]] * 400, np.zeros((400, 0))])
def test_empty_vectors_are_outcomes(empty):
    numbers = np.random.default_rng(8).normal(size=400)
    result = dpjax.audit(Recorded(empty, numbers), claim=1.0)
    assert result.verdict == "violated" and "empty" in result.witness.output
    assert dpjax.audit(Recorded(empty, [*empty]), claim=1.0).verdict == "not refuted"
