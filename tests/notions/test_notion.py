"""How a notion chooses an order of cells, and how it averages over bands."""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from dpjax import Epsilon
from dpjax.inference import Way
from dpjax.notions import _claims
from dpjax.notions._claims import epsilon_at, profile_points, trade_off_points
from dpjax.notions._notion import Notion, merged_counts, ways_of
from dpjax.partitions import Encoder, lay


def cells(bins, *more):
    """Return cells with the given numbers of bins for each entry."""
    encoder = Encoder("it")
    pilot = encoder.encode(np.zeros((2, 1 + len(more))) if more else np.zeros(2))
    found = lay([pilot, pilot], encoder.names)
    edges = tuple(np.arange(float(number - 1)) for number in (bins, *more))
    return type(found)(found.names, edges, (np.empty(0),) * len(edges), found.boxed)


def test_few_bins_are_ordered_by_ratio_alone():
    assert ways_of(cells(32)) == [Way()] and ways_of(cells(32, 4)) == [Way()]
    for found in (cells(33), cells(4, 33)):
        ways = ways_of(found)
        assert len(ways) == 1 + len(found.coarser()) + len(found.positions())
        assert ways[0] == Way()
        assert [way.groups is not None for way in ways[1:]] == [
            *[True] * len(found.coarser()), *[False] * len(found.positions()),
        ]  # fmt: skip


@dataclass(frozen=True)
class OfNumbers(Notion):
    """A notion whose bands are numbers."""

    def of_band(self, band, distance=1):
        return float(band) / distance

    def value(self, p, q):
        return p - 2 * q


def test_means_of_bands():
    assert OfNumbers()._mean_of([1.0, 4.0]) == 2.5
    assert OfNumbers()._mean_of([]) == 0
    assert OfNumbers()._mean_of([math.inf, 1.0]) == 5e299
    assert OfNumbers().compare(6.0, 1.0, 2) == (2.0, None)
    assert OfNumbers().columns(1.0, 1) is None


def test_levels_of_shares_are_at_least_0():
    p, q = np.array([0.5, 0.1, 0.5, 1.0]), np.array([0.1, 0.5, 0.4, 0.0])
    np.testing.assert_allclose(OfNumbers().of_shares(p, q, 2), [0.15, 0.0, 0.0, 0.5])
    found = Epsilon().of_shares(np.array([0.5, 0.0, 0.3]), np.array([0.0, 0.0, 0.1]), 1)
    np.testing.assert_allclose(found, [math.inf, 0.0, math.log(3)])


def test_a_notion_without_an_event():
    with pytest.raises(ValueError, match="cannot be bounded by the counts of one event"):
        OfNumbersNamed().of_event(np.array(3), np.array(1), (9, 9), 0.95)
    assert not OfNumbers.takes_delta and OfNumbers().delta == 0.0


class OfNumbersNamed(OfNumbers):
    symbol = "number"


def test_names_of_a_level_are_its_symbol():
    named = OfNumbersNamed()
    assert named.quantity == named.claimable == "number"


def test_counts_of_merged_cells():
    found = cells(100)
    halves = np.random.default_rng(1).integers(0, 9, (2, 2, found.size))
    allowed = np.arange(found.size) >= 30
    for may in (None, allowed):
        merged, kept, positions = merged_counts(found, halves, may)
        group, lines = found.merged(may)
        expected = np.stack([halves[..., group == number].sum(axis=-1)
                             for number in range(group.max() + 1)], axis=-1)  # fmt: skip
        np.testing.assert_array_equal(merged, expected)
        np.testing.assert_array_equal(positions[0], lines[0])
        if may is None:
            assert kept is None
        else:
            assert kept.tolist() == [bool(may[group == g].all()) for g in range(group.max() + 1)]


def test_a_single_pair_is_a_list_of_one():
    assert profile_points((1.0, 0.25)) == ((1.0, 0.25),)
    assert trade_off_points([0.5, 0.25], np.zeros(1)) == ((0.5, 0.25),)
    # Points are sorted by position.
    assert profile_points([(2.0, 0.1), (0.0, 0.5)]) == ((0.0, 0.5), (2.0, 0.1))


@pytest.mark.parametrize(
    "claim",
    [[(0.0, 1.5)], [(-0.1, 0.5)], [(0.0, -0.1)], [(0.0, math.inf)], [(math.nan, 0.1)], [[0.1] * 3],
     "ab", [], 3.0, [("a", "b")]],
)  # fmt: skip
def test_lists_that_are_no_profile(claim):
    with pytest.raises((TypeError, ValueError), match="claim must"):
        profile_points(claim)


@pytest.mark.parametrize(("point", "fits"), [((0, 1), True), ((1, 0), True), ((1.01, 0), False),
                                             ((0, 1.01), False), ((-0.01, 0), False)])  # fmt: skip
def test_points_in_the_unit_square(point, fits):
    if fits:
        assert trade_off_points([point], np.zeros(1)) == (point,)
        return
    with pytest.raises(ValueError, match="points in the unit square, but had"):
        trade_off_points([point], np.zeros(1))


def test_the_epsilon_of_a_claim_at_one_delta():
    # The exact crossing of the curve, between the evaluated points.
    assert epsilon_at(lambda e: max(0.3 - e, 0.0), 0.05) == pytest.approx(0.25, abs=1e-9)
    assert epsilon_at(lambda e: 0.5 if e < 4.05 else 0.1, 0.1) == pytest.approx(4.05, abs=1e-9)
    assert epsilon_at(lambda e: 0.5 if e < 39.5 else 0.1, 0.1) == pytest.approx(39.5, abs=1e-9)
    assert epsilon_at(lambda e: 0.0, 0.1) == 0
    assert epsilon_at([(0.5, 0.3), (1.0, 0.1), (2.0, 0.05)], 0.1) == 1.0
    assert epsilon_at(SimpleNamespace(epsilon=lambda delta: 10 * delta), 0.1) == 1.0
    for claim, message in (
        (lambda e: 0.2, "must fall to delta = 0.1 .* up to 40, but its delta at .* = 40 was 0.2"),
        (
            [(0.5, 0.3)],
            r"must have a point \(epsilon, delta\) with a delta of at most 0\.1, but had none",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            epsilon_at(claim, 0.1)


def test_where_claimed_curves_are_looked_at():
    places = _claims._EPSILONS
    assert places[0] == 0 and places[-1] == 40 and np.all(np.diff(places) > 0)
    assert np.diff(places[places < 4]).max() < 0.021 and np.diff(places[places < 12]).max() < 0.11


def test_what_is_a_number():
    assert all(map(_claims.is_number, [1, 1.5, np.float32(1), np.array(1.0)]))
    assert not any(map(_claims.is_number, [True, np.bool_(True), "1", None, [1.0], np.zeros(1)]))
    for text, written in (("1.5", ": write claim=1.5"), ("much", r"'much'\.")):
        with pytest.raises(TypeError, match=written):
            _claims.refuse_text(text)
    _claims.refuse_text(1.0)
