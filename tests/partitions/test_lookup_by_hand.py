"""Tables of drawn outputs compared with loops: edges in their dtype, codes, and searches."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.types import FiniteSpace, MixedSpace, RealSpace, VectorSpace
from dpjax.partitions._lookup import (
    _cast,
    _edges_up_to,
    _label_code,
    _names_of_codes,
    _padded,
    _tables,
    _value_code,
)
from dpjax.partitions._partition import Partition


@pytest.mark.parametrize("size", [1, 16, 64])
def test_edges_up_to_a_value_are_counted(size):
    """This includes values equal to an edge, and tables with much padding."""
    edges = np.sort(np.random.default_rng(size).integers(-50, 50, size)).astype(np.float32)
    edges[-size // 3 :] = np.inf
    values = np.concatenate([edges, edges - 0.5, [-99.0, 99.0]]).astype(np.float32)
    found = np.asarray(_edges_up_to(edges, jnp.asarray(values)))
    assert found.tolist() == [int(np.sum(edges <= value)) for value in values]


@pytest.mark.parametrize(
    ("size", "padded"), [(0, 1), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (1000, 1024), (1024, 1024)]
)
def test_sizes_are_rounded_up_to_powers_of_two(size, padded):
    assert _padded(size) == padded


def test_edges_of_integers_are_the_next_integers():
    found = _cast(np.array([-1e12, -2.5, -2.0, 0.5, 3.0, 1e12]), np.dtype(np.int32))
    assert found.tolist() == [-(2**31), -2, -2, 1, 3, 2**31 - 1] and found.dtype == np.int32


def test_edges_of_reals_are_rounded_up():
    dtype = np.dtype(np.float32)
    tiny = float(np.finfo(dtype).tiny)
    edges = np.array([-1.0, 0.1, 1 + 2.0**-30, 2.0, tiny / 2, -tiny / 2, tiny, 0.0, -tiny])
    found = _cast(edges, dtype)
    for edge, cast in zip(edges[:4], found[:4], strict=True):
        # The smallest number of the dtype that is at least the edge.
        assert float(cast) >= edge > float(np.nextafter(cast, dtype.type(-np.inf)))
    # Subnormal numbers are 0 on devices.
    assert found[4:].tolist() == [tiny, 0.0, tiny, 0.0, -tiny]


def test_values_and_labels_have_codes():
    column = jnp.asarray([1.5, jnp.nan, -jnp.inf, jnp.inf, 0.0, -3.0])
    assert _value_code(column).tolist() == [0, 1, 2, 3, 0, 0]
    labels = np.array([0.0, 2.0, 3.0, 0.5, -1.0, np.nan, np.inf])
    assert _label_code(labels, MixedSpace(3), np).tolist() == [0, 2, 3, 3, 3, 3, 3]


def test_names_of_codes():
    assert _names_of_codes(FiniteSpace(4), np.dtype(np.int32)) == [("a number", True)]
    single = _names_of_codes(RealSpace(), np.dtype(np.float32))
    assert single == [("a number", True), ("NaN", False), ("-inf", False), ("+inf", False)]
    pairs = _names_of_codes(VectorSpace(2), np.dtype(np.float32))
    assert len(pairs) == 16 and pairs[0] == ("a number", True)
    assert pairs[1] == ("(number, NaN)", True) and pairs[4] == ("(NaN, number)", True)
    assert pairs[6] == ("(NaN, -inf)", False)
    mixed = _names_of_codes(MixedSpace(2), np.dtype(np.float32))
    assert len(mixed) == 15 and mixed[5] == ("label 1", True) and mixed[9] == ("label 1", False)
    assert mixed[6:9] == [(f"label 1 with {x}", False) for x in ("NaN", "-inf", "+inf")]
    assert mixed[10] == ("no label", True)


def test_codes_have_a_cell_or_boxes():
    """Three labels have numbers or not; labels that are not in the pilot are other labels."""
    names = ("a number", "'a'", "'b'", "'c'")
    edges = (np.array([1.0, 2.0]), np.array([0.5]))
    cells = Partition(names, edges, (np.empty(0),) * 2, np.array([1, 3]))
    codes = [("'a'", True), ("'a'", False), ("'b'", True), ("'c'", True), ("new", True),
             ("new", False), ("a number", False)]  # fmt: skip
    base, boxed = _tables(cells, codes)
    boxes = math.prod((3, 2))
    assert base.tolist() == [5, 1, 4, 5 + boxes, 4, 4, 0]
    assert boxed.tolist() == [1, 0, 0, 1, 0, 0, 0]
