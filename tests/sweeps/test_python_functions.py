"""Sweeps of Python functions that fail, that repeat their noise, or that need arrays."""

import numpy as np
import pytest

import dpjax
from dpjax import HostMechanism
from dpjax.results.recipes import pairs_from_plain, pairs_to_plain
from dpjax.sources import AnyPairs
from dpjax.sweeps import Entry, Store, SweepSpec, run_sweep

METHOD = dpjax.Events(1500, 3000)


def broken(database, rng):
    raise OSError


def fixed(database, n):
    return database + np.random.default_rng(0).laplace(size=n)


def mean(values, n, rng):
    return values.mean() + rng.laplace(size=n)


def rows_of(tmp_path, mechanism, pairs, method=METHOD):
    entry = Entry(mechanism, method, pairs=pairs, num_runs=2, claim=1.0)
    store = Store.create(tmp_path / "sweep", SweepSpec("a sweep", [entry], key=1))
    run_sweep(store)
    return store.table().to_pylist()


@pytest.mark.parametrize("method", [METHOD, dpjax.Sequential(400)])
def test_a_function_that_always_fails_has_no_verdict(tmp_path, method):
    with pytest.raises(ValueError, match=r"every call ended with 'error: OSError'"):
        rows_of(tmp_path, HostMechanism(broken, batched=False), [(0, 1)], method)


def test_repeated_noise_does_not_end_a_sweep(tmp_path):
    rows = rows_of(tmp_path, HostMechanism(fixed, batch_size=1000), [(0, 1), (0, 2)])
    assert [row["verdict"] for row in rows] == ["not random"] * 2


def test_arrays_stay_arrays_in_a_store(tmp_path):
    """A list has no mean, so every call of the function would fail."""
    pairs = [(np.array([1.0, 2.0]), np.array([1.0, 3.0]))]
    rows = rows_of(tmp_path, HostMechanism(mean), pairs)
    assert all(0.2 < row["lower_bound"] < 0.5 for row in rows)


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 1.5)], [("a", None)], [([1, [2.5]], {"a": [True]})], [("a" * 5000, "b")],
        [(np.arange(3), np.arange(4))], [(np.float32(1.5), np.float32(2.5))],
        [(np.zeros((2, 2), bool), np.ones((2, 2), bool))],
    ],
)  # fmt: skip
def test_databases_are_restored_exactly(pairs):
    sides = AnyPairs.of(pairs).sides
    restored = pairs_from_plain(pairs_to_plain(AnyPairs.of(pairs), None), stacked=False).sides
    for before, after in zip(sides, restored, strict=True):
        for one, other in zip(before, after, strict=True):
            assert type(one) is type(other) and np.all(one == other)
            assert getattr(one, "dtype", None) == getattr(other, "dtype", None)


@pytest.mark.parametrize(
    "database",
    [
        (1, 2),
        {1, 2},
        float("nan"),
        [np.array([1.0])],
        {"a": np.zeros(2)},
        {1: "a"},
        object(),
        2 + 1j,
    ],
)
def test_databases_that_cannot_be_restored_are_refused(database):
    with pytest.raises(ValueError, match="a sweep stores its pairs, so the databases of a Python"):
        pairs_to_plain(AnyPairs.of([(database, 0)]), None)


def test_arrays_of_objects_beside_arrays_of_numbers_are_refused():
    pairs = AnyPairs.of([(np.array([1.0]), np.array([None]))])
    with pytest.raises(ValueError, match="or arrays of one dtype, but one was"):
        pairs_to_plain(pairs, None)
