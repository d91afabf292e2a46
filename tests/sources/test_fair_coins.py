"""Checks that coins look fair."""

import itertools
import math

import numpy as np
import pytest
from refusals import refusal

from dpjax.core.wording import Doubt
from dpjax.sources._fair_coins import coins_from, doubts_about_order, log_evidence


def predicted(coins, state):
    """Return the likelihood ratio of one model, by one prediction after the other."""
    seen, ratio = {}, 1.0
    for place, coin in enumerate(coins):
        counts = seen.setdefault(state(place), [0, 0])
        ratio *= 2 * (counts[coin] + 0.5) / (sum(counts) + 1)
        counts[coin] += 1
    return ratio


def test_the_e_value_is_the_mean_of_sequential_predictions():
    coins = (np.random.default_rng(0).random(40) < 0.5).tolist()

    def recent(known, period):
        def state(place):
            before = [place >= far and coins[place - far] for far in range(1, known + 1)]
            return *before, place % period

        return state

    def lead(unit):
        def state(place):
            return min(max((2 * sum(coins[:place]) - place) // unit, -8), 8)

        return state

    ratios = [
        predicted(coins, recent(known, period))
        for known in (0, 1, 2, 3, 4, 8)
        for period in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
    ]
    for split in range(1, 32):
        ratios.append(predicted(coins, lambda place, split=split: place * 32 // 40 < split))
    for segments in (4, 8, 16):
        pieces = 32 // segments
        ratios.append(predicted(coins, lambda place, n=pieces: place * 32 // 40 // n))
    # The square root of 40 is below 8, so both units are 1.
    ratios += 2 * [predicted(coins, lead(1))]
    repeats = [
        predicted([coins[place] == coins[place - far] for place in range(far, 40)], lambda _: 0)
        for far in range(1, 40)
    ]
    ratios.append(np.mean(repeats))
    assert log_evidence(np.array(coins)) == pytest.approx(math.log(np.mean(ratios)), rel=1e-9)


def test_the_mean_e_value_of_all_sequences_is_1():
    every = [np.array(coins) for coins in itertools.product([False, True], repeat=7)]
    assert np.mean([math.exp(log_evidence(coins)) for coins in every]) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("number", [0, 1, 2, 80, 1000, 20_000])
def test_fair_coins_are_not_doubted(number):
    # Each of 20 sequences is doubted with probability at most 1e-6.
    rng = np.random.default_rng(number)
    assert not any(doubts_about_order(rng.random(number) < 0.5) for _ in range(20))


def of_blocks(rng, length):
    """Return coins of which exactly half in each block of calls are heads."""
    block = np.arange(length) % 2 == 0
    return np.concatenate([rng.permutation(block) for _ in range(2000 // length)])


def balanced(rng, number):
    """Return coins that fall more often on the side that has been rarer so far (Efron, 1971)."""
    coins, lead = [], 0
    for _ in range(number):
        coins.append(bool(rng.random() < 0.5 - np.sign(lead) / 6))
        lead += 1 if coins[-1] else -1
    return np.array(coins)


STRANGE = {
    "alternating": lambda rng: np.arange(200) % 2 == 0,
    "pairs": lambda rng: np.arange(200) % 4 < 2,
    "sorted": lambda rng: np.arange(200) < 103,
    "sticky": lambda rng: np.cumsum(rng.random(1000) < 0.3) % 2 == 0,
    "each coin twice": lambda rng: np.repeat(rng.random(500) < 0.5, 2),
    "blocks of two": lambda rng: of_blocks(rng, 2),
    "blocks of four": lambda rng: of_blocks(rng, 4),
    "a pattern of ten": lambda rng: np.tile(rng.random(10) < 0.5, 100),
    "a generator started again": lambda rng: np.tile(rng.random(300) < 0.5, 2),
    "a generator started again after other coins": lambda rng: np.concatenate(
        [first := rng.random(500) < 0.5, rng.random(301) < 0.5, first[:100]]
    ),
    "the opposite coins": lambda rng: np.concatenate([first := rng.random(300) < 0.5, ~first]),
    "a replaced coin": lambda rng: rng.random(3000) < np.repeat([0.4, 0.6], 1500),
    "a drifting coin": lambda rng: rng.random(1000) < np.linspace(0.2, 0.8, 1000),
    "coins that balance each other": lambda rng: balanced(rng, 1000),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_coins_that_can_be_predicted_are_doubted(kind):
    (doubt,) = doubts_about_order(STRANGE[kind](np.random.default_rng(3)))
    assert isinstance(doubt, Doubt) and "can be predicted" in doubt


@pytest.mark.parametrize(
    "given", [("coins", "outputs", "calls"), ("included", "scores", "canaries")]
)
def test_coins_that_are_no_booleans_are_refused_alike(given):
    name, others, things = given
    coins = np.ma.masked_array(np.arange(100) % 3 == 0, mask=np.arange(100) < 2)
    masked = refusal(coins_from, name, coins, things)
    assert str(masked) == (
        f"{name} must not be masked, but 2 entries were: leave out the {others} and the coins of "
        f"those {things}."
    )
    numbers = refusal(coins_from, name, np.arange(100) % 2, things)
    assert str(numbers) == (
        f"{name} must be booleans of shape [n], but were of type int64 and shape (100,): write "
        f"{name} == 1 for zeros and ones."
    )
    ragged = refusal(coins_from, name, [[True], [True, False]], things)
    assert f"{name} must have equally many values for each" in str(ragged)


def test_coins_may_be_python_objects():
    assert coins_from("coins", np.array([True, False], object), "calls").tolist() == [True, False]
