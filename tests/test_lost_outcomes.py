"""Functions that return other outcomes than they promised."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import pytest

import dpjax
from dpjax.mechanisms import FiniteSpace

SIZES = {"num_samples": 50_000, "num_confirm": 60_000}


def leaky(share):
    """0 or 1 alike, and 5 with a probability of its own at the second database."""

    def release(key, database):
        first, second = jax.random.split(key)
        lost = jax.random.uniform(first) < share * database
        return jnp.where(lost, 5, jax.random.bernoulli(second).astype(jnp.int32))

    return release


def test_outcomes_outside_are_refused():
    with pytest.raises(ValueError, match=r"5 and others outside of 0 \.\. 1 were returned in .*%"):
        dpjax.audit(leaky(0.1), pairs=[(0.0, 1.0)], num_outcomes=2, **SIZES)


def test_rare_ones_that_a_pilot_misses_are_said():
    """None of 4096 at 2e-5 with a probability of 0.92; 4 of 200 000 are expected."""
    options = {"pairs": [(0.0, 1.0)], "num_outcomes": 2, "num_samples": 200_000}
    result = dpjax.audit(leaky(2e-5), num_confirm=250_000, **options)
    assert any("outside of 0 .. 1 (num_outcomes)" in note for note in result.notes)


def test_the_exact_guarantee_counts_them():
    result = dpjax.audit(leaky(0.1), pairs=[(0.0, 1.0)], num_outcomes=2, guarantee="exact", **SIZES)
    assert result.lower_bound > 5
    assert any("counted as one outcome below and one above" in note for note in result.notes)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Outside:
    """0 or 1 alike, and 5 + database with a probability of 0.3, which no database has in common."""

    output_space = FiniteSpace(2)

    def sample(self, key, database, num_samples):
        first, second = jax.random.split(key)
        inside = jax.random.bernoulli(second, shape=(num_samples,)).astype(jnp.int32)
        lost = jax.random.uniform(first, (num_samples,)) < 0.3
        return jnp.where(lost, 5 + jnp.int32(database), inside)


def test_a_class_may_not_leave_its_space_unseen():
    with pytest.raises(ValueError, match=r"5 and others outside of 0 \.\. 1"):
        dpjax.audit(Outside(), pairs=[(0, 1)], **SIZES)
    result = dpjax.audit(Outside(), pairs=[(0, 1)], guarantee="exact", **SIZES)
    assert any("what tells them apart was not seen" in note for note in result.notes)
