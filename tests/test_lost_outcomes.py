"""Functions that return other outcomes than they promised."""

import jax
import jax.numpy as jnp
import pytest

import dpjax

SIZES = {"num_samples": 50_000, "num_confirm": 60_000}


def leaky(share):
    """0 or 1 alike, and 5 with a probability of its own at the second database."""

    def release(key, database):
        first, second = jax.random.split(key)
        lost = jax.random.uniform(first) < share * database
        return jnp.where(lost, 5, jax.random.bernoulli(second).astype(jnp.int32))

    return release


def test_outcomes_outside_are_refused():
    with pytest.raises(ValueError, match=r"returned 5 and others outside of 0 \.\. 1 in .*%"):
        dpjax.audit(leaky(0.1), pairs=[(0.0, 1.0)], num_outcomes=2, **SIZES)


def test_rare_ones_that_a_pilot_misses_are_said():
    """None of 4096 at 2e-5 with a probability of 0.92; 4 of 200 000 are expected."""
    options = {"pairs": [(0.0, 1.0)], "num_outcomes": 2, "num_samples": 200_000}
    result = dpjax.audit(leaky(2e-5), num_confirm=250_000, **options)
    assert any("outside of 0 .. 1 (num_outcomes)" in note for note in result.notes)


def test_the_exact_guarantee_counts_them():
    result = dpjax.audit(leaky(0.1), pairs=[(0.0, 1.0)], num_outcomes=2, guarantee="exact", **SIZES)
    assert result.lower_bound > 5
