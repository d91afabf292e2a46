"""Sweeps: specs, stores, and rows that do not depend on how they are computed."""

import dataclasses
import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import Box, Epsilon, Events, Local
from dpjax.core import random
from dpjax.core.execution import Execution
from dpjax.databases import Pairs
from dpjax.densities import Fixed, HoelderRate
from dpjax.mechanisms import SVT3, Laplace, RandomizedResponse, TruncatedLaplace, from_function
from dpjax.methods.histogram import Unplanned, histogram_levels
from dpjax.methods.local import dpl_runs, mpl_runs
from dpjax.methods.local._findings import evidence_of
from dpjax.plotting._canvas import SERIES
from dpjax.results import Row
from dpjax.sources.streams import DrawnStreams
from dpjax.sweeps import (
    Entry,
    HistogramEstimate,
    LocalSearch,
    Store,
    SweepSpec,
    _files,
    compute,
    rows_equal,
    run_sweep,
)
from dpjax.sweeps._binding import UNREPEATABLE
from dpjax.sweeps._blocks import on_all_devices
from dpjax.sweeps._compute import _rows
from dpjax.sweeps._runner import _AHEAD, _shape
from dpjax.sweeps._spec import Block
from dpjax.sweeps._summary import EntrySummary, SweepSummary

SMALL = Local(num_samples=500, num_confirm=1000, floor=1e-3)
FINITE = Entry(RandomizedResponse(1.0), SMALL, num_runs=7, label="responses")
# Use twice as many nodes as a refined lattice below, so that they share a program.
REAL = Entry(Laplace(0.5), dataclasses.replace(SMALL, num_nodes=240), num_runs=7)
# There are enough pairs for a second round of the search.
EVENTS = Events(num_samples=300, num_confirm=700)
COUNTED = Entry(Laplace(0.5), EVENTS, [(0.0, x) for x in (0.2, 1.0, 0.4, 0.9, 0.1)], num_runs=7)
SPEC = SweepSpec("test", (FINITE, REAL, COUNTED), key=3, block_runs=3)


def user_noise(key, count):
    """A user-defined mechanism that a worker can import."""
    return count + random.laplace(key, 1)[0]


def by_hand(kernel, entry, runs, **other):
    """Return statistics of runs, computed by the program that the blocks of SPEC use."""
    with jax.default_device(jax.local_devices()[0]):
        return kernel(
            streams_of(entry),
            entry.region,
            dataclasses.replace(entry.method, region=None, **other),
            jnp.asarray(runs, jnp.int32),
            execution=Execution(),
        )


def streams_of(entry):
    """Return streams with the documented key."""
    key = random.fold_in(random.as_key(SPEC.key), random.stable_hash(entry.id))
    return DrawnStreams(entry.mechanism, entry.pairs.database, entry.pairs.neighbor, key)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the store of the whole sweep."""
    store = Store.create(tmp_path_factory.mktemp("sweep") / "whole", SPEC)
    run_sweep(store)
    return store


def test_a_spec_survives_json_and_toml(tmp_path):
    one = Laplace(0.5)
    entries = (
        FINITE,
        COUNTED,
        Entry(one),
        Entry(one, notion=Epsilon(1e-6)),
        Entry(one, Events(region=(-2.0, 2.0)), confidence=0.9),
        Entry(RandomizedResponse(1.0, 4), Events(region=[0, 3]), [(0, 1), (1, 2)]),
        Entry(one, dataclasses.replace(SMALL, region=(-2.0, 2.0)), confidence=0.9),
        Entry(one, dataclasses.replace(SMALL, bandwidth=Fixed(0.1)), pairs=[(0.0, 0.5)]),
        Entry(one, LocalSearch(500, 1000, bandwidth=HoelderRate(0.5))),
        Entry(TruncatedLaplace(2.0), HistogramEstimate(4, 100, (0, 1), 2.0)),
        Entry(from_function(user_noise, 0.0), HistogramEstimate(4, 100, (0.0, 1.0))),
    )
    spec = SweepSpec("values", entries, key=5)
    assert SweepSpec.from_dict(json.loads(json.dumps(spec.to_dict())), [__name__]) == spec
    path = tmp_path / "spec.toml"
    path.write_text(spec.to_toml())
    again = SweepSpec.from_file(path, [__name__])
    assert again == spec
    assert [entry.id for entry in again.entries] == [entry.id for entry in entries]
    assert [type(entry.method) for entry in again.entries] == [type(e.method) for e in entries]
    assert len({entry.id for entry in entries}) == len(entries)


def test_an_entry_as_a_person_writes_it(tmp_path):
    path = tmp_path / "written.toml"
    path.write_text(
        """
key = 4
[[entries]]
mechanism = "laplace"
parameters = {epsilon = 0.5}
method = "events"
options = {num_samples = 300, region = [-1, 2.5]}
notion = {delta = 1e-6}
confidence = 0.9
runs = 12
pairs = [[0.0, 1.0]]
label = "mine"
[[entries]]
mechanism = "laplace"
"""
    )
    spec = SweepSpec.from_file(path)
    first, second = spec.entries
    assert (spec.name, spec.key, spec.num_runs) == ("written", 4, 1012)
    assert (first.label, first.confidence, first.num_runs) == ("mine", 0.9, 12)
    assert (first.notion, float(first.mechanism.epsilon)) == (Epsilon(1e-6), 0.5)
    assert (first.method.num_samples, first.method.num_confirm) == (300, None)
    assert (float(first.region.low[0]), float(first.region.high[0])) == (-1.0, 2.5)
    assert first.pairs.database.tolist() == [0.0]
    assert (second.method, second.region, len(second.pairs)) == (Events(), None, 10)


def test_a_user_function_is_named_by_its_import():
    options = dataclasses.replace(SMALL, region=(-1.0, 1.0))
    entry = Entry(from_function(user_noise, 0.0), options, pairs=[(0.0, 1.0)])
    assert entry.mechanism_name.endswith("test_sweeps:user_noise")
    assert Entry.from_dict(entry.to_dict(), [__name__]) == entry
    with pytest.raises(ValueError, match="importable by its name"):
        Entry(from_function(lambda k, x: x + user_noise(k, x), 0.0), pairs=[(0.0, 1.0)])


def test_the_identity_is_what_sets_the_law():
    assert dataclasses.replace(COUNTED, label="other", num_runs=9).id == COUNTED.id
    box = Box(-1.0, 2.0)
    written = [dataclasses.replace(COUNTED, method=Events(region=r)) for r in (box, (-1, 2))]
    assert written[0].id == written[1].id
    for name, value in (
        ("method", Events(num_samples=301, num_confirm=700)),
        ("method", dataclasses.replace(COUNTED.method, region=(-1.0, 2.0))),
        ("method", Local(num_samples=300, num_confirm=700)),
        ("confidence", 0.9),
        ("notion", Epsilon(0.1)),
        ("distance", 2),
        ("claim", 1.0),
        ("pairs", Pairs([1.0], [0.0])),
    ):
        changed = dataclasses.replace(COUNTED, **{name: value})
        assert changed.id != COUNTED.id and changed != COUNTED, (name, value)
        again = Entry.from_dict(changed.to_dict())
        assert again == changed and again.distance == changed.distance


def test_ids_are_the_same_in_every_process():
    # These values are fixed: a change would change the noise of every sweep.
    assert FINITE.id == "randomized-response-707e61c08717"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "events"}, r"method must be one of Events\(...\), .*Local.* was 'events'"),
        ({"method": HistogramEstimate}, "method must be one of"),
        ({"notion": 0.1}, r"notion must be dpjax.Epsilon\(delta=...\)"),
        ({"method": SMALL, "notion": Epsilon(0.1)}, "delta must be 0 for the method 'local'"),
        ({"confidence": 1.0}, "confidence must"),
        ({"num_runs": 0}, "num_runs must"),
        ({"method": HistogramEstimate(4, 9, (0, 1))}, "pairs must be left out for a histogram"),
        (
            {"mechanism": SVT3(1.0), "method": SMALL, "pairs": None},
            "outputs with atoms have no density",
        ),
        ({"mechanism": user_noise, "pairs": None}, "pairs must be given"),
        ({"method": Events(region="wide")}, "region must"),
    ],
)
def test_parts_that_do_not_fit_are_refused(given, message):
    parts = {"mechanism": Laplace(0.5), "pairs": [(0.0, 1.0)], **given}
    with pytest.raises((ValueError, TypeError), match=message):
        Entry(**parts)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "entry 1: an entry must name its mechanism"),
        ({"mechanism": "laplac"}, "did you mean 'laplace'"),
        (
            {"mechanism": "laplace", "parameter": {}},
            "no 'parameter'; did you mean 'parameters'",
        ),
        ({"mechanism": "laplace", "epsilon": 2}, r"mechanism as parameters = {epsilon = 2}"),
        ({"mechanism": "laplace", "parameters": {"eps": 1.0}}, "has no 'eps'"),
        ({"mechanism": "laplace", "options": {"samples": 3}}, "Events has no 'samples'"),
        ({"mechanism": "laplace", "options": 3}, "Events must be a table"),
        ({"mechanism": "laplace", "notion": {"gamma": 3}}, "Epsilon has no 'gamma'"),
        ({"mechanism": "laplace", "notion": {"delta": 2}}, "delta must lie in"),
        (
            {"mechanism": "laplace", "method": "local", "options": {"bandwidth": {"rule": "Scot"}}},
            "'Scott'",
        ),
        ({"mechanism": "laplace", "runs": 0}, "runs must be"),
        (
            {"mechanism": "laplace", "method": "mpl"},
            "method .mpl. is not known; known: events, guesses, hist",
        ),
        ({"mechanism": "laplace", "estimator": "mpl"}, "an entry has no 'estimator'"),
        ({"mechanism": "nowhere:f", "pairs": [[0, 1]]}, "would import code"),
        ({"mechanism": "laplace", "grid": {"epsilon": 1.0}}, "grid must be a table"),
        ("laplace", "an entry must be a table"),
    ],
)
def test_a_bad_entry_is_named(entry, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SweepSpec.from_dict({"entries": [entry]})


def test_a_sweep_of_the_old_form_is_refused():
    with pytest.raises(ValueError, match="no 'cells'; known: block_runs, entries, key, more"):
        SweepSpec.from_dict({"cells": [{"mechanism": "laplace"}]})


def test_a_grid_is_an_entry_for_each_combination():
    entry = {"mechanism": "laplace", "label": "a", "grid": {"epsilon": [0.5, 1.0]}}
    entries = SweepSpec.from_dict({"entries": [entry]}).entries
    assert [(e.label, e.mechanism.epsilon) for e in entries] == [
        ("a epsilon=0.5", 0.5),
        ("a epsilon=1", 1.0),
    ]
    with pytest.raises(ValueError, match="entries 'responses' and 'again' are equal"):
        SweepSpec("twice", (FINITE, dataclasses.replace(FINITE, label="again")))


@pytest.mark.parametrize("twice", [[1, 1.0], [2.5, 2.5], [10**6, 1e6]])
def test_a_grid_lists_every_value_once(twice):
    """An earlier version gave the entries of 1 and 1.0 the same label."""
    entry = {"mechanism": "laplace", "grid": {"epsilon": [0.5, *twice]}}
    with pytest.raises(
        ValueError, match=f"entry 1: grid must list .* two entries 'laplace epsilon={twice[0]}'"
    ):
        SweepSpec.from_dict({"entries": [entry]})


def test_labels_of_a_grid_tell_close_numbers_apart():
    entry = {"mechanism": "laplace", "grid": {"epsilon": [0.1234567, 0.1234568, 1e-7, 1e6]}}
    labels = [e.label for e in SweepSpec.from_dict({"entries": [entry]}).entries]
    texts = ["0.1234567", "0.1234568", "1e-07", "1000000"]
    assert labels == [f"laplace epsilon={text}" for text in texts]


@pytest.mark.slow
def test_rows_are_those_of_the_local_approach(whole):
    """Compare rows of the first two blocks with kernels that are called directly."""
    for entry in (FINITE, REAL):
        rows = whole.columns()[entry.id]
        assert rows["run"].tolist() == list(range(7))
        for first in (0, 3):
            statistics = by_hand(mpl_runs, entry, range(first, first + 3))
            bounds = evidence_of(statistics, entry.method, entry.region).bounds(0.95)
            block = slice(first, first + 3)
            np.testing.assert_array_equal(rows["lower_bound"][block], bounds.lower_bound)
            np.testing.assert_array_equal(rows["estimate"][block], bounds.estimate)
            points = np.asarray(statistics.found.point, float).reshape(3, -1)
            np.testing.assert_array_equal(np.stack(rows["output"][block]), points)


@pytest.mark.slow
def test_a_search_alone_gives_estimates():
    entry = dataclasses.replace(FINITE, method=LocalSearch(500, 1000, floor=1e-3))
    columns = compute(entry, range(4), SPEC.key)
    search = by_hand(dpl_runs, entry, range(4))
    np.testing.assert_array_equal(columns["estimate"], np.max(search.loss, axis=1))
    assert np.all(np.isnan(columns["lower_bound"])) and not columns["exact"].any()


def test_a_histogram_gives_estimates():
    # With 60 draws in 12 intervals, some runs have an empty interval and no estimate.
    entry = Entry(TruncatedLaplace(1.0), HistogramEstimate(12, 60, (0.0, 0.5, 1.0)))
    columns = compute(entry, range(40), 3)
    key = random.fold_in(random.as_key(3), random.stable_hash(entry.id))
    result = histogram_levels(entry.mechanism, [0.0, 0.5, 1.0], Unplanned(12, 60), key, num_runs=40)
    np.testing.assert_array_equal(columns["estimate"], result.estimates.filled(np.nan))
    failed = np.array(columns["status"]) == "EMPTY_INTERVAL"
    assert 0 < failed.sum() < 40 and np.array_equal(failed, np.isnan(columns["estimate"]))


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on(whole, tmp_path):
    store = Store.create(tmp_path / "s", SPEC)
    calls = iter([False, False, True])
    state = run_sweep(store, should_stop=lambda: next(calls))
    assert (state.num_runs, state.total_runs) == (6, 21)
    state = run_sweep(Store.create(tmp_path / "s", SPEC))
    assert (state.num_runs, state.num_computed) == (21, 15)
    assert rows_equal(store, whole)


def test_shards_and_an_executor_give_the_same_rows(whole, tmp_path):
    for index in (2, 0, 1):
        state = run_sweep(Store.create(tmp_path / "shards", SPEC), shard=(index, 3))
        assert state.num_runs == state.total_runs
    assert rows_equal(Store.open(tmp_path / "shards"), whole)
    with ThreadPoolExecutor(2) as executor:
        run_sweep(Store.create(tmp_path / "pool", SPEC), executor=executor)
    assert rows_equal(Store.open(tmp_path / "pool"), whole)
    with pytest.raises(ValueError, match=r"shard must be \(i, k\)"):
        run_sweep(whole, shard=(3, 3))


def test_on_accelerators_a_block_is_computed_ahead(whole, tmp_path, monkeypatch):
    """The rows are the same. When the sweep stops, blocks that are being computed are stored."""
    monkeypatch.setitem(_AHEAD, "cpu", 1)
    run_sweep(Store.create(tmp_path / "all", SPEC))
    assert rows_equal(Store.open(tmp_path / "all"), whole)
    calls = iter([False, False, True])
    state = run_sweep(Store.create(tmp_path / "s", SPEC), should_stop=lambda: next(calls))
    assert (state.num_runs, state.total_runs) == (6, 21)


def test_an_executor_brings_its_own_devices(whole, tmp_path):
    store = Store.create(tmp_path / "s", SPEC)
    with ThreadPoolExecutor(1) as executor, pytest.raises(ValueError, match="devices must be left"):
        run_sweep(store, executor=executor, execution=Execution(devices=tuple(jax.devices())))


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2])
def test_layout_does_not_change_rows(whole, number):
    entry = SPEC.entries[number]
    wide = Execution(runs_at_once=3, pairs_at_once=2, blocks_at_once=25)
    columns, rows = compute(entry, range(3), SPEC.key, execution=wide), whole.columns()[entry.id]
    for name in columns.keys() - {*UNREPEATABLE, "state"}:
        np.testing.assert_array_equal(np.stack(columns[name]), np.stack(rows[name][:3]))


def test_an_executor_that_breaks_says_how_to_go_on(tmp_path):
    class Broken(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):
            return super().submit(lambda: 1 / 0)

    with Broken(1) as executor, pytest.raises(RuntimeError, match="same command again"):
        run_sweep(Store.create(tmp_path / "s", SPEC), executor=executor)


def test_a_damaged_block_is_found_and_done_again(whole, tmp_path):
    store = Store.create(tmp_path / "s", SPEC)
    run_sweep(store)
    first, second, *_ = sorted((tmp_path / "s" / "blocks").iterdir())
    first.write_bytes(first.read_bytes()[:-100])
    content = bytearray(second.read_bytes())
    content[len(content) // 2] ^= 1
    second.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"2 blocks of .* are corrupt"):
        store.table()
    said = []
    state = run_sweep(Store.create(tmp_path / "s", SPEC), report=said.append)
    assert "2 stored blocks are truncated or corrupt" in said[0]
    assert state.num_computed in (4, 6)  # Blocks contain three runs or the last one.
    assert rows_equal(store, whole)


def test_a_full_disk_loses_nothing(whole, tmp_path, monkeypatch):
    store = Store.create(tmp_path / "s", SPEC)
    written = []

    def fsync(number):
        written.append(number)
        if len(written) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(_files.os, "fsync", fsync)
        with pytest.raises(OSError, match=r"No space left.*run the same command"):
            run_sweep(store)
    assert len(list((tmp_path / "s" / "blocks").iterdir())) == 2, "temporary files must be removed"
    run_sweep(store)
    assert rows_equal(store, whole)


def test_another_sweep_or_version_is_refused(tmp_path, monkeypatch):
    Store.create(tmp_path / "s", SPEC)
    with pytest.raises(ValueError, match="holds another sweep"):
        Store.create(tmp_path / "s", dataclasses.replace(SPEC, key=4))
    with pytest.raises(ValueError, match="holds another sweep"):
        Store.create(tmp_path / "s", dataclasses.replace(SPEC, entries=(REAL,)))
    path = tmp_path / "s" / "manifest.json"
    good = path.read_text()
    for old, new, message in (
        (f'"jax": "{jax.__version__}"', '"jax": "0.0.1"', "created with jax 0.0.1"),
        ('"dtype": "float32"', '"dtype": "float64"', "dtype float64"),
        ('"format": 6', '"format": 1', "store format 1, but this version of dpjax reads 6"),
        ("{", "", "cannot be read"),
    ):
        assert old in good
        path.write_text(good.replace(old, new, 1))
        with pytest.raises(ValueError, match=message):
            Store.create(tmp_path / "s", SPEC)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(ValueError, match="is not empty and holds no sweep"):
        Store.create(tmp_path / "other", SPEC)
    with pytest.raises(ValueError, match="holds no sweep"):
        Store.open(tmp_path / "nowhere")


def test_a_store_that_another_process_has_begun_is_no_stranger(tmp_path):
    (tmp_path / "s" / "blocks").mkdir(parents=True)
    (tmp_path / "s" / ".manifest.json.0a1b2c3d").write_text("{")
    assert Store.create(tmp_path / "s", SPEC).spec == SPEC
    # Blocks without a manifest are the remains of an unknown store.
    (tmp_path / "s" / "manifest.json").unlink()
    (tmp_path / "s" / "blocks" / "some.parquet").write_bytes(b"1")
    with pytest.raises(ValueError, match="is not empty and holds no sweep"):
        Store.create(tmp_path / "s", SPEC)


def test_runs_and_entries_can_be_added_in_whole_blocks(whole, tmp_path):
    short = tuple(dataclasses.replace(entry, num_runs=6) for entry in SPEC.entries[:1])
    run_sweep(Store.create(tmp_path / "s", dataclasses.replace(SPEC, entries=short)))
    store = Store.create(tmp_path / "s", SPEC)
    state = run_sweep(store)
    assert state.num_computed == 15
    assert rows_equal(store, whole)
    more = tuple(dataclasses.replace(entry, num_runs=9) for entry in SPEC.entries)
    with pytest.raises(ValueError, match="by whole blocks of 3"):
        Store.create(tmp_path / "s", dataclasses.replace(SPEC, entries=more))


def test_other_parameters_compile_nothing(whole, tmp_path):
    with jax.default_device(jax.local_devices()[0]):
        program = mpl_runs.program(
            *(streams_of(REAL), REAL.region, REAL.method, jnp.zeros(3, jnp.int32)),
            execution=Execution(),
            with_curves=False,
        )
    before = program._cache_size()
    assert before > 0
    entries = tuple(dataclasses.replace(REAL, mechanism=Laplace(level)) for level in (0.2, 1.5))
    run_sweep(Store.create(tmp_path / "s", SweepSpec("levels", entries, block_runs=3)))
    assert program._cache_size() == before


@pytest.mark.slow
def test_a_lattice_that_is_too_coarse_is_refined_run_by_run(whole):
    """As in `dpjax.audit`, the refinement does not depend on runs that are computed together."""
    # Eight nodes per bandwidth suffice for some of the runs.
    entry = dataclasses.replace(REAL, method=dataclasses.replace(SMALL, num_nodes=120))
    together, others = (
        compute(entry, runs, SPEC.key, execution=on_all_devices(None))
        for runs in ([0, 1, 3], [1, 0, 5])
    )
    for name in ("lower_bound", "estimate", "output"):
        assert list(others[name][:2]) == [together[name][1], together[name][0]]
    coarse, fine = (
        evidence_of(by_hand(mpl_runs, entry, [0, 1, 3], num_nodes=n), SMALL, entry.region).bounds(
            0.95
        )
        for n in (120, 240)
    )
    # Only run 1 has too few nodes; run 3 has a different loss on each of the lattices.
    expected = np.where([True, False, True], coarse.estimate, fine.estimate)
    np.testing.assert_array_equal(together["estimate"], expected)
    assert coarse.estimate[2] != fine.estimate[2]
    # Both lattices have at least 8 nodes per bandwidth, so their densities differ by 1e-3.
    np.testing.assert_allclose(together["estimate"], fine.estimate, atol=0.1)


def test_a_region_that_no_lattice_covers_is_refused():
    options = dataclasses.replace(REAL.method, region=(-1e6, 1e6))
    wide = dataclasses.replace(REAL, method=options, label="wide")
    with pytest.raises(ValueError, match=r"entry 'wide': region .* is too wide"):
        compute(wide, range(3), 0, execution=on_all_devices(None))


def test_entries_that_share_a_program_come_one_after_the_other():
    """Programs depend on numbers of draws, but not on floors, bandwidths and regions."""
    pairs, sizes = [(0.0, 1.0)], {"num_samples": 200, "num_confirm": 300}
    same = [
        Local(**sizes, floor=0.01), Local(**sizes, region=(-1.0, 2.0)),
        Local(**sizes, bandwidth=0.3),
    ]  # fmt: skip
    other = Local(num_samples=200, num_confirm=400, floor=0.01)
    shapes = [_shape(Block(Entry(Laplace(0.5), method, pairs), 0, 1)) for method in (*same, other)]
    assert len({*shapes[:3]}) == 1 and shapes[3] != shapes[0]


def test_runs_are_repeated_until_all_devices_have_as_many(monkeypatch):
    """Runs on the host are computed one after the other, each exactly once."""
    asked = []

    class Counted:
        def run(self, source, pairs, terms, batch):
            asked.append(batch.tolist())
            rows = [Row(None, pair=int(number)) for number in batch]
            return SimpleNamespace(rows=lambda: rows, finding=lambda run: "a finding")

    monkeypatch.setattr("dpjax.sweeps._compute.verdict_of", lambda finding: "doubtful")
    for together, expected in ((True, [[4, 7, 9, 9]]), (False, [[4], [7], [9]])):
        source = SimpleNamespace(side_by_side=together)
        entry = SimpleNamespace(source=source, method=Counted(), pairs=None)
        terms = SimpleNamespace(layout=SimpleNamespace(devices=("a", "b")))
        rows = _rows(entry, terms, np.array([4, 7, 9], np.int32))
        assert [row.pair for row in rows] == [4, 7, 9] and asked == expected
        assert {row.verdict for row in rows} == {None if together else "doubtful"}
        asked.clear()


def test_blocks_are_streamed_unless_another_layout_is_chosen(monkeypatch):
    """In the streamed layout, all blocks of an entry share one program."""
    seen = []

    def rows(entry, terms, numbers):
        seen.append(terms.layout)
        raise ValueError("enough")

    monkeypatch.setattr("dpjax.sweeps._compute._rows", rows)
    for layout, expected in (("auto", "streamed"), ("gathered", "gathered")):
        with pytest.raises(ValueError, match="enough"):
            compute(COUNTED, [0, 1], 3, execution=Execution(layout=layout))
        assert seen[-1].layout == expected


def test_more_entries_than_colors_have_dashed_lines():
    number = len(SERIES)
    entries = [
        SimpleNamespace(bounds=[1.0 + place], label=f"entry {place}", claim=None)
        for place in range(2 * number)
    ]
    figure = SweepSummary._figure(SimpleNamespace(entries=entries, _is_claimed=False))
    lines = figure.axes[0].lines
    assert [line.get_linestyle() for line in lines] == ["-"] * number + ["--"] * number
    assert [lines[place].get_color() for place in (0, number)] == [SERIES[0]] * 2


def test_claims_are_dotted_lines_in_the_colors_of_their_entries():
    entries = [
        SimpleNamespace(bounds=[0.1, 0.2], label="one", claim=0.5),
        SimpleNamespace(bounds=[0.3], label="two", claim=None),
        SimpleNamespace(bounds=[], label="three", claim=0.7),
    ]
    (axes,) = SweepSummary._figure(SimpleNamespace(entries=entries, _is_claimed=True)).axes
    (dotted,) = [line for line in axes.lines if line.get_linestyle() == ":"]
    assert set(dotted.get_xdata()) == {0.5} and dotted.get_color() == axes.lines[0].get_color()
    assert axes.get_xlabel() == "lower bound (dotted: the claim)"
    assert axes.get_ylabel() == "share of the runs"
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["one", "two"] and not axes.spines["top"].get_visible()


def test_long_labels_are_cut_off_in_the_table_as_text():
    entries = [EntrySummary(name * length, "laplace", 3, (0.1, 0.2), None)
               for name, length in (("a", 34), ("b", 35))]  # fmt: skip
    text = str(SweepSummary("what", tuple(entries)))
    assert "a" * 34 in text and "b" * 33 + "…" in text and "b" * 34 not in text


def test_a_block_whose_file_cannot_be_opened(tmp_path, monkeypatch):
    def full(path, mode):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = Store.create(tmp_path / "s", SPEC)
    monkeypatch.setattr(_files, "open", full, raising=False)
    with pytest.raises(OSError, match=r"^a block cannot be stored in .*run the same command"):
        run_sweep(store)
    assert not list((tmp_path / "s" / "blocks").iterdir())


def test_progress_is_told_before_the_first_block_and_after_each(tmp_path):
    told = []
    store = Store.create(tmp_path, SPEC)
    run_sweep(store, progress=told.append)
    total = sum(entry.num_runs for entry in SPEC.entries)
    assert [told[0].block, told[0].num_runs, told[0].total_runs] == [None, 0, total]
    assert [state.num_runs for state in told] == sorted({state.num_runs for state in told})
    assert told[-1].num_runs == total and all(state.block is not None for state in told[1:])
    run_sweep(store, progress=told.append)
    assert (told[-1].block, told[-1].num_runs) == (None, total)
