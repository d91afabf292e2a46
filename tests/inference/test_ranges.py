"""Half-lines and ranges are preferred to unions that gain too little for their complexity."""

import itertools

import numpy as np
import pytest

from dpjax.inference import Event, Ratio, choose_event
from dpjax.inference._choice import errors_by_ratio
from dpjax.inference._events import expected_bound, shrunk
from dpjax.inference._ranges import WORTH, _is_simple, simpler

CELLS = 40
LINE = np.arange(CELLS, dtype=float)


def halves_of(first, second, size=20_000):
    """Return expected counts of two halves, [half, side, cells]."""
    laws = np.array([first, second], float)
    return np.rint(size * np.stack([laws / laws.sum(axis=1, keepdims=True)] * 2)).astype(int)


def chosen(halves, cells, larger, line=LINE, allowed=None, predicted=None, num_confirm=20_000):
    event = Event(np.asarray(cells), np.array(larger), np.array(predicted), np.array(1.0))
    if predicted is None:
        total = halves.sum(axis=0)
        sides = ((total[side, cells].sum(), total[side].sum()) for side in (larger, 1 - larger))
        shares = shrunk(*itertools.chain(*sides), errors_by_ratio(halves))
        bound = expected_bound(*shares, num_confirm, 0.95, Ratio())
        event = event._replace(predicted=np.array(bound))
    return event, simpler(event, halves, [line], allowed, num_confirm, 0.95, Ratio())


def falling(ratio=2.0):
    """Return counts of outputs below 20 that are `ratio` times as likely for the database."""
    return np.where(LINE < 20, ratio, 1.0), np.where(LINE < 20, 1.0, ratio)


@pytest.mark.parametrize("ratio", [2.0, 3.0])
def test_a_half_line_takes_the_place_of_a_union_with_holes(ratio):
    halves = halves_of(*falling(ratio))
    union = (LINE < 20) & (LINE != 3) & (LINE != 11)
    before, after = chosen(halves, union, 0)
    assert after.cells.tolist() == (LINE < 20).tolist() and after.larger == 0
    assert WORTH * before.predicted <= after.predicted <= before.predicted < np.log(ratio)


def test_a_simpler_event_promises_no_more_than_the_one_it_replaces():
    """Both are tried, so a larger predicted bound would be the best by chance."""
    union = (LINE < 20) & (LINE != 3)
    before, after = chosen(halves_of(*falling()), union, 0, predicted=0.1)
    assert after.cells.sum() == 20 and after.predicted == before.predicted == 0.1


def test_a_range_takes_the_place_of_a_union_inside():
    first = np.where((LINE >= 15) & (LINE < 25), 3.0, 1.0)
    halves = halves_of(first, np.ones(CELLS))
    union = (LINE >= 15) & (LINE < 25) & (LINE != 18) & (LINE != 21)
    _, after = chosen(halves, union, 0)
    assert after.cells.tolist() == ((LINE >= 15) & (LINE < 25)).tolist()


def test_a_union_that_gains_more_than_its_words_cost_stays():
    first = np.where((LINE % 20 < 10), 3.0, 1.0)
    halves = halves_of(first, first[::-1])
    union = LINE % 20 < 10
    before, after = chosen(halves, union, 0, num_confirm=400)
    assert after.cells.tolist() == union.tolist() and after.predicted == before.predicted


@pytest.mark.parametrize("cells", [LINE < 12, LINE >= 30, (LINE > 4) & (LINE < 9), LINE == 7])
def test_what_is_simple_stays(cells):
    before, after = chosen(halves_of(*falling()), cells, 0)
    assert after is before


def test_labels_stay_beside_the_numbers_and_regions_are_kept():
    """There are two cells without a position: one is in the event, and one is not."""
    line = np.where(LINE < 2, np.nan, LINE)
    first, second = falling()
    first[0], second[0] = 8.0, 0.1
    union = (LINE < 20) & (LINE != 1) & (LINE != 6) & (LINE != 11)
    allowed = LINE != 25
    halves = halves_of(first, second)
    _, after = chosen(halves, union, 0, line, allowed, predicted=0.1)
    assert after.cells[0] and not after.cells[1] and not after.cells[25]
    inside = np.flatnonzero(after.cells[2:]) + 2
    assert inside.tolist() == list(range(2, inside.max() + 1))


def test_ranges_are_judged_by_other_draws():
    """For equal distributions, the best event of one half is worth nothing in the other half."""
    rng = np.random.default_rng(0)
    halves = rng.multinomial(300, np.full(CELLS, 1 / CELLS), (2, 2))
    event = choose_event(halves[0], 20_000, 0.95, judge=halves[1])
    union = event._replace(cells=LINE % 3 == 0, predicted=np.array(0.05))
    assert simpler(union, halves, [LINE], None, 20_000, 0.95, Ratio()) is union


def test_many_places_are_thinned_and_the_ends_of_the_event_are_kept():
    line = np.arange(1000.0)
    first = np.where(line < 437, 2.0, 1.0)
    halves = halves_of(first, first[::-1] * 0 + 3 - first, size=10**6)
    union = (line < 437) & (line != 3) & (line != 11)
    _, after = chosen(halves, union, 0, line=line)
    assert after.cells.tolist() == (line < 437).tolist()
    inner = (line >= 437) | (line < 300)
    halves = halves_of(np.where(inner, 1.0, 3.0), np.ones(1000), size=10**6)
    _, after = chosen(halves, ~inner & (line != 350) & (line != 360), 0, line=line)
    assert after.cells.tolist() == (~inner).tolist()


def test_places_that_only_one_side_reaches_are_counted():
    first, second = falling()
    halves = halves_of(np.where(LINE < 35, first, 0.0), second)
    union = (LINE < 20) & (LINE != 3) & (LINE != 11)
    _, after = chosen(halves, union, 0, predicted=0.5)
    assert after.cells.tolist() == (LINE < 20).tolist()


@pytest.mark.parametrize("places", [1, 2])
def test_a_line_with_a_single_place_has_no_ranges(places):
    """Cells of vectors share the positions of an entry; another entry still has ranges."""
    halves = halves_of(*falling())
    union = (LINE < 20) & (LINE != 3) & (LINE != 11)
    event = choose_event(halves[0], 20_000, 0.95, judge=halves[1])._replace(
        cells=union, larger=np.array(0)
    )
    lines = [LINE % places, LINE]
    after = simpler(event, halves, lines, None, 20_000, 0.95, Ratio())
    assert after.cells.tolist() == (LINE < 20).tolist()


@pytest.mark.parametrize("places", [1, 2, 5, 1000])
def test_an_event_is_simple_in_the_order_of_the_line_and_of_the_cells(places):
    """Compared with cells sorted by position, and then by number; unseen cells are left out."""
    rng = np.random.default_rng(places)
    for share in (0.02, 0.5):
        line = rng.integers(0, places, 300).astype(float)
        line[rng.random(300) < 0.1] = np.inf
        cells, seen = rng.random(300) < share, rng.random(300) < 0.8
        walk = sorted((line[c], c) for c in range(300) if seen[c] and np.isfinite(line[c]))
        inside = [bool(cells[c]) for _, c in walk]
        changes = sum(a != b for a, b in itertools.pairwise(inside))
        assert _is_simple(cells, line, seen) is (changes <= 2)


def test_a_range_and_its_complement_are_simple():
    line, seen = np.arange(10.0), np.ones(10, bool)
    for inside in ([], [0, 1], [3, 4], [0, 9]):
        assert _is_simple(np.isin(np.arange(10), inside), line, seen)
    for inside in ([0, 4], [2, 4]):
        assert not _is_simple(np.isin(np.arange(10), inside), line, seen)


def test_a_cell_that_is_not_allowed_is_left_out_of_the_middle_of_a_range():
    union = (LINE < 20) & (LINE != 1) & (LINE != 6) & (LINE != 10)
    _, after = chosen(halves_of(*falling()), union, 0, LINE, LINE != 10, predicted=0.1)
    inside = LINE[after.cells]
    assert inside.max() > 12 and inside.tolist() == [
        x for x in range(int(inside.max()) + 1) if x != 10
    ]
