"""`dpjax watch`: a folder that receives files, its state, and the exit codes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dpjax
from dpjax.cli import _watch

WATCH = "watch", "in", "--claim", 1
ONCE = *WATCH, "--once", "--json"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def outputs(day, size=2_000, scale=1.0):
    rng = np.random.default_rng(day)
    return rng.laplace(0, scale, size), rng.laplace(1, scale, size)


def record(folder, day, ending="npz", **given):
    """Write a file as a running system does: rename it when it is complete."""
    x, y = outputs(day, **given)
    unfinished = folder / f".day-{day}.{ending}"
    if ending == "npz":
        np.savez(unfinished, x=x, y=y)
    elif ending == "npy":
        np.save(unfinished, np.stack([x, y], axis=1))
    elif ending == "csv":
        np.savetxt(unfinished, np.stack([x, y], axis=1), delimiter=",", header="x,y", comments="")
    unfinished.rename(folder / unfinished.name[1:])


def shown(text):
    content = json.loads(text)
    return content["evidence"], content["statement"]


def test_files_of_every_kind_and_sides_of_different_lengths(run, folder):
    record(folder, 1, "npy")
    record(folder, 2, "csv")
    x, y = outputs(3)
    np.savez(folder / "day-3.npz", x=x, y=y[:1_500])
    (folder / "day-4.csv.part").write_text("x,y\n1")
    done = run(*ONCE)
    assert done.exit_code == 0 and json.loads(done.output)["evidence"]["settings"]["drawn"] == 5_500
    assert done.error.count("outputs per side") == 3 and (folder / ".dpjax-watch.json").exists()


def test_the_bounds_are_those_of_python(run, folder):
    for day in (1, 2):
        record(folder, day)
    _, statement = shown(run(*ONCE).output)
    chunks = [(f"day-{day}.npz", *outputs(day)) for day in (1, 2)]
    *_, expected = dpjax.watch(chunks, claim=1.0)
    assert statement == json.loads(expected.to_json())["statement"]


def test_the_same_bits_whenever_it_is_started(run, folder):
    for day in (1, 2, 3):
        record(folder, day)
        done = run(*ONCE, "--quiet", "--state", "often.json")
        assert done.exit_code == 0 and not done.error
        again = run(*ONCE, "--state", "often.json")
        assert shown(again.output) == shown(done.output) and not again.error
    whole = run(*ONCE, "--state", "whole.json")
    assert shown(whole.output) == shown(done.output)


def test_a_wrong_mechanism_ends_with_1_and_stays_refuted(run, folder):
    """The level is 2, and these outputs suffice to refute the claim 1."""
    for day in (1, 2):
        record(folder, day, scale=0.5)
    first = run(*WATCH)
    assert first.exit_code == 1 and "VIOLATED" in first.output
    again = run(*WATCH)
    assert (again.exit_code, again.output) == (1, first.output)


def test_too_few_outputs_are_no_verdict(run, folder):
    record(folder, 1, size=16)
    done = run(*WATCH, "--once")
    assert done.exit_code == 2 and "No verdict yet: 16 outputs" in done.error
    assert run("watch", "in", "--claim", 1, "--idle", 0.1, "--every", 0.05).exit_code == 2


def test_idle_ends_it(run, folder):
    record(folder, 1)
    done = run(*WATCH, "--every", 0.05, "--idle", 0.2)
    assert done.exit_code == 0 and "NOT REFUTED" in done.output


def test_duplicate_changed_and_unordered_files_are_refused(run, folder):
    for day in (2, 3):
        record(folder, day)
    assert run(*ONCE).exit_code == 0
    state = (folder / ".dpjax-watch.json").read_bytes()
    wrong = {
        "day-1.npz is out of order": lambda: record(folder, 1),
        "day-4.npz contains the same outputs as day-2.npz": lambda: (
            folder / "day-4.npz"
        ).write_bytes((folder / "day-2.npz").read_bytes()),
        "day-4.npz contains labels": lambda: np.savez(folder / "day-4.npz", x=["a", "b"], y=["a"]),
        "samples file in/day-4.npz cannot be read": lambda: (folder / "day-4.npz").write_bytes(
            b"1"
        ),
        "must end in": lambda: (folder / "notes.md").write_text("1"),
    }
    for message, make in wrong.items():
        before = {path: path.read_bytes() for path in folder.iterdir()}
        make()
        done = run(*ONCE)
        assert done.exit_code == 2 and message in done.error
        assert (folder / ".dpjax-watch.json").read_bytes() == state
        for path in set(folder.iterdir()) - set(before):
            path.unlink()
    (folder / "day-2.npz").write_bytes((folder / "day-3.npz").read_bytes())
    assert "day-2.npz has changed since its outputs were counted" in run(*ONCE).error


def test_other_terms_are_refused(run, folder):
    record(folder, 1)
    assert run(*ONCE).exit_code == 0
    for option in (("--claim", 2), ("--delta", 0.1), ("--confidence", 0.9), ("--key", 3)):
        done = run(*ONCE, *option)
        assert done.exit_code == 2 and "must not change when a watch" in done.error
    done = run("watch", "in", "--once")
    assert done.exit_code == 2 and "needs --claim" in done.error
    assert (
        "must be a folder of recorded outputs, but does not exist"
        in run("watch", "nowhere", "--claim", 1).error
    )
    assert "--notion must be one of" in run(*ONCE, "--notion", "renyi:2").error


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_watch_that_is_ended_goes_on_with_the_same_bits(run, folder, number):
    command = [sys.executable, "-m", "dpjax", *map(str, WATCH), "--every", "0.05"]
    record(folder, 1)
    going = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    state, ends = folder / ".dpjax-watch.json", time.monotonic() + 60
    while not state.exists() and time.monotonic() < ends:
        time.sleep(0.05)
    record(folder, 2)
    going.send_signal(number)
    error = going.communicate(timeout=60)[1]
    assert going.returncode == (130 if number == signal.SIGINT else -number)
    assert number == signal.SIGKILL or "continues from" in error
    ended = run(*ONCE)
    assert shown(ended.output) == shown(run(*ONCE, "--state", "whole.json").output)


def test_a_watch_waits_for_more_files_by_default(run, folder):
    record(folder, 1, size=16)
    start = time.monotonic()
    run("watch", "in", "--claim", 1, "--idle", 0.3, "--every", 0.05)
    assert time.monotonic() - start >= 0.3


def test_a_huge_interval_is_shorter_than_the_longest_wait_of_a_timer(run, folder, monkeypatch):
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        record(folder, 1, scale=0.2)

    monkeypatch.setattr(_watch.time, "sleep", sleep)
    done = run(*WATCH, "--every", 1e12, "--idle", 1e300)
    assert done.exit_code == 1 and waits == [threading.TIMEOUT_MAX]
