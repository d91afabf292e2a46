"""Numbers of guesses, counts and the choice between two sets, compared with simple loops."""

import math

import numpy as np
import pytest

import dpjax
from dpjax.core import random
from dpjax.inference import Guessed, delta_of_curves, epsilon_of_chosen
from dpjax.methods import _guesses
from dpjax.methods._guesses import _better, _chosen, _direction, _planned, _searched_for
from dpjax.methods._numbers_of_guesses import (
    Numbers,
    _shares,
    best_numbers,
    cautious,
    count,
)
from dpjax.notions import GuessCounts, Terms, level_of
from dpjax.sources._flips import in_order

RNG = np.random.default_rng(3)


def terms(notion=None, confidence=0.95):
    return Terms(notion or dpjax.Epsilon(), None, confidence, 1, 0)


def test_canaries_are_sorted_by_score_with_ties_in_random_order():
    scores, included = RNG.permutation(50).astype(float), RNG.random(50) < 0.5
    found = in_order(scores, included, np.random.default_rng(1))
    assert found.tolist() == included[np.argsort(-scores)].tolist()
    tied = np.repeat([1.0, 2.0], 25)
    shuffled = np.random.default_rng(1).permutation(50)
    order = [k for level in (2.0, 1.0) for k in shuffled if tied[k] == level]
    found = in_order(tied, included, np.random.default_rng(1))
    assert found.tolist() == included[order].tolist()


def test_counts_of_right_guesses():
    coins = np.array([True, True, False, True, False, True, False, False])
    assert count(coins, Numbers(3, 2)) == GuessCounts(8, 3, 2, 4, 0, 1.0)
    assert count(coins, Numbers(0, 3), 5, 0.25) == GuessCounts(8, 0, 3, 2, 5, 0.25)
    assert count(coins, Numbers(4, 0)) == GuessCounts(8, 4, 0, 3, 0, 1.0)
    assert count(coins, Numbers(5, 3)).right == 5
    with pytest.raises(ValueError) as raised:
        count(coins, Numbers(5, 4))
    assert str(raised.value) == (
        "the sum of num_in and num_out must not exceed the number of canaries whose coins are "
        "guessed, 8, but they were 5 and 4."
    )


@pytest.mark.parametrize(("number", "size"), [(4, 1), (20, 9), (31, 13), (100, 25), (1000, 79)])
def test_sizes_of_the_planned_set(number, size):
    """2.5 times the square root of the number, but at most 45% of the number."""
    coins = RNG.random(number) < 0.5
    for notion, share in ((None, 0.7), (dpjax.Gdp(), 0.9), (dpjax.Profile(), 0.7)):
        found = _planned(coins, terms(notion))
        assert found == count(coins, Numbers(size, size), 0, share)


@pytest.mark.parametrize("judged", [12, 700, 40_000])
def test_shares_that_are_tried(judged):
    found = [*_shares(judged)]
    least = min(max(10 / judged, 3e-4), 0.45)
    assert len(found) == 14
    np.testing.assert_allclose(found[0], least)
    np.testing.assert_allclose(found[-1], 0.45)
    np.testing.assert_allclose(np.diff(np.log(found)), np.log(0.45 / least) / 13, atol=1e-12)


def test_cautious_shares_are_lower_ends_of_wilson():
    """The fraction s below the observed fraction r with (r - s)^2 = s (1 - s) / n."""
    for right, number in ((7, 10), (1, 30), (29, 30), (1, 1), (0, 5)):
        outcomes = np.arange(number) < right
        found = cautious(outcomes)
        observed = right / number
        assert (observed - found) ** 2 == pytest.approx(found * (1 - found) / number, abs=1e-12)
        assert found <= observed


def naive_numbers(revealed, judged, asked):
    error = 0.3 * (1 - asked.own_confidence)
    delta = getattr(asked.notion, "delta", 0.0)
    if not isinstance(asked.notion, dpjax.Epsilon):
        delta = delta_of_curves(judged, error)
    best, numbers = -math.inf, None
    for share in _shares(judged):
        size, tried = max(round(share * judged), 1), max(round(share * len(revealed)), 1)
        ends = [cautious(revealed[:tried]), cautious(~revealed[-tried:])]
        for use in ((1, 1), (1, 0), (0, 1)):
            right = sum(u * math.floor(a * size) for u, a in zip(use, ends, strict=True))
            found = epsilon_of_chosen(Guessed(judged, sum(use) * size, right), delta, error)
            if found > best:
                best, numbers = found, Numbers(use[0] * size, use[1] * size)
    return numbers


@pytest.mark.parametrize("notion", [dpjax.Epsilon(), dpjax.Epsilon(1e-3), dpjax.TotalVariation()])
@pytest.mark.parametrize("slope", [0.2, 1.0, 4.0])
def test_numbers_with_the_largest_expected_bound(notion, slope):
    scores = np.sort(np.random.default_rng(5).normal(size=120))[::-1]
    revealed = np.random.default_rng(6).random(120) < 1 / (1 + np.exp(-slope * scores))
    asked = terms(notion)
    assert best_numbers(revealed, 280, notion, 0.3 * 0.05) == naive_numbers(revealed, 280, asked)


def test_the_chosen_set_has_the_coins_that_were_not_revealed():
    coins, revealed = RNG.random(300) < 0.5, RNG.random(300) < 0.3
    for notion, share in ((None, 1 - 0.7), (dpjax.Gdp(), 1 - 0.9)):
        asked = terms(notion)
        error = share * (1 - asked.own_confidence)
        numbers = best_numbers(coins[revealed], int((~revealed).sum()), asked.notion, error)
        found = _chosen(coins[~revealed], coins[revealed], asked, share)
        assert found == count(coins[~revealed], numbers, int(revealed.sum()), share)


def test_the_set_with_the_larger_bound_is_reported():
    asked = terms()
    for planned_right, chosen_right in ((150, 80), (200, 60), (190, 90), (120, 95)):
        planned = GuessCounts(1000, 100, 100, planned_right, 0, 0.7)
        chosen = GuessCounts(700, 50, 50, chosen_right, 300, 0.3)
        bounds = [
            each.answer(dpjax.Epsilon(), 0.95, 1, None).lower_bound for each in (planned, chosen)
        ]
        expected = chosen if bounds[1] > bounds[0] else planned
        assert _better(planned, chosen, asked) == expected
        fixed = level_of(chosen.guessed, dpjax.Epsilon(), 0.3 * 0.05)
        assert (
            fixed > bounds[1] - 1e-12
        )  # A bound for fixed numbers is at least the bound for chosen numbers.
    assert _searched_for(dpjax.Epsilon(0.1)) == dpjax.Epsilon(0.1)
    assert _searched_for(dpjax.Profile()) == dpjax.Gdp() == _searched_for(dpjax.Gdp())


@pytest.mark.parametrize(("right", "noted"), [(30, False), (29, True), (50, False), (0, True)])
def test_scores_that_point_the_wrong_way(right, noted):
    """Of 100 guesses, 30 correct ones are four standard deviations below one half."""
    assert bool(_direction(GuessCounts(500, 60, 40, right, 0, 1.0))) is noted


@pytest.mark.parametrize(
    ("number", "fraction", "revealed"),
    [(101, 0.3, 30), (45, 0.3, 14), (31, 0.999, 29), (31, 0.001, 1)],
)
def test_revealed_coins_are_those_of_a_permutation(monkeypatch, number, fraction, revealed):
    scores, included = np.random.default_rng(8).normal(size=number), np.arange(number) % 2 == 0
    seen = []
    real = _guesses._chosen
    monkeypatch.setattr(_guesses, "_chosen", lambda *given: seen.append(given) or real(*given))
    asked = Terms(dpjax.Epsilon(), None, 0.95, 1, 5)
    source = dpjax.OneRun(scores, included)
    method = dpjax.Guesses(reveal_fraction=fraction)
    method._found(source, asked, 0)
    words = random.words_of(asked.root).tolist()
    ((judged, known, *_),) = seen
    order = np.random.default_rng([*words, 2, 0]).permutation(number)[:revealed]
    mask = np.isin(np.arange(number), order)
    expected = in_order(scores, included, np.random.default_rng([*words, 1, 0]))
    assert known.tolist() == expected[mask].tolist()
    assert judged.tolist() == expected[~mask].tolist()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"num_in": -1}, ValueError, "^num_in must be an integer >= 0, but was -1"),
        ({"num_out": 1.5}, TypeError, "^num_out must be an integer >= 0, but was 1.5"),
        ({"num_in": 0, "num_out": 0}, ValueError, r"^num_in and num_out must not both be 0\.$"),
        ({"num_in": 0}, ValueError, "must not both be 0"),
        ({"reveal_fraction": 0.0}, ValueError, "^reveal_fraction must lie strictly"),
        ({"reveal_fraction": 1.0}, ValueError, "^reveal_fraction must lie strictly"),
    ],
)  # fmt: skip
def test_options_that_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        dpjax.Guesses(**options)


def test_numbers_that_are_given():
    assert dpjax.Guesses()._given is None
    assert dpjax.Guesses(num_in=3)._given == (3, 0) and dpjax.Guesses(num_out=3)._given == (0, 3)
    source = dpjax.OneRun(RNG.normal(size=30), np.arange(30) % 3 == 0)
    method = dpjax.Guesses(num_in=3)
    assert method.accepts(source) is None
    assert method.accepts(dpjax.HostMechanism(print)) is None
    said = method.accepts(dpjax.Recorded(np.arange(9.0), np.arange(9.0)))
    assert said.startswith("Guesses needs the scores of canaries in one run (dpjax.OneRun), a ")
    for pairs, asked, words in (
        ([(0, 1)], terms(), "^pairs must be left out for one run because canaries take the place"),
        (
            None,
            Terms(dpjax.Epsilon(), None, 0.95, 1, 0, None, 2),
            "^distance must be 1 if coins are",
        ),
        (None, terms(dpjax.Zcdp()), "cannot bound rho"),
    ):
        with pytest.raises(ValueError, match=words):
            method.run(source, pairs, asked)
