"""Batches that begin equally in two places are rejected, and the message names these places."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.partitions import Encoder
from dpjax.sources import AnyPairs, _watched
from dpjax.sources._counting import Tally
from dpjax.sources._repeats import Repeats
from dpjax.sources._time_limit import Quota
from dpjax.sources._watched import Watched
from dpjax.sources.streams import CONFIRM, NUM_STAGES, SEARCH

REALS = np.random.default_rng(1).laplace(size=5000)
PAIRS = AnyPairs(([1, 2], [3, 4]), ("one", "two"))


def watched(batches):
    """Return a mechanism that returns given batches one after another, whatever is requested."""
    spans = []

    def draw(database, span):
        spans.append((database, span))
        yield from batches.pop(0)

    tally = Tally()
    found = Watched(
        draw, [Encoder("the function f")] * len(PAIRS), PAIRS, ((7, 8), 2), tally, {"a": 1}
    )
    return found, spans, tally


def drawn(found, pair, side, stage, first=0, done=0, cut=None, seconds=None):
    return [*found.batches(pair, side, stage, Quota(1000, cut, seconds), first, done)]


def test_what_is_asked_for():
    found, spans, tally = watched([[REALS[:10]], [REALS[10:20], REALS[20:50]], [REALS[50:60]]])
    drawn(found, 1, 1, SEARCH, 300, 20, 5)
    (database, span), words = spans[0], found.words(1, 1, SEARCH)
    assert database == 4 and words == (7, 8, 1, 1, SEARCH + 2 * NUM_STAGES) == span.words
    assert (span.outputs, span.cut, span.done) == (range(300, 1300), 5, 20)
    drawn(found, 0, 0, CONFIRM)
    drawn(found, 0, 0, SEARCH)
    assert tally.searched == 20
    assert found.taken[1, 1][0] == 10 and found.taken[0, 0][0] == 50


def test_batches_grow_with_what_outputs_take(monkeypatch):
    """An output takes 50 microseconds, and 10 milliseconds from the eleventh output on."""
    now, sizes = [0.0], []

    def draw(database, span):
        while sum(sizes) < len(span.outputs):
            sizes.append(span.most(99))
            now[0] += 5e-5 * sizes[-1] if sum(sizes) < 11 else 0.01
            yield REALS[: sizes[-1]]

    monkeypatch.setattr(_watched, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    found = Watched(draw, [Encoder("the function f")] * len(PAIRS), PAIRS, ((7, 8), 2), Tally(), {})
    for side in (0, 1):
        sizes.clear()
        quota = Quota(30, 32, 1.0, 1e-3)
        assert sum(len(o.labels) for o in found.batches(0, side, SEARCH, quota)) >= 30
        # After 15 outputs in 10.35 milliseconds, a single output is expected to take 0.7.
        assert sizes[:6] == [1, 2, 4, 8, 1, 1]


def test_batches_that_are_asked_for_ahead_do_not_grow():
    """Four workers request batches before the first batch is drawn."""
    asked = []

    def draw(database, span):
        asked.extend(span.most(99) for _ in range(4))
        for size in asked[:2]:
            yield REALS[:size]
        asked.append(span.most(99))

    found = Watched(draw, [Encoder("the function f")] * len(PAIRS), PAIRS, ((7, 8), 2), Tally(), {})
    list(found.batches(0, 0, SEARCH, Quota(30, 32, 1e9, 1e6)))
    assert asked == [1, 1, 1, 1, 2]


def test_time_is_over_only_after_the_first_batch(monkeypatch):
    """Each batch takes one second; its reader, whose time does not count, takes ten."""
    now, over = [0.0], []

    def draw(database, span):
        for size in (3, 2, 4):
            over.append(span.over())
            now[0] += 1.0
            yield REALS[:size]
        over.append(span.over())

    monkeypatch.setattr(_watched, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    found = Watched(draw, [Encoder("the function f")] * len(PAIRS), PAIRS, ((7, 8), 2), Tally(), {})
    limits = ((None, [False] * 4), (2.0, [False, False, True, True]), (0.0, [False] + [True] * 3))
    for side, (seconds, expected) in enumerate(limits):
        over.clear()
        for _ in found.batches(side % 2, side // 2, SEARCH, Quota(9, 9, seconds)):
            now[0] += 10.0
        assert over == expected
        assert found.taken[side % 2, side // 2] == (9, 3.0)


@pytest.mark.parametrize("size", [100, 1000])
def test_a_batch_that_begins_alike_is_refused(size):
    again = np.concatenate([REALS[:size], REALS[3000:3010]])
    found, _, _ = watched([[REALS[:2000]], [again]])
    drawn(found, 1, 1, SEARCH)
    with pytest.raises(Repeats) as refused:
        drawn(found, 1, 1, CONFIRM)
    error = refused.value
    assert error.pairs.sides == ([2], [4]) and error.pairs.labels == ("two",)
    assert (error.counted.runs, error.counted.outputs) == ("batches", 100)
    assert "drawn from its neighbor, had the same first 100" in str(error)
    assert error.settings == {"a": 1}


@pytest.mark.parametrize(("pair", "side"), [(0, 1), (1, 0)])
def test_other_sides_and_the_same_place_may_begin_alike(pair, side):
    found, _, _ = watched([[REALS[:200]]] * 3)
    drawn(found, 1, 1, SEARCH)
    drawn(found, pair, side, CONFIRM)
    drawn(found, 1, 1, SEARCH)


def test_short_batches_and_those_that_hardly_vary_may_begin_alike():
    for batch in (REALS[:99], np.zeros(500), np.r_[np.zeros(495), np.ones(5)]):
        found, _, _ = watched([[batch]] * 2)
        drawn(found, 0, 0, SEARCH)
        drawn(found, 0, 0, CONFIRM)


def test_constant_outputs_are_noted_where_both_sides_have_them():
    found, _, _ = watched([[np.zeros(3)], [np.ones(4)], [np.ones(2)], [np.array([1.0, 2.0])]])
    drawn(found, 0, 0, SEARCH)
    assert found.notes(0) == []
    drawn(found, 0, 1, SEARCH)
    (note,) = found.notes(0)
    assert "All 3 outputs from the database" in note and "all 4 outputs from its neighbor" in note
    drawn(found, 0, 1, CONFIRM)
    assert len(found.notes(0)) == 1
    drawn(found, 0, 1, CONFIRM, 2)
    assert found.notes(0) == []


@pytest.mark.parametrize("side", [0, 1])
def test_two_runs_that_are_the_same(side):
    found, _, _ = watched([])
    runs = [[list(REALS[:50]), list(REALS[50:100])] for _ in range(2)]
    runs[0][1 - side] = list(REALS[200:250])
    with pytest.raises(Repeats) as refused:
        found.refuse_same(0, ("processes", runs))
    where = ("the database", "its neighbor")[side]
    assert f"Two processes of the function f, drawn from {where}, had" in str(refused.value)
    runs[0][side] = [*runs[0][side][:-1], 0.5]
    found.refuse_same(0, ("processes", runs))
