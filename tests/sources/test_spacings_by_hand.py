"""Spacings, shared draws and best cells at the limits."""

import numpy as np
import pytest
import scipy.stats
from sides import request

from dpjax.partitions import Outputs, Partition, _scored
from dpjax.partitions._entries import Entries
from dpjax.partitions._one_statistic import STATISTICS
from dpjax.sources import HostMechanism, _host_counts, _learned, _spacings
from dpjax.sources._learned import lay_best
from dpjax.sources._shared_draws import _same_ranks, refuse_same_origin
from dpjax.sources._spacings import Spacings, _close, _Column, _near_copies, _tail


def column(values):
    found = _Column()
    found.add(np.asarray(values))
    return found


def test_values_are_kept_once_and_in_order():
    found = column([3.0, 1.0, 3.0])
    found.add(np.array([2.0, 1.0]))
    assert found.values.tolist() == [1.0, 2.0, 3.0] and found.total == 5
    assert found.precision == np.finfo(np.float64).eps
    half = column(np.array([1.0], np.float16))
    half.add(np.array([2.0]))
    assert half.precision == float(np.finfo(np.float16).eps)
    half.add(np.empty(0))
    assert half.total == 2


def test_windows_are_dropped_until_few_values_are_left(monkeypatch):
    monkeypatch.setattr(_spacings, "_KEPT", 100)
    monkeypatch.setattr(_spacings, "_WINDOWS", 16)
    values = np.random.default_rng(1).permutation(np.arange(900.0))
    found = column(values[:450])
    found.add(values[450:])
    every = found._every
    assert every > 1 and len(found.values) <= 100
    # Exactly the values in every n-th window are kept, in any order of arrival.
    expected = np.arange(900.0)
    expected = expected[np.searchsorted(found._edges, expected, side="right") % every == 0]
    np.testing.assert_array_equal(found.values, expected)
    assert found.total == 900 and 16 <= len(found._edges) <= 17
    np.testing.assert_array_equal(column([1.0, 2.0]).window_of(np.array([0.5, 9.0])), [0, 0])


@pytest.mark.parametrize("every", [1, 2, 3, 8, 17, 18, 1000])
@pytest.mark.parametrize("compared", [0, 2, 1000])
def test_values_in_every_nth_window_are_held(monkeypatch, every, compared):
    """This holds whether windows are located or compared, also for values on window ends."""
    monkeypatch.setattr(_spacings, "_WINDOWS", 16)
    monkeypatch.setattr(_spacings, "_COMPARED", compared)
    found = column(np.arange(0.0, 160.0, 2))
    found._every = every
    assert len(found._edges) == 16
    values = np.random.default_rng(1).permutation(np.arange(-10.0, 180.0, 0.5))
    ends = [-np.inf, *found._edges, np.inf]
    expected = [
        any(a <= v < b for a, b in zip(ends[:-1:every], ends[1::every], strict=False))
        for v in values
    ]
    np.testing.assert_array_equal(found.holds(values), expected)


@pytest.mark.parametrize("swapped", [False, True])
def test_values_are_compared_only_in_windows_that_both_sides_keep(monkeypatch, swapped):
    """One side keeps all of its values, and the other side only some windows."""
    monkeypatch.setattr(_spacings, "_KEPT", 100)
    monkeypatch.setattr(_spacings, "_WINDOWS", 16)
    rng = np.random.default_rng(4)
    whole, part = column(rng.random(90)), column(rng.random(450))
    part.add(rng.random(450))
    assert whole._every == 1 < part._every
    found = _near_copies(*((part, whole) if swapped else (whole, part)))
    windows = [np.searchsorted(part._edges, side.values, side="right") for side in (whole, part)]
    kept = [window % part._every == 0 for window in windows]
    values = np.concatenate([whole.values[kept[0]], part.values[kept[1]]])
    order = np.argsort(values)
    window = np.concatenate([windows[0][kept[0]], windows[1][kept[1]]])[order]
    starts = range(0, len(order) - 2, 2)
    assert found.pairs == sum(window[i] == window[i + 2] for i in starts) > 20
    assert found.close == found.alone == 0


def test_only_floats_and_the_first_columns_are_looked_at():
    found = Spacings()
    found.add(np.arange(3))
    found.add(np.array(["a"]))
    found.add(np.empty(0))
    assert not found._columns and not found.irregular
    found.add(np.random.default_rng(1).normal(size=(60, 9)))
    assert len(found._columns) == 8 and found.irregular
    found.add(np.full((1, 9), np.nan))
    assert found._columns[0].total == 60


@pytest.mark.parametrize(("size", "irregular"), [(41, True), (40, False), (39, False), (400, True)])
def test_twenty_pairs_of_spacings_tell_a_lattice(size, irregular):
    """41 values have 40 spacings."""
    reals = np.random.default_rng(1).normal(size=size)
    assert column(reals).irregular is irregular
    assert not column(np.arange(float(size))).irregular


def test_close_spacings():
    steps = np.array([[1.0, 1.0, 999.0, 1000.0], [998.0, 1000.0, 1.0, 1.0]])
    assert _close(steps).tolist() == [False, True, False, True]


def test_tails_are_binomial():
    for number, trials, share in ((1, 10, 0.3), (4, 10, 0.003), (10, 10, 0.5)):
        exact = scipy.stats.binom.sf(number - 1, trials, share)
        assert _tail(number, trials, share) == pytest.approx(exact)
    assert _tail(0, 0, 0.5) == 1.0


def spaced(x, y):
    sides = []
    for values in (x, y):
        side = Spacings()
        side.add(np.asarray(values, float))
        sides.append(side)
    return sides[0].near_copies(sides[1])


def test_near_copies_by_hand():
    """Of the values 10, 20, ..., some have a near-copy on the same side or on the other side."""
    base = 10.0 * np.arange(1, 401)
    alone = spaced([*base, *(base[::4] + 1e-6)], base + 5000)
    shared = spaced(base, base[::4] + 1e-6)
    assert alone.alone == alone.close == 100 and shared.alone == 0 < shared.close
    # At ratio 5 and with 500 and 400 values, two are on the same side with probability 0.76.
    share = 2500 / 2900
    assert alone.chance == pytest.approx((share**2 + (1 - share) ** 2) ** 100)
    assert shared.chance == 1.0
    # Values that differ by one unit in the last place are merged, not copies.
    ulps = spaced([*base, *np.nextafter(base[::4], np.inf)], base + 5000)
    assert ulps.close == 0 and ulps.chance == 1.0
    assert spaced([1.0], [2.0]) == (0, 0, 0, 1.0) == spaced([1.0], [])
    assert spaced([1.0, 2.0], [4.0]).pairs == 1
    vectors = spaced(np.stack([base, base**1.5], 1), np.stack([base + 3, base**1.1], 1))
    assert vectors.chance == 1.0


def test_near_copies_on_both_sides_of_zero():
    """The third triple, (-10, 1e-7, 2e-7), crosses zero, where logarithms are not useful."""
    values = [-50.0, -40.0, -30.0, -20.0, -10.0, 1e-7, 2e-7]
    assert spaced(values, [500.0]).close == 1
    # Without a sign change, the logarithms of 10, 20 and 20.001 must also be close.
    assert spaced([10.0, 20.0, 20.001], [500.0]).close == 1
    assert spaced([1e-9, 1.0, 1000.0, 1e7, 1e7 + 1], [5e9]).close == 1


@pytest.mark.parametrize(
    ("size", "same"), [(1, False), (2, False), (60, False), (130, True), (400, True)]
)
def test_ranks_that_are_the_same(size, same):
    """128 values above or below the median have a surprise above 60 nats."""
    values = np.random.default_rng(1).normal(size=size)
    assert _same_ranks(values, np.exp(values) + 3) == (size if same else 0)
    assert _same_ranks(values, np.append(np.exp(values), [9.0, -9.0])) == (size if same else 0)
    other = values.copy()
    other[0], other[-1] = other[-1], other[0]
    assert _same_ranks(values, other) == (size if same and size == 1 else 0)
    assert _same_ranks(np.zeros(500), np.zeros(500)) == 0
    few = np.random.default_rng(2).integers(0, 2, size)
    assert bool(_same_ranks(few, 3.0 * few)) is same


def test_the_last_of_the_compared_outputs_counts():
    values = np.random.default_rng(1).normal(size=400)
    other = np.exp(values)
    assert _same_ranks(values, other) == 400
    other[-1] = other.max() + 1 if values[-1] < values.max() else -1
    assert _same_ranks(values, other) == 0


def test_one_object_on_both_sides():
    values = np.zeros(3)
    with pytest.raises(ValueError, match="were the same object"):
        refuse_same_origin(values, values)
    refuse_same_origin(values, values.copy())


def vectors(count, dimension, seed):
    values = np.random.default_rng(seed).normal(size=(count, dimension))
    return Outputs(np.zeros(count, np.int32), values, np.zeros(count, bool))


@pytest.mark.parametrize(
    ("few", "promised", "chosen"),
    [(601, 0.899, 2), (601, 0.901, 1), (600, 0.969, 2), (600, 0.971, 1)],
)
def test_simpler_cells_are_chosen_if_nearly_as_good(monkeypatch, few, promised, chosen):
    """Single entries are preferred to a score, and a score to boxes."""
    monkeypatch.setattr(_scored, "_NARROW", 0)
    monkeypatch.setattr(_learned, "_FEW", few)
    asked = []

    def promise(cells, halves, number):
        assert number == 4
        asked.append(type(cells).__name__)
        assert halves.shape == (2, 2, cells.size) and halves.sum() == 1200
        return [0.1, promised, 0.2, 1.0, 0.5][len(asked) - 1]

    pilots = [vectors(600, 2, seed) for seed in (1, 2)]
    folds = [np.arange(600) % 5] * 2
    found = lay_best(pilots, folds, ["a number"], promise, Entries(("['a']", "['b']")))
    assert asked == ["OneEntry", "OneEntry", "Scored", "Partition"]
    assert type(found).__name__ == ("OneEntry" if chosen == 1 else "Partition")
    assert found.parts == ("['a']", "['b']")
    if chosen == 1:
        assert found.column == 1


@pytest.mark.parametrize(("dimension", "boxes"), [(3, True), (4, False)])
def test_few_entries_are_divided_into_boxes(dimension, boxes):
    kinds = []
    pilots = [vectors(600, dimension, seed) for seed in (1, 2)]
    promise = lambda cells, halves, number: kinds.append(type(cells)) or 1.0  # noqa: E731
    lay_best(pilots, [np.arange(600) % 5] * 2, ["a number"], promise)
    statistics = len(STATISTICS) if dimension > 3 else 0
    assert (Partition in kinds) is boxes and len(kinds) == dimension + 3 + boxes + statistics


def test_numbers_and_regions_need_no_score(monkeypatch):
    monkeypatch.setattr(_learned, "score_partitions", None)
    found = lay_best(
        [vectors(9, 1, 1)] * 2, [np.arange(9)] * 2, ["a number"], None, Entries(("x",))
    )
    assert found.parts == ("x",) and found.shape[0] > 1
    box = _host_counts.as_box(([0.0, 0.0], [1.0, 1.0]))
    found = lay_best([vectors(9, 2, 1)] * 2, [np.arange(9)] * 2, ["a number"], None, region=box)
    assert len(found.shape) == 2


@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize("batched", [True, False])
def test_which_outputs_are_kept(monkeypatch, each, batched):
    """All outputs are kept if they are expensive; otherwise, those that may determine cells."""
    made = []
    kept = _host_counts.Kept
    monkeypatch.setattr(_host_counts, "Kept", lambda *parts: made.append(parts[1]) or kept(*parts))
    function = (lambda d, n: np.zeros(n)) if batched else (lambda d: 0.0)
    source = HostMechanism(function, batched=batched)
    with source.opened([(0, 1)], request(10, 10, each=each)) as opened:
        assert made == [2**31 - 1 if each and not batched else _host_counts.LAYING]
        assert opened.shares and opened.num_confirm == 10


def test_a_time_limit_that_is_used_up_stays_positive():
    source = HostMechanism(lambda d, n: np.zeros(n), time_limit=5.0)
    assert source.with_time_used(2.0).time_limit == 3.0
    assert source.with_time_used(7.0).time_limit == 1e-3
    free = HostMechanism(lambda d, n: np.zeros(n))
    assert free.with_time_used(7.0) is free
    assert not free.one_by_one and HostMechanism(lambda d: 0.0, batched=False).one_by_one


def test_the_largest_numbers_do_not_overflow():
    x = 1.7e308 * np.random.default_rng(0).uniform(-1, 1, 1000)
    small, large = (
        _near_copies(column(x * scale), column(x * scale * (1 + 1e-9))) for scale in (2.0**-900, 1)
    )
    assert large == small and large.close > 900
