"""Outputs that consist of arrays have the same form as nested lists, but are encoded faster."""

from collections import OrderedDict
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.partitions._arrays import arrays_of
from dpjax.partitions._nested import Nested, form_of
from dpjax.partitions._rows import stacked
from dpjax.partitions.outputs import Encoder


class Layer(NamedTuple):
    """Weights of a layer."""

    weight: np.ndarray
    bias: np.ndarray


RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(3, 4))

PYTREES = [
    MATRIX,
    MATRIX.astype(np.float32),
    RNG.integers(-9, 9, (2, 3, 4)),
    RNG.random((2, 5)) < 0.5,
    np.array([[np.nan, 1, np.inf], [-0.0, -np.inf, 2]]),
    np.zeros((2, 0)),
    {"w": MATRIX, "b": np.arange(3.0), "loss": 0.5, "step": 3, "ready": True},
    [(MATRIX, np.arange(4.0)), (MATRIX.T, np.arange(3.0))],
    {"it's": {'a"b': MATRIX}, "10": np.arange(2), "9": {}, "scalar": np.array(2.5)},
    (np.arange(3), 4.0),
    {"params": {"Dense_0": {"kernel": jnp.ones((2, 3)), "bias": jnp.zeros(3)}}},
    [np.float32(1.5), np.arange(2.0)],
    OrderedDict(weight=MATRIX, bias=np.arange(3.0)),
    Layer(MATRIX, np.arange(3.0)),
]


@pytest.mark.parametrize("output", PYTREES)
def test_forms_are_those_of_nested_lists(output):
    found = arrays_of(output)
    wanted = Nested.of_parts(output)
    again = form_of(output)
    assert found is not None
    np.testing.assert_array_equal(again.numbers, found.numbers)
    assert again._replace(numbers=()) == wanted._replace(numbers=())
    np.testing.assert_array_equal(again.numbers, wanted.numbers)
    assert np.array_equal(np.signbit(again.numbers), np.signbit(wanted.numbers))
    assert {*map(type, again.numbers)} <= {float}


@pytest.mark.parametrize(
    "output",
    [
        np.arange(3.0),  # a vector
        np.arange(10).reshape(5, 2),  # possibly edges of a graph
        {"edges": [(1, 2), (2, 3)], "w": MATRIX},
        {"w": MATRIX, "name": "a label"},
        {"w": MATRIX, 1: MATRIX},
        {"w": np.ma.masked_equal([[1.0, 2.0, 3.0]], 2.0)},
        {"w": np.array([["a", "b", "c"]])},
        {"w": np.array([[2**53 + 1, 1, 2]])},
        {"w": MATRIX + 1j},
        {"w": MATRIX.astype(np.longdouble)},
        {"w": MATRIX, "big": 2**60},
        {"a": 1.0, "b": 2.0},
        [1.0, 2.0],
        "text",
        None,
        {},
        [],
    ],
)
def test_other_outputs_are_left_to_other_code(output):
    assert arrays_of(output) is None


def test_encoded_arrays_are_those_of_nested_lists():
    images = RNG.normal(size=(20, 5, 6))
    images[3, 2, 1] = np.nan
    encoder, other = Encoder("it"), Encoder("it")
    found = encoder.encode([*images])
    wanted = other.encode([image.tolist() for image in images])
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, two)
    assert (encoder.parts, encoder.names) == (other.parts, other.names)
    assert encoder.parts[7] == "[1][1]"


def decoded(encoder, outputs):
    """Return outputs with the names of their labels, which may have other indices."""
    names = np.array(encoder.names)[outputs.labels].tolist()
    return names, outputs.values.tolist(), outputs.alone.tolist()


@pytest.mark.parametrize("dtype", [float, np.float32, np.float16, int, np.uint8, bool])
@pytest.mark.parametrize(
    "others",
    [[], [1.0, 2.0], [np.arange(3.0)], ["a"], [{"a": 1.0}], [np.full(5, np.nan)], [[0] * 5]],
    ids=["alone", "numbers", "shorter", "labels", "dicts", "missing", "lists"],
)
@pytest.mark.parametrize("first", [True, False])
def test_vectors_are_encoded_like_lists_of_their_numbers(dtype, others, first):
    vectors = [*(np.random.default_rng(1).normal(size=(20, 5)) * 3).astype(dtype)]
    batches = [others, vectors] if first else [vectors, others]
    found, wanted = Encoder("it"), Encoder("it")
    for batch in [*batches, vectors + others]:
        lists = [each.tolist() if isinstance(each, np.ndarray) else each for each in batch]
        try:
            encoded = found.encode(batch)
        except ValueError as error:
            with pytest.raises(type(error), match="one length"):
                wanted.encode(lists)
            return
        assert decoded(found, encoded) == decoded(wanted, wanted.encode(lists))
    assert found.parts == wanted.parts


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, bool])
@pytest.mark.parametrize(
    "others",
    [[], [2, 1.0], [2**53 + 1, 3], [10**400], [np.nan, -np.inf], [True, 1], ["a"], [{"a": 1.0}]],
    ids=["alone", "mixed", "large", "huge", "missing", "flags", "labels", "dicts"],
)
@pytest.mark.parametrize("first", [True, False])
def test_numbers_are_encoded_together_like_one_by_one(dtype, others, first, monkeypatch):
    numbers = (np.random.default_rng(1).normal(size=20) * 3).astype(dtype)
    kinds = [[*numbers], numbers.tolist()]
    batches = [others, *kinds] if first else [*kinds, others]
    batches += [kinds[0] + others, kinds[0] + kinds[1]]
    found, wanted = Encoder("it"), Encoder("it")
    together = [decoded(found, found.encode(batch)) for batch in batches]
    monkeypatch.setattr("dpjax.partitions.outputs.stacked", lambda outputs, base: None)
    assert together == [decoded(wanted, wanted.encode(batch)) for batch in batches]
    assert found.parts == wanted.parts


def test_which_numbers_are_encoded_together():
    table = stacked([1.0, np.float64(np.nan)], None)
    assert table.dtype == np.float64 and table[0] == 1.0 and np.isnan(table[1])
    assert stacked([2**53, np.int64(-3)], 1).tolist() == [2.0**53, -3.0]
    assert stacked([np.float32(0.1), 0.1], None).tolist() == [float(np.float32(0.1)), 0.1]
    assert stacked([np.int8(-1), np.bool_(True), False, np.uint32(7)], None).tolist() == [
        -1,
        1,
        0,
        7,
    ]
    for odd in (2**53 + 1, 10**30, 1.0, np.uint64(0), np.longdouble(0), "a", None):
        assert stacked([1, odd], None) is None
    assert stacked([1.0, 2.0], 2) is None and stacked([1.0, 2], None) is None


def test_vectors_that_are_no_table():
    assert stacked([], None) is None
    for odd in (np.arange(4.0), np.float32([0, 1, 2]), [0.0, 1.0, 2.0], np.ma.array([0.0, 1, 2])):
        assert stacked([np.arange(3.0), odd], None) is None
    assert stacked([np.arange(3.0)], 2) is None and stacked([np.arange(1.0)], None) is None
    assert stacked([np.array(["a", "b"])], None) is None
    assert stacked([np.array([2**60, 1])], None) is None
    table = stacked([np.int8([1, -2]), np.int8([3, 4])], 2)
    assert table.tolist() == [[1.0, -2.0], [3.0, 4.0]] and table.dtype == np.float64
