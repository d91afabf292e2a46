"""Dependence in the recorded order is noted, and only that; blocks keep the bound valid."""

import itertools

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom, norm

import dpjax
from dpjax import Recorded
from dpjax.sources import _serial
from dpjax.sources._serial import (
    _chances_of_runs,
    _correlations,
    _num_runs,
    _ranks,
    effective_size,
    notes_of_order,
)

LEVEL = float(np.log(norm.sf(0.0) / norm.sf(1.0)))


def rng(*seed):
    return np.random.default_rng(seed)


def chain(seed, size, rho, shift=0.0):
    """Return an autoregressive chain of standard normals that starts in its stationary state."""
    noise = np.sqrt(1 - rho**2) * rng(*seed).normal(size=size)
    noise[0] = rng(*seed, 1).normal()
    return lfilter([1.0], [1.0, -rho], noise) + shift


def test_the_chance_of_runs_by_enumeration():
    """Compares with all orders of five 1s and six 0s."""
    runs = []
    for ones in itertools.combinations(range(11), 5):
        happened = np.isin(np.arange(11), ones)
        runs.append((int(np.sum(np.diff(np.r_[0, happened]) == 1)), happened))
    counts = np.array([number for number, _ in runs])
    for number, happened in runs[:: len(runs) // 40]:
        assert _chances_of_runs(happened, [1]) == pytest.approx([np.mean(counts <= number)])


def test_at_a_distance_outputs_are_put_beside_each_other():
    """0, 1, 0, 1, ... has one run at distance 2, and the maximum number at distance 1."""
    happened = np.arange(40) % 2 == 1
    assert _chances_of_runs(happened, [1])[0] > 0.99
    assert _chances_of_runs(happened, [1, 2])[1] == pytest.approx(21 / 137846528820)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("rho", "size"), [(0.9, 2000), (0.99, 2000), (0.3, 1500)])
def test_dependent_outputs_are_said(rho, size):
    """Dependence is noted in at least 99% of tries, so none of 40 misses it with chance 0.67."""
    for seed in range(40):
        sides = chain((seed, 1), size, rho), chain((seed, 2), size, rho)
        # Use only one size, which other tests compile, too.
        for method in (dpjax.Events(), dpjax.Local())[: 1 + (seed == 0 and size == 2000)]:
            result = dpjax.audit(Recorded(*sides), method=method, key=seed)
            assert result.verdict == "doubtful"
            assert any("successive outputs are correlated" in doubt for doubt in result.doubts)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("share", [0.001, 0.03, 0.5, 0.97])
def test_independent_outputs_are_not(share):
    """There are 2,000 tests with a false-alarm probability of 5e-7 each."""
    for seed in range(1000):
        for size in (50, 3000):
            happened = rng(seed, size).random(size) < share
            assert not notes_of_order("x", [happened])


@pytest.mark.parametrize("size", [5, 64, 100, 127, 129])
def test_correlations_are_those_of_a_line_and_not_of_a_circle(size):
    """Compares with a loop over all products; the ends are not joined."""
    happened = np.arange(size) < size // 2
    centred = happened - happened.mean()
    expected = [np.sum(centred[: size - d] * centred[d:]) for d in range(size // 4)]
    found = _correlations(happened)
    np.testing.assert_allclose(found, np.array(expected) / expected[0], atol=1e-12)


def test_sorted_outputs_are_told_what_to_do():
    x, y = (np.sort(rng(s).laplace(size=1000)) for s in (1, 2))
    result = dpjax.audit(Recorded(x, y))
    assert result.verdict == "doubtful"
    assert any(
        "cannot be checked for x, because its values are sorted" in doubt for doubt in result.doubts
    )


def test_what_a_chain_is_worth():
    """For an autoregressive chain with rho = 0.8, (1 - 0.8) / (1 + 0.8) of its outputs count."""
    assert effective_size(0.8 ** np.arange(200), 9000) == pytest.approx(1000, rel=1e-3)
    # Noise around zero is not summed.
    assert effective_size(np.r_[1.0, rng(3).normal(0, 0.01, 999)], 10_000) > 9500


def test_blocks_keep_together_and_one_output_confirms():
    """A block has one value, so in the search, each value occurs a multiple of its length."""
    length, sides = 50, [np.repeat(rng(s).integers(0, 7, 800), 50) for s in (1, 2)]
    result = dpjax.audit(Recorded(*sides, blocks=length))
    assert result.settings["blocks"] == length and result.num_samples % length == 0
    # The confirmation gets 70% of 800 blocks; the tolerance is 5 standard errors.
    for trials in result.evidence.counted.trials:
        assert abs(trials - 560) < 65
    assert not any("are correlated" in note for note in result.notes)


@pytest.mark.parametrize(("given", "error"), [(0, ValueError), (2.5, TypeError), (-3, ValueError)])
def test_a_length_is_a_positive_integer(given, error):
    with pytest.raises((error, ValueError), match="blocks must be an integer >= 1"):
        Recorded([1.0], [2.0], blocks=given)
    with pytest.raises(ValueError, match=r"x must hold at least 4000 outputs \(40 blocks\)"):
        dpjax.audit(Recorded(rng(1).normal(size=3000), rng(2).normal(size=3000), blocks=100))


@pytest.mark.slow
def test_the_bound_of_blocks_covers_and_without_them_it_does_not():
    """Of 100 equal chains, at 0.95: more than 16 false bounds have a probability of 9e-6."""
    false = {}
    for blocks in (100, None):
        bounds = [
            dpjax.audit(
                Recorded(chain((s, 1), 20_000, 0.9), chain((s, 2), 20_000, 0.9), blocks=blocks),
                confidence=0.95,
                key=s,
            ).lower_bound
            for s in range(100)
        ]
        false[blocks] = int(np.sum(np.array(bounds) > 0))
    assert false[100] <= binom.isf(1e-5, 100, 0.05) < 30 < false[None]


def test_blocks_are_not_for_densities():
    with pytest.raises(ValueError, match=r"blocks must be left out .* but was 5: use method=Ev"):
        dpjax.audit(Recorded([1.0] * 99, [2.0] * 99, blocks=5), method=dpjax.Local())


def test_blocks_still_refute():
    """For standard normals at distance 1, half-lines near 0 have a loss of ln 2.15 = 1.16."""
    x, y = chain((1, 1), 200_000, 0.9), chain((1, 2), 200_000, 0.9, 1.0)
    assert dpjax.audit(Recorded(x, y, blocks=100), claim=0.6 * LEVEL).verdict == "violated"


def test_products_of_ranks_over_all_orders():
    """For seven numbers; the assumed variance ignores the dependence between the products."""
    ranks = _ranks(np.arange(7.0))
    assert ranks.tolist() == [(2 * i + 1) / 14 for i in range(7)]
    orders = np.array(list(itertools.permutations(ranks - ranks.mean())))
    products = (orders[:, :-2] * orders[:, 2:]).sum(axis=1)
    assert products.mean() == pytest.approx(-5 * ranks.var() / 6)
    assert products.var() == pytest.approx(5 * ranks.var() ** 2, rel=0.25)
    for dtype in (int, np.uint8, np.uint32):
        ranks = _ranks(np.array([5, 5, 9, 1], dtype))
        assert ranks.tolist() == [0.5, 0.5, 0.875, 0.125]


def test_ranks_of_independent_outputs_say_nothing():
    """There are 3,000 tests with a false-alarm probability of 7e-8 each."""
    for seed in range(1000):
        r = rng(seed, 9)
        for values in (r.random(400), r.geometric(0.5, 400), r.random(101)):
            assert not notes_of_order("x", [], values)


def test_distances_are_at_most_a_quarter_of_the_outputs(monkeypatch):
    asked = []
    monkeypatch.setattr(
        _serial, "_chances_of_runs", lambda split, many: asked.extend(many) or [1.0] * len(many)
    )
    for size, most in ((3, 0), (4, 1), (7, 1), (8, 2), (255, 32), (256, 64), (10**4, 64)):
        asked.clear()
        assert notes_of_order("x", [np.arange(size) % 2 == 1]) == []
        assert asked == [2**k for k in range(7) if 2**k <= most]


def test_the_chance_of_a_doubt_is_divided_among_the_tests(monkeypatch):
    """For two sides and seven distances: 1e-6 / 14 each, or 1e-6 / 28 with tests of ranks."""
    split, ranks = np.arange(1000) % 2 == 1, np.arange(1000.0)
    for values, number in ((None, 7), (ranks, 14)):
        for factor, is_said in ((0.99, True), (1.01, False)):
            chance = factor * 1e-6 / (2 * number)
            monkeypatch.setattr(_serial, "_chances_of_runs", lambda s, d, c=chance: [c] * len(d))
            monkeypatch.setattr(_serial, "_chances_of_ranks", lambda s, d: [0.5] * len(d))
            assert bool(notes_of_order("x", [split], values)) == is_said


def test_few_or_tied_values_are_not_ranked(monkeypatch):
    asked = []
    monkeypatch.setattr(
        _serial, "_chances_of_ranks", lambda ranks, d: asked.append(len(ranks)) or [1.0] * len(d)
    )
    split = np.arange(1000) % 2 == 1
    notes_of_order("x", [split], np.arange(99.0))
    # If 80 of 100 are tied, ranks have variance 0.04 = p (1 - p) / 4; with 81, it is smaller.
    tied = np.arange(1000) >= 810
    notes_of_order("x", [split], tied.astype(float))
    assert not asked
    notes_of_order("x", [split], np.arange(100.0))
    notes_of_order("x", [split], (np.arange(1000) >= 790).astype(float))
    assert set(asked) == {100, 1000}
    notes_of_order("x", [split], np.arange(2.0**17))
    assert asked[-1] == 2**16


def test_correlations_are_summed_up_to_a_quarter_of_the_outputs():
    assert _correlations(rng(1).normal(size=400)).size == 100
    assert _correlations(rng(1).normal(size=2**18 + 8)).size == 2**16


def test_what_blocks_of_a_thousand_copies_are_worth():
    """Correlations reach a distance of a thousand, so 2^17 outputs count as 131 blocks."""
    blocks = np.repeat(rng(2).normal(size=132), 1000)[: 2**17]
    assert 80 < effective_size(_correlations(blocks), blocks.size) < 220


def test_sizes_by_hand():
    """The sums of pairs are 1.5, 0.3, and then not positive: 2 * 1.8 - 1 = 2.6."""
    assert effective_size(np.array([1.0, 0.5, 0.2, 0.1, -0.1, 0.05, 0.9, 0.9]), 1000) == 384
    assert effective_size(np.array([1.0, 0.5, 0.2, 0.1]), 1000) == 384
    assert effective_size(np.array([1.0, 0.5, 0.2, 0.1, 0.7]), 1000) == 384
    assert effective_size(np.array([1.0, -0.9]), 1000) == 1000
    assert effective_size(np.array([1.0, 0.99]), 1) == 1


def test_ranks_of_ties_are_means():
    np.testing.assert_allclose(_ranks(np.array([5.0, 1.0, 5.0, 9.0])), [0.5, 0.125, 0.5, 0.875])


@pytest.mark.parametrize(
    ("happened", "runs"), [("", 0), ("0", 0), ("1", 1), ("0110", 1), ("101", 2), ("1011", 2)]
)
def test_runs_are_counted(happened, runs):
    assert _num_runs(np.array([c == "1" for c in happened], bool)) == runs


@pytest.mark.parametrize(("splits", "sorted_"), [("0011", True), ("0110", False), ("1100", True)])
def test_what_changes_once_is_said_to_be_sorted(splits, sorted_):
    split = np.repeat([c == "1" for c in splits], 100)
    (note,) = notes_of_order("x", [split])
    assert ("its values are sorted or change only once" in note) == sorted_
    if not sorted_:
        assert "at distance 1 is 0.99 (" in note and "The 400 outputs contain about" in note


@pytest.mark.parametrize("distance", [16, 32, 64])
def test_the_largest_distance_of_a_short_recording(distance):
    """Outputs repeat after a quarter of the recording, and are otherwise independent."""
    for seed in range(20):
        cycle = np.random.default_rng(seed).permutation(distance)
        (doubt,) = notes_of_order("x", [np.tile(cycle >= distance // 2, 4)], np.tile(cycle, 4))
        if f"at distance {distance} is 0.75 " in doubt:
            return
    raise AssertionError("no doubt states the correlation at the largest distance")
