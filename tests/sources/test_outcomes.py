"""Which recorded numbers are treated as outcomes or as reals, and how outcomes are numbered."""

import enum

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpjax.partitions import Encoder
from dpjax.partitions.missing import MASKED, missing
from dpjax.sources._held import as_outputs
from dpjax.sources._labels_alone import notes_of_labels_alone, refuse_alone
from dpjax.sources._outcomes import (
    _may_be_smoothed,
    _stands_out,
    _step,
    in_one_type,
    in_python,
    looks_discrete,
    most_often,
    number_outcomes,
)


def labels(count, repeated=0, times=2):
    names = [f"{number}" for number in range(count - times * repeated)]
    return names + [f"r{number}" for number in range(repeated) for _ in range(times)]


@pytest.mark.parametrize(
    ("outputs", "refused"),
    [
        (labels(100), True), (labels(99), False), (labels(100, 1), True), (labels(100, 2), False),
        (labels(100, 1, 3), False), ([*labels(99), 1.5], False),
    ],
)  # fmt: skip
def test_labels_of_which_hardly_any_repeats(outputs, refused):
    """With 100 other labels on the other side, 1 of 100 corresponds to 2 of 200."""
    encoder, other = Encoder("x"), [f"other {number}" for number in range(100)]
    pilots = [encoder.encode(np.array(side, object)) for side in (outputs, other)]
    if not refused:
        # 199 outputs are too few for the note.
        notes = notes_of_labels_alone(pilots, encoder, "x and y")
        assert len(notes) == (len(outputs) == 100)
        return
    with pytest.raises(ValueError, match=r"x and y hold 200 labels, such as .*0"):
        notes_of_labels_alone(pilots, encoder, "x and y")
    with pytest.raises(ValueError, match=r"x and y hold 999 labels, such as .*0"):
        notes_of_labels_alone(pilots, encoder, "x and y", 999)


class Fair(enum.Enum):
    HEADS = 1
    TAILS = 2


class Model:
    """A fitted model, which equals only itself; its text shows no address, as in scikit-learn."""

    def __repr__(self):
        return "Model()"


@pytest.mark.parametrize(
    ("output", "says"),
    [
        (
            lambda number: Model(),
            "so return the contents of the object, such as the coefficients of a model.",
        ),
        (lambda number: {"fit": Model()}, "the coefficients of a model."),
        (lambda number: ("ok", (Model(),)), "the coefficients of a model."),
        (lambda number: f"{number}", "or group the labels."),
        (lambda number: ("ok", Fair.HEADS, f"{number}"), "or group the labels."),
    ],
)
def test_objects_that_equal_only_themselves_have_contents(output, says):
    encoder = Encoder("x")
    pilots = [encoder.encode([output(number) for number in range(s, s + 100)]) for s in (0, 100)]
    with pytest.raises(ValueError) as refused:
        notes_of_labels_alone(pilots, encoder, "x and y")
    assert str(refused.value).endswith(says)


def test_sentinels_and_members_of_enumerations_are_labels():
    encoder, sentinel = Encoder("x"), Model()
    pilots = [encoder.encode([sentinel, Fair.HEADS, Fair.TAILS, None] * 50) for _ in range(2)]
    assert notes_of_labels_alone(pilots, encoder, "x and y") == []
    assert encoder.labels.num_objects == 3


@pytest.mark.parametrize(("unique", "noted"), [(100, True), (99, False)])
def test_many_labels_that_occur_once_are_noted(unique, noted):
    encoder = Encoder("x")
    sides = [*labels(unique), *["same"] * (100 - unique)], [*["same"] * 50, *[7.5] * 50]
    pilots = [encoder.encode(np.array(side, object)) for side in sides]
    notes = notes_of_labels_alone(pilots, encoder, "x and y")
    assert len(notes) == noted
    for note in notes:
        assert note.startswith("Of the first 200 outputs, 100 have a label that no other one has")


@pytest.mark.parametrize(
    ("rare", "times", "noted"), [(150, 7, True), (149, 7, False), (150, 8, False)]
)
def test_many_rare_labels_are_noted(rare, times, noted):
    """Dates are labels: an audit of many dates has little power, and must say so."""
    encoder = Encoder("x")
    dates = np.repeat(np.datetime64("2020-01-01") + np.arange(rare), times)
    sides = [*dates], ["same"] * (2_100 - len(dates))
    notes = notes_of_labels_alone([encoder.encode(side) for side in sides], encoder, "x and y")
    assert len(notes) == noted
    for note in notes:
        assert "2,100 outputs, 1,050 have a label that occurs fewer than 8 times" in note
        assert "write dates and durations as numbers" in note


def test_one_in_a_hundred_outcomes_that_repeat():
    ones = np.ones(198, int)
    with pytest.raises(ValueError, match="hardly any label occurs twice"):
        refuse_alone(np.array([*ones, 2]), "x", 200, "a")
    refuse_alone(np.array([*ones[:196], 2, 2]), "x", 200, "a")
    refuse_alone(np.array([*ones[:197], 3]), "x", 200, "a")


def outcome(values, size=10**6, smoothing=None):
    notes = []
    values = np.asarray(values)
    half = len(values) // 2
    return looks_discrete(values[:half], values[half:], size, smoothing, notes), " ".join(notes)


def test_which_numbers_are_outcomes():
    assert outcome(["a", "b"]) == (True, "")
    assert outcome(np.zeros((4, 2))) == (False, "")
    reals = np.arange(4000) / 7
    assert outcome(reals)[0] is False and "treated as reals" in outcome(reals)[1]
    # The limits are 1,000 distinct values, a tenth of a side's size, and a quarter of the search
    # set.
    for distinct, number, size, found in (
        (1000, 4000, 10_000, True), (1001, 4004, 10_010, False), (1000, 3999, 10_000, False),
        (1000, 4000, 9999, False), (10, 40, 100, True), (10, 40, 99, False),
    ):  # fmt: skip
        values = (np.arange(number) % distinct) / 7
        assert outcome(values, size)[0] is found
    assert (
        "Only 10 distinct numbers occur among the 40 outputs" in outcome(np.arange(40) % 10 / 7)[1]
    )


def test_which_integers_are_smoothed():
    rng, wide = np.random.default_rng(1), lambda pilots, number: 100.0
    integers = np.rint(rng.normal(0, 1000, 4000)).astype(int)
    kept, notes = outcome(integers, 4000, wide)
    assert kept is False and "most of which occur fewer than 20 times" in notes
    kept, notes = outcome(integers, 4000, None)
    assert kept is True and "Most of these outcomes" not in notes
    kept, notes = outcome(integers, 4000, lambda pilots, number: 2.99)
    assert kept is True and "Most of these outcomes occur fewer than 20 times" in notes
    kept, notes = outcome(rng.integers(0, 9, 4000), 4000, wide)
    assert kept is True and "treated as outcomes (9 distinct)" in notes
    # Half of the outputs have values that occur fewer than 40 times.
    half = np.concatenate([np.repeat(np.arange(50), 40), np.arange(1000, 3000)])
    assert outcome(half, 4000, None)[0] is True
    assert "Most of these" not in outcome(half, 4000, lambda *_: 0.0)[1]
    assert "Most of these" in outcome(np.append(half, [5000, 5001]), 4000, lambda *_: 0.0)[1]


def test_when_smoothing_hides_nothing():
    rng, asked, given = np.random.default_rng(1), [], []

    def smoothing(pilots, number):
        given.append(pilots)
        asked.append((np.median(np.concatenate(pilots)), number))
        return 3.0

    x, y = (np.rint(rng.normal(500, 1000, 1000)).astype(int) for _ in range(2))

    def may(x, y, size=2000):
        return _may_be_smoothed(x, y, np.unique(np.concatenate([x, y])), size, smoothing)

    assert may(x, y) and asked == [(0.0, 1000)]
    centred = [side - np.median(np.concatenate([x, y])) for side in (x, y)]
    np.testing.assert_array_equal(given[-1], centred)
    assert not may(2 * x, 2 * y)
    assert not may(x, 2 * y) and not may(2 * x, y)
    assert not may(x, y, 199) and may(x[:150], y[:150], 200)
    assert not may(x, np.append(y[:-80], [77] * 80))
    assert not may(np.append(x, 2**53 + 2), y) and may(np.append(x, 2**53), y)
    assert not may(x[:1], y[:1])


def test_steps_and_values_that_stand_out():
    assert _step(np.array([3, 9, 15, 9])) == 6 and _step(np.array([4])) == 0
    assert most_often(100) == pytest.approx(5 + 3 * 5**0.5)
    even = np.repeat(np.arange(40), 30)
    assert not _stands_out(even, 1)
    # Next to values that occur 20 times, 66 occurrences do not stand out, but 67 do.
    for times, found in ((66, False), (67, True)):
        side = np.concatenate([np.repeat(np.arange(100), 20), np.full(times - 20, 50)])
        assert _stands_out(side, 1) is found
    # Values that occur fewer than 12 times are never frequent, even with a larger step.
    for times, found in ((11, False), (12, True)):
        assert (
            _stands_out(np.concatenate([np.arange(0, 20_000, 50), np.full(times - 1, 50)]), 1)
            is found
        )
    spread = np.concatenate([np.repeat(np.arange(0, 300, 3), 20), np.full(60, 150)])
    assert _stands_out(spread, 1) and _stands_out(spread, 3)


def test_types_of_integers():
    small, signed = np.array([1, 2], np.uint8), np.array([-1, 5], np.int32)
    assert [side.dtype for side in in_one_type(small, signed)] == [np.int64, np.int64]
    assert [side.tolist() for side in in_one_type(small, signed)] == [[1, 2], [-1, 5]]
    large = np.array([2**63], np.uint64)
    assert [side.dtype for side in in_one_type(np.array([5]), large)] == [np.uint64, np.uint64]
    for sides in ((np.array([5]), large), (large, np.array([5]))):
        assert [side.tolist() for side in in_one_type(*sides)] == [side.tolist() for side in sides]
    for sides in ((signed, large), (large, signed)):
        with pytest.raises(ValueError, match=f"one side had -1 and the other {2**63}"):
            in_one_type(*sides)
    reals = np.array([0.5])
    assert in_one_type(reals, small) == (reals, small)
    limit = np.array([2**63 - 1], np.uint64)
    assert in_one_type(limit, signed)[0].dtype == np.int64


def test_numbers_of_outcomes():
    x, y, names = number_outcomes(np.array(["b", "a"]), np.array(["b", "c", "b"]))
    assert (x.tolist(), y.tolist(), names.tolist()) == ([1, 0], [1, 2, 1], ["a", "b", "c"])
    assert x.dtype == y.dtype == np.int32
    for sides, message in (
        ((np.arange(4), np.arange(4, 9)), "all of the 9 outputs in x and y are distinct"),
        ((np.zeros(4), np.zeros(3)), r"hold only one outcome, 0.0: there"),
        ((np.zeros((4, 2)), np.zeros((3, 2))), "encode each row as one outcome"),
    ):
        with pytest.raises(ValueError, match=message):
            number_outcomes(*sides)
    assert in_python(np.int64(3)) == 3 and in_python("a") == "a"
    assert type(in_python(np.int64(3))) is int


WORDS = ["b", "a", "", "é", "b"]

CONTAINERS = {
    "an array of objects": lambda words: np.array(words, object),
    "a series": pd.Series,
    "a series of objects": lambda words: pd.Series(words, dtype=object),
    "a series of categories": lambda words: pd.Series(words, dtype="category"),
    "categories": pd.Categorical,
    "an index": pd.Index,
    "an array of Arrow": pa.array,
    "a dictionary of Arrow": lambda words: pa.array(words).dictionary_encode(),
    "chunks of Arrow": lambda words: pa.chunked_array([words[:2], words[2:]]),
    "dictionaries of Arrow": lambda words: pa.chunked_array(
        [pa.array(part).dictionary_encode() for part in (words[:2], words[2:])]
    ),
    "large strings of Arrow": lambda words: pa.array(words, pa.large_string()),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_labels_in_any_container_are_those_of_a_list(name):
    """Strings are read by dictionary codes; missing labels are separate outcomes."""
    contain = CONTAINERS[name]
    found = as_outputs("x", contain(WORDS))
    assert found.dtype.kind == "U" and found.tolist() == WORDS
    with_gap = as_outputs("x", contain([*WORDS, None]))
    assert with_gap.dtype == object and with_gap[:5].tolist() == WORDS
    assert missing(with_gap[5]) or np.isnan(with_gap[5])


def test_objects_that_are_no_plain_strings_stay_objects():
    for outputs in (["masked", MASKED], ["a", 1], ["n"] * 5000 + ["y" * 10_000], ["a", "a\0"]):
        found = as_outputs("x", np.array([*outputs, None], object)[:-1])
        assert found.dtype == object
        assert [*map(type, found)] == [*map(type, outputs)] and found.tolist() == outputs
    assert as_outputs("x", pa.array([2, 1]).dictionary_encode()).tolist() == [2, 1]
    assert as_outputs("x", pd.Series([2, 1], dtype="category")).tolist() == [2, 1]


def test_lists_whose_outputs_numpy_would_merge():
    for outputs in (["a", "a\0"], [2**53 + 1, 0.5], [1, "1"], [b"a", "a"]):
        found = as_outputs("x", outputs)
        assert found.dtype == object and found.tolist() == outputs
    for outputs, kind in (([2**53 - 1, 0.5], "f"), ([2.0**60, 0.5], "f"), (["a", "bc"], "U")):
        assert as_outputs("x", outputs).dtype.kind == kind
    assert as_outputs("x", [[1.0], [2.0]]).shape == (2,)
    masked = as_outputs("x", [np.ma.array([1.0, 2.0], mask=[True, False])])
    assert masked.dtype == object
    for outputs, message in (
        (np.zeros((2, 2, 2)), r"had \(2, 2, 2\)"), (3, r"was 3 \(int\)"),
        ("file.csv", r"dpjax.Recording\('file.csv'\)"),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=message):
            as_outputs("x", outputs)
    for outputs in (np.array([1j]), np.array([["a", "b"]])):
        with pytest.raises(TypeError, match="x must"):
            as_outputs("x", outputs)


@pytest.mark.parametrize(("times", "wide"), [(39, True), (40, False)])
def test_integers_that_occur_forty_times_are_frequent(times, wide):
    """They occur twenty times on each side of the search set."""
    _, notes = outcome(np.repeat(np.arange(100), times), 10**6, lambda *_: 0.0)
    assert ("Most of these outcomes occur fewer than 20 times" in notes) is wide


def test_three_equal_atoms_side_by_side_stand_out_by_their_share():
    """Each of three adjacent values is a fifth of the outputs, and as frequent as the others."""
    rng = np.random.default_rng(3)
    spread = rng.integers(-5000, 5000, 20_000)
    assert _stands_out(np.concatenate([spread, np.repeat([0, 1, 2], 10_000)]), 1)
    assert not _stands_out(spread, 1)
