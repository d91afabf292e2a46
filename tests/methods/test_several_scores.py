"""Audits of one run with several numbers per canary, from which a score is learned."""

import math

import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax.inference import epsilon_of_chosen
from dpjax.notions import GuessCounts
from dpjax.sources._coin_scores import order_by_learned_scores


def run(number=2000, dimension=6, shift=2.0, seed=0):
    """Return numbers of canaries, of which one direction depends on the coins, and the coins."""
    rng = np.random.default_rng(seed)
    included = rng.random(number) < 0.5
    direction = rng.normal(size=dimension)
    direction /= np.linalg.norm(direction)
    return rng.normal(size=(number, dimension)) + shift * included[:, None] * direction, included


def audit(numbers, included, **options):
    return dpjax.audit(dpjax.OneRun(numbers, included, fair_coins=True), **options)


def test_a_score_is_learned_from_revealed_coins():
    numbers, included = run()
    found = audit(numbers, included, claim=1.0, confidence=0.95)
    assert found.verdict == "violated"
    counted = found.evidence.counted
    assert isinstance(counted, GuessCounts)
    assert (counted.canaries, counted.revealed, counted.share) == (1400, 600, 1)
    assert found.lower_bound == epsilon_of_chosen(counted.guessed, 0.0, 1 - 0.95)
    # The first number alone reveals less. A guess by the best direction is right for the fraction
    # Phi(1) of all canaries.
    alone = audit(numbers[:, 0], included, confidence=0.95)
    assert found.lower_bound > alone.lower_bound + 0.5
    assert "6 numbers and from 600 canaries whose coins were revealed" in found.notes[0]


def test_hidden_coins_change_neither_scores_nor_numbers_of_guesses():
    numbers, included = run(seed=1)
    found = audit(numbers, included, key=3).evidence.counted
    mask = dpjax.Guesses()._mask(2000, [*_words(3), 2, 0])
    other = np.where(mask, included, ~included)
    again = audit(numbers, other, key=3).evidence.counted
    assert (again.guessed_in, again.guessed_out) == (found.guessed_in, found.guessed_out)
    assert again.right == found.guessed_in + found.guessed_out - found.right


def _words(key):
    return dpjax.core.random.words_of(dpjax.core.random.as_key(key)).tolist()


@pytest.mark.parametrize("shift", [2.0, -2.0])
def test_revealed_coins_promise_what_hidden_coins_keep(shift):
    """Scores of 120 numbers, most of them noise, would separate the coins they are learned from.

    The best direction guesses a coin with probability Phi(1) = 0.84. The fractions of 300 and 700
    right guesses differ by at most 5.5 standard errors, except with probability below 1e-7.
    """
    numbers, included = run(1000, 120, shift)
    mask = np.arange(1000) < 300
    hidden, revealed = order_by_learned_scores(numbers, included, mask, np.random.default_rng(0))
    shares = []
    for coins in (hidden, revealed):
        middle = int(coins.sum())
        shares.append((coins[:middle].sum() + (~coins[middle:]).sum()) / len(coins))
    assert 0.6 < shares[0] < 0.9
    assert abs(shares[0] - shares[1]) < 5.5 * math.sqrt(0.25 / 300 + 0.25 / 700) * 0.8


@pytest.mark.slow
def test_bounds_are_above_the_level_no_more_often_than_allowed():
    # Randomized response of level 1 beside four numbers of noise. Each bound is above the level
    # with probability at most 0.2, so the test fails with probability at most 1e-6.
    wrong = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        included = rng.random(300) < 0.5
        told = included ^ (rng.random(300) < 1 / (1 + math.e))
        numbers = np.column_stack([rng.normal(size=(300, 4)), told])
        wrong += audit(numbers, included, confidence=0.8).lower_bound > 1
    assert wrong <= stats.binom.ppf(1 - 1e-6, 200, 0.2)


def test_given_numbers_of_guesses_are_fixed():
    numbers, included = run()
    source = dpjax.OneRun(numbers, included, fair_coins=True)
    counted = dpjax.audit(source, method=dpjax.Guesses(num_in=30, num_out=20)).evidence.counted
    assert (counted.canaries, counted.revealed) == (1400, 0)
    assert (counted.guessed_in, counted.guessed_out) == (30, 20)


def test_columns_of_a_file_and_repeated_runs(tmp_path):
    numbers, included = run()
    path = tmp_path / "run.csv"
    table = np.column_stack([numbers[:, :2], included])
    np.savetxt(path, table, "%.17g", ",", header="first,last,included", comments="")
    columns = dpjax.Recording(path, ["first", "last"])
    found = dpjax.audit(dpjax.OneRun(columns, dpjax.Recording(path, "included")))
    assert found.lower_bound == audit(numbers[:, :2], included).lower_bound > 0
    assert dpjax.rerun(found).lower_bound == found.lower_bound
    with pytest.raises(ValueError, match="scores must not be the same column as included"):
        dpjax.OneRun(
            dpjax.Recording(path, ["first", "included"]), dpjax.Recording(path, "included")
        )
    runs = dpjax.CanaryRuns(
        lambda included, seed: run(2000, seed=seed)[0] + 3 * included[:, None], 2000
    )
    assert dpjax.audit(runs).lower_bound > 2


def test_frames_with_objects_and_unequal_numbers():
    pandas = pytest.importorskip("pandas")
    numbers, included = run(300)
    frame = pandas.DataFrame(numbers).astype("Float64")
    coins = pandas.Series(included, dtype="boolean")
    usual = audit(numbers, included).lower_bound
    assert audit(frame, coins).lower_bound == audit(numbers.astype(object), included).lower_bound
    assert audit(frame, coins.astype(object)).lower_bound == usual
    with pytest.raises(TypeError, match="scores must be numbers, but were of type object"):
        audit(frame.mask(frame > 2), coins)
    with pytest.raises(TypeError, match="included must be booleans"):
        audit(frame, coins.mask(coins.index < 2))
    with pytest.raises(ValueError, match="scores must have equally many values for each canary"):
        audit([[0.0] * (1 + place % 2) for place in range(300)], included)
