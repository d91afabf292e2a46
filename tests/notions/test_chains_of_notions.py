"""Which chain a notion confirms, its predicted bound, and the set that it shows."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax.inference import WORTH, Way, band, chain_of, expected_bands, gdp_of
from dpjax.notions import _notion, smallest_error
from dpjax.notions._notion import Notion, merged_counts, ways_of
from dpjax.partitions import Budget, Partition, Search

BUDGET = Budget(4_000, 0.9)


def cells(*bins):
    """Return bins for several entries, after the cells of two labels."""
    edges = tuple(np.arange(1.0, number) for number in bins)
    return Partition(("a number",), edges, (np.empty(0),) * len(bins), np.array([0]))


def searched(partition, law, batch=(), seed=0):
    """Return counts [..., half, side, cells] for two distributions; some outputs have a label."""
    rng = np.random.default_rng(seed)
    halves = np.stack([rng.multinomial(1_500, np.ravel(p), (*batch, 2)) for p in law], axis=-2)
    labels = rng.integers(5, 9, (*halves.shape[:-1], 2))
    return Search(partition, np.concatenate([labels, halves], axis=-1), None)


def shifted(bins, shift):
    law = np.exp(-np.abs(np.arange(bins) - bins / 2 - np.array([[0.0], [shift]])) / bins * 9)
    return law / law.sum(axis=1, keepdims=True)


def test_many_bins_are_ordered_in_each_way_of_the_partition():
    found = cells(40, 50)
    none, *ways = ways_of(found)
    assert none == Way()
    groups, lines = found.coarser(), found.positions()
    assert len(groups) == 2 and len(lines) == 3 and len(ways) == 5
    for way, group in zip(ways[:2], groups, strict=True):
        assert way.line is None
        np.testing.assert_array_equal(way.groups, group)
    for way, line in zip(ways[2:], lines, strict=True):
        assert way.groups is None
        np.testing.assert_array_equal(way.line, line)


@dataclass(frozen=True)
class OfParts(Notion):
    """A notion whose bands are three numbers: mu, epsilon, and its own level."""

    def of_band(self, band, distance=1):
        return band[2]


MUCH = 20.0
RULES = {
    # Bands of the order by ratio, of groups of 3, 9 and 27 bins, and of the line.
    "the largest sum of mu and epsilon": ([(5, 1, 1)], [(0, 5, 2)], [], [], [(1, 4, 3)], 0),
    "a line at the limit": ([(0, 0, 1)], [(MUCH, 0, 2)], [], [], [(WORTH * MUCH, 0, 3)], 4),
    "a line below it": ([], [(MUCH, 0, 2)], [], [], [(WORTH * MUCH * (1 - 1e-9), 0, 3)], 1),
    "small levels": ([(0, 0.02, 1)], [(0, 0.01, 2)], [], [], [(0, 0.0195, 3)], 0),
    "small levels along a line": ([(0, 0.02, 1)], [], [], [], [(0.0197, 0, 3)], 4),
    "the first of equal ones": ([(1, 1, 1)], [(2, 3, 2)], [(3, 2, 3)], [(2, 3, 4)], [], 1),
    "both halves": ([(2, 2, 1)], [(1, 2, 2), (3, 4, 7)], [], [], [(4, 4, 3)], 1),
    "nothing": ([], [], [], [], [], 4),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_line_is_confirmed_unless_another_order_shows_more(rule, monkeypatch):
    *bands, expected = RULES[rule]
    partition = cells(100)
    search, ways = searched(partition, shifted(100, 30)), ways_of(partition)
    allowed = np.arange(partition.size) != 50
    asked = []

    def of_way(halves, num_confirm, error, may, way):
        assert halves is search.halves and may is allowed
        asked.append((num_confirm, pytest.approx(error)))
        return bands[next(i for i, w in enumerate(ways) if str(w) == str(way))]

    monkeypatch.setattr(_notion, "expected_bands", of_way)
    monkeypatch.setattr(_notion, "largest", lambda b, value: b[0] if value is gdp_of else b[1])
    chain, level, mu = OfParts().chain(search._replace(allowed=allowed), BUDGET)
    assert asked == [(4_000, 0.1)] * 5
    of_best, number = bands[expected], max(len(bands[expected]), 1)
    assert level == pytest.approx(sum(band[2] for band in of_best) / number)
    assert mu == pytest.approx(sum(band[0] for band in of_best) / number)
    total = search.halves[0] + search.halves[1]
    own = chain_of(total, 4_000, allowed, ways[expected])
    np.testing.assert_array_equal(chain.place, own.place)
    assert chain.usable == own.usable


def test_few_bins_are_confirmed_in_the_order_of_their_ratios():
    search = searched(cells(20), shifted(20, 8))
    chain, level, mu = dpjax.Gdp().chain(search, BUDGET)
    own = chain_of(search.halves.sum(axis=0), 4_000, None, Way())
    np.testing.assert_array_equal(chain.place, own.place)
    assert level == pytest.approx(mu) and level > 0.5


@pytest.mark.parametrize("notion", [dpjax.Renyi(2.5), dpjax.Zcdp(), dpjax.Profile()])
@pytest.mark.parametrize("batch", [(), (3,), (2, 1)])
def test_notions_of_no_event_promise_the_mean_of_bands_of_merged_cells(notion, batch):
    partition = cells(90)
    search = searched(partition, shifted(90, 40), batch)
    search = search._replace(allowed=np.arange(partition.size) > 30)
    merged, may, _ = merged_counts(*search)
    assert merged.shape[-1] < partition.size / 2
    found = notion.promise(search, BUDGET)
    assert np.shape(found) == batch
    for at in np.ndindex(batch):
        bands = expected_bands(merged[at], 4_000, 0.1, may)
        mean = sum(notion.of_band(one) for one in bands) / 2
        assert len(bands) == 2 and found[at] == pytest.approx(mean, rel=1e-9) and mean > 0
    with pytest.raises(ValueError, match="cannot be bounded by the counts of one event"):
        notion.choose(search, BUDGET)


@pytest.mark.parametrize("usable", [(3, 0), (2, 1), (1, 2), (0, 1), (2, 3)])
@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("notion", [dpjax.Epsilon(), dpjax.Gdp(), dpjax.TotalVariation()])
def test_the_set_with_the_largest_bound_is_shown(notion, usable, is_reversed):
    """Compared with all sets and complements that may be events, by the worst corner of each."""
    counts = np.array([[30, 55, 80], [4, 20, 77]])
    counts = 100 - counts[:, ::-1] if is_reversed else counts
    found = band(counts, (100, 100), 0.05, usable=usable)
    cells = chain_of(np.array([[30, 25, 25, 20], [4, 16, 57, 23]]), 4_000)
    chain = cells._replace(place=np.array([2, 0, 3, 1]), num_sets=3, usable=usable)
    lower, upper = found.roc
    with np.errstate(divide="ignore"):
        sets = [(float(notion.value(lower[i], upper[i]).min()), 0, i) for i in range(usable[0])]
        rests = [
            (float(notion.value(1 - upper[i], 1 - lower[i]).min()), 1, i)
            for i in range(usable[1], 3)
        ]
    largest = max(sets + rests)[0]
    event = notion.shown(chain, found)
    assert float(event.predicted) == pytest.approx(largest, rel=1e-9)
    # Up to rounding, mu and the total variation are those of the complement.
    best = [
        (larger, (chain.place <= i if larger == 0 else chain.place > i).tolist())
        for value, larger, i in sets + rests
        if value > largest - 1e-9
    ]
    assert (int(event.larger), event.cells.tolist()) in best
    assert len(best) == 1 or notion != dpjax.Epsilon()


@pytest.mark.parametrize("claim", [-1.6, -2.4, -3.0, -1.4])
def test_a_claim_that_every_error_refutes_needs_one_more_bound(claim):
    """A bound of 2 - z / 2 is -1.517 for an error of 1e-12."""
    asked = []

    def bound(confidence):
        asked.append(confidence)
        return 2 - stats.norm.ppf(confidence) / 2

    known = 0.9, bound(0.9)
    asked.clear()
    least = max(1e-12, stats.norm.sf(2 * (2 - claim)))
    assert smallest_error(bound, claim, known) == pytest.approx(least, rel=0.02)
    assert (len(asked) == 1) == (least == 1e-12)
