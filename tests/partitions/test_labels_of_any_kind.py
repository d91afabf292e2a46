"""Labels and missing values of NumPy and other libraries, and small hash tables."""

import json

import numpy as np
import pytest

from dpjax.partitions import Encoder, _distinct
from dpjax.partitions._distinct import distinct, labels_at
from dpjax.partitions.missing import MASKED, Raised, as_array, entries, missing, rows_of_objects


@pytest.mark.parametrize(
    ("item", "name"),
    [
        (np.datetime64("NaT", "s"), "NaT"), (np.timedelta64("NaT", "s"), "NaT"),
        (np.datetime64("2020-01-01"), None), (np.timedelta64(3, "D"), None),
        (None, "None"), (np.ma.masked, "masked"), (Raised("error: E"), "error: E"),
        ("", "empty text"), (b"", "empty bytes"), ([], "empty"), ((), "empty"), ({}, "empty"),
        ("None", None), (0, None), (float("nan"), None), ([0], None),
        (type("NAType", (), {})(), "NA"), (type("NaTType", (), {})(), "NaT"),
    ],
)  # fmt: skip
def test_what_is_missing(item, name):
    assert missing(item) == name


@pytest.mark.parametrize("text", ["x", b"x"])
def test_a_string_of_numpy_is_the_same_label(text):
    encoder = Encoder("it")
    of_numpy = np.asarray([text])[0]
    assert type(of_numpy) is not type(text)
    labels = encoder.encode([text, of_numpy, "other", of_numpy, text]).labels
    assert len(set(labels[[0, 1, 3, 4]])) == 1 and labels[2] != labels[0]
    assert sorted(encoder.names) == sorted(["a number", repr(text), "'other'"])
    # As in a separate array.
    assert encoder.encode(np.array([text, text])).labels.tolist() == [labels[0]] * 2


@pytest.mark.parametrize(
    ("numbers", "names"),
    [([-0.0, 1.0], {"-0.0"}), ([0.0, 1.0], {"0.0"}), ([0.0, -0.0, 1.0], {"0.0", "-0.0"}),
     ([1.0], set())],
)  # fmt: skip
def test_zeros_have_names_by_their_sign_once_they_occur(numbers, names):
    encoder = Encoder("it", bits="lowest")
    found = encoder.encode(np.array(numbers))
    assert set(encoder.names) == {"a number", "lowest set bit 2^0"} | names
    for number, label, alone in zip(numbers, found.labels, found.alone, strict=True):
        assert encoder.names[label] == (str(number) if number == 0 else "lowest set bit 2^0")
        assert alone == (number == 0)


def test_vectors_of_integers_have_numbers_up_to_2_to_the_53():
    most = 2**53
    found = Encoder("it").encode(np.array([[most, -most], [3, 4]]))
    assert found.values.tolist() == [[most, -most], [3, 4]] and not found.alone.any()
    for wrong in (most + 1, -most - 1):
        with pytest.raises(ValueError, match="vectors of integers above 2"):
            Encoder("it").encode(np.array([[wrong, 0], [3, 4]]))
        encoder = Encoder("it")
        labels = encoder.encode(np.array([wrong, 5]))
        assert labels.alone.tolist() == [True, False] and str(wrong) in encoder.names


@pytest.mark.parametrize("bits", [1, 3, 22])
@pytest.mark.parametrize("number", [1, 3, 40])
def test_distinct_labels_whatever_the_size_of_the_tables(bits, number, monkeypatch):
    """In small tables, most labels share a slot with others; the rest is sorted."""
    monkeypatch.setattr(_distinct, "_SMALL", bits)
    monkeypatch.setattr(_distinct, "_LARGE", bits)
    rng = np.random.default_rng(number)
    words = np.array([f"label {k * 7919 % 1000}" for k in range(number)])
    for labels in (words[rng.integers(0, number, 300)], words, words.astype("S")):
        kinds, places = distinct(labels)
        expected = np.unique(labels, return_inverse=True)
        np.testing.assert_array_equal(kinds, expected[0])
        np.testing.assert_array_equal(places, expected[1])


def test_distinct_labels_with_equal_hashes(monkeypatch):
    monkeypatch.setattr(_distinct, "_hashes", lambda labels: np.zeros(len(labels), np.uint64))
    labels = np.array(["b", "a", "c", "a", "b", "d", "d"])
    kinds, places = distinct(labels)
    assert kinds.tolist() == ["a", "b", "c", "d"] and places.tolist() == [1, 0, 2, 0, 1, 3, 3]


@pytest.mark.parametrize(
    ("wide", "spare", "is_array"), [(8, 0, True), (7, 0, False), (7, 1, False), (7, 2, True)]
)
def test_wide_arrays_of_strings_are_limited(wide, spare, is_array, monkeypatch):
    """Labels of 4 and 1 characters need 8 characters with padding, and 5 without."""
    monkeypatch.setattr(_distinct, "_WIDE", wide)
    found = labels_at(["aaaa", "b"], None, spare)
    assert found.tolist() == ["aaaa", "b"] and (found.dtype.kind == "U") == is_array
    more = labels_at(["aaaa", "b"], np.array([1, 0, 1]), spare)
    assert more.tolist() == ["b", "aaaa", "b"] and more.dtype.kind in "UO"
    assert labels_at(["a\0", "a"]).tolist() == ["a\0", "a"] and labels_at([]).size == 0


class Column:
    """A column of another library."""

    def __init__(self, values, **attributes):
        self._values = values
        for name, value in attributes.items():
            setattr(self, name, value)

    def __array__(self, dtype=None, copy=None):
        return np.array([np.nan if v is None else v for v in self._values], float)


def test_columns_without_missing_values_are_numbers():
    for attributes in ({}, {"null_count": 0}, {"null_count": lambda: 0}):
        column = Column([1.0, 2.0], to_list=lambda: 1 / 0, **attributes)
        found = as_array(column)
        assert found.dtype == np.float64 and found.tolist() == [1, 2]
    for name in ("to_list", "to_pylist"):
        for nulls in (1, lambda: 1):
            column = Column([1.0, None], null_count=nulls, **{name: lambda: [1.0, None]})
            assert as_array(column).tolist() == [1.0, None]


def test_missing_values_of_extension_types_are_no_nan():
    def converted(kind):
        return np.array([1.0, None], object)

    other = Column([1.0, None], astype=converted, dtype="Float64")
    assert as_array(other).tolist() == [1.0, None]
    # With a NumPy dtype, NaN stays NaN; without NaN, nothing is converted.
    plain = as_array(Column([1.0, None], astype=converted, dtype=np.dtype(float)))
    assert plain.dtype == np.float64 and np.isnan(plain[1])
    assert as_array(Column([1.0, 2.0], astype=converted, dtype="Float64")).dtype == np.float64
    assert np.isnan(as_array(Column([1.0, None], dtype="Float64"))[1])


def test_masked_arrays_and_rows():
    masked = np.ma.array([1, 2, 3], mask=[0, 1, 0])
    assert as_array(masked).tolist() == [1, MASKED, 3]
    assert entries(masked) == [1, MASKED, 3] and entries(np.array(4)) == 4
    rows = rows_of_objects(np.array([[1, "a"], [2, "b"]], object))
    assert rows.tolist() == [(1, "a"), (2, "b")] and rows.shape == (2,)
    numbers = np.zeros((2, 2))
    assert rows_of_objects(numbers) is numbers


@pytest.mark.parametrize(
    "label", [("a", "b"), ("a", True, None), (("a", "b"), ("c", float("inf")))]
)
def test_tuples_are_the_same_labels_after_an_audit_was_stored(label):
    """JSON has no tuples, so they would come back as lists, which have no hash."""
    first, again = Encoder("it"), Encoder("it")
    first.labels.of(label)
    again.restore(json.loads(json.dumps(first.to_plain(), allow_nan=False)))
    assert again.labels.values == [label] and again.names == first.names
    assert again.labels.of(label) == 1 and again.to_plain() == first.to_plain()


def test_labels_without_a_form_in_json_are_not_stored():
    for label in (frozenset("a"), ("a", b"b"), np.datetime64("2020-01-01")):
        encoder = Encoder("it")
        encoder.encode([label])
        assert encoder.to_plain() is None
