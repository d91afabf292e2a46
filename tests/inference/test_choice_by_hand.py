"""The choice of an event, compared with a loop over orders, halves and sizes."""

import math

import numpy as np
import pytest
from scipy import stats

from dpjax.inference import Difference, Ratio, Rivals, Shared, choose_event, largest_bound
from dpjax.inference._choice import errors_by_ratio
from dpjax.inference._events import best_ratio, expected_bound, shrunk
from dpjax.inference._judged import MASSES, _sizes, cells_of
from dpjax.inference._orders import ByPosition, ByRatio
from dpjax.inference._smooth import Smooth
from dpjax.inference._spline import basis

SIZE, SURE = 900, 0.9


def sets_of(way, side, counts):
    """Return the cells of the sets of one order, one set per fraction of the draws."""
    orders = way.orders(counts[None])
    order, most, ends = (np.asarray(part)[0, side] for part in orders)
    mass = np.cumsum(counts.sum(axis=0)[order])
    sizes = _sizes(mass[None], np.atleast_1d(most), ends[None])[0]
    return [np.isin(np.arange(len(order)), order[:size]) for size in sizes]


def heavy_enough(way, side, counts, held, judged):
    """Add cells to a set of all draws until it has half of the draws of the judged set."""
    order, most, ends = (np.asarray(part)[0, side] for part in way.orders(counts[None]))
    number, last = int(held.sum()), int(np.clip(most, 1, len(order) - 1))
    while number < last and 2 * counts[:, order[:number]].sum() < judged:
        number = min(int(ends[number]) + 1, last)
    return np.isin(np.arange(len(order)), order[:number])


def by_hand(halves, size=SIZE, *, allowed=None, coarser=(), positions=(), ordered=True,
            rivals=Rivals(), hypothesis=Ratio()):  # noqa: B008  # fmt: skip
    """Return (cells, larger, bound, ratio of sizes) for counts [half, side, cells] of few draws."""
    cells = halves.shape[-1]
    may = np.ones(cells, bool) if allowed is None else allowed
    is_ordered = ordered and len(positions) > 0
    lines = [np.arange(2)] if cells == 2 and not positions else positions
    ways = [ByRatio.of(may, labels, is_ordered) for labels in (None, *coarser)]
    ways += [ByPosition.of(may, line) for line in lines]
    total = halves.sum(axis=0)
    draws, more = total.sum(axis=1), 0.45 * math.log(rivals.partitions)
    of_ratio = float(errors_by_ratio(halves, ordered=is_ordered)) + more
    of_line = 2.0 + 0.45 * math.log(rivals.pairs) + more
    if np.count_nonzero(total.any(axis=0)) == 2 and rivals.pairs == 1:
        of_line = 0.5
    best = None
    for way in ways:
        is_line = isinstance(way, ByPosition)
        pairs = [(0, 0), (1, 1), (1, 0), (0, 1)] if is_line else [(0, 0), (1, 1)]
        for order, larger in pairs:
            made = [sets_of(way, order, half) for half in halves]
            whole = sets_of(way, order, total)
            inside = np.array([
                sum(halves[1 - i][:, made[i][number]].sum(axis=1) for i in (0, 1))
                for number in range(len(MASSES))
            ])  # fmt: skip
            shares = shrunk(
                inside[:, larger], draws[larger], inside[:, 1 - larger], draws[1 - larger],
                of_line if is_line else of_ratio,
            )  # fmt: skip
            bounds = expected_bound(*shares, size, SURE, hypothesis)
            number = int(np.argmax(bounds))
            if best is None or bounds[number] > best[2]:
                ratio = 1.0
                if isinstance(size, Shared):
                    ratio = best_ratio(*(x[number] for x in shares), size, SURE, hypothesis)
                held = heavy_enough(way, order, total, whole[number], inside[number].sum())
                best = held, larger, float(bounds[number]), float(ratio)
    return best if best[2] > 0 else (np.zeros(cells, bool), 0, 0.0, 1.0)


def drawn(cells, seed, size=90):
    """Return counts [half, side, cells] of two distributions, with cells without draws."""
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.full(cells, 0.8))
    other = law * np.exp(rng.normal(0, 1.2, cells))
    return np.stack(
        [rng.multinomial(n, p / p.sum(), 2) for n, p in ((size, law), (size + 20, other))], axis=1
    )


def options(cells, seed):
    rng = np.random.default_rng(seed)
    return [
        {},
        {"ordered": False},
        {"allowed": np.arange(cells) != 1, "hypothesis": Difference()},
        {"positions": [rng.permutation(cells).astype(float)]},
        {"positions": [np.arange(cells)], "ordered": False, "coarser": [np.arange(cells) // 2]},
        {
            "positions": [np.where(np.arange(cells) == 0, np.nan, rng.random(cells)),
                          rng.random(cells)],
            "coarser": [np.arange(cells) // 3, rng.integers(0, 3, cells)],
            "rivals": Rivals(5, 3),
            "hypothesis": Ratio(0.02),
            "allowed": np.arange(cells) != cells - 1,
        },
    ]  # fmt: skip


@pytest.mark.parametrize("size", [SIZE, Shared(SIZE)])
@pytest.mark.parametrize("which", range(6))
@pytest.mark.parametrize("cells", [5, 12])
def test_an_event_is_the_best_of_all_candidates(cells, which, size):
    for seed in (3,) if cells == 12 else (3, 4):
        halves, chosen = drawn(cells, seed + which), options(cells, seed)[which]
        inside, larger, bound, ratio = by_hand(halves, size, **chosen)
        event = choose_event(halves[0], size, SURE, judge=halves[1], **chosen)
        assert float(event.predicted) == pytest.approx(bound, rel=1e-9, abs=1e-12)
        assert (event.cells.tolist(), int(event.larger)) == (inside.tolist(), larger)
        assert float(event.ratio) == pytest.approx(ratio)
        whole = largest_bound(halves[0], size, SURE, judge=halves[1], **chosen)
        assert float(whole) == pytest.approx(bound, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("rivals", [Rivals(), Rivals(2), Rivals(1, 2)])
def test_two_outcomes_are_shrunk_less_for_a_single_pair(rivals):
    for seed in (0, 3):
        halves = drawn(2, seed)
        wide = np.concatenate([halves, np.zeros((2, 2, 1), int)], axis=-1)
        for given, lines in (
            (halves, ()),
            (halves, [np.array([1.0, 0.0])]),
            (wide, [np.arange(3)]),
        ):
            inside, larger, bound, _ = by_hand(given, positions=lines, rivals=rivals)
            event = choose_event(given[0], SIZE, SURE, judge=given[1], positions=lines,
                                 rivals=rivals)  # fmt: skip
            assert float(event.predicted) == pytest.approx(bound, rel=1e-9, abs=1e-12)
            assert (event.cells.tolist(), int(event.larger)) == (inside.tolist(), larger)


@pytest.mark.parametrize(
    ("counts", "judge", "message"),
    [
        (np.ones((2, 1), int), None, "at least 2 cells, but had"),
        (np.ones(4, int), None, r"shape \[..., 2, cells\]"),
        (np.ones((3, 4), int), None, "but had"),
        (np.ones((2, 4), int), np.ones((2, 5), int), "judge must have the shape of counts"),
        (np.array([[1, 1], [0, 0]]), np.array([[1, 1], [0, 0]]), "at least one draw on each side"),
        (np.array([[1, 1], [1, 0]]), np.array([[1, 1], [-1, 0]]), "judge"),
        (np.array([[1, 1], [0.5, 0]]), None, "counts"),
    ],
)
def test_counts_that_are_none(counts, judge, message):
    with pytest.raises((TypeError, ValueError), match=message):
        choose_event(counts, SIZE, SURE, judge=judge)
    right = np.array([[1, 1], [0, 0]]), np.array([[0, 0], [0, 1]])
    assert choose_event(right[0], SIZE, SURE, judge=right[1]).cells.shape == (2,)


@pytest.mark.parametrize(
    ("size", "sure", "rivals", "name"),
    [(0, 0.9, Rivals(), "num_confirm"), (Shared(0), 0.9, Rivals(), "num_confirm"),
     (9, 1.0, Rivals(), "confidence"), (9, 0.9, Rivals(0), "pairs"),
     (9, 0.9, Rivals(1, 0), "partitions")],
)  # fmt: skip
def test_settings_that_are_none(size, sure, rivals, name):
    with pytest.raises(ValueError, match=f"^{name} must"):
        choose_event(np.ones((2, 3), int), size, sure, rivals=rivals)


def smoothed_by_hand(halves, line, size=SIZE):
    """Like `by_hand`, for many draws along a line; also return whether the smooth loss is used."""
    cells, total = halves.shape[-1], halves.sum(axis=0)
    draws, ways = total.sum(axis=1), [ByRatio.of(np.ones(cells, bool), None, True)]
    ways.append(ByPosition.of(np.ones(cells, bool), line))
    fit = Smooth.of(total[None][..., ways[1].order[0]])
    errors, found = (float(errors_by_ratio(halves)), 2.0), []
    for is_line, way in enumerate(ways):
        for order, larger in [(0, 0), (1, 1), (1, 0), (0, 1)][: 4 if is_line else 2]:
            made = [sets_of(way, order, half) for half in halves]
            inside = np.array([
                sum(halves[1 - i][:, made[i][number]].sum(axis=1) for i in (0, 1))
                for number in range(len(MASSES))
            ])  # fmt: skip
            sides = (larger, 1 - larger)
            counts = [inside[:, side] for side in sides]
            shares = shrunk(counts[0], draws[larger], counts[1], draws[1 - larger], errors[is_line])
            smooth = shares
            if is_line:
                lines = fit.half_lines(inside.sum(axis=1), np.array([0]), from_end=order == 1)
                smooth = shrunk(
                    *(x for side in sides for x in (lines.worth * lines.counts[side],
                                                    lines.worth * draws[side])),
                    2.0,
                )  # fmt: skip
            raw = [(k + 0.5) / (draws[s] + 1) for k, s in zip(counts, sides, strict=True)]
            bounds = [expected_bound(*x, size, SURE, Ratio()) for x in (shares, smooth, raw)]
            found.append((bounds, shares, smooth, sets_of(way, order, total), larger))
    of_lines = found[2:]
    own, fitted = (max(f[0][k].max() for f in of_lines) for k in (0, 1))
    hoped = next(f[0][2][np.argmax(f[0][0])] for f in of_lines if f[0][0].max() == own)
    level = max(levels_by_hand(fit, ways[1].order[0], draws, size), key=lambda f: f[0])
    tells, of_all = fit.gain[0] >= 12, max(fitted, level[0])
    if not tells:
        of_all = fitted
    is_rare = own >= of_all and hoped >= 1.7 * of_all
    is_smooth = tells and fitted >= 0.9 * own and not is_rare
    is_level = tells and level[0] >= 1.03 * fitted and not is_rare
    best = None
    for place, (bounds, shares, smooth, whole, larger) in enumerate(found):
        values, of_values = bounds[0], shares
        if is_smooth and place >= 2:
            values, of_values = bounds[1] * max(own / fitted, 1), smooth
        number = int(np.argmax(values))
        if best is None or values[number] > best[2]:
            pair = [x[number] for x in of_values]
            ratio = 1.0
            if isinstance(size, Shared):
                ratio = float(best_ratio(*pair, size, SURE, Ratio()))
            best = whole[number], larger, float(values[number]), ratio
    is_level = is_level and level[0] > best[2]
    if is_level:
        bound, pair, larger, inside = level
        ratio = 1.0
        if isinstance(size, Shared):
            ratio = float(best_ratio(*pair, size, SURE, Ratio()))
        best = inside, larger, bound, ratio
    return best, is_smooth, is_rare, is_level


def levels_by_hand(fit, order, draws, size):
    """Return (bound, probabilities, side, cells) of each set of groups with extreme odds."""
    odds, covariance = fit.odds[0], fit.covariance[0]
    if np.all(np.diff(odds) >= 0) or np.all(np.diff(odds) <= 0):
        return [(-np.inf, None, 0, None)]
    pooled, share = np.diff(fit.pooled[0]), 1 / (1 + np.exp(-odds))
    found = []
    for larger in (0, 1):
        for level in odds:
            groups = odds >= level if larger == 0 else odds < level
            if not 0 < pooled[groups].sum() < pooled.sum():
                continue
            first = (pooled * share)[groups].sum()
            counts = np.maximum([first, pooled[groups].sum() - first], 1e-9)
            slopes = (pooled * share * (1 - share)) @ (basis().of_group * groups[:, None])
            own = (1 / counts).sum()
            variance = own**2 * slopes @ covariance @ slopes
            worth = max(own / variance, 1) if variance <= 4 and counts.min() > 1e-9 else 1
            sides = (larger, 1 - larger)
            pair = shrunk(*(worth * x[side] for side in sides for x in (counts, draws)), 2.25)
            inside = np.zeros(len(order), bool)
            inside[order[groups[fit.group[0]]]] = True
            found.append((float(expected_bound(*pair, size, SURE, Ratio())), pair, larger, inside))
    return found


SEARCHES = [
    (stats.norm, 1.2, 0.0, 2_000), (stats.laplace, 1.0, 0.0, 2_000),
    (stats.laplace, 0.2, 0.0, 2_000), (stats.laplace, 1.0, 0.004, 2_000),
    (stats.laplace, 0.3, 0.0, 250), (stats.norm, 0.3, 0.0, 220), (stats.cauchy, 1.0, 0.0, 2_000),
    (stats.norm, 4.0, 0.0, 500), (stats.norm, 6.5, 0.0, 500), (stats.laplace, 0.3, 0.0, 2_000),
    (stats.laplace, 0.3, 0.004, 4_000), (stats.laplace, 0.15, 0.0, 4_000),
]  # fmt: skip
"""Law, shift, probability of a leak beyond all cells but the last, and draws per half.

In the last three searches, counts predict a slightly larger bound than the smooth loss. Without
shrinkage, they predict 1.3, 2.5 and 1.7 times the bound of the smooth loss.
"""


@pytest.mark.slow
@pytest.mark.parametrize("size", [SIZE, Shared(SIZE)])
def test_half_lines_of_many_draws_have_the_bound_of_the_smooth_loss_where_it_tells(size):
    """Some searches use the smooth loss, and others use the counts of a rare event."""
    edges, outcomes = np.linspace(-4, 7, 39), set()
    line = np.random.default_rng(1).permutation(40).astype(float)
    for number, (law, shift, leak, draws) in enumerate(SEARCHES):
        laws = [np.diff(law.cdf(edges, x), prepend=0, append=1) for x in (0.0, shift)]
        laws[1] = laws[1] * (1 - leak)
        laws[1][-1] += leak
        rng = np.random.default_rng(number)
        sides = zip((draws, draws + 30), laws, strict=True)
        halves = np.stack([rng.multinomial(n, side, 2) for n, side in sides], axis=1)
        halves = halves[..., line.astype(int)]
        (cells, larger, bound, ratio), *used = smoothed_by_hand(halves, line, size)
        outcomes.add(tuple(map(bool, used)))
        event = choose_event(halves[0], size, SURE, judge=halves[1], positions=[line])
        assert float(event.predicted) == pytest.approx(bound, rel=1e-9)
        assert (event.cells.tolist(), int(event.larger)) == (cells.tolist(), larger)
        assert float(event.ratio) == pytest.approx(ratio)
    assert outcomes >= {(True, False, False), (False, True, False), (True, False, True)}


def test_an_event_without_a_bound_has_equal_sizes_on_both_sides():
    counts = np.tile([50, 50, 50], (2, 1))
    event = choose_event(counts, Shared(10**6), SURE, judge=counts, positions=[np.arange(3)])
    assert (event.predicted, event.ratio, event.larger) == (0, 1, 0) and not event.cells.any()


def test_a_rare_cell_does_not_replace_the_outcome_that_was_judged():
    """In one of ten searches, the rare outcome of six is first only in the order of all draws.

    Its probability is at most 0.01, and that of the best outcome is 0.46.
    """
    laws = np.array([[567, 1976, 477, 65, 5, 1], [210, 1266, 1413, 167, 31, 4]]) / 3091
    rng = np.random.default_rng(0)
    halves = [np.stack([rng.multinomial(1545, law, 300) for law in laws], axis=1) for _ in "ab"]
    event = choose_event(halves[0], 2000, 1 - 1e-6, judge=halves[1], ordered=False)
    assert (event.cells @ laws.T).max(axis=1).min() > 0.15


@pytest.mark.parametrize(
    ("judged", "size"), [(20, 1), (21, 2), (40, 2), (60, 2), (61, 3), (200, 3)]
)
def test_the_chosen_set_has_half_of_the_draws_of_the_judged_one(judged, size):
    """The cells have 10, 20, 60 and 120 draws; no set has all of them."""
    counts = np.array([[[9, 17, 40, 20], [1, 3, 20, 100]]])
    way = ByPosition.of(np.ones(4, bool), np.arange(4.0))
    # The smallest set that reaches the smallest fraction of the draws is the first cell.
    inside = cells_of(counts, [way], np.array([0]), np.array([0]), np.array([judged]))
    assert inside.tolist() == [[True] * size + [False] * (4 - size)]


@pytest.mark.parametrize("first, second", [(33, 30), (30, 33), (32, 31), (31, 31), (20, 23)])
def test_the_event_for_two_outcomes_of_similar_frequencies_is_one_of_them(first, second):
    """An unequal division of the draws makes the approximate bound of both outcomes the largest."""
    half = np.zeros((2, 6), int)
    half[:, 2], half[:, 4] = (first, second), (63 - first, 63 - second)
    event = choose_event(half, Shared(314), 0.999, judge=half, positions=[np.arange(6.0)])
    assert event.cells[[2, 4]].sum() == 1
