"""Budgets, reports and assumptions of pair searches, and options that methods reject."""

import math
import time
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax import Epsilon, Gdp, HostMechanism, Profile
from dpjax.core.execution import Execution
from dpjax.inference import Guessed, delta_of_curves
from dpjax.mechanisms import Laplace
from dpjax.methods import _guesses, _numbers_of_guesses, _pairs, _pairs_counted
from dpjax.methods._guesses import _better, _direction
from dpjax.methods._numbers_of_guesses import (
    Numbers,
    _shares,
    best_numbers,
    cautious,
    count,
)
from dpjax.methods._pairs import _rung_sizes
from dpjax.methods._pairs_counted import _places
from dpjax.methods._rungs import Ladder, Ranked
from dpjax.methods.histogram import Histogram, HistogramEstimate
from dpjax.notions import Terms
from dpjax.sources import as_source
from dpjax.sources._flips import in_order

LAPLACE = [(0.0, float(shift)) for shift in range(20)]


def laplace(database, num_samples, seed):
    return np.random.default_rng(seed).laplace(database, 1.0, num_samples)


@pytest.mark.parametrize(
    ("ladder", "number", "rungs"),
    [
        (Ladder(None, None, 3, 4), 12, [(12, 500)]),
        # Of 13 pairs, a quarter is kept and half as many variations are added.
        (Ladder(None, None, 3, 4), 13, [(13, 461), (6, 1000)]),
        (Ladder(None, None, 3, 4), 300, [(300, 24), (113, 53), (43, 139), (17, 352), (7, 857)]),
        (Ladder(1200, None, 4, 2), 8, [(8, 75)]),
        (Ladder(384, None, 4, 2), 8, [(8, 24)]),
    ],
)
def test_rungs_by_hand(ladder, number, rungs):
    found = ladder.rungs(number)
    if rungs is not None:
        assert found == rungs
    sizes = [size for size, _ in found]
    assert sizes[0] == number and sizes[-1] <= ladder.keep * ladder.factor


def test_a_budget_that_is_too_small_says_which_is_enough():
    with pytest.raises(ValueError, match="at least 384 draws for 8 pairs in 1 round, but was 383"):
        Ladder(383, None, 4, 2).rungs(8)


def test_the_best_places_have_finite_scores():
    scores = np.array([1.0, -np.inf, 3.0, 3.0, 2.0])
    assert Ranked(scores, scores, 0).best(3) == [2, 3, 4]
    assert Ranked(scores, scores, 0).best(9) == [2, 3, 4, 0]
    assert Ranked(np.full(3, -np.inf), scores, 0).best(2) == [0]
    pairs = [[1], [1], [2]]
    assert _places([pairs[1]], pairs) == [1] and _places([[1]], pairs) == []


def test_a_search_tells_what_it_spent():
    told = []
    execution = Execution(progress=lambda *both: told.append(both))
    source = HostMechanism(laplace)
    found = dpjax.search_pairs(source, LAPLACE, budget=40_000, keep=2, execution=execution)
    spent = np.cumsum([2 * pairs * draws for pairs, draws in found.rungs]).tolist()
    assert len(found.rungs) == 2 and found.num_draws == spent[-1] <= 40_000
    # A list has no variations: 20 pairs, then a quarter of them.
    assert [pairs for pairs, _ in found.rungs] == [20, 5]
    # The reports within a rung state the same total.
    assert {*told} > {(number, spent[-1]) for number in spent} and told == sorted(told)
    assert {total for _, total in told} == {spent[-1]} and 0 < told[2][0] < spent[0] / 10


def test_a_search_of_a_space_tells_what_it_spent():
    told = []
    execution = Execution(progress=lambda *both: told.append(both))
    space = dpjax.neighbors([0.0, 1.0, 2.0], "change-one", dpjax.Domain(bounds=(0, 4)))
    source = HostMechanism(lambda database, num_samples, seed: laplace(0.0, num_samples, seed))
    found = dpjax.search_pairs(source, space, budget=40_000, keep=2, execution=execution)
    spent = np.cumsum([2 * pairs * draws for pairs, draws in found.rungs]).tolist()
    assert len(spent) > 1 and {done for done, _ in told} > {*spent}
    assert told[-1] == (spent[-1], spent[-1])
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    # The plan has room for half as many variations as pairs that are kept.
    rungs = Ladder(40_000, None, 2, 4).rungs(found.rungs[0][0])
    assert told[0][1] == sum(2 * size * draws for size, draws in rungs)


def test_a_million_draws_are_spent_where_no_budget_is_given(monkeypatch):
    """Twenty pairs, then five; the last pair of each rung has the largest score."""
    asked, told = [], []

    def dpl_runs(streams, region, method, runs, execution):
        asked.append(method)
        number = np.arange(20 if len(asked) == 1 else 5)[None]
        return SimpleNamespace(score=number, loss=number / 10)

    monkeypatch.setattr(_pairs, "dpl_runs", dpl_runs)
    execution = Execution(progress=lambda *both: told.append(both))
    found = dpjax.search_pairs(Laplace(1.0), LAPLACE, execution=execution)
    assert [method.num_samples for method in asked] == [12_500, 50_000]
    assert [method.num_confirm for method in asked] == [12_501, 50_001]
    assert told == [(500_000, 10**6), (10**6, 10**6)]
    assert found.rungs == ((20, 12_500), (5, 50_000)) and found.estimates == (0.4, 0.3, 0.2)
    # The second rung has the pairs 19, 18, ..., 15, and the last of these is the best.
    assert np.asarray(found.pairs.neighbor).tolist() == [15.0, 16.0, 17.0]


def test_a_budget_for_what_jax_draws_that_is_too_small():
    with pytest.raises(
        ValueError, match="at least 10240 draws for 20 pairs in 2 rounds, but was 9"
    ):
        dpjax.search_pairs(Laplace(1.0), LAPLACE, budget=9000)


def test_sizes_of_rungs():
    assert _rung_sizes(12, 3, 4) == [12] and _rung_sizes(13, 3, 4) == [13, 4]
    assert _rung_sizes(100, 3, 4) == [100, 25, 7] and _rung_sizes(7, 3, 2) == [7, 4]


def test_bounds_are_expected_of_20000_draws(monkeypatch):
    """This is without a time limit, and the number of rivals is the number of pairs in the rung."""
    budgets = []
    promise = Epsilon.promise
    monkeypatch.setattr(
        Epsilon, "promise", lambda *parts: budgets.append(parts[2]) or promise(*parts)
    )
    dpjax.search_pairs(HostMechanism(laplace), LAPLACE[:4], budget=4000, keep=2)
    assert {budget.num_confirm for budget in budgets} == {20_000}
    assert {budget.num_rivals for budget in budgets} == {4}
    assert {budget.confidence for budget in budgets} == {0.999}


@pytest.mark.parametrize(("seconds", "planned"), [(1000.0, 20_000), (0.02, None)])
def test_pairs_at_which_time_allows_too_few_draws_are_dropped(monkeypatch, seconds, planned):
    budgets = []
    promise = Epsilon.promise
    monkeypatch.setattr(
        Epsilon, "promise", lambda *parts: budgets.append(parts[2].num_confirm) or promise(*parts)
    )

    def slow(database, seed):
        time.sleep(0.0005)
        return database + np.random.default_rng(seed).laplace()

    source = HostMechanism(slow, batched=False)
    terms = Terms(Epsilon(), None, 0.95, 1, 0, None)
    ladder = Ladder(100, seconds, 1, 2)
    found = _pairs_counted.search_counted(source, LAPLACE[:2], ladder, terms, None, terms.root)
    best = found.pairs
    assert len(best) == 1 and set(budgets) == ({planned} if planned else set())


def test_pairs_are_left_out_for_a_histogram_estimate():
    method = HistogramEstimate(4, 100, (0.0, 1.0))
    with pytest.raises(ValueError, match="pairs must be left out for a histogram estimate"):
        method.run(as_source(Laplace(1.0)), [(0.0, 1.0)], TERMS)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((0, 100, (0.0, 1.0)), "num_intervals"), ((4, 0, (0.0, 1.0)), "num_samples"),
        ((4, 100, (0.0,)), "at least two numbers, but was"),
        ((4, 100, (0.0, 1.0), 1.0), "order must be a number > 1"),
    ],
)  # fmt: skip
def test_sizes_of_histograms_that_are_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        HistogramEstimate(*parts)
    assert HistogramEstimate(4, 100, [0, 1], 1.01).inputs == (0.0, 1.0)


def test_options_of_the_command_line():
    shown = {
        name: field.metadata["option"]
        for name, field in Histogram.__dataclass_fields__.items()
        if "option" in field.metadata
    }
    kinds = {name: given["kind"] for name, given in shown.items() if given["kind"]}
    assert kinds == {"input_interval": "width"}
    assert shown["input_interval"]["flag"] == "--input-width"
    assert shown["output_interval"]["metavar"] == "LOW HIGH"
    assert shown["bound"]["choices"] == ("all-intervals", "published")
    assert all(given["help"] for given in shown.values())


TERMS = Terms(Epsilon(), None, 0.95, 1, 0, None)


class Counted:
    """Guesses with a known bound."""

    guessed, share = Guessed(100, 50, 50), 1.0

    def __init__(self, bound):
        self.bound = bound

    def answer(self, *parts):
        return SimpleNamespace(lower_bound=self.bound)


@pytest.mark.parametrize(
    ("planned", "chosen", "better"), [(0.3, 0.3, 0), (0.3, 0.31, 1), (0.3, 0.2, 0)]
)
def test_planned_guesses_are_taken_at_a_tie(planned, chosen, better):
    both = Counted(planned), Counted(chosen)
    assert _better(*both, TERMS) is both[better]


def test_guesses_that_cannot_be_better_are_not_bounded(monkeypatch):
    chosen = Counted(9.0)
    monkeypatch.setattr(_guesses, "level_of", lambda *parts: 0.3)
    planned = Counted(0.3)
    assert _better(planned, chosen, TERMS) is planned
    monkeypatch.setattr(_guesses, "level_of", lambda *parts: 0.31)
    assert _better(planned, chosen, TERMS) is chosen


@pytest.mark.parametrize(
    ("notion", "planned"), [(Epsilon(), 0.7), (Epsilon(0.01), 0.7), (Gdp(), 0.9), (Profile(), 0.7)]
)
def test_the_best_numbers_of_guesses_are_searched_at_both_ends_and_each(
    monkeypatch, notion, planned
):
    """Correct guesses above one half, in standard errors, stand for the bound."""
    rng = np.random.default_rng(8)
    revealed = rng.random(300) < np.linspace(0.95, 0.35, 300)
    error, asked = (1 - planned) * (1 - 0.95), set()

    def shown(guessed, *others):
        asked.add(others)
        return (guessed.right - guessed.made / 2) / math.sqrt(guessed.made)

    monkeypatch.setattr(_numbers_of_guesses, "epsilon_of_chosen", shown)
    monkeypatch.setattr(
        _numbers_of_guesses, "pure_epsilon", lambda g, e: shown(g, e) if e == error else 0
    )
    monkeypatch.setattr(_numbers_of_guesses, "level_of", lambda g, n, e: shown(g, n, e))
    monkeypatch.setattr(_numbers_of_guesses, "gaussian_gain", lambda mu: mu)
    monkeypatch.setattr(_numbers_of_guesses, "refutes", lambda g, mu, e: shown(g) > mu)
    found = best_numbers(revealed, 700, notion, error)
    best = -math.inf
    for part in np.geomspace(10 / 700, 0.45, 14):
        size, tried = round(part * 700), round(part * 300)
        ends = [(1, 1), (1, 0), (0, 1)]
        rates = [cautious(revealed[:tried]), cautious(~revealed[300 - tried :])]
        for end in ends:
            right = sum(
                math.floor(rate * size) for rate, used in zip(rates, end, strict=True) if used
            )
            value = (right - sum(end) * size / 2) / math.sqrt(sum(end) * size)
            if value > best:
                best, wanted = value, (end[0] * size, end[1] * size)
    assert found == wanted and 0 in wanted
    if notion == Gdp():
        assert (Gdp(), error) in asked
    elif notion == Profile():
        assert (delta_of_curves(700, error), error) in asked
    else:
        assert (notion.delta, error) in asked


def test_guesses_are_counted_from_both_ends():
    coins = np.array([1, 0, 1, 1, 0, 1, 0], bool)
    assert count(coins, Numbers(3, 2)).guessed == Guessed(7, 5, 3)
    assert count(coins, Numbers(0, 1)).guessed == Guessed(7, 1, 1)
    assert count(coins, Numbers(3, 4)).guessed == Guessed(7, 7, 4)
    with pytest.raises(ValueError, match="coins are guessed, 7, but they were 3 and 5"):
        count(coins, Numbers(3, 5))


def test_coins_are_ordered_by_decreasing_scores():
    included = np.array([1, 0, 1, 0], bool)
    scores = np.array([0.1, 0.9, 0.5, 0.7])
    found = in_order(scores, included, np.random.default_rng(1))
    assert found.tolist() == [False, False, True, True]
    # Ties are in random order.
    many = [in_order(np.zeros(4), included, np.random.default_rng(seed)).tolist()
            for seed in range(20)]  # fmt: skip
    assert len({tuple(order) for order in many}) > 3


def test_cautious_accuracies_are_those_of_wilson():
    """At one standard deviation, compared with the published formula."""
    for right, tried in ((7, 10), (10, 10), (0, 4)):
        p = right / tried
        centre, spread = p + 1 / (2 * tried), math.sqrt(p * (1 - p) / tried + 1 / (4 * tried**2))
        found = cautious(np.arange(tried) < right)
        assert found == pytest.approx((centre - spread) / (1 + 1 / tried))


def test_shares_of_guesses_to_try():
    shares = list(_shares(1000))
    assert shares[-1] == pytest.approx(_numbers_of_guesses.LARGEST_SHARE) and np.all(
        np.diff(shares) > 0
    )
    assert len(list(_shares(20))) == len(shares) == _numbers_of_guesses._SIZES


@pytest.mark.parametrize(("right", "said"), [(29, True), (30, False), (31, False)])
def test_guesses_that_are_mostly_wrong_are_noted(right, said):
    """Of 100 guesses, 50 are correct by chance, and 4 standard deviations are 20."""
    counted = Counted(0.0)
    counted.guessed = Guessed(200, 100, right)
    assert bool(_direction(counted)) is said
    assert isinstance(_guesses._searched_for(Gdp()), Gdp)
    assert _guesses._searched_for(Epsilon(0.1)) == Epsilon(0.1)
