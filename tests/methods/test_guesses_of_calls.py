"""Audits of functions by guesses about which database each call got."""

import math

import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax.core.errors import Stopped
from dpjax.inference import Guessed, epsilon_of_guesses
from dpjax.methods._guesses_of_calls import best_numbers_of_calls
from dpjax.notions import CallGuessCounts

PAIR = [(1, 0)]
"""A pair of databases, each of which is one bit."""


def audit(function, pairs=PAIR, num_calls=2000, **options):
    return dpjax.audit(function, pairs, method=dpjax.Guesses(num_calls=num_calls), **options)


class Environment:
    """Randomized response of level `epsilon` whose outputs also depend on all earlier outputs.

    Each output is a bit, possibly inverted as the earlier outputs demand, plus a number that moves
    with them. No call reveals more about its own database than the level permits.
    """

    def __init__(self, epsilon):
        self.truthful, self.state = 1 / (1 + math.exp(-epsilon)), 0

    def __call__(self, database, rng):
        bit = database if rng.random() < self.truthful else 1 - database
        self.state = (3 * self.state + bit + 1) % 7
        return [bit ^ (self.state % 7 == 3), self.state + 0.25 * rng.random()]


def false_bounds(number, confidence, num_calls):
    """Return how many bounds are above the level."""
    return sum(
        audit(Environment(0.5), key=key, confidence=confidence, num_calls=num_calls).lower_bound
        > 0.5
        for key in range(number)
    )


@pytest.mark.slow
def test_bounds_of_dependent_outputs_are_above_the_level_no_more_often_than_allowed():
    # A false alarm of this test has probability at most 1e-6.
    assert false_bounds(100, 0.8, 400) <= stats.binom.ppf(1 - 1e-6, 100, 0.2)


@pytest.mark.parametrize("last", [30, 700])
def test_an_interrupt_says_how_many_calls_were_made(last):
    """The first 600 of 2,000 calls are those from which the score is learned."""
    calls = []

    def interrupted(database, rng):
        calls.append(database)
        if len(calls) > last:
            raise KeyboardInterrupt
        return database + rng.laplace()

    with pytest.raises(Stopped, match=f"^Stopped after {last} of 2,000 calls: there is no result"):
        audit(interrupted)


def test_the_bound_follows_from_the_guesses():
    rng = np.random.default_rng(4)
    found = audit(lambda database: database + rng.laplace(), confidence=0.95, num_calls=8000)
    counted = found.evidence.counted
    assert isinstance(counted, CallGuessCounts) and counted.canaries == 5600
    assert counted.revealed == 0 and counted.share == 1
    exact = epsilon_of_guesses(Guessed(*counted.guessed), 0.0, 0.05)
    assert found.lower_bound == pytest.approx(exact, rel=1e-12)
    # The level is 1. For 500 guesses, 0.55 is five standard errors of ln(p / (1 - p)) below it.
    assert 0.55 < found.lower_bound <= 1.0
    assert found.statement.basis == "exact, coins of calls"
    first, second = found.witness.densities
    assert (first > second) == (found.witness.larger == "database")
    assert "of 5600 calls" in str(found) and "canaries" not in str(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("notion", "claim", "true", "least"),
    [
        (dpjax.Gdp(), 0.5, 1.0, 0.75),
        (dpjax.TotalVariation(), 0.2, 0.38292, 0.3),
        (dpjax.Profile(), [(0.0, 0.2), (1.0, 0.01)], 0.38292, 0.2),
        (dpjax.Epsilon(delta=1e-3), 1.2, 3.24, 1.2),
    ],
    ids=["mu", "tv", "profile", "delta"],
)
def test_bounds_on_other_notions_are_close_to_the_truth(notion, claim, true, least):
    """The Gaussian mechanism has mu = 1. Each bound is above `least` for 20 of 20 keys."""

    def function(database, rng):
        return database + rng.normal()

    found = audit(function, notion=notion, claim=claim, num_calls=6000, confidence=0.99)
    assert found.verdict == "violated" and least < found.lower_bound <= true


def test_numbers_of_guesses_may_differ_between_the_databases():
    rng = np.random.default_rng(2)
    # The database has an output of its own, and no output speaks for the neighbor.
    coins = np.concatenate([np.ones(60, bool), rng.random(900) < 0.47, rng.random(40) < 0.5])
    found = best_numbers_of_calls(coins, 2000, dpjax.Epsilon(), 0.05)
    assert found.outside == 0 and 60 <= found.inside <= 140
    both = np.concatenate([np.ones(20, bool), rng.random(580) < 0.55, rng.random(400) < 0.1])
    found = best_numbers_of_calls(both, 2000, dpjax.Epsilon(), 0.05)
    assert found.outside > 5 * found.inside
    # Nearly all coins are guessed for the total variation, and half if outputs say nothing.
    steps = np.concatenate([rng.random(500) < 0.7, rng.random(500) < 0.3])
    found = best_numbers_of_calls(steps, 2000, dpjax.TotalVariation(), 0.05)
    assert 1900 <= sum(found) <= 2000
    assert best_numbers_of_calls(np.arange(1000) > 499, 2000, dpjax.Epsilon(), 0.05) == (500, 500)


@pytest.mark.parametrize(("inside", "outside"), [(80, 1), (1, 80)])
def test_witnesses_leave_out_scores_with_few_guesses(inside, outside):
    """Some guesses are about outputs that say nothing, and that are chosen at random."""

    def function(database, rng):
        found = "yes" if database == (inside > 1) else "other"
        return found if rng.random() < 0.1 else "nothing"

    method = dpjax.Guesses(num_calls=1000, num_in=inside, num_out=outside)
    witness = dpjax.audit(function, PAIR, method=method).witness
    assert witness.output == "'yes'"
    low, high = sorted(witness.densities)
    assert low == 0 and 0.05 < high < 0.16  # 0.1 +- 3.5 standard deviations, and a fixed key


def test_given_numbers_of_guesses():
    rng = np.random.default_rng(4)
    method = dpjax.Guesses(num_in=50, num_out=70, num_calls=1000, reveal_fraction=0.5)
    found = dpjax.audit(lambda database: database + rng.laplace(), PAIR, method=method)
    counted = found.evidence.counted
    assert (counted.guessed_in, counted.guessed_out, counted.canaries) == (50, 70, 500)
    with pytest.raises(
        ValueError,
        match="must not exceed the number of calls whose coins are guessed, 500, but they were",
    ):
        dpjax.audit(
            lambda database: database + rng.laplace(),
            PAIR,
            method=dpjax.Guesses(num_in=501, num_calls=1000, reveal_fraction=0.5),
        )


def test_a_drift_neither_hides_a_leak_nor_looks_like_one():
    """Events doubt such outputs. Here the location moves by far more than the noise."""

    def moving(leak):
        state, rng = [0.0], np.random.default_rng(7)

        def function(database):
            state[0] += rng.normal(0, 0.1)
            return leak * database + rng.laplace() + state[0]

        return function

    assert dpjax.audit(moving(1), PAIR, method=dpjax.Events(2000, 2000)).verdict == "doubtful"
    found = audit(moving(1), num_calls=6000, confidence=0.95)
    # The best possible bound uses the median of 15 outputs, whose standard error is about 0.35.
    assert 0.3 < found.lower_bound <= 1.0
    assert "after subtraction of the median of the 15 outputs before it" in str(found.witness.event)
    assert audit(moving(0), num_calls=6000, claim=0.1).verdict == "not refuted"


def test_numbers_that_grow_with_every_call_are_compared_with_the_last_one():
    """Each output adds 2 or 0 and normal noise to the output before it."""
    state, rng = [0.0], np.random.default_rng(3)

    def function(database):
        state[0] += 2 * database + rng.normal()
        return state[0]

    found = audit(function, num_calls=600, confidence=0.95)
    # With the median of 15 outputs, half of the bounds from 1,000 calls are 0.
    assert found.lower_bound > 1.0
    assert ", after subtraction of the output before it" in str(found.witness.event)


def test_a_drift_of_one_of_two_numbers_does_not_hide_a_leak():
    state, rng = [0.0], np.random.default_rng(7)

    def function(database):
        state[0] += rng.normal(0, 0.3)
        return [float(rng.integers(3)), 2 * database + rng.laplace() + state[0]]

    # Without differences, the bound is below 0.3.
    found = audit(function, num_calls=2000, confidence=0.95)
    assert 0.3 < found.lower_bound <= 2.0
    assert "after subtraction of the median" in str(found.witness.event)


def test_running_times_that_reveal_the_noise():
    clock, rng = [0.0], np.random.default_rng(9)

    def timed(database):
        """Return how long a loop over the noisy count takes, on a clock that slows down."""
        clock[0] += rng.normal(0, 0.01)
        steps = database + rng.geometric(0.63)  # Levels of a geometric law: p(k) / p(k + 1) = e.
        return steps * (1 + 0.01 * math.sin(clock[0])) + rng.exponential(0.01)

    found = audit(timed, num_calls=4000, claim=0.5)
    assert found.verdict == "violated" and found.lower_bound <= math.inf


@pytest.mark.parametrize(
    "function",
    [
        lambda database, rng: "high" if rng.random() < 0.2 + 0.6 * database else "low",
        lambda database, rng: {"count": int(database + rng.integers(3)), "sex": "f"},
        lambda database, rng: [float(database) + rng.normal(), rng.normal()],
        lambda database, rng: f"The answer is {database + rng.normal():.3f}.",
    ],
    ids=["labels", "dicts", "vectors", "texts"],
)
def test_outputs_of_any_kind(function):
    """The bounds of 12 audits of each function were between 0.86 and 3.71."""
    found = audit(function, num_calls=1500, claim=0.1)
    assert found.verdict == "violated", found


def test_results_survive_a_file_and_are_repeated(tmp_path):
    def function(database, rng):
        return database + rng.laplace()

    found = audit(function, claim=0.1, num_calls=900)
    (tmp_path / "audit.json").write_text(found.to_json())
    read = dpjax.AuditResult.from_file(tmp_path / "audit.json")
    assert read == found and read.evidence.counted == found.evidence.counted
    again = dpjax.rerun(read, subject=function)
    assert again.lower_bound == found.lower_bound
    page = found.report(tmp_path / "audit.md").read_text()
    assert "dpjax guessed which of the two databases the call got" in " ".join(page.split())


def test_subjects_without_calls():
    laplace = dpjax.mechanisms.Laplace(1.0)
    with pytest.raises(TypeError, match="a function or program that draws its own random numbers"):
        dpjax.audit(laplace, method=dpjax.Guesses(num_calls=1000))
    run = dpjax.OneRun(np.arange(50.0), np.arange(50) % 3 == 0)
    with pytest.raises(TypeError, match="num_calls must be left out for the canaries of one run"):
        dpjax.audit(run, method=dpjax.Guesses(num_calls=1000))
    with pytest.raises(ValueError, match="distance must be 1 if coins are guessed"):
        audit(lambda database: 0.0, distance=2)
    with pytest.raises(ValueError, match="which cannot bound"):
        audit(lambda database: 0.0, notion=dpjax.Renyi(2))
    for bad in (0, -1):
        with pytest.raises(ValueError, match="num_calls"):
            dpjax.Guesses(num_calls=bad)


def test_constant_outputs_are_noted():
    found = audit(lambda database: 5.0, num_calls=200, claim=1.0)
    assert found.lower_bound == 0
    (said,) = [note for note in found.notes if note.startswith("All ")]
    numbers = [int(word) for word in said.replace(",", "").split() if word.isdigit()]
    assert sum(numbers[:2]) == 200 and "were the same" in said
