"""Checks that coins look fair."""

import itertools
import math

import numpy as np
import pytest

from dpjax.core.wording import Doubt
from dpjax.sources._fair_coins import doubts_about_order, log_evidence


def predicted(coins, known, period):
    """Return the likelihood ratio of one model, by one prediction after the other."""
    seen, ratio = {}, 1.0
    for place, coin in enumerate(coins):
        before = tuple(
            coins[place - distance] if place >= distance else False
            for distance in range(1, known + 1)
        )
        counts = seen.setdefault((before, place % period), [0, 0])
        ratio *= 2 * (counts[coin] + 0.5) / (sum(counts) + 1)
        counts[coin] += 1
    return ratio


def test_the_e_value_is_the_mean_of_sequential_predictions():
    coins = np.random.default_rng(0).random(40) < 0.5
    ratios = [
        predicted(coins.tolist(), known, period)
        for known in (0, 1, 2, 3, 4, 8)
        for period in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
    ]
    assert log_evidence(coins) == pytest.approx(math.log(np.mean(ratios)), rel=1e-9)


def test_the_mean_e_value_of_all_sequences_is_1():
    every = [np.array(coins) for coins in itertools.product([False, True], repeat=7)]
    assert np.mean([math.exp(log_evidence(coins)) for coins in every]) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("number", [80, 1000, 20_000])
def test_fair_coins_are_not_doubted(number):
    # Each of 20 sequences is doubted with probability at most 1e-6.
    rng = np.random.default_rng(number)
    assert not any(doubts_about_order(rng.random(number) < 0.5) for _ in range(20))


def of_blocks(rng, length):
    """Return coins of which exactly half in each block of calls are heads."""
    block = np.arange(length) % 2 == 0
    return np.concatenate([rng.permutation(block) for _ in range(2000 // length)])


STRANGE = {
    "alternating": lambda rng: np.arange(200) % 2 == 0,
    "pairs": lambda rng: np.arange(200) % 4 < 2,
    "sorted": lambda rng: np.arange(200) < 103,
    "sticky": lambda rng: np.cumsum(rng.random(1000) < 0.3) % 2 == 0,
    "each coin twice": lambda rng: np.repeat(rng.random(500) < 0.5, 2),
    "blocks of two": lambda rng: of_blocks(rng, 2),
    "blocks of four": lambda rng: of_blocks(rng, 4),
    "a pattern of ten": lambda rng: np.tile(rng.random(10) < 0.5, 100),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_coins_that_can_be_predicted_are_doubted(kind):
    (doubt,) = doubts_about_order(STRANGE[kind](np.random.default_rng(3)))
    assert isinstance(doubt, Doubt) and "can be predicted" in doubt
