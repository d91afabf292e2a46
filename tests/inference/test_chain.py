"""The chain of a search: its sets, their order, and which of them are events."""

import numpy as np
import pytest
from scipy import stats

from dpjax.inference import MOST_SETS, Way, chain_of
from dpjax.inference._chain import expected_bands


def shifted(cells=60, draws=20_000, shift=1.0, seed=0):
    """Return counts [2, 2, cells] of two halves of normal outputs in equal cells."""
    edges = np.concatenate([[-np.inf], np.linspace(-3, 4, cells - 1), [np.inf]])
    rng = np.random.default_rng(seed)
    laws = [np.diff(stats.norm.cdf(edges - x)) for x in (0.0, shift)]
    return np.stack([[rng.multinomial(draws // 2, law) for law in laws] for _ in range(2)])


def test_sets_are_nested_and_begin_with_what_is_likelier_at_the_database():
    counts = shifted().sum(axis=0)
    chain = chain_of(counts, 50_000)
    assert chain.usable == (chain.num_sets, 0) and 30 < chain.num_sets <= MOST_SETS
    first, second = chain.tally(counts) / counts.sum(axis=1)[:, None]
    assert np.all(np.diff(first + second) > 0) and np.all(first > second)
    # The steps of the pooled fraction are as equal as the cells allow, with both tails.
    share = (first + second) / 2
    assert share[0] < 0.002 and share[-1] > 0.998 and np.diff(share).max() < 0.06
    # Every set contains the previous sets, and its complement the rest.
    for number in range(chain.num_sets):
        event = chain.event(number, 0)
        assert np.all(event == ~chain.event(number, 1)) and 0 < event.sum() < 60
        assert counts[0, event].sum() == chain.tally(counts)[0, number]
    # Sorted by ratio, the cells are nearly in their own order.
    assert np.corrcoef(chain.place[3:-4], np.arange(53))[0, 1] > 0.98


def test_order_by_hand():
    """With one more draw per side: 10 to 1, 91 to 11, 5 to 1, 101 to 101, 3 to 4, 2 to 91."""
    counts = np.array([[90, 9, 100, 4, 1, 2], [10, 0, 100, 0, 90, 3]])
    place = chain_of(counts, 300).place
    assert place[1] <= place[0] < place[3] <= place[2] <= place[5] < place[4]


def test_cells_that_are_not_clear_are_in_order_too():
    """What half of the sets shows, such as mu, must not depend on the numbers of the cells."""
    p = np.array([0.24, 0.16, 0.26, 0.34])
    counts = np.array([p, p[[1, 0, 3, 2]]]) * 100
    for draws in ([[1], [1]], [[1], [20]]):
        place = chain_of(counts.astype(int) * draws, 5_000).place
        assert place.tolist() == [0, 3, 2, 1]


def test_cells_outside_of_a_region_are_amid_and_in_no_event():
    counts = shifted().sum(axis=0)
    allowed = np.zeros(60, bool)
    allowed[5:40] = True
    chain = chain_of(counts, 50_000, allowed)
    end, start = chain.usable
    assert 3 < end <= start < chain.num_sets - 3
    for number in range(chain.num_sets):
        assert (number < end) == (not chain.event(number, 0)[~allowed].any())
        assert (number >= start) == (not chain.event(number, 1)[~allowed].any())


def test_a_line_is_followed_from_the_likelier_end_whatever_its_direction():
    counts, line = shifted().sum(axis=0), np.arange(60.0)
    for given in (line, -line):
        place = chain_of(counts, 50_000, None, Way(line=given)).place
        assert np.all(np.diff(place) >= 0)
    holed = line.copy()
    holed[:3] = np.nan
    place = chain_of(counts, 50_000, None, Way(line=holed)).place
    assert np.all(np.diff(place[3:]) >= 0) and 10 < place[0] < 40


def test_groups_are_sorted_as_one():
    counts, groups = shifted(cells=120).sum(axis=0), np.arange(120) // 10
    place = chain_of(counts, 10**6, None, Way(groups=groups)).place
    within = place.reshape(12, 10)
    assert np.all(within[1:].min(axis=1) >= within[:-1].max(axis=1))


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_what_is_expected_is_about_what_the_law_gives(shift):
    """Compared with a band for the frequencies of the other half, with sets of one half."""
    bands = expected_bands(shifted(shift=shift), 50_000, 0.05)
    assert len(bands) == 2
    for band in bands:
        best = (stats.norm.ppf(band.power[0]) - stats.norm.ppf(band.level[0])).min(axis=1).max()
        assert (0.85 < best < 1.0) if shift else best < 0.03


def test_few_draws_make_a_chain_too():
    counts = np.array([[3, 0, 0], [0, 0, 4]])
    chain = chain_of(counts, 10)
    assert chain.num_sets >= 1 and chain.place[0] == 0 and chain.place[2] > chain.place[0]
    empty = np.zeros((2, 2, 3), np.int64)
    empty[0] = counts
    assert expected_bands(empty, 10, 0.05)[0].power[0].shape[0] >= 1
