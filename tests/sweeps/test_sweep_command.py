"""`dpjax sweep`: kills, signals, workers, shards and devices, each in a separate process."""

import os
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from benchmarks import robustness
from dpjax.cli import main
from dpjax.cli._sweep import _dask
from dpjax.sweeps import Store, rows_equal

SPEC = """
name = "small"
key = 7
block_runs = 4

[[entries]]
mechanism = "laplace"
method = "local"
options = {num_samples = 20000, num_confirm = 50000, floor = 1e-3}
runs = 40
grid = {epsilon = [0.5, 1.0]}

[[entries]]
mechanism = "randomized-response"
options = {num_samples = 2000, num_confirm = 5000}
runs = 12
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    folder = tmp_path_factory.mktemp("command")
    path = folder / "small.toml"
    path.write_text(SPEC)
    # The processes of this module share compiled programs.
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR", str(folder / "cache"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPJAX_CACHE_DIR", cache)
        yield path


@pytest.fixture(scope="module")
def calm(spec, tmp_path_factory):
    out = tmp_path_factory.mktemp("calm") / "store"
    robustness.run(spec, out)
    return Store.open(out)


@pytest.mark.slow
def test_kills_cost_nothing(spec, calm, tmp_path):
    assert robustness.killed(spec, tmp_path / "s", kills=2, seed=1) > 0
    assert rows_equal(calm, Store.open(tmp_path / "s"))


@pytest.mark.slow
def test_a_killed_worker_costs_its_block(spec, calm, tmp_path):
    pytest.importorskip("distributed")
    assert robustness.on_dask(spec, tmp_path / "s")
    assert rows_equal(calm, Store.open(tmp_path / "s"))


@pytest.mark.slow
@pytest.mark.parametrize(("given", "expected"), [(None, "false"), ("true", "true")])
def test_local_workers_leave_memory_of_a_gpu_to_each_other(monkeypatch, given, expected):
    pytest.importorskip("distributed")
    name = "XLA_PYTHON_CLIENT_PREALLOCATE"
    monkeypatch.delenv(name, raising=False)
    if given is not None:
        monkeypatch.setenv(name, given)
    with _dask("local:1") as executor:
        assert executor.submit(os.getenv, name).result() == expected


# The fast tests compute them in the test of signals.
@pytest.mark.slow
def test_four_devices_give_the_same_bits(spec, calm, tmp_path):
    robustness.run(spec, tmp_path / "s", "--devices", "4")
    assert rows_equal(calm, Store.open(tmp_path / "s"))


@pytest.mark.slow
def test_shards_by_hand(spec, calm, tmp_path):
    robustness.sharded(spec, tmp_path / "s", 2)
    assert rows_equal(calm, Store.open(tmp_path / "s"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130)],
)
def test_signals_finish_the_block(spec, calm, tmp_path, number, code):
    """The same command resumes the sweep, with identical bits."""
    out = tmp_path / "s"
    process = subprocess.Popen(
        robustness.command(spec, out), stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while robustness.num_blocks(out) == 0:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    _, said = process.communicate(timeout=120)
    assert process.returncode == code
    assert "the same command continues from here" in said
    assert not list((out / "blocks").glob(".*")), "files must be complete"
    assert 0 < Store.open(out).table().num_rows < calm.table().num_rows
    robustness.run(spec, out)
    assert rows_equal(calm, Store.open(out))


@pytest.mark.slow
def test_processes_of_jax_distributed_take_their_shares(spec, calm, tmp_path):
    port = 20_000 + os.getpid() % 20_000
    program = (
        "import jax, sys\n"
        "rank = int(sys.argv[1])\n"
        f"jax.distributed.initialize('localhost:{port}', 2, rank)\n"
        "from dpjax.sweeps import Store, SweepSpec, run_sweep\n"
        f"store = Store.create(sys.argv[2], SweepSpec.from_file({str(spec)!r}))\n"
        "print(run_sweep(store).num_computed)\n"
    )
    out = str(tmp_path / "s")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(rank), out], stdout=subprocess.PIPE, text=True
        )
        for rank in (0, 1)
    ]
    computed = [int(process.communicate(timeout=300)[0]) for process in processes]
    assert sum(computed) == 92 and min(computed) > 30
    assert rows_equal(calm, Store.open(out))


@pytest.fixture
def said(monkeypatch, capsys):
    """Return a function (arguments) -> exit code and both streams of `dpjax sweep`, in-process."""
    # An empty name leaves the cache of compiled code unchanged.
    monkeypatch.setenv("DPJAX_CACHE_DIR", "")
    # Initialize JAX, so that the command does not change the devices of the process.
    jax.devices()

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpjax", "sweep", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, "".join(capsys.readouterr())

    return call


def test_bad_commands_are_refused(said, tmp_path):
    path, out = tmp_path / "small.toml", tmp_path / "s"
    path.write_text(SPEC)
    for arguments, message in (
        ([path], "--out must name"),
        (["fig9.toml", "--out", out], "fig9.toml does not exist"),
        ([path, "--out", out, "--shard", "4/3"], "--shard must be I/K"),
        (["status", out], "holds no sweep"),
    ):
        code, text = said(*arguments)
        assert code == 2 and message in text


@pytest.mark.slow
def test_status_counts_runs(said, calm):
    code, text = said("status", calm.folder)
    assert code == 0 and "92 of 92 runs are stored; 0 corrupt blocks." in text
    assert max(map(len, text.splitlines())) <= 100
    for columns in calm.columns().values():
        bounds = np.array(columns["lower_bound"], float)
        bounds = bounds[np.isfinite(bounds)]
        if bounds.size:
            row = "  ".join(f"{np.quantile(bounds, q):.4f}" for q in (0.05, 0.5, 0.95))
            assert " ".join(row.split()) in " ".join(text.split())
