"""How a recording is split: words, pilot, and the confirmation output of a block."""

import numpy as np
import pytest

from dpjax.core import random
from dpjax.partitions import Encoder, lay
from dpjax.sources import _split
from dpjax.sources._counting import Tally
from dpjax.sources._held import held
from dpjax.sources._split import Split, _smallest, key_of_side, random_words


class Chunks:
    """A recording that is divided into chunks at the given positions."""

    name = "x"

    def __init__(self, outputs, ends):
        self.parts = np.split(outputs, ends)

    def chunks(self):
        yield from self.parts


def test_words_begin_anywhere():
    key = key_of_side(random.as_key(3), 1)
    whole = np.random.Philox(key=key).random_raw(40)
    for start, count in ((0, 40), (1, 5), (3, 1), (4, 4), (7, 20), (39, 1)):
        np.testing.assert_array_equal(random_words(key, start, count), whole[start : start + count])


def test_keys_of_sides_differ_in_the_side_alone():
    words = random.words_of(random.as_key(3)).tolist()
    for side in (0, 1):
        assert key_of_side(random.as_key(3), side).tolist() == [words[0] * 2**32 + words[1], side]


@pytest.mark.parametrize("seed", range(20))
def test_the_smallest_words_are_kept(monkeypatch, seed):
    monkeypatch.setattr(_split, "PILOT", 5)
    words = np.random.default_rng(seed).permutation(900).astype(np.uint64)
    parts = [(10 * part.astype(int), part) for part in np.split(words, [7, 310])]
    outputs, kept = _smallest(parts)
    assert sorted(kept.tolist()) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(outputs, 10 * kept.astype(int))
    few = [(words[:5], words[:5])]
    np.testing.assert_array_equal(_smallest(few)[1], words[:5])


@pytest.mark.parametrize("block", [1, 3])
@pytest.mark.parametrize("ends", [[], [1], [100, 101, 350], [*range(7, 400, 7)]])
def test_the_pilot_is_of_the_smallest_words_of_the_search_set(monkeypatch, ends, block):
    """All outputs in a block share a word, so the pilot may be larger than `PILOT`."""
    monkeypatch.setattr(_split, "PILOT", 20)
    outputs = np.arange(400)
    split = Split(Chunks(outputs, ends), "x", random.as_key(1), (0, block), 0.5)
    told = []
    found = split.pilot(Tally(lambda *counts: told.append(counts)))
    words = random_words(key_of_side(random.as_key(1), 0), 0, 400)[outputs // block]
    assert found.tolist() == np.flatnonzero(words <= np.sort(words)[19]).tolist()
    assert len(found) == {1: 20, 3: 21}[block]
    np.testing.assert_array_equal(split.folds, (words[found] >> np.uint64(32)).astype(int) % 5)
    assert split.values.total == 400 and told[-1] == (400, 0)


@pytest.mark.parametrize(
    ("size", "block", "fraction", "fits"),
    [
        (40, 1, 0.5, True),
        (39, 1, 0.5, "at least 40 outputs, but held 39"),
        (120, 3, 0.5, True),
        (119, 3, 0.5, r"at least 120 outputs \(40 blocks\), but held 119"),
        (100, 1, 0.1, True),
        (99, 1, 0.1, "at least 10 outputs of x into the search set, but 0.1 of 99 is only 9"),
    ],
)
def test_sides_that_are_too_short(size, block, fraction, fits):
    side = held("x", np.arange(size))
    split = Split(side, "x", random.as_key(1), (0, block), fraction)
    if fits is True:
        assert len(split.pilot(Tally())) >= 10
        return
    with pytest.raises(ValueError, match=fits):
        split.pilot(Tally())


def test_at_least_ten_outputs_search():
    """With a share of 0.1 of 100 outputs, fewer than ten have small words for some keys."""
    raised = 0
    for key in range(40):
        words = random_words(key_of_side(random.as_key(key), 0), 0, 100)
        split = Split(held("x", np.arange(100)), "x", random.as_key(key), (0, 1), 0.1)
        pilot = split.pilot(Tally())
        below = int((words < np.uint64(int(0.1 * 2**64))).sum())
        raised += below < 10
        expected = np.argsort(words)[: below if below >= 10 else 11]
        assert set(pilot.tolist()) == set(expected.tolist())
    assert raised > 5


def cells_of(outputs):
    """Return a cell for each of a few numbers."""
    encoder = Encoder("x")
    pilot = encoder.encode(outputs)
    return encoder, lay([pilot, pilot], encoder.names)


@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize("ends", [[], [1, 13], [100, 101, 200, 333]])
def test_every_output_is_counted_once(monkeypatch, ends, kind):
    """Large chunks of numbers are counted in parts."""
    monkeypatch.setattr(_split, "_ROWS", 70)
    outputs = np.random.default_rng(2).integers(0, 4, 400).astype(kind)
    split = Split(Chunks(outputs, ends), "x", random.as_key(5), (1, 1), 0.3)
    split.pilot(Tally())
    encoder, cells = cells_of(outputs)
    tally = Tally()
    counts = split.counts(encoder, cells, tally)
    words = random_words(key_of_side(random.as_key(5), 1), 0, 400)
    searching = words < np.uint64(int(0.3 * 2**64))
    place = cells.index(encoder.encode(outputs))
    for row, chosen in enumerate(
        (searching & (words % 2 == 0), searching & (words % 2 == 1), ~searching)
    ):
        np.testing.assert_array_equal(counts[row], np.bincount(place[chosen], minlength=cells.size))
    np.testing.assert_array_equal(split.in_order, place)
    assert tally.searched == searching.sum()


def test_one_output_of_each_block_confirms():
    """All outputs of a block share a word; its other bits choose the confirmation output."""
    outputs = np.random.default_rng(2).integers(0, 4, 403)
    split = Split(Chunks(outputs, [100, 101]), "x", random.as_key(5), (0, 3), 0.4)
    split.pilot(Tally())
    encoder, cells = cells_of(outputs)
    counts = split.counts(encoder, cells, Tally())
    of_blocks = random_words(key_of_side(random.as_key(5), 0), 0, 135)
    words = np.repeat(of_blocks, 3)[:403]
    searching = words < np.uint64(int(0.4 * 2**64))
    place = cells.index(encoder.encode(outputs))
    confirms = ~searching & (np.arange(403) % 3 == (words // np.uint64(2)) % np.uint64(3))
    np.testing.assert_array_equal(counts[2], np.bincount(place[confirms], minlength=cells.size))
    assert counts[:2].sum() == searching.sum() and counts.shape == (3, cells.size)
    np.testing.assert_array_equal(split.in_order, place[~searching & confirms])


class Told:
    """Two cells: 1 for outputs counted without their fold, 0 for new outputs."""

    size, cross_fitted = 2, True

    def index(self, outputs):
        return np.zeros(len(outputs.labels), int)

    def index_held_out(self, outputs, fold):
        assert set(fold.tolist()) <= set(range(5)) and len(fold) == len(outputs.labels)
        return np.ones(len(outputs.labels), int)


@pytest.mark.parametrize("block", [1, 3])
def test_only_the_search_set_is_counted_without_its_folds(block):
    split = Split(held("x", np.arange(402)), "x", random.as_key(5), (0, block), 0.4)
    split.pilot(Tally())
    counts = split.counts(Encoder("x"), Told(), Tally())
    assert np.all(counts[:2, 0] == 0) and counts[2, 1] == 0
    assert np.all(counts[:2, 1] > 0) and counts[2, 0] > 0


def test_the_order_of_a_quarter_of_a_million_outputs_is_kept():
    outputs = np.arange(2**18 + 10) % 3
    split = Split(held("x", outputs), "x", random.as_key(5), (1, 1), 0.3)
    encoder, cells = cells_of(outputs[:100])
    split.counts(encoder, cells, Tally())
    assert len(split.in_order) == 2**18


def test_the_order_of_the_first_outputs_is_kept(monkeypatch):
    monkeypatch.setattr(_split, "_ORDERED", 150)
    outputs = np.random.default_rng(2).integers(0, 4, 400)
    split = Split(Chunks(outputs, [100, 120, 300]), "x", random.as_key(5), (1, 1), 0.3)
    split.pilot(Tally())
    encoder, cells = cells_of(outputs)
    split.counts(encoder, cells, Tally())
    np.testing.assert_array_equal(split.in_order, cells.index(encoder.encode(outputs))[:150])
