"""Stopped audits: signals wait for compiled calls, and a message reports the draws."""

import math
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import jax
import numpy as np
import psutil
import pytest

import dpjax
from dpjax import Events, Execution, HostMechanism, Local
from dpjax.core import streaming
from dpjax.core.errors import Stopped, signals_wait
from dpjax.inference import Ratio, event_lower_bound
from dpjax.mechanisms import Laplace, TruncatedLaplace
from dpjax.methods._stopped import SoFar, _sentence
from dpjax.notions import Terms
from dpjax.sources import Tally

SIZES = Events(num_samples=1000, num_confirm=10_000)
PAIR = [(0.0, 1.0)]


@pytest.fixture(autouse=True)
def interrupts():
    """Restore Python's handler, because background processes of a shell ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted():
    os.kill(os.getpid(), signal.SIGINT)


def test_signals_wait_for_the_end_of_a_block():
    done = []
    with pytest.raises(KeyboardInterrupt), signals_wait():
        with signals_wait():
            interrupted()
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_is_ignored_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with signals_wait():
        interrupted()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


class Computing:
    """Stand-in for an array that JAX is still computing."""

    def __init__(self):
        self.finished = threading.Event()

    def block_until_ready(self):
        self.finished.wait(60)
        return self


def test_an_interrupt_is_heard_while_a_compiled_call_computes():
    array = Computing()
    threading.Timer(0.2, interrupted).start()
    with pytest.raises(KeyboardInterrupt):
        streaming.fetched([array])
    assert not array.finished.is_set()
    array.finished.set()


def after_calls(number, function):
    """Return a function that is interrupted at the given call."""
    calls = []

    def counted(database, num_samples, seed):
        calls.append(seed)
        if len(calls) == number:
            interrupted()
        return function(database, num_samples, seed)

    return counted


def noisy(database, num_samples, seed):
    return database + np.random.default_rng(seed).laplace(size=num_samples)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (1, "before any output was counted"),
        (3, "after 1000 search outputs and no confirmation outputs: there is no result"),
        # Sides alternate: each of the two confirmation calls was for one side.
        (
            7,
            "after 2000 search outputs, and 500 confirmation outputs from the database and 500",
        ),
    ],
)
def test_a_stop_says_what_was_drawn(call, sentence):
    mechanism = HostMechanism(after_calls(call, noisy), batch_size=500)
    with pytest.raises(Stopped, match=sentence):
        dpjax.audit(mechanism, PAIR, method=SIZES)


def counted_sides(stopped):
    """Return the numbers of confirmation outputs on both sides, as stated in the message."""
    found = re.search(r"and (\d+) confirmation outputs from .* and (\d+) from", str(stopped.value))
    assert found is not None
    return int(found[1]), int(found[2])


def test_a_stop_says_what_is_shown_so_far():
    """Of about 40 batches, 36 were counted, with alternating sides; the level is 1."""
    mechanism = HostMechanism(after_calls(5 + 36, noisy), batch_size=500)
    with pytest.raises(Stopped) as stopped:
        dpjax.audit(mechanism, PAIR, method=SIZES)
    found = re.search(
        r"with confidence 0.999, epsilon is at least ([\d.]+), provided", str(stopped.value)
    )
    first, second = counted_sides(stopped)
    shorter, longer = sorted((first, second))
    assert longer == 500 * (36 - math.ceil(shorter / 500)) and 14_500 < first + second
    # The width of the bound is about 2 * 3.3 / sqrt(9000 * 0.16), and a search may miss a bit.
    assert found is not None and 0.8 < float(found[1]) < 1


def test_a_stop_says_what_is_shown_with_the_share_of_one_claim():
    """36 batches were counted, which determines the bound in the message."""
    drawn = []

    def answers(database, num_samples, seed):
        outputs = np.random.default_rng(seed).random(num_samples) < 0.3 + 0.4 * database
        drawn.append((database, int(outputs.sum())))
        return outputs

    mechanism = HostMechanism(after_calls(5 + 36, answers), batch_size=500)
    with pytest.raises(Stopped) as stopped:
        dpjax.audit(mechanism, PAIR, method=SIZES, num_claims=1000, distance=2)
    found = re.search(r"epsilon is at least ([\d.]+), provided", str(stopped.value))
    ones = [sum(count for side, count in drawn[4:40] if side == database) for database in (0, 1)]
    sides = counted_sides(stopped)
    zeros = [number - count for number, count in zip(sides, ones, strict=True)]
    assert 14_500 < sum(sides) <= 18_000
    possible = [
        event_lower_bound(*counts, *trials, 1 - 1e-3 / 1000, Ratio(distance=2))
        for counts, trials in ((ones[::-1], sides[::-1]), (zeros, sides))
    ]
    assert found is not None and found[1] in [f"{float(bound):.4f}" for bound in possible]


@pytest.fixture
def small_calls(monkeypatch):
    """Streams are cut into calls of one block, and an interrupt comes during the third call."""

    def launch(number):
        monkeypatch.setattr(streaming, "_FIRST_DRAWS", 1)
        monkeypatch.setattr(streaming, "_CALL_SECONDS", 0.0)
        calls, wait = [], streaming.signals_wait

        def counted():
            calls.append(None)
            if len(calls) == number:
                interrupted()
            return wait()

        monkeypatch.setattr(streaming, "signals_wait", counted)
        return calls

    return launch


STREAMED = {"execution": Execution(layout="streamed"), "key": 5}


@pytest.mark.parametrize(
    ("mechanism", "method"),
    [
        (Laplace(1.0), Events(20_000, 50_000)),
        (TruncatedLaplace(2.0), dpjax.Histogram(lipschitz=0.64, num_samples=50_000)),
    ],
)
def test_cutting_changes_no_bit(small_calls, mechanism, method):
    whole = dpjax.audit(mechanism, PAIR, method=method, **STREAMED)
    calls = small_calls(0)
    cut = dpjax.audit(mechanism, PAIR, method=method, **STREAMED)
    assert len(calls) > 6
    for result in (whole, cut):
        object.__setattr__(result.provenance, "seconds", 0.0)
    assert cut == whole


def test_a_stop_between_compiled_calls_says_what_was_drawn(small_calls):
    """Blocks have 4096 draws: a search stream has five, and two of them were counted."""
    small_calls(3)
    with pytest.raises(Stopped, match=f"after {2 * 2 * 4096} search outputs and no"):
        dpjax.audit(Laplace(1.0), PAIR, method=Events(20_000, 50_000), **STREAMED)


def test_a_stop_of_a_histogram_says_how_many_outputs_are_missing(small_calls):
    small_calls(3)
    method = dpjax.Histogram(lipschitz=0.64, num_samples=50_000)
    with pytest.raises(Stopped, match=r"after \d+ of 100000 outputs, which are too few"):
        dpjax.audit(TruncatedLaplace(2.0), [(0.0, 1.0)], method=method)


def test_an_interrupt_of_the_local_approach_is_heard(monkeypatch):
    def long_call(started):
        interrupted()
        time.sleep(0.5)

    monkeypatch.setattr(jax, "block_until_ready", long_call)
    with pytest.raises(Stopped, match="Stopped during the compiled search"):
        dpjax.audit(Laplace(1.0), PAIR, method=Local(2000, 5000))


def quits(database, num_samples):
    sys.exit(0)


def quits_at_one(database):
    if database:
        sys.exit(0)
    return random.random()


def quits_in_jax(key, database):
    sys.exit(3)


def test_sys_exit_is_an_outcome_or_an_error():
    mechanism = HostMechanism(quits_at_one, batched=False)
    result = dpjax.audit(mechanism, [(0, 1)], method=Events(200, 400), claim=1.0)
    assert result.verdict == "violated" and sum(result.evidence.trials) == 800
    first, second = result.evidence.trials
    assert result.witness.event_counts in ((0, second), (first, 0))
    with pytest.raises(ValueError, match="the function quits raised SystemExit"):
        dpjax.audit(HostMechanism(quits), [(0, 1)])
    with pytest.raises(ValueError, match=r"quits_in_jax called sys.exit\(3\)"):
        dpjax.audit(quits_in_jax, PAIR)


WORKING = """
import sys, time
import dpjax

def slow(database):
    time.sleep({seconds})
    return database

if __name__ == "__main__":
    print("begun", flush=True)
    mechanism = dpjax.HostMechanism(slow, batched=False, workers=2)
    dpjax.audit(mechanism, [(0, 1)], method=dpjax.Events(4000, 4000))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "seconds"),
    [("SIGKILL", 100), ("SIGINT", 100)],
)
def test_workers_end_with_their_parent(tmp_path, number, seconds):
    (tmp_path / "working.py").write_text(WORKING.format(seconds=seconds))
    with subprocess.Popen(
        [sys.executable, "working.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as audit:
        workers, deadline = [], time.monotonic() + 60
        while len(workers) < 2:
            assert audit.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
            children = psutil.Process(audit.pid).children(recursive=True)
            workers = [c for c in children if "spawn_main" in " ".join(c.cmdline())]
        audit.send_signal(getattr(signal, number))
        audit.communicate(timeout=30)
    assert psutil.wait_procs(children, timeout=5)[1] == []


def test_a_stopped_method_without_evidence_has_no_bound():
    terms = Terms(dpjax.Epsilon(), None, 0.99, 1, 0)
    tally = Tally()
    so_far = SoFar(tally)
    assert _sentence(so_far, terms) == "Stopped before any output was counted: there is no result."
    tally.searched = 70
    assert _sentence(so_far, terms) == (
        "Stopped after 70 search outputs and no confirmation outputs: there is no result."
    )
    tally.confirm(np.array([[3, 4], [5, 1]]))
    assert _sentence(so_far, terms) == (
        "Stopped after 70 search outputs, and 7 confirmation outputs from the database and 6 from "
        "the neighbor, which are too few for a bound."
    )


def test_a_stop_before_the_second_side_was_counted_has_no_bound():
    """Compiled calls count one side after the other."""
    tally = Tally(None)
    tally.searched = 20
    tally.confirmed = np.array([[3, 7], [0, 0]])
    so_far = SoFar(tally)
    so_far.evidence = lambda counts: pytest.fail("there is no evidence yet")
    said = _sentence(so_far, Terms(dpjax.Epsilon(), None, 0.95, 1, 0))
    assert said == (
        "Stopped after 20 search outputs, and 10 confirmation outputs from the database and 0 from "
        "the neighbor, which are too few for a bound."
    )


def test_an_audit_that_ends_after_its_first_draws_says_so_and_is_continued(monkeypatch):
    """Each call takes 2 s, so the 32 calls that determine the cells take more than 15 s."""
    now = [0.0]

    def slow(database, seed):
        now[0] += 2.0
        return database + np.random.default_rng(seed).laplace()

    with monkeypatch.context() as patched:
        patched.setattr(time, "perf_counter", lambda: now[0])
        early = dpjax.audit(slow, [(0.0, 9.0)], claim=1.0, method=dpjax.Sequential(seconds=15.0))
    assert (now[0], early.settings["drawn"], early.lower_bound) == (64.0, 16, 0.0)
    assert early.notes[-1] == (
        "Ended after 16 draws per side, summed over all pairs: the time limit was reached. These "
        "draws only determine the cells, so there were no bets, and the bound is 0. Continue the "
        "audit with dpjax.resume(result), or allow more time or draws."
    )
    later = dpjax.resume(early, slow, num_draws=100)
    whole = dpjax.audit(slow, [(0.0, 9.0)], claim=1.0, method=dpjax.Sequential(100))
    assert later.verdict == whole.verdict == "violated" and later.statement == whole.statement
