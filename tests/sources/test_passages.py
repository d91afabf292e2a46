"""Repeated passages of outputs, repeated runs, and arriving chunks."""

import dataclasses

import numpy as np
import pytest

from dpjax.core.types import FiniteSpace
from dpjax.notions import RepeatedRuns
from dpjax.partitions import Encoder, Outputs, Search, lay, parted
from dpjax.sources import AnyPairs
from dpjax.sources._arriving import Chunk
from dpjax.sources._passages import WINDOW, Passages
from dpjax.sources._repeats import Repeats, content_of, nats_of
from dpjax.sources._searched import notes_of_search


def numbers(*values):
    rows = np.array(values, float)[:, None]
    return Outputs(np.zeros(len(values), np.int32), rows, np.zeros(len(values), bool))


def test_only_as_many_batches_as_needed_are_drawn_before_the_cells():
    drawn = []

    def batches():
        for first in range(0, 40, 4):
            drawn.append(first)
            yield numbers(*range(first, first + 4))

    for count, taken in ((3, 1), (4, 1), (5, 2), (8, 2)):
        drawn.clear()
        first, rest = parted(batches(), count)
        assert first.values[:, 0].tolist() == list(range(count)) and len(drawn) == taken
        left = np.concatenate([batch.values[:, 0] for batch in rest])
        assert left.tolist() == list(range(count, 40))


def test_a_repetition_says_what_and_what_to_do():
    pairs = AnyPairs(([1], [2]), ("a",))
    for side, where in ((0, "the database"), (1, "its neighbor")):
        error = Repeats("the function f", RepeatedRuns("batches", 100, 60.0), pairs, side, {})
        assert f"Two batches of the function f, drawn from {where}, had" in str(error)
        assert str(error) == f"{error.sentence} {error.advice}"
        assert error.advice.startswith("The mechanism must not set a fixed seed")
        assert "use the seed modulo 2^31" in error.advice


def test_the_surprise_of_a_sequence():
    """For 1, 1, 2 and a label, the frequencies are a half and two quarters."""
    outputs = Outputs(
        np.array([0, 0, 0, 1]), np.array([[1.0], [1.0], [2.0], [1.0]]), np.array([False] * 4)
    )
    assert nats_of(outputs, 4) == pytest.approx(2 * np.log(2) + 2 * np.log(4))
    assert nats_of(outputs, 3) == pytest.approx(3 * np.log(3) - 2 * np.log(2))
    assert nats_of(outputs, 2) == 0
    wide = outputs._replace(values=np.repeat([[1.0], [1.0], [2.0], [1.0]], 40, axis=1))
    assert nats_of(wide, 4) == pytest.approx(nats_of(outputs, 4))
    wide.values[1, 39] = 3.0  # All outputs differ, but not in the first columns.
    assert nats_of(wide, 4) == pytest.approx(4 * np.log(4))
    wide.values[:, 0] = np.arange(4)
    assert nats_of(wide, 4) == pytest.approx(4 * np.log(4))
    assert content_of(outputs, 2) != content_of(outputs, 3)
    assert content_of(numbers(1, 2), 2) != content_of(numbers(1, 3), 2)


def test_one_window_in_256_is_kept():
    """Of 2^18 windows, 1024 are expected, with standard deviation 32; 4.5 of them have 1e-5."""
    outputs = np.random.default_rng(4).integers(0, 2**63, 2**18 + WINDOW - 1).astype(np.uint64)
    passages, _ = chunk(Passages.none(), 0, outputs, outputs[:0])
    assert abs(len(passages.words) - 1024) < 144


def chunk(passages, number, *sides):
    return passages.after(number, tuple(np.asarray(side, np.uint64) for side in sides))


def test_passages_that_come_again():
    """One in 256 windows is kept, which is about seven windows of 2,000 outputs."""
    rng = np.random.default_rng(2)
    first, other = (rng.integers(0, 2**63, 2000).astype(np.uint64) for _ in range(2))
    nothing = np.empty(0, np.uint64)
    passages, again = Passages.none().after(3, (first, nothing))
    assert again is None and 2 < len(passages.words) < 25
    assert set(passages.chunks.tolist()) == {3}
    assert [len(tail) for tail in passages.tails] == [WINDOW - 1, 0]
    later, again = passages.after(4, (nothing, other))
    assert again is None and set(later.chunks.tolist()) == {3, 4}
    assert np.all(later.words[1:] > later.words[:-1])
    # A part of one chunk is repeated in a later chunk, on either side.
    assert later.after(5, (other[300:1900], nothing))[1] == 4
    assert later.after(5, (other, first))[1] == 3
    # One chunk repeats itself, and another chunk occurs on both sides.
    assert Passages.none().after(7, (np.concatenate([first, first]), nothing))[1] == 7
    assert Passages.none().after(7, (first, first))[1] == 7
    # The same windows are kept if the outputs come in parts.
    state = Passages.none()
    for number, part in enumerate(np.split(first, [5, 131, 1000])):
        state, again = state.after(number, (part, nothing))
        assert again is None
    np.testing.assert_array_equal(state.words, passages.words)
    restored = Passages.from_plain(later.to_plain())
    np.testing.assert_array_equal(restored.words, later.words)
    np.testing.assert_array_equal(restored.tails[0], later.tails[0])
    assert restored.chunks.dtype == np.int32


def test_tails_are_shorter_than_a_window():
    first = np.random.default_rng(2).integers(0, 2**63, 400).astype(np.uint64)
    longer = dataclasses.replace(Passages.none(), tails=(first[:300], first[100:]))
    restored = Passages.from_plain(longer.to_plain())
    np.testing.assert_array_equal(restored.tails[0], first[300 - WINDOW + 1 : 300])
    np.testing.assert_array_equal(restored.tails[1], first[-WINDOW + 1 :])


def test_passages_that_are_damaged():
    rng = np.random.default_rng(2)
    first = rng.integers(0, 2**63, 2000).astype(np.uint64)
    passages = Passages.none().after(3, (first, first[:0]))[0]
    words = passages.words
    for damaged in (
        dataclasses.replace(passages, words=words[::-1]),
        dataclasses.replace(passages, words=words[:-1]),
        dataclasses.replace(passages, words=np.repeat(words[:1], len(words))),
    ):
        with pytest.raises(ValueError, match="not in order"):
            Passages.from_plain(damaged.to_plain())
    with pytest.raises(ValueError, match="not hashes"):
        Passages.from_plain(dataclasses.replace(passages, words=words.astype(np.int64)).to_plain())


def test_chunks_that_arrive():
    chunk = Chunk.of("a", [1.0, 2.0], [])
    assert chunk.kinds == ["numbers"] and chunk.digests[1] == "" and len(chunk.digests[0]) == 32
    assert chunk.telling == (False, False)
    long = Chunk.of("a", np.arange(32), ["a", "b"])
    assert long.telling == (True, False) and long.kinds == ["numbers", "labels"]
    with pytest.raises(TypeError, match="y of a held outputs of another kind"):
        Chunk.of("a", [1.0], ["a", 1.0])
    with pytest.raises(TypeError, match="x of a held outputs of another kind"):
        Chunk.of("a", ["a", "b\0"], [1.0])


def test_notes_of_outcomes_outside_of_a_finite_space():
    encoder = Encoder("x")
    pilot = encoder.encode(np.arange(3))
    cells = lay([pilot, pilot], encoder.names, outcomes=3, whole=True)
    space, halves = FiniteSpace(3), np.zeros((1, 2, 2, cells.size), np.int64)
    inside = cells.num_alone + 1 + np.arange(3)
    halves[0, 0, 0, inside] = 10
    halves[0, 1, 1, inside] = 5
    assert notes_of_search([Search(cells, halves, None)], space, ["a"]) == []
    halves[0, 0, 1, cells.num_alone] = 2
    halves[0, 1, 1, cells.size - 1] = 3
    (note,) = notes_of_search([Search(cells, halves, None)], space, ["a"])
    assert "Up to 25.00% of the outputs" in note and "outside 0 .. 2 (" in note


@pytest.mark.parametrize("lost", [0, 3])
def test_a_large_finite_space_has_cells_for_outcomes_outside(lost):
    """In a large space, the cell for outcomes outside of the space contained no others."""
    encoder, size = Encoder("x"), 9000
    drawn = np.random.default_rng(3).integers(0, size, (2, 2000))
    drawn[0, :lost], drawn[1, :lost] = size, -1
    pilots = [encoder.encode(side) for side in drawn]
    cells = lay(pilots, encoder.names, outcomes=size, whole=True)
    counts = np.stack([np.bincount(cells.index(pilot), minlength=cells.size) for pilot in pilots])
    halves = np.stack([counts, np.zeros_like(counts)])[None]
    notes = notes_of_search([Search(cells, halves, None)], FiniteSpace(size), ["a"])
    assert len(notes) == (lost > 0) and all("Up to 0.15% of" in note for note in notes)


def test_notes_of_outputs_that_never_vary():
    encoder = Encoder("x")
    pilot = encoder.encode(np.array([0.5, 0.5, 1.5]))
    cells = lay([pilot, pilot], encoder.names)
    place = int(cells.index(encoder.encode(np.array([0.5])))[0])
    other = int(cells.index(encoder.encode(np.array([1.0])))[0])
    halves = np.zeros((1, 2, 2, cells.size), np.int64)
    halves[..., place] = [[[3, 4], [5, 6]]]
    (note,) = notes_of_search([Search(cells, halves, None)], None, ["a"])
    assert "a" in note
    # An interval contains several values; here, both sides have two cells.
    assert not notes_of_search([Search(cells, np.roll(halves, other - place, -1), None)], None, "a")
    halves[0, 0, 1, other] = 1
    assert not notes_of_search([Search(cells, halves, None)], None, ["a"])
