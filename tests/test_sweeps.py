"""Sweeps: the spec as a value, the store, and a runner whose rows nothing can change."""

import dataclasses
import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

from dpjax import _random
from dpjax._batching import Execution, default_execution
from dpjax.databases import Pairs
from dpjax.densities import Fixed, HoelderRate
from dpjax.mechanisms import Laplace, RandomizedResponse, TruncatedLaplace
from dpjax.methods.histogram import Unplanned, histogram_ldp
from dpjax.methods.local import LocalSettings, dpl_runs, mpl_runs
from dpjax.methods.local._assemble import bounds_of
from dpjax.sweeps import (
    PRESETS,
    Cell,
    HistogramSettings,
    Store,
    SweepSpec,
    compute,
    preset,
    rows_equal,
    run_bounds,
    run_sweep,
)
from dpjax.sweeps import _store as store_module
from dpjax.sweeps._law_counts import law_counts, run_words

SMALL = LocalSettings(num_samples=500, num_confirm=1000, floor=1e-3)
FINITE = Cell(RandomizedResponse(1.0), SMALL, num_runs=7, label="responses")
REAL = Cell(Laplace(0.5), SMALL, num_runs=7)
SPEC = SweepSpec("test", (FINITE, REAL), seed=3, block_runs=3)


def user_noise(key, count):
    """A user's mechanism that a worker can import."""
    return count + _random.laplace(key, 1)[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The store of the whole sweep."""
    store = Store.create(tmp_path_factory.mktemp("sweep") / "whole", SPEC)
    run_sweep(store)
    return store


def test_a_spec_survives_json_and_toml(tmp_path):
    cells = (
        FINITE,
        dataclasses.replace(REAL, region=(-2.0, 2.0), confidence=0.9),
        Cell(Laplace(0.5), dataclasses.replace(SMALL, bandwidth=HoelderRate(0.5)), estimator="dpl"),
        Cell(Laplace(0.5), dataclasses.replace(SMALL, bandwidth=Fixed(0.1)), pairs=[(0.0, 0.5)]),
        Cell(TruncatedLaplace(2.0), HistogramSettings(4, 100, (0, 1), 2.0), estimator="histogram"),
    )
    spec = SweepSpec("values", cells, seed=5)
    assert SweepSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    path = tmp_path / "spec.toml"
    path.write_text(spec.to_toml())
    again = SweepSpec.from_file(path)
    assert again == spec
    assert [c.id for c in again.cells] == [c.id for c in cells]
    assert len({c.id for c in cells}) == len(cells)


def test_a_user_function_is_named_by_its_import():
    from dpjax.mechanisms import from_function

    cell = Cell(from_function(user_noise, 0.0), SMALL, pairs=[(0.0, 1.0)], region=(-1.0, 1.0))
    assert cell.mechanism_name.endswith("test_sweeps:user_noise")
    assert Cell.from_dict(cell.to_dict()) == cell
    with pytest.raises(ValueError, match="importable by its name"):
        Cell(from_function(lambda k, x: x, 0.0), SMALL, pairs=[(0.0, 1.0)], region=(0.0, 1.0))


def test_the_identity_is_what_sets_the_law():
    assert dataclasses.replace(FINITE, label="other", num_runs=9).id == FINITE.id
    changes = {"settings": dataclasses.replace(SMALL, num_samples=501), "confidence": 0.9}
    changes["pairs"] = Pairs([1], [0])
    for name, value in changes.items():
        assert dataclasses.replace(FINITE, **{name: value}).id != FINITE.id, name


def test_ids_are_the_same_in_every_process():
    # Written down: a change of the form gives every sweep other noise and needs a new version.
    assert FINITE.id == "randomized-response-ab45ef453985"
    assert preset("fig4").cells[0].id == "laplace-ac804907eb47"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "cell 1: a cell must name its mechanism"),
        ({"mechanism": "laplac"}, "did you mean 'laplace'"),
        ({"mechanism": "laplace", "parameter": {}}, "no entry 'parameter'"),
        ({"mechanism": "laplace", "parameters": {"eps": 1.0}}, "no entry 'eps'"),
        ({"mechanism": "laplace", "settings": {"samples": 3}}, "no entry 'samples'"),
        ({"mechanism": "laplace", "settings": {"bandwidth": {"rule": "Scot"}}}, "'Scott'"),
        ({"mechanism": "laplace", "runs": 0}, "runs must be"),
        ({"mechanism": "laplace", "estimator": "mlp"}, "estimator"),
        ({"mechanism": "nowhere:f", "pairs": [[0, 1]]}, "cannot be imported"),
        ({"mechanism": "laplace", "grid": {"epsilon": 1.0}}, "grid must be a table"),
    ],
)
def test_a_bad_entry_is_named(entry, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SweepSpec.from_dict({"cells": [entry]})


def test_a_grid_is_a_cell_for_each_combination():
    entry = {"mechanism": "laplace", "label": "a", "grid": {"epsilon": [0.5, 1.0]}}
    cells = SweepSpec.from_dict({"cells": [entry]}).cells
    assert [(c.label, c.mechanism.epsilon) for c in cells] == [
        ("a epsilon=0.5", 0.5),
        ("a epsilon=1", 1.0),
    ]
    with pytest.raises(ValueError, match="are the same"):
        SweepSpec("twice", (FINITE, dataclasses.replace(FINITE, label="again")))


def test_rows_are_those_of_the_estimators(whole):
    """Every row, from the estimators called by hand with the same keys."""
    for cell in SPEC.cells:
        key = _random.fold_in(_random.as_key(SPEC.seed), _random.stable_hash(cell.id))
        statistics = mpl_runs(
            cell.mechanism,
            cell.pairs.database,
            cell.pairs.neighbor,
            cell.region,
            cell.settings,
            key,
            jnp.arange(7, dtype=jnp.int32),
            execution=default_execution(),
        )
        bounds = bounds_of(statistics, cell.settings, cell.region, 0.95)
        rows = whole.columns()[cell.id]
        assert rows["run"].tolist() == list(range(7))
        np.testing.assert_array_equal(rows["lower_bound"], bounds.lower_bound)
        np.testing.assert_array_equal(rows["estimate"], bounds.estimate)
        points = np.asarray(statistics.found.point, float).reshape(7, -1)
        np.testing.assert_array_equal(np.stack(rows["output"]), points)


def test_dpl_and_histogram_cells():
    cell = dataclasses.replace(FINITE, estimator="dpl")
    columns = compute(cell, range(4), 3)()
    search = dpl_runs(
        cell.mechanism,
        cell.pairs.database,
        cell.pairs.neighbor,
        cell.region,
        cell.settings,
        _random.fold_in(_random.as_key(3), _random.stable_hash(cell.id)),
        jnp.arange(4, dtype=jnp.int32),
        execution=default_execution(),
    )
    np.testing.assert_array_equal(columns["estimate"], np.max(search.loss, axis=1))
    assert np.all(np.isnan(columns["lower_bound"]))

    # 60 draws into 12 intervals: some runs find one empty, and have no number.
    settings = HistogramSettings(12, 60, (0.0, 0.5, 1.0))
    cell = Cell(TruncatedLaplace(1.0), settings, estimator="histogram")
    columns = compute(cell, range(40), 3)()
    key = _random.fold_in(_random.as_key(3), _random.stable_hash(cell.id))
    result = histogram_ldp(cell.mechanism, [0.0, 0.5, 1.0], Unplanned(12, 60), key, num_runs=40)
    np.testing.assert_array_equal(columns["estimate"], result.estimates.filled(np.nan))
    failed = np.array(columns["status"]) == "EMPTY_INTERVAL"
    assert 0 < failed.sum() < 40 and np.array_equal(failed, np.isnan(columns["estimate"]))


def test_an_interrupted_sweep_goes_on(whole, tmp_path):
    store = Store.create(tmp_path / "s", SPEC)
    calls = iter([False, False, True])
    state = run_sweep(store, should_stop=lambda: next(calls))
    assert (state.num_runs, state.total_runs) == (6, 14)
    state = run_sweep(Store.create(tmp_path / "s", SPEC))
    assert (state.num_runs, state.num_computed) == (14, 8)
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


def test_layout_does_not_change_rows(whole, tmp_path):
    store = Store.create(tmp_path / "wide", SPEC)
    run_sweep(store, execution=Execution(runs_at_once=3, pairs_at_once=2))
    assert rows_equal(store, whole)


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
    assert state.num_computed in (4, 6)  # blocks hold three runs or the last one
    assert rows_equal(store, whole)


def test_a_full_disk_loses_nothing(whole, tmp_path, monkeypatch):
    store = Store.create(tmp_path / "s", SPEC)
    written = []

    def fsync(number):
        written.append(number)
        if len(written) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(store_module.os, "fsync", fsync)
        with pytest.raises(OSError, match=r"No space left.*every block that was finished"):
            run_sweep(store)
    assert len(list((tmp_path / "s" / "blocks").iterdir())) == 2, "no temporary file stays"
    run_sweep(store)
    assert rows_equal(store, whole)


def test_another_sweep_or_version_is_refused(tmp_path, monkeypatch):
    Store.create(tmp_path / "s", SPEC)
    with pytest.raises(ValueError, match="holds another sweep"):
        Store.create(tmp_path / "s", dataclasses.replace(SPEC, seed=4))
    with pytest.raises(ValueError, match="holds another sweep"):
        Store.create(tmp_path / "s", dataclasses.replace(SPEC, cells=(REAL,)))
    path = tmp_path / "s" / "manifest.json"
    good = path.read_text()
    for old, new, message in (
        (f'"jax": "{jax.__version__}"', '"jax": "0.0.1"', "made with jax 0.0.1"),
        ('"dtype": "float32"', '"dtype": "float64"', "dtype float64"),
        ('"format": 1', '"format": 0', "store format 0"),
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
    # Blocks without a manifest are what is left of some store, nobody knows which.
    (tmp_path / "s" / "manifest.json").unlink()
    (tmp_path / "s" / "blocks" / "some.parquet").write_bytes(b"1")
    with pytest.raises(ValueError, match="is not empty and holds no sweep"):
        Store.create(tmp_path / "s", SPEC)


def test_runs_and_cells_can_be_added_in_whole_blocks(whole, tmp_path):
    short = tuple(dataclasses.replace(cell, num_runs=6) for cell in SPEC.cells[:1])
    run_sweep(Store.create(tmp_path / "s", dataclasses.replace(SPEC, cells=short)))
    store = Store.create(tmp_path / "s", SPEC)
    state = run_sweep(store)
    assert state.num_computed == 8
    assert rows_equal(store, whole)
    more = tuple(dataclasses.replace(cell, num_runs=9) for cell in SPEC.cells)
    with pytest.raises(ValueError, match="in whole blocks of 3"):
        Store.create(tmp_path / "s", dataclasses.replace(SPEC, cells=more))


def test_a_preset_compiles_one_program_an_algorithm(tmp_path):
    spec = preset("fig4", only="a", runs=2)
    small = dataclasses.replace(spec.cells[0].settings, num_samples=600, num_confirm=1200)
    cells = tuple(dataclasses.replace(cell, settings=small) for cell in spec.cells)
    pairs = cells[0].pairs
    program = mpl_runs.program(
        *(cells[0].mechanism, pairs.database, pairs.neighbor, cells[0].region, small),
        *(jax.random.key(0), jnp.zeros(2, jnp.int32)),
        execution=default_execution(),
    )
    before = program._cache_size()
    run_sweep(Store.create(tmp_path / "s", dataclasses.replace(spec, cells=cells)))
    assert program._cache_size() == before + 1, "three levels, one program"


def test_presets():
    for name in PRESETS:
        spec = preset(name, quick=True)
        assert SweepSpec.from_dict(spec.to_dict()) == spec, name
    figure_4 = preset("fig4")
    assert (len(figure_4.cells), figure_4.num_runs) == (24, 24_000)
    assert [len(cell.pairs) for cell in preset("fig5").cells] == [63, 26]
    assert {cell.estimator for cell in preset("fig6").cells} == {"dpl"}
    assert preset("fig4", only=["d", "a"]).cells[3].label == "d 0.2"
    with pytest.raises(ValueError, match="part 'z' is not known"):
        preset("fig4", only=["z"])
    with pytest.raises(ValueError, match="preset 'fig44' is not known; did you mean 'fig4'"):
        preset("fig44")


def test_counts_from_the_law_are_multinomial():
    """1000 runs of 400 draws into 3 intervals: sums against their law, p >= 1e-5."""
    settings = HistogramSettings(3, 400, (0.0, 1.0))
    words = run_words(_random.as_key(1), jnp.arange(1000, dtype=jnp.int32))
    counts = law_counts(TruncatedLaplace(1.0), settings, words)
    assert counts.shape == (1000, 2, 3) and np.all(counts.sum(axis=-1) == 400)
    # P(interval) in closed form: the density at 0 is e^-y / (1 - e^-1).
    edges = np.linspace(0, 1, 4)
    cdf = -np.expm1(-edges) / -np.expm1(-1)
    for side, probabilities in ((0, np.diff(cdf)), (1, np.diff(cdf)[::-1])):
        total = counts[:, side].sum(axis=0)
        assert chisquare(total, probabilities * total.sum()).pvalue > 1e-5
    # Runs are independent: the variance over runs is the binomial one, to five standard errors.
    p = np.diff(cdf)[0]
    spread = counts[:, 0, 0].var() / (400 * p * (1 - p))
    assert abs(spread - 1) < 5 * np.sqrt(2 / 1000)
    with pytest.raises(TypeError, match="truncated-laplace"):
        law_counts(Laplace(1.0), settings, words)


def test_a_lattice_that_is_too_coarse_is_refined_run_by_run():
    """As the front door does, and whatever runs are computed together."""
    # Eight nodes a bandwidth for some of the runs.
    settings = dataclasses.replace(SMALL, num_cells=120)
    cell = Cell(Laplace(0.5), settings, pairs=[(0.0, 1.0)])
    together = compute(cell, range(6), 3)()
    alone = [compute(cell, [run], 3)() for run in range(6)]
    for name in ("lower_bound", "estimate", "output"):
        assert list(together[name]) == [one[name][0] for one in alone]
    in_memory = run_bounds(cell, range(6), key=3)
    assert in_memory.lower_bound.tolist() == list(together["lower_bound"])
    fine = dataclasses.replace(settings, num_cells=2048)
    key = _random.fold_in(_random.as_key(3), _random.stable_hash(cell.id))
    search = mpl_runs(
        cell.mechanism,
        cell.pairs.database,
        cell.pairs.neighbor,
        cell.region,
        fine,
        key,
        jnp.arange(6, dtype=jnp.int32),
        execution=default_execution(),
    )
    # Nodes are 8 a bandwidth or more in both, which leaves 1e-3 between their densities.
    np.testing.assert_allclose(
        together["estimate"], bounds_of(search, fine, cell.region, 0.95).estimate, atol=0.1
    )
    wide = Cell(Laplace(0.5), SMALL, region=(-1e6, 1e6), label="wide")
    with pytest.raises(ValueError, match="region of 'wide' is so wide"):
        compute(wide, range(2), 0)()
    with pytest.raises(ValueError, match="region of 'wide' is so wide"):
        run_bounds(wide, range(2))
