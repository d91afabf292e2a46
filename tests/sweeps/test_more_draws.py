"""Sequential entries of a sweep that continue with more draws, from states in a store."""

import os
from pathlib import Path

import numpy as np
import pytest

import dpjax
from dpjax import Sequential
from dpjax.mechanisms import Laplace, RandomizedResponse
from dpjax.sweeps import Entry, Store, SweepSpec, run_sweep
from dpjax.sweeps._spec import Block

PAIRS = [(0.0, 1.0), (0.0, 0.5)]
LEAST, MOST = 300, 1_500


def release(count, num_samples, rng):
    return rng.laplace(count, size=num_samples)


def entry(draws=LEAST, **options):
    return Entry(Laplace(1.0), Sequential(draws), PAIRS, claim=1.0, num_runs=3, **options)


def spec(more=0, draws=LEAST):
    fixed = Entry(RandomizedResponse(1.0), dpjax.Events(50, 50), num_runs=2)
    return SweepSpec("s", (entry(draws), fixed), key=4, block_runs=2, more=more)


def swept(folder, more):
    store = Store.create(folder, spec(more))
    run_sweep(store)
    return store


@pytest.mark.slow
def test_a_sweep_that_goes_on_ten_times_has_the_rows_of_longer_audits(tmp_path):
    """Rows are identical bit for bit, even if two calls end before all blocks are stored."""
    folder = tmp_path / "store"
    for more in np.linspace(0, MOST - LEAST, 11).astype(int).tolist():
        if more in (240, 840):
            # It continues from blocks with different numbers of draws.
            run_sweep(Store.create(folder, spec(more)), should_stop=lambda: True)
            run_sweep(Store.create(folder, spec(more)), shard=(1, 3))
            continue
        store = swept(folder, more)
    one = entry()
    columns = store.columns()[one.id]
    whole = dpjax.audit(
        Laplace(1.0), PAIRS, method=Sequential(MOST), claim=1.0, confidence=one.confidence,
        key=one.key(4),
    )  # fmt: skip
    assert columns["lower_bound"][0] == whole.lower_bound
    assert columns["estimate"][0] == whole.estimate
    undisturbed = swept(tmp_path / "other", MOST - LEAST).columns()[one.id]
    for name in ("lower_bound", "estimate", "pair", "verdict"):
        np.testing.assert_array_equal(columns[name], undisturbed[name])


def test_a_store_never_has_fewer_draws_than_before(tmp_path):
    store = swept(tmp_path, 100)
    again = Store.create(tmp_path, spec())
    assert again.spec.more == 100
    assert run_sweep(again).num_computed == 0
    assert store.table().equals(again.table()) and "state" not in again.table().column_names


@pytest.mark.slow
def test_broken_earlier_blocks_are_passed_over(tmp_path):
    """Their runs are drawn again from the start and have the same rows."""
    swept(tmp_path / "a", 0)
    for path in (tmp_path / "a" / "blocks").iterdir():
        path.write_bytes(path.read_bytes()[:-50])
    found, whole = (swept(tmp_path / name, 200).columns()[entry().id] for name in "ab")
    np.testing.assert_array_equal(found["lower_bound"], whole["lower_bound"])


@pytest.mark.parametrize("more", [-1, 1.5, True])
def test_more_is_a_number_of_draws(more):
    with pytest.raises((ValueError, TypeError), match="more"):
        spec(more)


def test_more_needs_an_entry_that_goes_on():
    fixed = Entry(RandomizedResponse(1.0), dpjax.Events(50, 50), num_runs=2)
    timed = Entry(Laplace(1.0), Sequential(seconds=1.0), PAIRS)
    slow = Entry(dpjax.HostMechanism(release, time_limit=1.0), Sequential(), PAIRS)
    for one in (fixed, timed, slow):
        with pytest.raises(ValueError, match="more must be left out, but was 100"):
            SweepSpec("s", (one,), more=100)


@pytest.mark.slow
def test_a_process_pool_gets_the_states(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    swept(tmp_path / "a", 0)
    store = Store.create(tmp_path / "a", spec(200))
    with ThreadPoolExecutor(1) as executor:
        run_sweep(store, executor=executor)
    np.testing.assert_array_equal(
        store.columns()[entry().id]["lower_bound"],
        swept(tmp_path / "b", 200).columns()[entry().id]["lower_bound"],
    )


def test_the_states_of_the_most_draws_are_the_ones_to_go_on_from(tmp_path):
    for more in (0, 100, 200):
        store = swept(tmp_path, more)
    block = Block(entry(), 0, 2)
    # A folder is not a block, and neither is a pipe, whose reading would never end.
    for more, make in ((0, Path.mkdir), (100, os.mkfifo)):
        make(tmp_path / "blocks" / f"{block._replace(more=more).name}.{'0' * 32}.parquet")
    states = {more: store.earlier_states(block._replace(more=more)) for more in (0, 100, 200, 300)}
    assert states[0] is None and len(states[300]) == 2
    assert len({tuple(states[more]) for more in (100, 200, 300)}) == 3


def test_too_many_draws_never_reach_the_store(tmp_path):
    """A store keeps the largest `more` that it has seen, so a mistyped one would ruin the store."""
    store = Store.create(tmp_path / "store", spec())
    with pytest.raises(ValueError) as refused:
        Store.create(tmp_path / "store", spec(2**31 - LEAST))
    assert str(refused.value) == (
        "more must be smaller, but was 2147483348: in the entry 'laplace', num_draws must be below "
        "2^31, but was 2147483648."
    )
    assert Store.open(store.folder).spec == spec() and spec(2**31 - LEAST - 1).more
