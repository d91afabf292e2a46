"""What is stored about one side in constant memory, and which sequences occur again."""

import numpy as np
import pytest

from dpjax.sources import _side_values
from dpjax.sources._hashes import hashes_of, mix
from dpjax.sources._side_values import (
    SideValues,
    _counted,
    cannot_recur,
    counts_on_both_sides,
    log_evidence,
    order_nats,
)

MOST = 2**14


def test_the_smallest_hashes_are_counted_however_outputs_are_divided():
    rng = np.random.default_rng(1)
    outputs = rng.integers(0, 40_000, 60_000)
    whole = SideValues()
    whole.add(outputs)
    parts = SideValues()
    for part in np.split(outputs, [1, 700, 30_000, 59_999]):
        parts.add(part)
    hashes, counts = np.unique(hashes_of(outputs), return_counts=True)
    for side in (whole, parts):
        assert side.total == 60_000
        np.testing.assert_array_equal(side.hashes, hashes[:MOST])
        np.testing.assert_array_equal(side.counts, counts[:MOST])
        assert side.limit == hashes[MOST - 1]
        np.testing.assert_array_equal(side.first, hashes_of(outputs[:MOST]))
        np.testing.assert_array_equal(side.leading, outputs[:512].astype(float))


@pytest.mark.parametrize("kind", [np.str_, object])
def test_labels_are_counted_like_their_hashes(monkeypatch, kind):
    """Labels are hashed once each, and only labels with small hashes are counted."""
    monkeypatch.setattr(_side_values, "_KEPT", 50)
    rng = np.random.default_rng(2)
    labels = np.array([f"label {i}" for i in rng.geometric(0.01, 2000)], kind)
    side = SideValues()
    for part in np.split(labels, [3, 900, 901]):
        side.add(part)
    hashes, counts = np.unique(hashes_of(labels), return_counts=True)
    np.testing.assert_array_equal(side.hashes, hashes[:50])
    np.testing.assert_array_equal(side.counts, counts[:50])


def test_labels_with_equal_hashes_are_counted_together():
    kinds = np.array([9, 4, 9, 7], np.uint64)
    hashes, counts = _counted(kinds, np.array([0, 1, 1, 2, 3, 3, 0]), np.uint64(8))
    assert hashes.tolist() == [4, 7] and counts.tolist() == [2, 2]
    hashes, counts = _counted(kinds, np.array([0, 1, 1, 2, 3, 3, 0]), np.uint64(9))
    assert hashes.tolist() == [4, 7, 9] and counts.tolist() == [2, 2, 3]


@pytest.mark.parametrize("distinct", [1, 99, 100, 101, 200, 350, 10**6])
@pytest.mark.parametrize("limit", [2**64 - 1, 2**62])
def test_hashes_above_those_that_are_kept_are_dropped_before_they_are_sorted(
    monkeypatch, distinct, limit
):
    """The result contains all hashes, or more than _KEPT of the smallest."""
    monkeypatch.setattr(_side_values, "_KEPT", 100)
    rng, cut = np.random.default_rng(distinct), False
    for size in (399, 401, 5000):
        values = rng.integers(0, 2**63, distinct, dtype=np.uint64) * np.uint64(2)
        kinds = values[rng.integers(0, distinct, size)]
        hashes, counts = _counted(kinds, None, np.uint64(limit))
        expected, times = np.unique(kinds[kinds <= limit], return_counts=True)
        np.testing.assert_array_equal(hashes, expected[: len(hashes)])
        np.testing.assert_array_equal(counts, times[: len(hashes)])
        assert len(hashes) == len(expected) or len(hashes) > 100
        cut |= len(hashes) < len(expected)
    assert cut == (distinct * (limit / 2**64) > 300)


@pytest.mark.parametrize("kinds", [[2**63], [0, 2**48, 2**64 - 1], [3, 2**48 - 1, 2**60]])
def test_few_hashes_are_counted_without_sorting(monkeypatch, kinds):
    """This includes different hashes with equal leading bits."""
    monkeypatch.setattr(_side_values, "_KEPT", 100)
    rng = np.random.default_rng(1)
    hashes = np.array(kinds, np.uint64)[rng.integers(0, len(kinds), 5000)]
    for found, expected in zip(
        _counted(hashes, None, np.uint64(2**64 - 1)),
        np.unique(hashes, return_counts=True),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)
    surprise = order_nats(hashes)
    monkeypatch.setattr(_side_values, "_slots", lambda hashes: None)
    assert order_nats(hashes) == surprise


def test_all_outputs_of_a_counted_value_are_counted():
    """This includes the outputs of the value with the largest counted hash."""
    outputs = np.random.default_rng(1).integers(0, 40_000, 60_000)
    side = SideValues()
    side.add(outputs)
    once = side.counts
    side.add(outputs[::-1])
    np.testing.assert_array_equal(side.counts, 2 * once)


def test_values_are_counted_on_both_sides(monkeypatch):
    """Only values whose hash is at most the smaller limit count."""
    monkeypatch.setattr(_side_values, "_KEPT", 40)
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 60, 300), rng.integers(30, 200, 700)
    sides = SideValues(), SideValues()
    for side, outputs in zip(sides, (x, y), strict=True):
        side.add(outputs)
    values = np.union1d(x, y)
    values = values[np.argsort(hashes_of(values))]
    limit = min(side.limit for side in sides)
    assert limit == sides[1].hashes[-1] < sides[0].hashes[-1]
    expected = [
        [np.sum(outputs == v) for v in values if hashes_of(np.array([v]))[0] <= limit]
        for outputs in (x, y)
    ]
    assert len(expected[0]) > 40 and 0 in expected[0] and 0 in expected[1]
    np.testing.assert_array_equal(counts_on_both_sides(*sides), expected)


def test_whether_all_outputs_are_the_same():
    side = SideValues()
    side.add(np.array([5, 7, 7, 9, 9, 9]))
    assert not side.is_constant
    alone = SideValues()
    alone.add(np.array([3.0, 3.0]))
    assert alone.is_constant
    alone.add(np.array([4.0]))
    assert not alone.is_constant


def test_first_outputs_are_reduced_to_their_first_numbers():
    side = SideValues()
    side.add(np.array([[1.0, 2.0], [3.0, 4.0]]))
    side.add(np.array([[5.0, 6.0]] * 600))
    np.testing.assert_array_equal(side.leading[:4], [1.0, 3.0, 5.0, 5.0])
    assert len(side.leading) == 512
    labels = SideValues()
    labels.add(np.array(["1", "2"]))
    assert not len(labels.leading)


def bits(seed, size):
    return np.random.default_rng(seed).integers(0, 2, size)


@pytest.mark.parametrize("size", [128, 130, 700])
@pytest.mark.parametrize("border", [0, 1, 50, 127])
def test_a_beginning_that_comes_again_is_found_across_a_border(size, border):
    """The beginning starts `border` outputs before a chunk ends."""
    outputs, begin = bits(size + border, 1500), 800 - border
    outputs[begin : begin + size] = outputs[:size]
    side = SideValues()
    side.add(outputs[:800])
    side.add(outputs[800:])
    assert side.again == (0, begin)


def test_beginnings_are_as_long_as_they_must_be():
    """Of fair bits, 64 have a surprise below 60 nats, and 128 have more."""
    for size, found in ((127, None), (128, (0, 1872))):
        outputs = bits(4, 2000)
        outputs[2000 - size :] = outputs[:size]
        side = SideValues()
        side.add(outputs)
        assert side.again == found


@pytest.mark.parametrize(("share", "size"), [(0.25, 128), (0.04, 512)])
def test_rare_outcomes_need_longer_beginnings(share, size):
    outputs = (np.random.default_rng(7).random(3000) < share).astype(int)
    assert order_nats(outputs[:size]) > 60 > order_nats(outputs[: size // 2])
    for length, found in ((size - 1, None), (size, (0, 3000 - size))):
        repeated = outputs.copy()
        repeated[3000 - length :] = outputs[:length]
        if found is None:
            repeated[3000 - length - 1] = 1 - outputs[length]
        side = SideValues()
        side.add(repeated)
        assert side.again == found


def test_the_longest_beginning_across_a_border():
    outputs = (np.random.default_rng(7).random(3000) < 0.04).astype(int)
    outputs[1489 : 1489 + 512] = outputs[:512]
    side = SideValues()
    side.add(outputs[:2000])
    assert side.again is None and len(side._last) == 511
    side.add(outputs[2000:])
    assert side.again == (0, 1489)


def test_the_first_repetition_is_said():
    outputs = bits(8, 2000)
    outputs[400:528] = outputs[1000:1128] = outputs[:128]
    side = SideValues()
    side.add(outputs[:900])
    side.add(outputs[900:])
    assert side.again == (0, 400)


def test_a_chunk_that_comes_again_is_found():
    first, second = bits(1, 300), bits(2, 300)
    side = SideValues()
    for chunk in (first, second, bits(3, 10), second):
        side.add(chunk)
    assert side.again == (300, 610)
    # The same few labels in two chunks are not a sequence.
    few = SideValues()
    for _ in range(2):
        few.add(np.array(["a", "b", "a"]))
    assert few.again is None


def test_a_large_input_is_divided_into_rows(monkeypatch):
    monkeypatch.setattr(_side_values, "_ROWS", 200)
    outputs = bits(6, 850)
    outputs[600:800] = outputs[200:400]
    side = SideValues()
    side.add(outputs)
    assert side.again == (200, 600) and side.total == 850


def test_evidence_by_hand():
    """Of ten coincidences of probability 1/2, nine happened; the best factor is s = 0.9."""
    happened = np.array([True] * 9 + [False])
    products = []
    for share in (0.1, 0.4, 0.9, 0.999):
        s = 0.5 + share * 0.5
        products.append((s / 0.5) ** 9 * (1 - s) / 0.5)
    expected = np.log(max(products) / 4)
    assert log_evidence(np.full(10, 0.5), happened) == pytest.approx(expected)


def test_the_evidence_is_below_1_on_average():
    """The mean is computed over all outcomes of five coincidences with different probabilities."""
    chance, mean = np.array([0.5, 0.2, 0.7, 0.9, 0.4]), 0.0
    for number in range(32):
        happened = (number >> np.arange(5)) % 2 == 1
        weight = np.prod(np.where(happened, chance, 1 - chance))
        mean += weight * np.exp(log_evidence(chance, happened))
    assert 0.2 < mean <= 1 + 1e-9


def test_the_surprise_of_sequences():
    """A cycle has no surprise, random bits have ln 2 each: the likelihood of the best chain."""
    assert order_nats(np.arange(100) % 7) == pytest.approx(0)
    sequence = np.array([0, 0, 1, 0, 1, 1, 0])
    # From 0, there is one 0 and two 1s; from 1, there is one 1 and two 0s.
    expected = -2 * (np.log(1 / 3) + 2 * np.log(2 / 3))
    assert order_nats(sequence) == pytest.approx(expected)
    # Without repetitions, every step is certain.
    assert order_nats(np.array([3, 1, 2])) == order_nats(np.array([4])) == 0
    assert order_nats(np.array([1, 2, 1, 3])) == pytest.approx(2 * np.log(2))


@pytest.mark.parametrize(("size", "found"), [(31, False), (32, True), (33, True)])
def test_a_sequence_of_values_that_occur_once(size, found):
    assert cannot_recur(np.arange(size).astype(np.uint64)) is found
    assert cannot_recur(np.concatenate([np.arange(size), [99, 99]]).astype(np.uint64)) is found


def test_a_long_sequence_of_bits_cannot_recur():
    bits = np.random.default_rng(1).integers(0, 2, 200).astype(np.uint64)
    assert cannot_recur(bits)
    assert not cannot_recur(bits[:60])
    assert not cannot_recur(np.arange(2000).astype(np.uint64) % 2)
    assert not cannot_recur(bits[:1]) and not cannot_recur(bits[:0])


def test_equal_outputs_have_equal_hashes():
    numbers = hashes_of(np.array([0.0, -0.0, 1.5, np.nan]))
    assert numbers[0] == numbers[1]
    assert len(set(numbers.tolist())) == 3
    np.testing.assert_array_equal(hashes_of(np.array([1, 2])), hashes_of(np.array([1.0, 2.0])))
    np.testing.assert_array_equal(
        hashes_of(np.array(["a", "bc"])), hashes_of(np.array(["a", "bc"], object))
    )
    # The order of the entries of a vector matters.
    rows = hashes_of(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    assert rows[0] == rows[2] != rows[1]
    objects = np.empty(3, object)
    objects[:] = ["a", ("a",), "a"]
    found = hashes_of(objects)
    assert found[0] == found[2] != found[1]


def test_different_outputs_have_different_hashes():
    large = [2**60, 2**60 + 1, -(2**60), -(2**60) - 1, 2**63 - 1, -(2**63), 2**53 + 1, 2**53]
    hashes = hashes_of(np.array(large))
    assert len(set(hashes.tolist())) == len(large)
    # An exact float equals the integer, and an array of objects hashes each number like an array.
    np.testing.assert_array_equal(hashes_of(np.array([2.0**60, 2.0**53])), hashes[[0, 7]])
    np.testing.assert_array_equal(hashes_of(np.array(large, object)), hashes)
    unsigned = np.array([2**64 - 1, 2**63, 2**63 + 1], np.uint64)
    np.testing.assert_array_equal(hashes_of(unsigned.astype(object)), hashes_of(unsigned))
    ones = np.array([1, 1.0, True, np.True_, np.float32(1), np.uint8(1), "x"], object)
    assert set(hashes_of(ones[:-1]).tolist()) == set(hashes_of(np.ones(1)).tolist())
    mixed = ["1", 1, "nan", np.nan, "None", None, "", (1,), 2**64, 2**80, -(2**80), 10**400, "inf"]
    objects = np.empty(len(mixed), object)
    objects[:] = mixed
    assert len(set(hashes_of(objects).tolist())) == len(mixed)


def test_words_are_mixed_by_a_bijection():
    words = np.arange(2**12, dtype=np.uint64)
    mix(words)
    assert len(np.unique(words)) == 2**12
    # From the publication: the first word of SplitMix64 with seed 0.
    first = np.array([0x9E3779B97F4A7C15], np.uint64)
    mix(first)
    assert int(first[0]) == 0xE220A8397B1DCDAF
