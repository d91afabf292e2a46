"""Rungs of a search by counts, for given scores and paces: pairs kept, varied and dropped."""

import math
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from dpjax import Epsilon
from dpjax.core import random
from dpjax.core.execution import Execution
from dpjax.databases.spaces import Proposed, Space
from dpjax.methods import _rungs
from dpjax.methods._pairs_counted import CountedPairs, _left, _next, search_counted
from dpjax.methods._rungs import Ladder, Ranked, Rung
from dpjax.notions import Terms


class Named(str):
    """A source that is identified by its name and records which databases are warmed up."""

    warmed: ClassVar = []
    sampler: ClassVar = None

    def warm(self, database, key):
        """Record the database and the key."""
        self.warmed.append((database, tuple(random.words_of(key))))


PAIRS = [(0.0, float(number)) for number in range(9)]


@pytest.fixture
def ranked(monkeypatch):
    """Return rungs whose scores are the neighbors or given, and the requests that they got."""
    rungs = []

    def answered(rung, *seconds):
        rungs.append((rung, seconds))
        scores = np.array([score(pair) for pair in rung.alive])
        paces = np.array([pace(pair) for pair in rung.alive])
        return Ranked(scores, paces, 2 * rung.draws * len(rung.alive) - 2)

    def score(pair):
        return found.scores.get(pair.label, pair.neighbor)

    def pace(pair):
        return found.paces.get(pair.label, 0.0)

    found = SimpleNamespace(rungs=rungs, scores={}, paces={})
    monkeypatch.setattr(Rung, "ranked", answered)
    return found


def terms(told=None):
    progress = None if told is None else lambda *both: told.append(both)
    return Terms(Epsilon(), None, 0.95, 1, 0, Execution(progress=progress))


def search(ladder, pairs=None, told=None, **options):
    root = random.as_key(5)
    return search_counted(
        Named("a source"), PAIRS if pairs is None else pairs, ladder, terms(told), "a region", root,
        **options,
    )  # fmt: skip


def test_each_rung_keeps_a_part_and_draws_anew(ranked):
    told = []
    found = search(Ladder(12_000, None, 2, 2), told=told)
    planned = Ladder(12_000, None, 2, 2).rungs(9)
    assert [size for size, _ in planned] == [9, 7, 6, 5, 4]
    assert [rung.draws for rung, _ in ranked.rungs] == [draws for _, draws in planned]
    alive = [[pair.neighbor for pair in rung.alive] for rung, _ in ranked.rungs]
    assert alive == [[*range(9)], [8, 7, 6, 5, 4], [8, 7, 6], [8, 7], [8, 7]]
    assert [pair.neighbor for pair in found.pairs] == [8, 7] and found.estimates == [8.0, 7.0]
    keys = [tuple(random.words_of(rung.key)) for rung, _ in ranked.rungs]
    root = random.as_key(5)
    assert keys == [tuple(random.words_of(random.fold_in(root, n))) for n in range(len(keys))]
    assert found.rungs == [
        (len(pairs), (2 * rung.draws * len(pairs) - 2) // (2 * len(pairs)))
        for pairs, (rung, _) in zip(alive, ranked.rungs, strict=True)
    ]
    sizes = [(len(rung.alive), rung.draws) for rung, _ in ranked.rungs]
    spent = np.cumsum([2 * number * draws - 2 for number, draws in sizes]).tolist()
    left = [
        sum(2 * number * draws for number, draws in sizes[n:]) for n in range(1, len(sizes) + 1)
    ]
    assert told == [(done, done + more) for done, more in zip(spent, left, strict=True)]
    for rung, seconds in ranked.rungs:
        assert seconds == (None,) and rung.source == "a source" and rung.region == "a region"
        assert rung.asked is None  # The terms contain the notion, but no level.


@pytest.mark.parametrize("keep", [1, 2, 3, 5])
@pytest.mark.parametrize("number", [3, 5, 11, 300])
def test_rungs_of_half_of_the_pairs_come_to_an_end(keep, number):
    sizes = [size for size, _ in Ladder(None, None, keep, 2).rungs(number)]
    assert sizes[0] == number and all(np.diff(sizes) < 0)
    assert keep <= sizes[-1] <= max(2 * keep, min(number, 2 * keep)) or number <= 2 * keep


def test_a_time_limit_is_divided_among_rungs(ranked):
    ladder = Ladder(12_000, 30.0, 2, 2)
    ranked.paces = {f"pair {number}": 0.01 for number in range(9)}
    search(ladder)
    number = len(ladder.rungs(9))
    first, *others = [seconds for _, seconds in ranked.rungs]
    assert first == (30.0 / number, 30.0, 10.5)
    assert others == [(30.0 / number, 30.0, 0.0)] * (number - 1)
    assert len({rung.began for rung, _ in ranked.rungs}) == 1


def test_a_first_rung_that_takes_more_than_its_part_leaves_less_for_the_others():
    ladder = Ladder(None, 30.0, 2, 2)
    assert ladder.time_of_rung(0, 5, 0.0) == (6.0, 10.5)
    assert ladder.time_of_rung(1, 5, 10.0) == (5.0, 0.0)
    assert ladder.time_of_rung(4, 5, 27.0) == (3.0, 0.0)
    assert ladder.time_of_rung(1, 5, 1.0) == (6.0, 0.0)
    assert Ladder(None, 30.0, 2, 2).time_of_rung(0, 1, 0.0) == (30.0, 10.5)


def test_a_search_with_a_time_limit_makes_its_first_calls_before(ranked):
    ranked.paces = {f"pair {number}": 0.01 for number in range(9)}
    Named.warmed.clear()
    search(Ladder(None, None, 2, 2))
    assert not Named.warmed
    search(Ladder(None, 30.0, 2, 2))
    ((database, key),) = Named.warmed
    assert database == 0.0
    assert key not in [tuple(random.words_of(rung.key)) for rung, _ in ranked.rungs]


@pytest.mark.parametrize(("seconds", "untried"), [(30.0, 7), (None, 0)])
def test_pairs_without_time_are_counted(ranked, seconds, untried):
    ranked.paces = {"pair 8": 0.01, "pair 7": 0.02}
    assert search(Ladder(None, seconds, 2, 2)).untried == untried


def test_slow_pairs_are_not_audited(ranked):
    """A pair may be four times as slow as the best pair."""
    ladder = Ladder(1_200, None, 4, 3)
    ranked.paces = {"pair 8": 0.25, "pair 7": 1.0, "pair 6": 1.001, "pair 5": 0.01}
    assert [pair.neighbor for pair in search(ladder).pairs] == [8, 7, 5]


@pytest.mark.parametrize(
    ("seconds", "kept"), [(6.0, 1), (11.999, 1), (12.0, 2), (18.0, 3), (600.0, 4), (0.1, 1)]
)
def test_each_audited_pair_has_time_for_300_draws_a_side(ranked, seconds, kept):
    """At a pace of 0.01 s, both sides together need six seconds."""
    ranked.paces = {f"pair {number}": 0.01 for number in range(9)}
    found = search(Ladder(1_200, seconds, 4, 3))
    assert [pair.neighbor for pair in found.pairs] == [8, 7, 6, 5][:kept]


class Numbers(Space):
    """Proposals 0, 1, ...; the first ones are small, and variations differ by a tenth."""

    def __init__(self, number=9, small=1):
        super().__init__(num_pairs=number)
        self.small, self.asked, self.refused = small, [], ()

    def proposed(self):
        self.made = [Proposed(0.0, float(n), f"pair {n}") for n in range(self.num_pairs)]
        return list(self.made)

    def smallest(self, pairs):
        first = self.made[: self.small]
        return [pair for pair in pairs if any(pair is one for one in first)]

    def varied(self, pair, seed):
        self.asked.append((pair.label, seed))
        if pair.label in self.refused:
            return None
        return Proposed(0.0, pair.neighbor + 0.1, f"{pair.label} varied")


def labels(found):
    return [pair.label for pair in found]


def test_the_last_of_three_places_is_for_a_small_pair(ranked):
    """This holds unless a small pair is among the best, or there are only two places."""
    for keep, small, expected in (
        (3, 2, ["pair 8", "pair 7", "pair 1"]), (2, 2, ["pair 8", "pair 7"]), (3, 0, [8, 7, 6]),
        (3, 9, [8, 7, 6]),
    ):  # fmt: skip
        found = search(Ladder(10_000, None, keep, 9), Numbers(9, small))
        wanted = [one if isinstance(one, str) else f"pair {one}" for one in expected]
        assert labels(found.pairs) == wanted
    ranked.scores = {"pair 0": 1.5}
    found = search(Ladder(10_000, None, 3, 9), Numbers(9, 2))
    assert labels(found.pairs) == ["pair 8", "pair 7", "pair 0"] and found.estimates[-1] == 1.5


def test_the_next_rung_has_the_best_the_small_and_variations():
    space = Numbers(9, 1)
    alive = space.proposed()
    scores = np.arange(9.0)
    ladder = Ladder(None, None, 2, 3)
    found = _next(alive, Ranked(scores, scores, 0), ladder, space, (4, 7))
    assert labels(found) == ["pair 8", "pair 7", "pair 6", "pair 0", "pair 8 varied",
                             "pair 7 varied", "pair 6 varied"]  # fmt: skip
    assert space.asked == [("pair 8", (4, 0)), ("pair 7", (4, 1)), ("pair 6", (4, 2))]
    space.refused = ("pair 7",)
    again = _next(alive, Ranked(scores, scores, 0), ladder, space, (4, 7))
    assert labels(again)[-2:] == ["pair 8 varied", "pair 6 varied"] and len(again) == 6
    # More variations than pairs start with the best again; a small pair does not get a place.
    many = _next(alive, Ranked(scores, scores, 0), ladder, space, (0, 8))
    assert space.asked[-1] == ("pair 8", (0, 3)) and many[-1].label == "pair 8 varied"
    few = _next(alive, Ranked(scores, scores, 0), ladder, space, (0, 3))
    assert labels(few) == ["pair 8", "pair 7", "pair 6"]
    # A small pair that is among the best occurs only once.
    turned = _next(alive, Ranked(-scores, scores, 0), ladder, space, (0, 4))
    assert labels(turned) == ["pair 0", "pair 1", "pair 2", "pair 0 varied"]
    # A list of pairs is not varied; at least the requested number is kept.
    alone = _next(alive, Ranked(scores, scores, 0), ladder, None, (0, 7))
    assert labels(alone) == ["pair 8", "pair 7", "pair 6"]
    kept = _next(alive, Ranked(scores, scores, 0), Ladder(None, None, 5, 3), None, (0, 7))
    assert labels(kept) == [f"pair {number}" for number in (8, 7, 6, 5, 4)]


def test_draws_that_later_rungs_will_make():
    ladder = Ladder(None, None, 2, 3)
    rungs = [(6, 10), (3, 50)]
    assert _left(9, rungs, ladder, varied=True) == 2 * 6 * 10 + 2 * 3 * 50
    # Three of nine pairs are kept, and then two.
    assert _left(9, rungs, ladder, varied=False) == 2 * 3 * 10 + 2 * 2 * 50
    assert _left(1, rungs, ladder, varied=False) == 2 * 10 + 2 * 50
    assert _left(9, [], ladder, varied=True) == 0


class Opened:
    """A source whose calls take time, with the number of draws that each side makes."""

    def __init__(self, seconds, draws, workers=0):
        self.seconds, self.draws, self.workers = seconds, draws, workers
        self.now, self.asked, self.used = 0.0, [], []

    def searches(self, part, each):
        self.asked.append((part, each))
        self.now += sum(self.seconds[place] for place in part)
        found = []
        for place in part:
            halves = np.zeros((1, 2, 2, 3), np.int64)
            first, second = self.draws[place]
            halves[0, 0, 0, 0], halves[0, 1, 0, 2] = first - 1, 1
            halves[0, 1, 1, 1] = second
            found.append(SimpleNamespace(halves=halves))
        return found


def timed(monkeypatch, source, draws=600):
    monkeypatch.setattr(_rungs, "time", SimpleNamespace(perf_counter=lambda: source.now))
    monkeypatch.setattr(Rung, "_searches", lambda rung, *asked: source.searches(*asked))
    planned = []

    def promised(rung, part, searches, number):
        planned.append(number)
        return np.array([10.0 * place + 1 for place in part])

    monkeypatch.setattr(Rung, "_promised", promised)
    alive = [Proposed(0.0, float(n), str(n)) for n in range(len(source.draws))]
    rung = Rung(source, alive, draws, terms(), None, random.as_key(0), None, 0.0)
    return rung, planned


def test_pairs_are_timed_one_after_the_other(monkeypatch):
    """The pace is the time of a pair, divided by twice the draws of its shorter side."""
    source = Opened([2.0, 4.0, 1.0], [(100, 100), (100, 10), (0, 0)])
    rung, planned = timed(monkeypatch, source)
    found = rung.ranked(60.0, 90.0)
    assert [part for part, _ in source.asked] == [range(1), range(1, 2), range(2, 3)]
    assert [each for _, each in source.asked] == [60 / 6, 58 / 4, 54 / 2]
    assert found.paces.tolist() == [2 / 200, 4 / 20, 1 / 1] and found.drawn == 310
    # For two sides and two stages, an audit takes 1.5 times as long as the search.
    assert planned == [int(1.5 * 90 / (4 * 0.01)), int(1.5 * 90 / (4 * 0.2))]
    assert found.scores.tolist() == [1.0, 11.0, -math.inf]


@pytest.mark.parametrize(("whole", "scored"), [(13.4, True), (13.3, False), (8_000.0, True)])
def test_pairs_of_fewer_than_fifty_draws_are_dropped(monkeypatch, whole, scored):
    """At a pace of 0.1 s, 50 draws of an audit take 20 seconds: 40 thirds of the search."""
    rung, planned = timed(monkeypatch, Opened([20.0], [(100, 100)]))
    found = rung.ranked(60.0, whole)
    assert (found.scores[0] == 1.0) == scored and found.paces[0] == 0.1
    assert planned == ([min(int(1.5 * whole / 0.4), 20_000)] if scored else [])


def test_time_that_is_up_leaves_pairs_out(monkeypatch):
    rung, _ = timed(monkeypatch, Opened([30.0, 31.0, 1.0], [(10, 10)] * 3))
    found = rung.ranked(61.0, 10_000.0)
    assert found.scores.tolist() == [1.0, 11.0, -math.inf] and found.paces[2] == 0.0
    rung, _ = timed(monkeypatch, Opened([30.0, 31.0, 1.0], [(10, 10)] * 3))
    assert np.isfinite(rung.ranked(61.001, 10_000.0).scores).all()


def test_the_first_rung_may_take_longer_for_6_draws_a_side(monkeypatch):
    """An output takes a third of a second, so 6 draws per side take 2 s of 13 s."""
    source = Opened([2.0] * 5, [(3, 3)] * 5)
    rung, _ = timed(monkeypatch, source)
    rung.ranked(5.0, 1e6, 13.0)
    # The pace is unknown for the first pair; then it is (13 - 2) / 8, and so on. The first two
    # sides take 0.5 and 0.125 s longer than planned.
    expected = [0.5, 11 / 8 - 0.5, 9 / 6 - 0.3125, 7 / 4 - 0.125, 2.0]
    assert [each for _, each in source.asked] == pytest.approx(expected)
    # At 40 s, only 6 draws are requested.
    source = Opened([4.0] * 4, [(6, 6)] * 4)
    timed(monkeypatch, source)[0].ranked(5.0, 1e6, 40.0)
    assert [each for _, each in source.asked] == pytest.approx([5 / 8, 2.0, 2.0, 2.0])


def test_what_calls_take_beyond_their_time_is_taken_into_account(monkeypatch):
    """Each side takes 2 seconds longer than planned, which is at least a quarter of its part.

    The database that hangs does not matter, because the median is used.
    """
    source = Opened([0.0] * 5, [(10, 10)] * 5)
    rung, _ = timed(monkeypatch, source)
    given = source.searches

    def searches(part, each):
        source.seconds[part[0]] = 2 * (each + 2.0) if part[0] != 2 else 40.0
        return given(part, each)

    source.searches = searches
    rung.ranked(120.0, 1e6)
    first, second, third, *_ = [each for _, each in source.asked]
    assert first == 12.0
    # There are 120 - 28 seconds for 8 sides, minus 2 seconds each.
    assert second == 92 / 8 - 2.0
    assert third == (92 - 2 * (second + 2)) / 6 - 2.0
    source = Opened([8.0, 8.0], [(10, 10)] * 2)
    timed(monkeypatch, source)[0].ranked(4.0, 1e6, 12.0)
    assert [each for _, each in source.asked] == [1.0, 2.0 / 4]


def test_without_a_limit_all_are_searched_at_once(monkeypatch):
    source = Opened([1.0] * 3, [(10, 30)] * 3)
    rung, planned = timed(monkeypatch, source)
    found = rung.ranked(None)
    assert source.asked == [(range(3), None)] and planned == [20_000]
    assert found.scores.tolist() == [1.0, 11.0, 21.0] and not found.paces.any()
    assert found.drawn == 120


def test_expected_bounds_are_above_the_level_that_is_asked_for():
    budgets = []

    class Promising:
        def promise(self, search, budget):
            budgets.append(budget)
            return 3.0

    alive = [Proposed(0.0, float(n), str(n)) for n in range(4)]
    asked = lambda pair: (Promising(), pair.neighbor)  # noqa: E731
    rung = Rung(None, alive, 10, terms(), None, random.as_key(0), asked, 0.0)
    searches = [SimpleNamespace(at=lambda run: run)] * 2
    assert rung._promised(range(1, 3), searches, 77).tolist() == [2.0, 1.0]
    assert {(b.num_confirm, b.confidence, b.num_rivals) for b in budgets} == {(77, 0.95, 4)}
    assert isinstance(CountedPairs([], [], []), tuple)


@pytest.mark.parametrize(
    ("ladder", "draws", "budget", "seconds"),
    [
        (Ladder(12_000, 40.0, 3, 4), 2_500.9, 9_500, 30.0), (Ladder(None, 40.0, 3, 4), 7, None, 30),
        (Ladder(12_000, None, 3, 4), 0, 12_000, None), (Ladder(None, None, 3, 4), 7, None, None),
    ],
)  # fmt: skip
def test_a_search_for_jumps_takes_its_draws_and_a_quarter_of_the_time(
    ladder, draws, budget, seconds
):
    assert ladder.without_jumps(draws) == Ladder(budget, seconds, 3, 4)
