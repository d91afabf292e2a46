"""Calls whose databases are chosen by fair coins, and scores learned from known coins."""

import math

import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax.partitions import Encoder, Outputs, lay
from dpjax.sources import Flips
from dpjax.sources._cell_scores import best_group, gain_of, scores_of_cells, sorted_coins
from dpjax.sources._coin_flips import flip_coins
from dpjax.sources._coin_scores import relative

PAIR = [(["yes"], ["no"])]


def flips(num_calls=2000, share=0.3, run=0, words=(5, 6)):
    return Flips(words, run, num_calls, share)


class Logged:
    """Randomized response of level ln 3 that logs its calls."""

    def __init__(self):
        self.calls = []

    def __call__(self, database, rng):
        word = database[0]
        said = word if rng.random() < 0.75 else {"yes": "no", "no": "yes"}[word]
        self.calls.append((word, said))
        return said


def test_scores_follow_from_the_calls_of_the_first_stage():
    function = Logged()
    found = flip_coins(dpjax.HostMechanism(function, batched=False), PAIR, flips())
    first, second = function.calls[:600], function.calls[600:]
    assert len(second) == 1400 and [word == "yes" for word, _ in second] == found.coins.tolist()
    # Half of the first calls get each database.
    counts = {pair: first.count(pair) for pair in set(first)}
    assert counts["yes", "yes"] + counts["yes", "no"] == 300

    def score(said):
        one, other = counts["yes", said], counts["no", said]
        ratio = math.log((one + 0.5) / (other + 0.5))
        error = math.sqrt(1 / (one + 0.5) + 1 / (other + 0.5))
        return math.copysign(max(abs(ratio) - error, 0), ratio)

    np.testing.assert_allclose(found.scores, [score(said) for _, said in second], rtol=1e-12)
    assert found.settings == {"calls_to_learn": 600, "calls_to_guess": 1400}
    assert len(found.revealed) == 600 and found.revealed.sum() == 300
    # The highest scores are those of "yes"; 225 +- 53 (1e-6 per tail) of 300 such calls are right.
    assert found.revealed[:300].sum() >= stats.binom.ppf(1e-6, 300, 0.75)
    assert found.event(found.scores.max(), True, False) == "the output is 'yes'"
    assert found.event(found.scores.min(), False, False) == "the output is 'no'"


def test_coins_are_fair_and_differ_between_keys_and_runs():
    function = Logged()
    source = dpjax.HostMechanism(function, batched=False)
    drawn = [
        flip_coins(source, PAIR, flips(1000, 0.1, run, words)).coins
        for run, words in [(0, (5, 6)), (1, (5, 6)), (0, (5, 7)), (2, (5, 7))]
    ]
    # Exactly half of the coins are heads in all four runs with probability 5e-7.
    assert any(coins.sum() != 450 for coins in drawn)
    for coins in drawn:
        low, high = stats.binom.ppf([2e-7, 1 - 2e-7], 900, 0.5)
        assert low <= coins.sum() <= high
        assert low <= (coins[1:] == coins[:-1]).sum() <= high
    for one, other in ((0, 1), (0, 2), (1, 2)):
        same = (drawn[one] == drawn[other]).sum()
        assert stats.binom.ppf(2e-7, 900, 0.5) <= same <= stats.binom.ppf(1 - 2e-7, 900, 0.5)


def test_every_call_gets_its_own_seed():
    seeds = []

    def function(database, seed):
        seeds.append(seed)
        return float(seed % 1000)

    source = dpjax.HostMechanism(function, batched=False)
    found = flip_coins(source, [(0, 1)], flips(300))
    assert len(set(seeds)) == 300
    again = flip_coins(source, [(0, 1)], flips(300))
    assert seeds[:300] == seeds[300:]
    np.testing.assert_array_equal(found.scores, again.scores)


def test_functions_of_many_outputs_are_called_for_one():
    sizes = set()

    def function(database, num_samples, rng):
        sizes.add(num_samples)
        return database + rng.normal(size=num_samples)

    found = flip_coins(dpjax.HostMechanism(function), [(0, 1)], flips(300))
    assert sizes == {1} and len(found.scores) == 210


def test_the_pair_that_reveals_more_is_guessed():
    def function(database, rng):
        return database + rng.laplace()

    source = dpjax.HostMechanism(function, batched=False)
    found = flip_coins(source, [(0.0, 0.1), (0.0, 3.0), (0.0, 0.2)], flips(1200))
    assert found.pair == 1 and found.settings["calls_to_learn"] == 360
    assert len(found.coins) == 840


@pytest.mark.parametrize(
    ("share", "pairs", "least", "said"),
    [
        (0.3, 1, 80, "1 pair and reveal_fraction 0.3"),
        (0.3, 3, 160, "3 pairs and reveal_fraction 0.3"),
        (0.9, 1, 396, "1 pair and reveal_fraction 0.9"),
    ],
)
def test_too_few_calls(share, pairs, least, said):
    source = dpjax.HostMechanism(lambda database: 0.0, batched=False)
    with pytest.raises(ValueError) as error:
        flip_coins(source, [(0, 1)] * pairs, flips(least - 1, share))
    assert (
        str(error.value) == f"num_calls must be at least {least} for {said}, but was {least - 1}."
    )
    assert len(flip_coins(source, [(0, 1)] * pairs, flips(least, share)).coins) == 40


def test_one_worker_makes_all_calls(monkeypatch):
    """Several workers would each have a part of the function's state, and would not be faster."""
    opened = []

    def drawing(self):
        opened.append(self.workers)
        return drawing_here(dpjax.HostMechanism(self.function, batched=False))

    drawing_here = dpjax.HostMechanism.drawing
    monkeypatch.setattr(dpjax.HostMechanism, "drawing", drawing)
    for workers in (0, 1, 3):
        source = dpjax.HostMechanism(abs, batched=False, workers=workers)
        flip_coins(source, [(0, 1)], flips(100))
    assert opened == [0, 1, 1]


def test_a_time_limit_reduces_the_calls(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("dpjax.sources._coin_flips.time.perf_counter", lambda: now[0])

    def function(database, rng):
        now[0] += 0.01
        return database + rng.laplace()

    source = dpjax.HostMechanism(function, batched=False, time_limit=10.0)
    found = flip_coins(source, [(0, 1)], flips(2000))
    # 3 of 10 s are for the first stage, so that 301 calls are made, and 6.99 s remain.
    assert found.settings == {"calls_to_learn": 301, "calls_to_guess": 699}
    assert "The time limit left time for 699 of 1,400 calls after the search." in found.notes
    now[0] = 0.0
    found = flip_coins(source, [(0, 1)], flips(900))
    assert found.settings == {"calls_to_learn": 270, "calls_to_guess": 630}
    assert not any("time limit" in note for note in found.notes)
    with pytest.raises(ValueError, match=r"time_limit must leave time for 40 calls after the"):
        flip_coins(dpjax.HostMechanism(function, batched=False, time_limit=0.5), [(0, 1)], flips())


def test_many_calls_are_not_prepared_before_a_time_limit(monkeypatch):
    """With 10^12 calls, coins that were all tossed first would need terabytes of memory."""
    now = [0.0]
    monkeypatch.setattr("dpjax.sources._coin_flips.time.perf_counter", lambda: now[0])
    monkeypatch.setattr("dpjax.sources._coin_flips._TOSSED", 64)
    calls = []

    def function(database, seed):
        now[0] += 0.01
        calls.append((database, seed))
        return database + seed % 7

    source = dpjax.HostMechanism(function, batched=False, time_limit=10.0)
    found = flip_coins(source, [(0, 1), (0, 1)], flips(10**12))
    assert found.settings == {"calls_to_learn": 301, "calls_to_guess": 699}
    # The first 128 calls of a pair have balanced coins, and all calls have different seeds.
    assert sum(database for database, _ in calls[:128]) == 64
    assert len({seed for _, seed in calls}) == 1000


def test_progress_counts_calls():
    seen = []
    source = dpjax.HostMechanism(lambda database: float(database), batched=False)
    given = flips(300)._replace(progress=lambda done, total: seen.append((done, total)))
    flip_coins(source, [(0, 1)], given)
    assert seen[-1] == (300, 300) and seen[0] == (0, 300) and len(seen) >= 300


@pytest.mark.parametrize("number", [15, 1])
def test_medians_of_earlier_values(number):
    rng = np.random.default_rng(3)
    values, before = rng.normal(size=60), rng.normal(size=9)
    for known in (before, np.empty(0)):
        every = [*known, *values]
        found = relative(values, known, number)
        for place, value in enumerate(values):
            earlier = every[max(place + len(known) - number, 0) : place + len(known)]
            assert found[place] == value - (np.median(earlier) if earlier else 0.0)
    joined = relative(np.concatenate([before, values]), np.empty(0), number)
    np.testing.assert_array_equal(joined[9:], relative(values, before, number))
    later = relative(values[40:], values[25:40], number)
    np.testing.assert_array_equal(later, relative(values, before, number)[40:])


@pytest.fixture
def counted():
    """Return a partition of normal numbers, and counts of even and odd outputs of two sides."""
    rng = np.random.default_rng(8)
    sides = [rng.normal(mean, 1, (400, 1)) for mean in (0.0, 1.0)]
    outputs = [Outputs(np.zeros(400, np.int32), side, np.zeros(400, bool)) for side in sides]
    cells = lay(outputs, [""], discrete=False)
    halves = np.zeros((2, 2, cells.size), np.int64)
    for side, one in enumerate(outputs):
        for number, cell in enumerate(cells.index(one)):
            halves[number % 2, side, cell] += 1
    return cells, halves


def naive_gain(halves, group):
    total = 0.0
    for known, other in ((0, 1), (1, 0)):
        for cell, merged in enumerate(group):
            same = group == merged
            a, b = halves[known, 0, same].sum(), halves[known, 1, same].sum()
            odds = math.log((a + 0.5) / (halves[known, 0].sum() + 1))
            odds -= math.log((b + 0.5) / (halves[known, 1].sum() + 1))
            p = 1 / (1 + math.exp(-odds))
            total += halves[other, 0, cell] * math.log(2 * p)
            total += halves[other, 1, cell] * math.log(2 * (1 - p))
    return total / halves.sum()


def test_the_grouping_with_the_best_predictions_is_chosen(counted):
    cells, halves = counted
    groups = [np.arange(cells.size), *cells.coarser()]
    gains = [naive_gain(halves, group) for group in groups]
    assert gain_of(cells, halves, 1) == pytest.approx(max(gains), rel=1e-9)
    np.testing.assert_array_equal(best_group(cells, halves), groups[int(np.argmax(gains))])
    # The information in one output about the coin, in nats, is 0.1114 (quadrature below).
    grid = np.linspace(-9, 10, 20_001)
    p, q = stats.norm.pdf(grid), stats.norm.pdf(grid, 1)
    exact = np.trapezoid((p * np.log(2 * p / (p + q)) + q * np.log(2 * q / (p + q))) / 2, grid)
    assert exact / 2 < max(gains) < exact + 0.06


def test_known_coins_are_sorted_by_scores_of_the_other_half(counted):
    cells, halves = counted
    group = best_group(cells, halves)
    found = sorted_coins(halves, group, np.random.default_rng(0))
    assert found.sum() == 400 and len(found) == 800
    scores, coins = [], []
    for known, other in ((0, 1), (1, 0)):
        learned = scores_of_cells(halves[known], group)
        for side in (0, 1):
            for cell in range(cells.size):
                scores += [learned[cell]] * halves[other, side, cell]
                coins += [side == 0] * halves[other, side, cell]
    # Coins with equal scores are in random order, so compare how many are True among each score.
    start = 0
    for score in sorted(set(scores), reverse=True):
        those = [coin for coin, one in zip(coins, scores, strict=True) if one == score]
        assert found[start : start + len(those)].sum() == sum(those)
        start += len(those)
    assert sorted_coins(halves, group, np.random.default_rng(1)).tolist() != found.tolist()


def test_outputs_without_information_have_no_gain():
    encoder = Encoder("outputs")
    same = [encoder.encode(["a", "b"] * 50), encoder.encode(["b", "a"] * 50)]
    cells = lay(same, encoder.names)
    halves = np.full((2, 2, cells.size), 0)
    halves[:, :, cells.index(same[0])[:2]] = 25
    assert gain_of(cells, halves, 1) == 0
    np.testing.assert_array_equal(scores_of_cells(halves.sum(0), np.arange(cells.size)), 0)


@pytest.mark.parametrize("dimension", [2, 6])
def test_a_few_vectors_are_merged_into_cells(dimension):
    """With fewer than 256 distinct numbers in an entry, each one had a cell, and a score of 0."""

    def function(database, rng):
        return database + rng.normal(size=dimension)

    source = dpjax.HostMechanism(function, batched=False)
    found = flip_coins(source, [(0.0, 2.0)], flips(400))
    # The best guess from one entry is right with probability 0.84: for at least 216 of 280 coins,
    # except with probability 2e-3 per key, and the key is fixed.
    assert (found.coins == (found.scores > np.median(found.scores))).sum() >= 216
