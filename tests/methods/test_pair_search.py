"""Successive halving over pairs: it finds the exact best pair cheaply, and spends no confidence."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax import mechanisms, reference
from dpjax.core import random
from dpjax.databases import Pairs, Within, all_pairs, hypercube
from dpjax.methods import _pairs

CUBE = np.array(list(itertools.product((0.0, 1.0), repeat=6)))
FULL = 20_000
"""Draws a side of each pair in a search of all pairs, the default of dpjax.audit."""


@pytest.mark.slow
def test_the_best_pair_of_the_cube_is_found_at_a_twentieth_of_the_draws():
    """All 2016 pairs of {0,1}^6 move each answer by at most 1; six of them share the best level."""
    mechanism = mechanisms.ReportNoisyMax(1.0)
    pairs = all_pairs(CUBE)
    laws = [reference.log_density(mechanism, x, np.arange(6)) for x in CUBE]
    levels = [np.abs(p - q).max() for p, q in itertools.combinations(laws, 2)]
    best = max(levels)
    assert sum(level > best - 1e-9 for level in levels) == 6
    budget = 2 * len(pairs) * FULL // 20
    found = dpjax.search_pairs(mechanism, pairs, budget=budget, factor=84)
    assert found.num_draws <= budget and len(found.pairs) == 3
    top = reference.pair_level(mechanism, found.pairs.database[0], found.pairs.neighbor[0])
    assert top == pytest.approx(best, rel=1e-9)
    assert found.pairs.labels[0] in pairs.labels
    # The estimate is of 42 000 draws a side: its standard error is below 0.022.
    assert found.estimates[0] == pytest.approx(best, abs=0.1)


@pytest.mark.slow
def test_choosing_costs_no_confidence():
    """8 pairs without any loss, the same seed for search and bound: at most 5% are above 0."""
    mechanism = mechanisms.RandomizedResponse(1.0)
    nothing = Pairs(np.zeros(8, int), np.zeros(8, int))
    method, above = dpjax.Events(num_samples=1000, num_confirm=1500), 0
    for seed in range(60):
        found = dpjax.search_pairs(mechanism, nothing, budget=2**14, keep=1, factor=4, key=seed)
        result = dpjax.audit(mechanism, found.pairs, method=method, confidence=0.95, key=seed)
        above += result.lower_bound > 0
    assert above <= stats.binom.isf(1e-5, 60, 0.05)


def test_rungs_have_draws_of_their_own(monkeypatch):
    """Else the noise for which a pair was kept would speak for it again."""
    keys, real = [], _pairs.dpl_runs

    def seen(*arguments, **options):
        keys.append(tuple(np.asarray(jax.random.key_data(arguments[0].key)).tolist()))
        return real(*arguments, **options)

    monkeypatch.setattr(_pairs, "dpl_runs", seen)
    pairs = Pairs(np.zeros(8, int), np.ones(8, int))
    mechanism = mechanisms.RandomizedResponse(1.0)
    found = dpjax.search_pairs(mechanism, pairs, budget=2**14, keep=1, factor=4)
    assert len(keys) == 2 and len(set(keys)) == 2
    # Each has half of the budget, but for what does not divide.
    assert [size for size, _ in found.rungs] == [8, 2]
    assert all(2**13 - 2 * s < 2 * s * n <= 2**13 for s, n in found.rungs)
    assert found.num_draws == sum(2 * s * n for s, n in found.rungs)


def test_real_outputs():
    pairs = Pairs(np.zeros(12), np.linspace(0, 1, 12))

    def search():
        return dpjax.search_pairs(mechanisms.Laplace(1.0), pairs, budget=100_000, keep=3, key=1)

    found = search()
    assert found.rungs == ((12, 4166),)
    assert found.pairs.neighbor[0] > 0.85 and len(found.estimates) == len(found.pairs) == 3
    again = search()
    assert again.estimates == found.estimates and again.pairs.labels == found.pairs.labels


@pytest.mark.parametrize(
    ("mechanism", "pairs", "arguments", "message"),
    [
        (mechanisms.ReportNoisyMax(), hypercube(6), {"budget": 100}, "at least 147456 draws for"),
        (mechanisms.Laplace(), [(0.0, 1.0)], {"budget": 0}, "budget must be an integer >= 1"),
        (mechanisms.Laplace(), [(0.0, 1.0)], {"budget": 9999, "factor": 1}, "factor .* >= 2"),
        (mechanisms.Laplace(), [(0.0, 1.0)], {"budget": 9999, "keep": 0}, "keep .* >= 1"),
        (mechanisms.ReportNoisyMax(), hypercube(5), {"budget": 10**6}, "6 query answers"),
        (
            mechanisms.SVT3(),
            [(np.ones(10), np.zeros(10))],
            {"budget": 9999},
            r"pass all pairs to dpjax\.audit",
        ),
        (lambda key, x: jnp.float32(x), [(0.0, 1.0)], {"budget": 9999}, "region must be given"),
    ],
)
def test_refusals(mechanism, pairs, arguments, message):
    with pytest.raises(ValueError, match=message):
        dpjax.search_pairs(mechanism, pairs, **arguments)


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        (dpjax.Family(lambda a: a, {"a": [1, 2]}), "cannot be audited as a whole"),
        (dpjax.OneRun(np.arange(40.0), np.arange(40) % 3 == 0), "come without a second database"),
    ],
)
def test_subjects_without_two_databases_are_refused(subject, message):
    with pytest.raises(TypeError, match=message):
        dpjax.search_pairs(subject, [(0.0, 1.0), (0.0, 2.0)], budget=4000)


def summed(key, database):
    return jnp.sum(database) + random.laplace(key, 1)[0]


def test_an_audit_searches_a_space_for_a_function_with_real_outputs():
    """The level is 10, which is reached by changing 10 to 0; no region was given."""
    like, domain = np.array([1, 2], np.float32), dpjax.Domain(bounds=(0, 10), size=2)
    space = dpjax.neighbors(like, "change-one", domain)
    found = dpjax.audit(summed, space, method=dpjax.Events(500, 1500), claim=2.0)
    assert found.verdict == "violated" and 2.0 < found.lower_bound <= 10.0
    assert "The audit used the best" in found.notes[0]


def test_a_space_needs_outputs_with_a_density():
    space = dpjax.neighbors(np.float32(0.0), Within(1.0), dpjax.Domain(bounds=(0, 5)))
    said = r"pairs must be a list for unknown, because the search .* in a pilot, .* infinity"
    with pytest.raises(ValueError, match=said):
        dpjax.audit(unknown, space)


def unknown(key, x):
    return jnp.where(x == 0, jnp.nan, x + random.laplace(key, 1)[0])
