"""`dpjax sweep`: kills, signals, workers, shards and devices, each as its own process."""

import os
import signal
import subprocess
import sys
import time

import pytest

from benchmarks import robustness
from dpjax.sweeps import Store, rows_equal

SPEC = """
name = "small"
seed = 7
block_runs = 4

[[cells]]
mechanism = "laplace"
runs = 40
settings = {num_samples = 20000, num_confirm = 50000, floor = 1e-3}
grid = {epsilon = [0.5, 1.0]}

[[cells]]
mechanism = "randomized-response"
runs = 10
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    folder = tmp_path_factory.mktemp("command")
    # Every process of this module compiles once for all.
    os.environ["DPJAX_CACHE_DIR"] = str(folder / "cache")
    path = folder / "small.toml"
    path.write_text(SPEC)
    yield [str(path)]
    del os.environ["DPJAX_CACHE_DIR"]


@pytest.fixture(scope="module")
def calm(spec, tmp_path_factory):
    out = tmp_path_factory.mktemp("calm") / "store"
    robustness.run(spec, out)
    return Store.open(out)


def test_kills_cost_nothing(spec, calm, tmp_path):
    assert robustness.killed(spec, tmp_path / "s", kills=2, seed=1) > 0
    assert rows_equal(calm, Store.open(tmp_path / "s"))


def test_a_killed_worker_costs_its_block(spec, calm, tmp_path):
    pytest.importorskip("distributed")
    assert robustness.on_dask(spec, tmp_path / "s")
    assert rows_equal(calm, Store.open(tmp_path / "s"))


def test_four_devices_give_the_same_bits(spec, calm, tmp_path):
    robustness.run(spec, tmp_path / "s", "--devices", "4")
    assert rows_equal(calm, Store.open(tmp_path / "s"))


def test_shards_by_hand(spec, calm, tmp_path):
    robustness.sharded(spec, tmp_path / "s", 2)
    assert rows_equal(calm, Store.open(tmp_path / "s"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signals_finish_the_block(spec, calm, tmp_path, number, code):
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
    assert "the same command goes on from here" in said
    assert not list((out / "blocks").glob(".*")), "nothing half-written"
    assert 0 < Store.open(out).table().num_rows < calm.table().num_rows
    robustness.run(spec, out)
    assert rows_equal(calm, Store.open(out))


def test_processes_of_jax_distributed_take_their_shares(spec, calm, tmp_path):
    port = 20_000 + os.getpid() % 20_000
    program = (
        "import jax, sys\n"
        "rank = int(sys.argv[1])\n"
        f"jax.distributed.initialize('localhost:{port}', 2, rank)\n"
        "from dpjax.sweeps import Store, SweepSpec, run_sweep\n"
        f"store = Store.create(sys.argv[2], SweepSpec.from_file({spec[0]!r}))\n"
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
    assert sum(computed) == 90 and min(computed) > 30
    assert rows_equal(calm, Store.open(out))


def refused(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "dpjax.cli", "sweep", *arguments], capture_output=True, text=True
    )
    assert done.returncode == 2
    return done.stderr


def test_bad_commands_are_refused(spec, tmp_path):
    out = str(tmp_path / "s")
    assert "--out must name" in refused(*spec)
    assert "neither a file nor a preset" in refused("fig9", "--out", out)
    assert "--shard must be I/K" in refused(*spec, "--out", out, "--shard", "4/3")
    assert "--runs is for presets" in refused(*spec, "--out", out, "--runs", "3")
    assert "holds no sweep" in refused("status", out)


def test_status_counts_runs(calm):
    done = subprocess.run(
        [sys.executable, "-m", "dpjax.cli", "sweep", "status", str(calm.folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "90 of 90 runs are stored; 0 corrupt blocks." in done.stdout
