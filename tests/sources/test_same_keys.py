"""A note if a JAX mechanism gives the same outputs for both databases and the same keys."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax
from dpjax.core.wording import Powerless, SameOutputs
from dpjax.mechanisms import Laplace
from dpjax.mechanisms.training import DpSgd, canary_pair
from dpjax.sources import _drawn_counts, _same_keys
from dpjax.sources._same_keys import clearly_differ
from dpjax.testing import assert_private

FEW = dpjax.Events(200, 400)
PAIRS = [(0.0, 1.0)]


def notes(mechanism, pairs=PAIRS, method=FEW, **options):
    found = dpjax.audit(mechanism, pairs, method=method, **options)
    return [note for note in found.notes if isinstance(note, Powerless)]


def ignoring(key, database):
    return jax.random.normal(key)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class WithoutFlag(DpSgd):
    """A training loop that ignores whether a record is present."""

    def clipped_sum(self, found, weights, features):
        return super().clipped_sum(found, jnp.ones_like(weights), features)


def test_a_function_that_ignores_the_database_is_noted():
    (note,) = notes(ignoring)
    assert note.startswith("For the same 200 keys, both databases of the pair 'pair 0' gave the")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pairs", "options"),
    [
        ([(0.0, 1.0), (0.0, 2.0)], {}),
        ([(np.zeros(3), np.zeros(4))], {}),
        (PAIRS, {"execution": dpjax.Execution(layout="streamed")}),
        (PAIRS, {"method": dpjax.Sequential(num_draws=1000)}),
    ],
)
def test_pairs_and_methods_of_any_kind_are_noted(pairs, options):
    assert len(notes(ignoring, pairs, **options)) == 1


@pytest.mark.slow
def test_a_training_loop_that_ignores_the_flag_of_the_canary_is_noted():
    pair = canary_pair(np.eye(4), [0, 1, 0, 1])
    assert notes(WithoutFlag(2.0, num_steps=3), pair) and not notes(DpSgd(2.0, num_steps=3), pair)


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(1.0),
        # The difference is too small to be visible in the counts, but the outputs differ.
        lambda key, database: jax.random.normal(key) + 0.01 * database,
        # Few outputs with few values may agree by chance.
        lambda key, database: jax.random.bernoulli(key, 0.5 + 1e-6 * database).astype(int),
        # Outputs that do not vary have a note of their own.
        lambda key, database: 1.0,
        lambda key, database: jnp.nan,
    ],
)
def test_other_mechanisms_are_not_noted(mechanism):
    assert not notes(mechanism)


def leaking(key, database):
    """Reveal the database in 3% of draws."""
    own, coin = jax.random.split(key)
    return jnp.where(jax.random.bernoulli(coin, 0.03), 100 * database, jax.random.normal(own))


def clipping(key, database):
    return jnp.clip(database, 0.0, 1.0) + 2 * jax.random.laplace(key)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "pairs", "num_draws"),
    [
        (leaking, PAIRS, 20_000),  # The first 16 outputs may agree.
        (clipping, [(0.0, 1.0), (5.0, 7.0)], 200),  # Only the outputs of the second pair agree.
    ],
)
def test_sequential_audits_that_can_detect_leaks_are_not_noted(mechanism, pairs, num_draws):
    method = dpjax.Sequential(num_draws=num_draws)
    found = dpjax.audit(mechanism, pairs, method=method, claim=1.0)
    assert not any(isinstance(note, Powerless) for note in found.notes)
    assert (found.verdict == "violated") == (mechanism is leaking)


@pytest.mark.slow
def test_a_resumed_audit_keeps_the_note():
    found = dpjax.audit(ignoring, PAIRS, method=dpjax.Sequential(num_draws=1000), claim=1.0)
    more = dpjax.resume(found, ignoring, PAIRS, num_draws=5000)
    (first,), (second,) = ([n for n in r.notes if "the same" in n] for r in (found, more))
    assert first == second and first.startswith("For the same 4096 keys,")


def test_a_result_with_a_bound_above_zero_is_not_noted(monkeypatch):
    monkeypatch.setattr(_same_keys, "_DEVIATIONS", np.inf)
    monkeypatch.setattr(_drawn_counts, "notes_of_same_keys", lambda *given: [SameOutputs("Same.")])
    assert notes(Laplace(0.01)) and not notes(Laplace(3.0))


def test_an_assertion_warns():
    with pytest.warns(UserWarning, match="the audited code ignores the records"):
        assert_private(ignoring, 1.0, PAIRS, num_samples=200, num_confirm=400)


@pytest.mark.parametrize(
    ("counts", "differ"),
    [
        ([[500, 500], [500, 500]], False),
        ([[500, 500], [580, 420]], False),  # 3.6 standard deviations
        ([[500, 500], [595, 405]], True),  # 4.3
        ([[0, 0], [3, 5]], False),
        ([[400, 0], [400, 0]], False),
    ],
)
def test_counts_that_clearly_differ(counts, differ):
    assert clearly_differ(np.array(counts)) == differ
