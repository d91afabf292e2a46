"""`dpjax sweep` step by step: rejected input, arguments, and exit codes."""

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

import jax
import pytest

import dpjax.sweeps
from dpjax.cli import _sweep
from dpjax.cli._sweep import _dask, _shard, command, show_status

GIVEN = {
    "spec": "levels.toml", "folder": None, "out": "levels", "allow_import": None, "more": None,
    "shard": None, "dask": None, "distributed": False, "any_processor": False, "devices": None,
    "quiet": True,
}  # fmt: skip


@dataclass
class Spec:
    """Result of reading a sweep file."""

    more: int = 0
    num_runs: int = 12


@pytest.fixture
def parts(monkeypatch):
    """Record the calls of the command; `state` is the final state of its sweep."""
    found = SimpleNamespace(
        told=[], state=SimpleNamespace(num_runs=12, total_runs=12, num_computed=5), exit_code=143
    )

    def of_file(path, allow_import):
        found.told.append(("read", path, allow_import))
        return Spec()

    def create(out, spec, any_processor):
        found.told.append(("create", out, spec.more, any_processor))
        return SimpleNamespace(spec=spec)

    def run_sweep(store, **options):
        found.told.append(("run", store.spec, options))
        options["report"]("a problem")
        return found.state

    @contextmanager
    def noted(name, value=None):
        found.told.append(f"{name} begins")
        yield value
        found.told.append(f"{name} ends")

    stop = SimpleNamespace(asked=lambda: False, exit_code=143)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(_sweep, "untouched", lambda: noted("seal"))
    monkeypatch.setattr(_sweep, "stopping_on_signals", lambda: noted("signals", stop))
    monkeypatch.setattr(
        _sweep, "showing", lambda spec, quiet: noted(f"progress, quiet {quiet}", "progress")
    )
    monkeypatch.setattr(_sweep, "_dask", lambda address: noted(f"cluster {address}", "executor"))
    monkeypatch.setattr(_sweep, "part_cpu", lambda devices: found.told.append(("part", devices)))
    monkeypatch.setattr(_sweep, "use_all_cores", lambda: found.told.append("all cores"))
    monkeypatch.setattr(_sweep, "needs", lambda *given: found.told.append(("needs", *given)))
    monkeypatch.setattr(jax.distributed, "initialize", lambda: found.told.append("initialize"))
    monkeypatch.setattr(dpjax.sweeps, "SweepSpec", SimpleNamespace(from_file=of_file))
    monkeypatch.setattr(dpjax.sweeps, "Store", SimpleNamespace(create=create))
    monkeypatch.setattr(dpjax.sweeps, "run_sweep", run_sweep)
    found.stop = stop
    return found


def test_a_sweep_from_the_beginning_to_the_end(parts, capsys):
    assert command(**GIVEN) == 0
    *before, (name, spec, options), progress, signals, seal = parts.told
    assert before == [
        "all cores", "seal begins", ("read", "levels.toml", ()),
        ("create", "levels", 0, False), "signals begins", "progress, quiet True begins",
    ]  # fmt: skip
    assert (progress, signals, seal) == (
        "progress, quiet True ends", "signals ends", "seal ends",
    )  # fmt: skip
    assert name == "run" and spec == Spec()
    assert options == {
        "executor": None, "shard": None, "progress": "progress", "report": _sweep.say,
        "should_stop": parts.stop.asked,
    }  # fmt: skip
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "a problem", "wrote levels: 12 runs, 5 of them new",
    ]  # fmt: skip
    assert said.out == ""


def test_options_are_passed_on(parts):
    given = {"allow_import": ["mine"], "more": 7, "any_processor": True, "shard": "2/3",
             "quiet": False}  # fmt: skip
    assert command(**GIVEN | given) == 0
    assert ("read", "levels.toml", ["mine"]) in parts.told
    assert ("create", "levels", 7, True) in parts.told
    assert "progress, quiet False begins" in parts.told and "all cores" not in parts.told
    (options,) = [step[2] for step in parts.told if step[0] == "run"]
    assert options["shard"] == (1, 3)


@pytest.mark.parametrize("allowed", [None, ["mine"]])
def test_modules_of_the_current_folder_can_be_imported(parts, allowed):
    before = [*sys.path]
    assert command(**GIVEN | {"allow_import": allowed}) == 0
    assert sys.path == ([str(Path.cwd())] if allowed else []) + before


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        ({}, ["all cores"]), ({"devices": 3}, [("part", 3)]), ({"shard": "1/2"}, []),
        ({"shard": "1/2", "devices": 3}, [("part", 3)]), ({"distributed": True}, ["initialize"]),
        ({"dask": "local:2"}, [("needs", "sweeps on Dask", "distributed", "dask", "distributed")]),
    ],
)  # fmt: skip
def test_how_the_work_is_divided(parts, given, steps):
    assert command(**GIVEN | given) == 0
    assert parts.told[: len(steps) + 1] == [*steps, "seal begins"]
    (options,) = [step[2] for step in parts.told if step[0] == "run"]
    assert options["executor"] == ("executor" if "dask" in given else None)
    assert ("cluster local:2 ends" in parts.told) == ("dask" in given)


def test_a_cluster_that_is_not_found(parts, monkeypatch):
    def initialize():
        raise ValueError("coordinator_address should be defined.")

    monkeypatch.setattr(jax.distributed, "initialize", initialize)
    words = r"--distributed needs a cluster .* found none \(coordinator_address should be defined"
    with pytest.raises(ValueError, match=words):
        command(**GIVEN | {"distributed": True})


def test_runs_that_are_missing(parts, capsys):
    parts.state.num_runs = 9
    assert command(**GIVEN) == 143
    assert capsys.readouterr().err.splitlines()[-1] == (
        "Stopped with 3 of 12 runs to go; the same command continues from here."
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"folder": "x"}, "the store is named by --out: remove the argument 'x'"),
        ({"out": None}, "--out must name the folder of the store"),
        ({"shard": "1/2", "dask": "a"}, "--shard and --dask are two ways to share the work"),
        ({"shard": "0/2"}, "--shard must be I/K with 1 <= I <= K, but was '0/2'"),
    ],
)
def test_refusals_come_before_any_work(parts, given, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        command(**GIVEN | given)
    assert not parts.told


@pytest.mark.parametrize(("folder", "shown"), [("here", "here"), (None, "levels")])
def test_the_status_of_a_store(parts, monkeypatch, folder, shown):
    asked = []
    monkeypatch.setattr(_sweep, "show_status", lambda *given: asked.append(given))
    given = {"spec": "status", "folder": folder, "allow_import": ["mine"]}
    assert command(**GIVEN | given) == 0
    assert asked == [(shown, ["mine"])] and not parts.told
    assert command(**GIVEN | {"spec": "status"}) == 0 and asked[-1] == ("levels", ())


@pytest.mark.parametrize(
    ("text", "share"),
    [("1/1", (0, 1)), ("1/3", (0, 3)), ("3/3", (2, 3)), ("2/9", (1, 9)), ("10/12", (9, 12))],
)
def test_shares_are_counted_from_zero(text, share):
    assert _shard(text) == share


@pytest.mark.parametrize(
    "text", ["", "1", "1/", "/2", "3/2", "0/2", "-1/2", "a/3", "1/b", "1/3/4", "1.5/2"]
)
def test_refused_shares(text):
    with pytest.raises(ValueError, match="--shard must be I/K with 1 <= I <= K, but was"):
        _shard(text)


@pytest.fixture
def clusters(monkeypatch):
    """Record the clusters and clients that are created, with their options."""
    made = []

    def kind(name):
        class Made:
            def __init__(self, *given, **options):
                made.append((name, given, options))

            def __enter__(self):
                return self

            def __exit__(self, *raised):
                made.append(f"{name} ends")

            def get_executor(self):
                return "executor"

        return Made

    module = ModuleType("dask.distributed")
    module.Client, module.LocalCluster = kind("client"), kind("cluster")
    monkeypatch.setitem(sys.modules, "dask", ModuleType("dask"))
    monkeypatch.setitem(sys.modules, "dask.distributed", module)
    return made


@pytest.mark.parametrize("reserve", [None, "true"])
def test_a_local_cluster(clusters, monkeypatch, reserve):
    name = "XLA_PYTHON_CLIENT_PREALLOCATE"
    monkeypatch.delenv(name, raising=False)
    if reserve is not None:
        monkeypatch.setenv(name, reserve)
    with _dask("local:3") as executor:
        assert executor == "executor"
    (_, _, options), (_, given, _), *ends = clusters
    assert options == {
        "n_workers": 3, "threads_per_worker": 1, "dashboard_address": None,
        "env": {name: reserve or "false"},
    }  # fmt: skip
    assert len(given) == 1 and ends == ["client ends", "cluster ends"]


def test_another_cluster(clusters):
    with _dask("tcp://host:8786") as executor:
        assert executor == "executor"
    assert clusters == [("client", ("tcp://host:8786",), {"timeout": 30}), "client ends"]


@pytest.mark.parametrize("address", ["local", "local:", "local:0", "local:x", "local:-1"])
def test_numbers_of_workers(clusters, address):
    with pytest.raises(ValueError, match="--dask local:WORKERS must end in the number of workers"):
        with _dask(address):
            pass
    assert not clusters


@pytest.mark.parametrize(
    ("finished", "corrupt", "table"),
    [({"a"}, [], True), (set(), [], False), ({"a"}, ["b"], False)],
)
def test_the_status_in_words(monkeypatch, capsys, finished, corrupt, table):
    """Bounds are summarized if there are any and no block is damaged."""
    blocks = [SimpleNamespace(name=name, first=3, stop=10) for name in "ab"]
    spec = SimpleNamespace(blocks=lambda: blocks, num_runs=20)
    store = SimpleNamespace(
        spec=spec, summary=lambda: "the table",
        contents=lambda: (finished, corrupt, {"x\x1b": "it is a text"}, None),
    )  # fmt: skip
    asked = []
    monkeypatch.setattr("dpjax.sweeps.Store.open", lambda *given: asked.append(given) or store)
    show_status("folder", ["module"])
    assert asked == [("folder", ["module"])]
    assert capsys.readouterr().out == (
        "the table\n"
        * table
        + f"{7 * len(finished)} of 20 runs are stored; {len(corrupt)} corrupt blocks.\n"
        "x\\x1b is not used: it is a text.\n"
    )
    with pytest.raises(ValueError, match=r"^dpjax sweep status needs the folder of a store\.$"):
        show_status(None, ())
