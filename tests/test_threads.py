"""Parallel calls: the same results in the same order, with the caller's settings."""

import os
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import threads


@pytest.fixture
def seen(monkeypatch):
    """Return the threads in which calls run on a machine with four cores."""
    monkeypatch.setattr(threads, "cores", lambda: 4)
    return set()


def test_calls_run_in_other_threads_in_their_order(seen):
    both_run = threading.Barrier(2, timeout=30)
    square = jax.jit(jnp.square)

    def call(number):
        seen.add(threading.get_ident())
        # This passes only if two calls run at the same time.
        both_run.wait()
        return square(number)

    found = threads.side_by_side(call, list(range(10)))
    assert [int(value) for value in found] == [number**2 for number in range(10)]
    assert threading.get_ident() not in seen and len(seen) > 1


def test_settings_of_the_caller_hold(seen):
    """A context of JAX applies only to its own thread, so calls stay in this thread."""

    def call(number):
        seen.add(threading.get_ident())
        return jnp.asarray(number) / 3

    with jax.enable_x64(True):
        found = threads.side_by_side(call, [np.float64(1), np.float64(2)])
    assert [value.dtype for value in found] == [np.float64] * 2
    assert seen == {threading.get_ident()}


def test_an_error_of_a_call_reaches_the_caller(seen):
    def call(number):
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        threads.side_by_side(call, [1, 2])


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("slices", [1, 3, 40, 160])
def test_rows_are_divided_into_the_same_slices_on_every_machine(seen, monkeypatch, count, slices):
    monkeypatch.setattr(threads, "cores", lambda: count)
    num_rows, size = (slices - 1) * threads.ROWS + 7, threads.ROWS
    found = []

    def call(rows):
        seen.add(threading.get_ident())
        found.append((rows.start, rows.stop))

    threads.over_rows(call, num_rows)
    # Threads append in arbitrary order.
    assert sorted(found) == [(s, min(s + size, num_rows)) for s in range(0, num_rows, size)]
    assert (threading.get_ident() in seen) == (count == 1 or slices < 16)
    threads.over_rows(lambda rows: pytest.fail("no rows"), 0)


def test_a_total_does_not_depend_on_the_number_of_cores(monkeypatch):
    values = np.random.default_rng(1).normal(size=50 * threads.ROWS + 3).astype(np.float32)
    found = []
    for count in (1, 2, 7):
        monkeypatch.setattr(threads, "cores", lambda count=count: count)
        found.append(threads.total(lambda rows: values[rows].sum(keepdims=True), len(values)))
    assert found[0] == found[1] == found[2]
    np.testing.assert_allclose(found[0], values.sum(dtype=float), rtol=1e-3)
    assert threads.total(lambda rows: values[rows], 3).tolist() == values[:3].tolist()


def test_rows_keep_the_error_handling_of_numpy(seen):
    """An audit ignores overflows, even if the caller's settings raise errors for them."""

    def call(rows):
        seen.add(threading.get_ident())
        return np.exp(np.full(rows.stop - rows.start, 1e4)).max(keepdims=True)

    num_rows = 100 * threads.ROWS
    with np.errstate(over="ignore"):
        assert threads.total(call, num_rows).tolist() == [np.inf]
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        threads.over_rows(call, num_rows)
    assert threading.get_ident() not in seen


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinities of Linux")
def test_only_cores_that_this_process_may_use_count():
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert threads.cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert threads.cores() == len(allowed)
