"""Successive halving over pairs finds the best pair cheaply and uses no confidence."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax import mechanisms, reference
from dpjax.core import random
from dpjax.databases import Pairs, all_pairs, hypercube
from dpjax.databases.spaces import Proposed
from dpjax.methods import _pairs
from dpjax.methods._stacks import stacks_of
from dpjax.sources import as_source

CUBE = np.array(list(itertools.product((0.0, 1.0), repeat=6)))
FULL = 20_000
"""Draws per side of each pair in a search of all pairs: the default of dpjax.audit."""


@pytest.mark.slow
def test_the_best_pair_of_the_cube_is_found_at_a_twentieth_of_the_draws():
    """All 2016 pairs of {0,1}^6 change each answer by at most 1; six have the best level."""
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
    # The estimate uses 42 000 draws per side: its standard error is below 0.022.
    assert found.estimates[0] == pytest.approx(best, abs=0.1)


@pytest.mark.slow
def test_choosing_costs_no_confidence():
    """For 8 pairs without any loss and equal seeds, at most 5% of bounds are above 0."""
    mechanism = mechanisms.RandomizedResponse(1.0)
    nothing = Pairs(np.zeros(8, int), np.zeros(8, int))
    method, above = dpjax.Events(num_samples=1000, num_confirm=1500), 0
    for seed in range(60):
        found = dpjax.search_pairs(mechanism, nothing, budget=2**14, keep=1, factor=4, key=seed)
        result = dpjax.audit(mechanism, found.pairs, method=method, confidence=0.95, key=seed)
        above += result.lower_bound > 0
    assert above <= stats.binom.isf(1e-5, 60, 0.05)


def test_rungs_have_draws_of_their_own(monkeypatch):
    """Otherwise, noise that favored a pair would favor it again."""
    keys, real = [], _pairs.dpl_runs

    def seen(*arguments, **options):
        keys.append(tuple(np.asarray(jax.random.key_data(arguments[0].key)).tolist()))
        return real(*arguments, **options)

    monkeypatch.setattr(_pairs, "dpl_runs", seen)
    pairs = Pairs(np.zeros(8, int), np.ones(8, int))
    mechanism = mechanisms.RandomizedResponse(1.0)
    found = dpjax.search_pairs(mechanism, pairs, budget=2**14, keep=1, factor=4)
    assert len(keys) == 2 and len(set(keys)) == 2
    # Each gets half of the budget, except for the remainder.
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


@pytest.mark.slow
def test_an_audit_searches_a_space_for_a_function_with_real_outputs():
    """The level is 10, attained by changing 10 to 0; no region is given."""
    domain = dpjax.Domain(bounds=(0, 10), size=2)
    space = dpjax.neighbors([1.0, 2.5], "change-one", domain, num_pairs=20)
    found = dpjax.audit(summed, space, method=dpjax.Events(500, 1500), claim=2.0)
    assert found.verdict == "violated" and 2.0 < found.lower_bound <= 10.0
    (note,) = [note for note in found.notes if "The audit used the best" in note]
    assert note.startswith("The audit used the best 4 of 20 proposed pairs and their variations")


def leaks_when_empty(key, database):
    return random.laplace(key, 1)[0] + (0.0 if len(database) else 9.0)


@pytest.mark.slow
def test_databases_of_a_space_may_have_any_shape():
    """Only the outputs of the empty database are near 9."""
    space = dpjax.neighbors([1.0], "add-remove", dpjax.Domain(bounds=(0, 1)), num_pairs=12)
    found = dpjax.search_pairs(leaks_when_empty, space, keep=4)
    assert {(side.shape[1:]) for side in (found.pairs.database, found.pairs.neighbor)} == {
        (0,),
        (1,),
    }
    assert found.estimates[0] > 5 and len(found.estimates) == len(found.pairs)
    assert all("record" in label for label in found.pairs.labels)


def first_entry(key, database):
    return database[0] + random.laplace(key, 1)[0]


def test_pairs_of_a_space_are_stacked_by_shape():
    """Numbers that become infinite or equal in float32, and failing functions, are left out."""
    sides = [
        ([1.0], [2.0]), ([1.0, 2.0], [1.0]), ([3.0], [4.0]), ([1e300], [0.0]), ([1e300], [1e300]),
        ([5e-324], [0.0]), ([], [1.0]), (["a"], ["b"]), ([1], [2]), ([2**40], [0]),
    ]  # fmt: skip
    pairs = [Proposed(*pair, f"pair {place}") for place, pair in enumerate(sides)]
    (one, two, three) = stacks_of(as_source(first_entry), pairs)
    assert [stack.places for stack in (one, two, three)] == [[0, 2], [1], [8]]
    assert one.pairs.labels == ("pair 0", "pair 2")
    assert one.pairs.database.tolist() == [[1.0], [3.0]] and two.pairs.neighbor.tolist() == [[1.0]]
    (whole,) = stacks_of(as_source(dpjax.HostMechanism(first_entry)), pairs)
    assert [*whole.places] == [*range(10)] and whole.pairs.sides[0] == [side for side, _ in sides]


def fails(key, database):
    raise ValueError("never works")


def test_a_function_that_fails_for_all_pairs_of_a_space_is_refused():
    space = dpjax.neighbors([1.0, 2.0], "change-one", num_pairs=5)
    for call in (dpjax.search_pairs, dpjax.audit):
        with pytest.raises(TypeError, match=r"fails failed for .* never works"):
            call(fails, space)


def test_float32_numbers_are_shown_with_their_own_digits():
    found = dpjax.search_pairs(
        mechanisms.Laplace(1.0), [(0.0, 0.9), (0.0, 0.1)], keep=1, budget=2000
    )
    assert str(found).splitlines()[-1].endswith("pair 0: [0.0, 0.9]")
