"""Distinct labels by hashing equal those by sorting, for all hash functions."""

import numpy as np
import pytest

from dpjax.partitions import _distinct
from dpjax.partitions._distinct import distinct, labels_at


def assert_as_sorted(labels):
    kinds, places = distinct(labels)
    wanted, wanted_places = np.unique(labels, return_inverse=True)
    assert kinds.dtype == wanted.dtype and kinds.tolist() == wanted.tolist()
    np.testing.assert_array_equal(places, wanted_places)


def some(number, kinds, seed=0):
    return np.random.default_rng(seed).integers(0, kinds, number)


@pytest.mark.parametrize("dtype", ["U1", "U5", "U8", "S3", "S8", "U21", ">U5"])
@pytest.mark.parametrize("kinds", [1, 7, 3000])
def test_strings_of_every_width(dtype, kinds):
    labels = some(4000, kinds).astype("U8").astype(dtype)
    assert_as_sorted(labels)
    assert_as_sorted(labels[::-3])
    assert_as_sorted(labels[:0])


def test_strings_that_differ_in_a_single_character():
    rng = np.random.default_rng(1)
    places = rng.integers(0, 40, 3000)
    labels = np.array(["a" * p + "b" + "a" * (39 - p) for p in places])
    assert_as_sorted(labels)
    assert_as_sorted(np.array(["", "\0a", "a\0b", "a", "é", "\U0010ffff", ""]))


@pytest.mark.parametrize("collisions", [1, 5, 100])
def test_colliding_hashes_merge_no_labels(monkeypatch, collisions):
    """There are at most `collisions` hashes, which depend only on the first characters."""

    def few(of):
        first = of.astype("U1").view(np.uint32)
        return (first % collisions).astype(np.uint64) << np.uint64(54)

    monkeypatch.setattr(_distinct, "_hashes", few)
    assert_as_sorted(some(5000, 300).astype("U8"))


def test_hashes_of_many_labels_hardly_ever_collide():
    """Linear hashes of 10^5 texts: two of them are equal by chance with probability 3e-10."""
    texts = np.arange(10**5).astype("U8")
    hashes = _distinct._hashes(texts)
    assert len(np.unique(hashes)) == len(texts)
    # The top bits select the slot: about 10^5 (1 - 1/e^1.53) labels fit into 2^16 slots.
    used = len(np.unique(hashes >> np.uint64(48)))
    assert abs(used / 2**16 - (1 - np.exp(-(10**5) / 2**16))) < 0.02


def test_labels_by_codes_keep_what_differs():
    assert labels_at(["a", "bc"], np.array([1, 0, 1])).tolist() == ["bc", "a", "bc"]
    found = labels_at(["a", "a\0"], np.array([1, 0]))
    assert found.dtype == object and found.tolist() == ["a\0", "a"]
    # If all 2^18 labels were as wide as one with 250 characters, they would need 262 MB.
    places = np.zeros(2**18, np.int32)
    assert labels_at(["no", "y" * 250], places).dtype == object
    assert labels_at(["no", "yes"], places).dtype == "U3"
    assert labels_at(["no", "yesyes"], places, spare=8).dtype == "U6"
