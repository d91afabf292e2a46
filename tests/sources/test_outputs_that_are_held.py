"""Outputs that are kept in memory in order: how each kind is treated, and what notes say."""

from dataclasses import replace

import numpy as np
import pytest
from sides import request

import dpjax
from dpjax import Recorded
from dpjax.core import random
from dpjax.core.wording import Doubt, Unvaried
from dpjax.inference import LAYING
from dpjax.partitions.missing import MASKED
from dpjax.sources import Marked, _held, _outcomes, _split
from dpjax.sources._counting import Tally
from dpjax.sources._held import Held, as_outputs, held
from dpjax.sources._outcomes import most_often, number_outcomes
from dpjax.sources._recorded_counts import notes_of_new_draws, refuse_two_kinds
from dpjax.sources._recorded_in_order import OpenedInOrder
from dpjax.sources._serial import _correlations, effective_size, notes_of_order
from dpjax.sources._side_values import SideValues
from dpjax.sources._split import Split


@pytest.mark.parametrize("contain", [list, tuple, lambda rows: np.ma.array(rows)])
def test_masked_entries_of_vectors_are_seen_in_any_container(contain):
    """The second of three vectors has a masked entry."""
    rows = [contain([1.0, 2.0]), contain([3.0, 4.0]), contain([5.0, 6.0])]
    plain = as_outputs("x", rows)
    assert plain.dtype == np.float64 and plain.tolist() == [[1, 2], [3, 4], [5, 6]]
    masked = [3.0, np.ma.masked]
    if contain not in (list, tuple):
        rows[1] = np.ma.array([3.0, 4.0], mask=[False, True])
    else:
        rows[1] = contain(masked)
    found = as_outputs("x", rows)
    assert found.dtype == object and found[0] == (1.0, 2.0) and found[2] == (5.0, 6.0)
    assert found[1][0] == 3.0 and found[1][1] is MASKED


def test_vectors_of_one_number_are_numbers():
    assert as_outputs("x", [[1.0], [2.0]]).tolist() == [1.0, 2.0]
    assert as_outputs("x", np.zeros((3, 1))).shape == (3,)
    assert as_outputs("x", np.zeros((3, 2))).shape == (3, 2)
    ragged = as_outputs("x", [[1.0], [1.0, 2.0]])
    assert ragged.dtype == object and ragged.tolist() == [(1.0,), (1.0, 2.0)]
    objects = as_outputs("x", [[1.0, "a"], [2.0, "b"]])
    assert objects.dtype == object and objects.tolist() == [(1.0, "a"), (2.0, "b")]


def test_large_integers_beside_floats_of_vectors_stay_apart():
    close = [[2**53 + 1, 0.5], [2**53, 0.5]]
    assert as_outputs("x", close).tolist() == [(2**53 + 1, 0.5), (2**53, 0.5)]
    assert as_outputs("x", [[2**53 - 1, 0.5]]).dtype == np.float64
    assert as_outputs("x", [[2.0**60, 0.5]]).dtype == np.float64


def test_frames_with_labels_become_rows():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": [1, 2], "s": ["a", "b"]})
    assert as_outputs("x", frame).tolist() == [{"n": 1, "s": "a"}, {"n": 2, "s": "b"}]
    numbers = pandas.DataFrame({"n": [1, 2], "m": [0.5, 1.5]})
    assert as_outputs("x", numbers).tolist() == [[1, 0.5], [2, 1.5]]
    alone = pandas.DataFrame({"s": ["a", "b"]})
    assert as_outputs("x", alone).tolist() == ["a", "b"]
    same = pandas.DataFrame([["a", 1], ["b", 2]], columns=["s", "s"])
    with pytest.raises((TypeError, ValueError)):
        as_outputs("x", same)


def test_what_is_held_is_read_in_chunks(monkeypatch):
    monkeypatch.setattr(_held, "_ROWS", 4)
    recording = held("x", np.arange(10))
    assert [chunk.tolist() for chunk in recording.chunks()] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert recording.origins == {} and recording.name == "x"
    assert held("y", recording) is recording and isinstance(recording, Held)


@pytest.mark.parametrize(("limit", "fits"), [(5, True), (4, False)])
def test_there_are_so_many_outcomes(monkeypatch, limit, fits):
    monkeypatch.setattr(_outcomes, "_MAX_OUTCOMES", limit)
    x, y = np.array([0, 1, 2, 3, 0]), np.array([4, 0, 1, 1])
    if fits:
        numbers = number_outcomes(x, y)
        assert [part.tolist() for part in numbers] == [
            [0, 1, 2, 3, 0],
            [4, 0, 1, 1],
            [0, 1, 2, 3, 4],
        ]
        assert {part.dtype for part in numbers[:2]} == {np.dtype(np.int32)}
        return
    with pytest.raises(ValueError, match="x and y hold 5 distinct outcomes, more than"):
        number_outcomes(x, y)


def test_how_often_a_value_of_a_density_occurs():
    """The limit is a twentieth plus three standard deviations."""
    assert most_often(2_000) == 100 + 30 and most_often(0) == 0


def values(*outputs):
    found = SideValues()
    found.add(np.concatenate(outputs))
    return found


def test_draws_on_two_named_sides_are_told_apart_from_plain_ones():
    shared = np.random.default_rng(1).normal(size=300)
    order = np.random.default_rng(2).permutation(300)
    sides = values(shared), values(shared[order])
    with pytest.raises(ValueError, match=r"^x and y must be independent of each other, but share"):
        notes_of_new_draws("xy", sides)
    with pytest.raises(ValueError, match=r"^x \(a\.csv\) and y \(b\.csv\): x and y must be indep"):
        notes_of_new_draws(["x (a.csv)", "y (b.csv)"], sides)
    twice = np.repeat(shared, 2)
    with pytest.raises(ValueError, match=r"^y \(b\.csv\) must hold independent outputs, but holds"):
        notes_of_new_draws(["x (a.csv)", "y (b.csv)"], [values(shared + 1), values(twice)])


def test_constant_outputs_are_noted_with_their_numbers():
    (note,) = notes_of_new_draws("xy", [values(np.zeros(30)), values(np.ones(40))])
    assert isinstance(note, Unvaried) and note.pair == "recorded pair"
    assert "All 30 outputs" in note and "all 40 outputs" in note
    noise = np.random.default_rng(1).normal(size=40)
    assert notes_of_new_draws("xy", [values(np.zeros(30)), values(noise)]) == []


def test_kinds_of_both_sides_are_named_by_an_example():
    with pytest.raises(TypeError) as refused:
        refuse_two_kinds(["a", "b"], [np.array([3, 4]), np.array(["u", "v"])])
    assert str(refused.value) == (
        "x and y must be of one kind, but a holds numbers, such as 3, and b holds labels, such as "
        "'u'."
    )


def in_order(x, y, gone=0, **options):
    return OpenedInOrder(Recorded(x, y, **options), request(confirm=100), gone)


def test_an_audit_in_order_by_hand():
    """The first 16 outputs of each side determine the cells, and later outputs are counted."""
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 3, 60), rng.integers(0, 3, 50)
    opened = in_order(x, y)
    assert (opened.num_confirm, opened.shares, opened.lays_once, opened.held) == (
        0,
        False,
        False,
        None,
    )
    assert opened.region == "all outputs" and opened.pairs.labels == ("recorded pair",)
    assert opened.settings == {"discrete": None, "bits": None, "order": "recorded"}
    (search,) = opened.search()
    assert opened.num_confirm == 34 and opened.tally.searched == 32
    cells = search.partition
    place = {
        value: int(cells.index(opened._encoder.encode(np.array([value])))[0]) for value in range(3)
    }
    assert len(set(place.values())) == 3
    halves = search.halves[0]
    for side, outputs in enumerate((x, y)):
        for value, cell in place.items():
            first = outputs[:16] == value
            assert halves[:, side, cell].tolist() == [first[::2].sum(), first[1::2].sum()]
    marks = np.arange(cells.size)[None]
    for start, size in ((0, 10), (10, 5), (20, 14)):
        counts = opened.count(Marked(np.zeros(1, int), marks, cells.size, start, size))[0]
        for side, outputs in enumerate((x, y)):
            part = outputs[16 + start : 16 + start + size]
            assert [counts[side, place[v]] for v in range(3)] == [
                (part == v).sum() for v in range(3)
            ]
    assert opened.tally.confirmed.sum() == 2 * 29
    again = opened.lay_again(0, 14)
    assert again.halves.sum(axis=(0, 1, 3)).tolist() == [30, 30]
    with pytest.raises(NotImplementedError):
        opened.search_again(np.zeros((1, 1), int))
    assert in_order(x, y, bits="lowest").settings["bits"] == "lowest"
    with pytest.raises(ValueError, match="blocks must be left out if outputs are counted in"):
        in_order(x, y, blocks=4)


def test_outputs_that_are_gone_still_count():
    rng = np.random.default_rng(3)
    opened = in_order(rng.integers(0, 3, 60), rng.integers(0, 3, 50), gone=7)
    opened.search()
    assert opened.num_confirm == 34 + 7 and LAYING > 60


def test_progress_of_reading_twice():
    told = []
    x, y = np.arange(60) % 7, np.arange(50) % 5
    rng = np.random.default_rng(1)
    opened = OpenedInOrder(
        Recorded(rng.permutation(x), rng.permutation(y)), request(confirm=100, told=told)
    )
    opened.search()
    assert told == [(0, 0), (60, 0), (110, 0)]


def clustered(shift=0):
    """Return ones in clusters of 30, one cluster per 200 outputs."""
    found = np.zeros(4000, int)
    for start in range(shift, 4000, 200):
        found[start : start + 30] = 1
    return found


@pytest.mark.parametrize("dependent", ["x", "y"])
@pytest.mark.parametrize("is_told", [True, False])
def test_the_order_of_a_confirmation_is_doubted_once_it_is_counted(dependent, is_told):
    """This holds whether or not the event distinguishes the rare outcome."""
    rng = np.random.default_rng(5)
    sides = {name: rng.permutation(clustered()) for name in "xy"} | {dependent: clustered()}
    with Recorded(**sides).opened(None, request(confirm=100)) as opened:
        (search,) = opened.search()
        assert not any(isinstance(note, Doubt) for note in opened.notes)
        assert opened.num_confirm == 4000 - search.halves.sum(axis=(0, 1, 3)).max()
        assert opened.search_again(np.zeros((2, 3), int)).shape == (
            2,
            3,
            2,
            2,
            search.partition.size,
        )
        rare = search.partition.index(opened._encoder.encode(np.array([1])))[0]
        marks = (np.arange(search.partition.size)[None] == rare) * int(is_told)
        counts = opened.count(Marked(np.zeros(1, int), marks, 2))
    doubts = [note for note in opened.notes if isinstance(note, Doubt)]
    said = (
        "{}: successive outputs are corr"
        if is_told
        else "independence cannot be checked for {}, because"
    )
    assert len(doubts) == 1 and said.format(dependent) in doubts[0]
    assert counts.sum() == 8000 - search.halves.sum()
    known = Recorded(**sides, independent=True)
    with known.opened(None, request(confirm=100)) as opened:
        opened.search()
        opened.count(Marked(np.zeros(1, int), marks, 2))
    assert not any(isinstance(note, Doubt) for note in opened.notes)
    assert any(said.format(dependent) in note for note in opened.notes)


def test_words_of_a_doubt():
    """Pairs of equal bits: the correlation is 1/2 at distance 1, so half of the outputs count."""
    bits = np.repeat(np.random.default_rng(2).integers(0, 2, 1000), 2).astype(bool)
    (doubt,) = notes_of_order("x", [bits])
    found = _correlations(bits)
    assert doubt.startswith(
        "x: successive outputs are correlated: the correlation at distance 1 is "
        f"{found[1]:.2g} (for independent draws, the probability of such a value is below 1e-06). "
        "The 2000 outputs contain about as much information as "
        f"{effective_size(found, 2000)} independent outputs, so"
    )
    assert found[0] == 1 and found[1] == pytest.approx(0.5, abs=0.1)
    assert 700 < effective_size(found, 2000) < 1400


def test_a_pilot_is_joined_before_it_is_large(monkeypatch):
    """When the pilot exceeds four times its size, only the outputs with the smallest words stay."""
    monkeypatch.setattr(_split, "PILOT", 5)
    sizes, smallest = [], _split._smallest

    def counted(parts):
        sizes.append(sum(len(words) for _, words in parts))
        return smallest(parts)

    monkeypatch.setattr(_split, "_smallest", counted)

    class Chunks:
        name = "x"

        def chunks(self):
            yield from np.split(np.arange(400), 40)

    split = Split(Chunks(), "x", random.as_key(1), (0, 1), 0.5)
    assert len(split.pilot(Tally())) == 5
    # Ten outputs come at a time, about five of them with a word of the search set. After the first
    # reduction, only words below the largest word that was left are chosen.
    assert len(sizes) > 2 and max(sizes) <= 20 + 10 and all(size > 20 for size in sizes[:-1])
    assert sum(sizes) < 100


def test_texts_and_their_subclasses_are_one_kind():
    class Name(str):
        pass

    found = _held._array([Name("a"), "b", np.str_("c")])
    assert found.dtype.kind == "U" and found.tolist() == ["a", "b", "c"]
    assert _held._array(["a", b"a"]).dtype == object


@pytest.mark.parametrize("outputs", [map(abs, [1, 2]), {1, 2}, {"a": [1, 2]}, 3.0])
def test_outputs_without_an_order_or_a_length_are_refused(outputs):
    with pytest.raises(TypeError, match=r"x must be an array or a list .* but was .*\)\.$"):
        _held.as_outputs("x", outputs)


def test_tuples_are_lists():
    assert _held._array((1, "1")).tolist() == _held._array([1, "1"]).tolist() == [1, "1"]
    assert _held._array((None, "")).tolist() == _held._array([None, ""]).tolist()


def test_a_list_with_outputs_of_other_types_keeps_them():
    """A joined array would lose the index of a series."""
    pd = pytest.importorskip("pandas")
    series = pd.Series([1.0, 2.0], index=["a", "b"])
    for outputs in ([[1.0, 2.0], series], [series, np.array([1.0, 2.0]), [1.0, 2.0]]):
        found = _held._array(outputs)
        assert found.dtype == object and found.shape == (len(outputs),)
    assert _held._array([[1.0, 2.0], np.array([3.0, 4.0])]).shape == (2, 2)


@pytest.mark.parametrize(("blocks", "expected"), [(None, 700), (10, 70)])
def test_a_partition_is_chosen_for_the_outputs_that_will_be_counted(blocks, expected):
    """Only one output per block is counted, so 1,000 outputs in blocks of 10 count as 100."""
    asked = []

    def promise(cells, halves, num_confirm, compared):
        asked.append(num_confirm)
        return 0.0

    sides = np.random.default_rng(6).normal(size=(2, 1000, 2))
    opening = replace(request(), promise=promise)
    with Recorded(*sides, blocks=blocks).opened(None, opening) as opened:
        opened.search()
    assert {*asked} == {expected}


def test_nan_beside_numbers_is_noted():
    sides = np.random.default_rng(7).normal(size=(2, 1000, 2))
    sides[0, :100, 0] = np.nan
    found = dpjax.audit(Recorded(*sides))
    said = "NaN: 100 of 1,000 outputs of x and 0 of 1,000 outputs of y"
    assert said in " ".join(found.notes) and found.lower_bound > 1.5
