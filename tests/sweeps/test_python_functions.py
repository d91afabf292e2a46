"""Sweeps of Python functions that fail, repeat their noise, or need arrays."""

import shutil

import numpy as np
import pytest

import dpjax
from dpjax import HostMechanism
from dpjax.sweeps import Entry, Store, SweepSpec, run_sweep
from dpjax.sweeps._compute import compute

METHOD = dpjax.Events(1500, 3000)
CLOCK = [0.0]


def ticking(database, n, rng):
    CLOCK[0] += 0.01 * n
    return database + rng.laplace(size=n)


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


def forgetful(database, n):
    return database + np.random.default_rng().laplace(size=n)


def test_two_processes_may_store_a_function_without_a_seed(tmp_path):
    """Both compute the block before either stores it, and their draws differ."""
    entry = Entry(HostMechanism(forgetful), METHOD, pairs=[(0, 1)], num_runs=2)
    spec = SweepSpec("a sweep", [entry], key=1)
    for name in ("one", "other"):
        run_sweep(Store.create(tmp_path / name, spec))
    (block,) = (tmp_path / "other" / "blocks").iterdir()
    shutil.copy(block, tmp_path / "one" / "blocks")
    store = Store.create(tmp_path / "one", spec)
    first, second = sorted((tmp_path / "one" / "blocks").iterdir())
    assert list(store.contents().finished.values()) == [first]
    assert "another process computed the same runs" in store.contents().strange[second]
    assert len(store.table()) == 2


def silent(database):
    return database


class Walk:
    """Outputs that depend on earlier calls; with this seed, almost every audit is doubtful."""

    rng, place = np.random.default_rng(0), 0.0


def walking(database):
    Walk.place = 0.99 * Walk.place + Walk.rng.normal()
    return database + Walk.place


@pytest.mark.parametrize("method", [METHOD, dpjax.Sequential(400)])
@pytest.mark.parametrize(("function", "verdict"), [(silent, "not random"), (walking, "doubtful")])
def test_a_run_has_the_verdict_of_an_audit(tmp_path, function, verdict, method):
    """A sweep must not report a violation if `dpjax.audit` does not give a verdict."""
    mechanism, pairs = HostMechanism(function, batched=False), [(0.0, 1.0)]
    rows = rows_of(tmp_path, mechanism, pairs, method)
    assert [row["verdict"] for row in rows] == [verdict] * 2
    assert dpjax.audit(mechanism, pairs, method=method, claim=1.0).verdict == verdict
    stored = str(Store.open(tmp_path / "sweep", [__name__]).summary())
    assert ("0 of 2 runs have a bound" in stored) == (verdict == "doubtful")


class Calls:
    left = 0


def interrupted(database, n, rng):
    Calls.left -= 1
    if not Calls.left:
        raise KeyboardInterrupt
    return database + rng.laplace(size=n)


def test_a_run_that_an_interrupt_cut_short_is_not_stored(tmp_path):
    """An interrupted sequential audit has a result, but a row requires all of its draws."""
    mechanism, method = HostMechanism(interrupted), dpjax.Sequential(400)
    whole = rows_of(tmp_path / "whole", mechanism, [(0, 1)], method)
    Calls.left = 9
    with pytest.raises(KeyboardInterrupt):
        rows_of(tmp_path, mechanism, [(0, 1)], method)
    for row, expected in zip(rows_of(tmp_path, mechanism, [(0, 1)], method), whole, strict=True):
        assert row == {**expected, "seconds": row["seconds"]}


@pytest.mark.parametrize(("seconds", "limit"), [(None, 5.0), (50.0, 50.0)])
def test_the_time_limit_of_the_method_replaces_that_of_the_function(monkeypatch, seconds, limit):
    """The same holds for `dpjax.audit`. Each output takes 0.01 s of a simulated clock."""
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr(f"{__name__}.CLOCK", now)
    source = HostMechanism(ticking, time_limit=5.0, batch_size=10)
    entry = Entry(source, dpjax.Sequential(seconds=seconds), [(0, 1)], claim=9.0)
    assert compute(entry, [0], 0)["status"] == ["OK"]
    assert now[0] == pytest.approx(limit, rel=0.1)
