"""How an event is chosen: for many runs, along lines, and if cells are equal."""

import numpy as np
import pytest
from scipy import stats

from dpjax.inference import Ratio, Rivals, Shared, _choice, choose_event, largest_bound
from dpjax.inference._choice import _halves, errors_by_ratio
from dpjax.inference._judged import MASSES, _sizes, judged
from dpjax.inference._orders import ByPosition, ByRatio

CELLS = 60


def drawn(num_runs, shift=0.3, size=2_000, seed=0):
    """Return counts of normal outputs in equal bins, [half, runs, side, cells]."""
    edges = np.linspace(-3, 3, CELLS - 1)
    law = [np.diff(stats.norm.cdf(edges, x), prepend=0, append=1) for x in (0, shift)]
    rng = np.random.default_rng(seed)
    return np.stack([rng.multinomial(size, p, (2, num_runs)) for p in law], axis=2)


def test_a_batch_is_its_runs_one_by_one(monkeypatch):
    first, second = drawn(7)
    options = {
        "coarser": [np.arange(CELLS) // 4, np.arange(CELLS) % 3],
        "positions": [np.arange(CELLS, dtype=float)],
        "allowed": np.arange(CELLS) != 5,
        "rivals": Rivals(4),
    }
    whole = choose_event(first, 5_000, 0.95, judge=second, **options)
    largest = largest_bound(first, 5_000, 0.95, judge=second, **options)
    np.testing.assert_array_equal(largest, whole.predicted)
    monkeypatch.setattr("dpjax.inference._judged._MOST_ENTRIES", 1)
    parts = choose_event(first, 5_000, 0.95, judge=second, **options)
    for i, (one, other) in enumerate(zip(first, second, strict=True)):
        event = choose_event(one, 5_000, 0.95, judge=other, **options)
        for found in (whole, parts):
            assert found.cells[i].tolist() == event.cells.tolist()
            assert found.larger[i] == event.larger
            np.testing.assert_allclose(found.predicted[i], event.predicted, rtol=1e-12)


def test_sizes_of_sets_are_the_smallest_that_reach_each_share():
    """This includes sums that reach a fraction exactly, up to floating-point errors."""
    rng = np.random.default_rng(5)
    for total in (1.0, 640.0):
        exact = np.append(MASSES[rng.permutation(56)[:20]] * total, total)
        for running in (np.sort(exact), np.sort(rng.integers(1, 1_000, 30)) * 1.0):
            cells = running.size
            reached = running[None, :] >= MASSES[:, None] * running[-1] * (1 - 1e-12)
            expected = np.minimum(reached.argmax(axis=1) + 1, cells - 1)
            found = _sizes(running[None], np.array([cells]), np.arange(cells)[None])
            np.testing.assert_array_equal(found[0], expected)
            few = _sizes(running[None], np.array([3]), np.arange(cells)[None])
            np.testing.assert_array_equal(few[0], np.minimum(expected, 3))


def test_ratios_are_shrunk_by_what_the_experiments_settled():
    """By 0.75 standard errors times ln(cells) along a line, 0.4 for names, of repeated cells."""
    halves = np.ones((2, 2, 50), np.int64)
    halves[0, :, 40:] = 0
    halves[1, :, :10] = 0
    for ordered, factor in ((True, 0.75), (False, 0.4)):
        assert errors_by_ratio(halves, ordered=ordered) == pytest.approx(factor * np.log(30))
        few = errors_by_ratio(halves * 0, ordered=ordered)
        assert few == pytest.approx(factor * np.log(2))


def test_half_lines_are_found_along_a_line():
    """Two shifted normals differ most beyond a point, which noisy ratios of cells do not show."""
    first, second = drawn(20)
    line = np.random.default_rng(1).permutation(CELLS)
    options = {"judge": second[..., line], "positions": [line.astype(float)]}
    event = choose_event(first[..., line], 5_000, 0.95, **options)
    ordered = event.cells[:, np.argsort(line)]
    half_lines = np.count_nonzero(np.diff(ordered.astype(int), axis=-1), axis=-1) == 1
    assert half_lines.mean() > 0.5
    # The likelier side is the one on which the half-line lies.
    assert np.all(ordered[half_lines, -1] == event.larger[half_lines])


@pytest.mark.parametrize("size", [40, 300, 10**7])
def test_codes_may_be_renamed(size):
    """Without a line, the event is the same set of outcomes for all numberings.

    With few draws, many counts are equal, and ties must not be broken by the numbers.
    """
    first, second = drawn(50, size=size)
    rename = np.random.default_rng(2).permutation(CELLS)
    event = choose_event(first, 5_000, 0.95, judge=second)
    other = choose_event(first[..., rename], 5_000, 0.95, judge=second[..., rename])
    np.testing.assert_allclose(other.predicted, event.predicted, rtol=1e-12)
    np.testing.assert_array_equal(other.larger, event.larger)
    np.testing.assert_array_equal(other.cells, event.cells[:, rename])


def test_cells_that_may_not_be_held_or_never_happened_are_in_no_event():
    counts = np.array([[500, 300, 200, 0, 0], [200, 300, 500, 0, 0]])
    allowed = [False, True, True, True, True]
    event = choose_event(counts, 5_000, 0.95, judge=counts, allowed=allowed)
    assert event.cells.tolist() == [False, False, True, False, False] and event.larger == 1


def test_equal_cells_are_taken_together():
    counts = np.array([[10] * 10 + [20], [2] * 10 + [100]])
    for line in ([], [[np.nan] * 11]):
        event = choose_event(counts, 50, 0.95, judge=counts, positions=line)
        assert np.flatnonzero(event.cells).tolist() == list(range(10)) and event.larger == 0


def test_cells_that_are_likelier_at_a_side_come_first():
    """The bound for 7 and 3 of 1,000 is below the uninformative ratio of 993 and 997."""
    counts = np.random.default_rng(0).poisson(4, (200, 2, 30))
    counts[0] = np.pad([[7, 993], [3, 997]], ((0, 0), (0, 28)))
    shares = counts / counts.sum(axis=-1, keepdims=True)
    likelier = shares > shares[:, ::-1]
    order, most, _ = ByRatio.of(np.ones(30, bool), None, True).orders(counts)
    first = np.take_along_axis(likelier, order, axis=-1)
    assert order[0, 0, 0] == 0 and np.all(most >= likelier.sum(axis=-1))
    assert np.all(np.diff(first.astype(int), axis=-1) <= 0)


def test_cells_are_sorted_by_a_lower_bound_on_their_ratio():
    """This is the lower end of one Wilson interval, divided by the upper end of the other."""
    counts = np.random.default_rng(4).poisson(30, (2, 12)) + np.arange(12) * [[0], [9]]
    draws = counts.sum(axis=1, keepdims=True)
    middle = (counts + 0.5) / (draws + 1)
    reach = np.sqrt(counts * (draws - counts) / draws + 0.25) / (draws + 1)
    bounds = (middle - reach) / (middle + reach)[::-1]
    order = ByRatio.of(np.ones(12, bool), None, True).orders(counts[None]).order[0]
    shares = counts / draws
    for side in (0, 1):
        likelier = shares[side] > shares[1 - side]
        expected = sorted(range(12), key=lambda cell: (~likelier[cell], -bounds[side, cell]))
        assert order[side].tolist() == expected


def test_cells_of_a_group_have_the_ratio_of_the_group():
    """Three groups of two cells with ratios 2, 1/2 and 5; one cell is not allowed."""
    first = np.array([190, 10, 50, 50, 240, 260])
    second = np.array([60, 40, 150, 50, 90, 10])
    allowed = np.array([True, True, True, True, True, False])
    way = ByRatio.of(allowed, [7, 7, 3, 3, 9, 9], True)
    order, most, _ = way.orders(np.stack([first, second])[None])
    assert most.tolist() == [[5, 5]]
    assert order[0, 0, :5].tolist() == [4, 0, 1, 2, 3]
    assert order[0, 1, :5].tolist() == [2, 3, 0, 1, 4]


def test_delta_leaves_nothing_to_choose():
    counts = np.array([[50, 50], [50, 50]])
    event = choose_event(counts, 1_000, 0.95, judge=counts, hypothesis=Ratio(0.9))
    assert not event.cells.any() and event.predicted == 0 and event.larger == 0


def test_without_a_judge_each_draw_is_in_one_of_two_halves():
    """Sizes are binomial: 5 standard errors, 6e-7 each."""
    counts = np.array([[[40_000, 3, 0], [900, 10_000, 1]]])
    halves = _halves(counts, None)
    assert halves.shape == (1, 2, 2, 3)
    np.testing.assert_array_equal(halves.sum(axis=1), counts)
    assert np.all(np.abs(halves[:, 0] - counts / 2) <= 5 * np.sqrt(counts / 4))
    both = _halves(counts, counts + 1)
    np.testing.assert_array_equal(both, np.stack([counts, counts + 1], axis=1))


def test_the_rare_one_of_two_outcomes_is_chosen():
    """1% and 0.135%, 800 draws per side; 2 errors would choose it in 93% of 1,000 searches."""
    law = np.array([[0.01, 0.99, 0.0], [0.00135, 0.99865, 0.0]])
    halves = np.random.default_rng(8).multinomial(400, law, (2, 1_000, 2))
    # A cell without draws, such as that of unknown labels, adds events with equal counts.
    for cells, least in ((2, 0.985), (3, 0.96)):
        event = choose_event(
            halves[0, ..., :cells],
            Shared(2_000),
            0.95,
            judge=halves[1, ..., :cells],
            positions=[np.arange(cells)] if cells == 3 else [],
            ordered=False,
        )
        right = event.cells[:, 0] & ~event.cells[:, 1] & (event.larger == 0)
        assert right.mean() > least


@pytest.mark.parametrize("seed", range(40))
def test_cells_without_draws_do_not_affect_counts_of_sets(seed, monkeypatch):
    """There are many cells, few with draws; compared with tables of all cells."""
    rng = np.random.default_rng(seed)
    cells, runs = int(rng.integers(20, 200)), int(rng.integers(1, 40))
    mean = rng.gamma(0.3, size=cells) * (rng.random(cells) < rng.choice([0.05, 0.2]))
    halves = rng.poisson(10 ** rng.uniform(-1, 2) * mean, (runs, 2, 2, cells))
    allowed = rng.random(cells) < rng.choice([0.8, 1.1])
    ordered = bool(rng.integers(2))
    groups = [np.arange(cells) // 8, rng.integers(0, 2, cells), np.arange(cells) * 0]
    ways = [ByRatio.of(allowed, labels, ordered) for labels in (None, *groups)]
    for line in (np.arange(cells), np.where(rng.random(cells) < 0.3, np.nan, rng.random(cells))):
        ways.append(ByPosition.of(allowed, line))
    found = judged(halves, ways)
    monkeypatch.setattr(
        "dpjax.inference._judged._needed", lambda halves, ways: np.ones(halves.shape[-1], bool)
    )
    np.testing.assert_array_equal(found, judged(halves, ways))


def test_cells_are_ordered_where_a_line_is_given_and_nothing_else_is_said(monkeypatch):
    asked = []

    def errors(halves, *, ordered):
        asked.append(ordered)
        return errors_by_ratio(halves, ordered=ordered)

    monkeypatch.setattr(_choice, "errors_by_ratio", errors)
    counts, line = np.array([[30, 20, 10, 5], [5, 10, 20, 30]]), np.arange(4.0)
    for options in ({}, {"positions": [line]}, {"positions": [line], "ordered": False}):
        choose_event(counts, 1000, 0.95, **options)
    assert asked == [False, True, False]
