"""How a total number of draws is divided, compared with the numbers in the rule."""

import numpy as np
import pytest

import dpjax
from dpjax.mechanisms import Laplace
from dpjax.sources import Rounds, rounds_of, rounds_within


def test_ten_pairs_and_a_quarter_of_a_million():
    """2% of the total for each pair, 8% for each of the best three pairs, 56% for confirmation."""
    assert rounds_within(10, 250_000) == Rounds(5_000, 3, 20_000, 140_000)
    assert dpjax.Events().rounds(10) == Rounds(5_000, 3, 20_000, 140_000)


@pytest.mark.parametrize("num_pairs", [1, 2, 3, 4, 7, 12, 100])
@pytest.mark.parametrize("num_draws", [2_000, 70_001, 10**6])
def test_the_total_is_spent_and_never_more(num_pairs, num_draws):
    rounds = rounds_within(num_pairs, num_draws)
    spent = rounds.searched(num_pairs) + rounds.num_confirm
    assert num_draws - max(rounds.num_kept, num_pairs) <= spent <= num_draws
    assert rounds.num_kept == (0 if num_pairs <= 2 else max(2, -(-num_pairs // 4)))


def test_one_pair_is_searched_once():
    assert dpjax.Events().rounds(1) == Rounds(20_000, 0, 0, 50_000)
    assert dpjax.Events(300, 700).rounds(2) == Rounds(300, 0, 0, 700)


def test_given_numbers_are_kept():
    """The confirmation has the given size; the search has the given size on average over pairs."""
    rounds = rounds_of(10, 10 * 20_000, 50_000)
    assert rounds == Rounds(9_091, 3, 36_363, 50_000)
    assert dpjax.Events(num_confirm=60).rounds(4).num_confirm == 60


def test_a_total_is_given_alone():
    with pytest.raises(ValueError, match=r"num_draws is the total.*combined with num_confirm"):
        dpjax.Events(num_confirm=10, num_draws=100)
    with pytest.raises(ValueError, match=r"num_draws must be at least 30 \(10 for each pair\)"):
        dpjax.audit(Laplace(), [(0, 1)] * 3, method=dpjax.Events(num_draws=29))


def test_an_audit_says_how_it_searched():
    pairs = [(0.0, x) for x in (0.1, 0.2, 1.0, 0.3, 0.4)]
    result = dpjax.audit(Laplace(3.0), pairs, method=dpjax.Events(num_draws=20_000))
    assert result.settings["rounds"] == {
        "num_samples": 800, "num_kept": 2, "num_again": 2_400, "num_confirm": 11_200,
    }  # fmt: skip
    assert (result.num_samples, result.num_confirm) == (3_200, 11_200)
    assert result.witness.pair == result.pair_scores[0][0] == "pair 2"
    first, second = result.evidence.trials
    assert first + second == 22_400
    said = (
        "draws 800 per side of 5 pairs to search, 2400 more of the best 2, "
        f"{first} at the database and {second} at the neighbor to confirm "
    )
    assert said in " ".join(str(result).split()) + " "
    assert dpjax.rerun(result, Laplace(3.0)).lower_bound == result.lower_bound


def test_pairs_of_a_second_round_may_have_cells_of_different_numbers():
    """Labels are uniform, and the neighbor has one more; cells contain all seen labels."""
    rng = np.random.default_rng(6)
    source = dpjax.HostMechanism(
        lambda count, n: [f"label {k}" for k in rng.integers(count, size=n)]
    )
    pairs = [(count, count + 1) for count in (2, 9, 7, 5, 12)]
    result = dpjax.audit(source, pairs, method=dpjax.Events(num_draws=8_000), claim=1.0)
    assert result.settings["rounds"]["num_kept"] == 2
    assert result.witness.pair == "pair 0" and result.verdict == "violated"
    assert result.witness.event == "the output is 'label 2'"


@pytest.mark.parametrize("num_pairs", [1, 999, 1000, 1001, 1500, 20_000])
def test_each_pair_after_a_thousand_adds_300_draws(num_pairs):
    rounds = dpjax.Events().rounds(num_pairs)
    total = 50_000 + 20_000 * min(num_pairs, 1000) + 300 * max(num_pairs - 1000, 0)
    spent = rounds.searched(num_pairs) + rounds.num_confirm
    # Fractions are rounded in each round.
    assert total - 2 * num_pairs <= spent <= total + num_pairs
