"""Functions that return unexpected outcomes: rejected, noted, or counted."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax
from dpjax.mechanisms import FiniteSpace

EVENTS = dpjax.Events(num_samples=5_000, num_confirm=8_000)
LOCAL = dpjax.Local(num_samples=5_000, num_confirm=8_000)
ONE = [(0.0, 1.0)]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Leaky:
    """Return 0 or 1 with equal probability, or 5 with probability `share` for the database 1."""

    share: float
    output_space = FiniteSpace(2)

    def sample(self, key, database, num_samples):
        first, second = jax.random.split(key)
        inside = jax.random.bernoulli(second, shape=(num_samples,)).astype(jnp.int32)
        return jnp.where(
            jax.random.uniform(first, (num_samples,)) < self.share * database, 5, inside
        )


def release(key, database):
    return jnp.where(jax.random.uniform(key) < 0.1 * database, 5, 1)


def test_densities_refuse_outcomes_outside():
    promised = dpjax.from_function(release, 0.0, num_outcomes=2)
    for mechanism in (Leaky(0.1), promised):
        with pytest.raises(ValueError, match=r"5 and other integers outside 0 \.\. 1 make up"):
            dpjax.audit(mechanism, ONE, method=LOCAL)


@pytest.mark.slow
def test_rare_ones_that_a_pilot_misses_are_said():
    """None of 4096 at 1e-4 with probability 0.66; 3 of 30 000 are expected. Fixed seed."""
    result = dpjax.audit(Leaky(1e-4), ONE, method=dpjax.Local(30_000, 40_000))
    assert any("outside 0 .. 1 (num_outcomes)" in note for note in result.notes)


def test_events_count_them():
    result = dpjax.audit(Leaky(0.1), ONE, method=EVENTS)
    # 800 of 8000 compared with none: ln of a ratio of at least 0.09 / 0.001.
    assert result.lower_bound > 4
    assert any("all smaller integers were counted as one outcome" in note for note in result.notes)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Outside:
    """Return 0 or 1, or 5 + database with probability 0.3, which differs between the databases."""

    output_space = FiniteSpace(2)

    def sample(self, key, database, num_samples):
        first, second = jax.random.split(key)
        inside = jax.random.bernoulli(second, shape=(num_samples,)).astype(jnp.int32)
        lost = jax.random.uniform(first, (num_samples,)) < 0.3
        return jnp.where(lost, 5 + jnp.int32(database), inside)


def test_what_is_above_is_one_outcome_whatever_it_is():
    """Thus the databases are not distinguished, and a note states what was not examined."""
    result = dpjax.audit(Outside(), [(0, 1)], method=EVENTS)
    assert result.lower_bound < 0.2
    assert any("all smaller integers were counted as one outcome" in note for note in result.notes)


def test_an_event_that_does_not_occur_again_is_said():
    """For the neighbor, an outcome has 30% in the search set and 0 in the confirmation set."""
    drawn, rng = [0, 0], np.random.default_rng(5)

    def vanishing(database, number):
        lost = (np.arange(number) + drawn[database] < 2000) & (rng.random(number) < 0.3)
        drawn[database] += number
        return np.where(lost & (database == 1), 2, rng.integers(2, size=number))

    result = dpjax.audit(
        dpjax.HostMechanism(vanishing, batch_size=2000),
        [(0, 1)],
        method=dpjax.Events(num_samples=2000, num_confirm=3000),
    )
    assert result.lower_bound == 0
    assert "The chosen event did not occur in the confirmation set." in result.notes
    # The result shows the complement, which occurred in every draw.
    assert result.witness.event_counts == result.evidence.trials
