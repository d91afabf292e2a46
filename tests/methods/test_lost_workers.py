"""Sequential audits whose worker processes are terminated: what was counted is not lost."""

import os
import signal
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from xml.etree import ElementTree

import numpy as np
import pytest

import dpjax
from dpjax import HostMechanism, Sequential
from dpjax.cli._pipelines import junit
from dpjax.sweeps import Entry
from dpjax.sweeps._compute import compute
from dpjax.testing import assert_private

PAIRS = [(0.0, 1.0)]
TERMS = {"claim": 1.2, "method": Sequential(150), "key": 3}


class Pool(Executor):
    """Workers that run in this process; they are lost at the given task, unless it is 0."""

    def __init__(self, left):
        self._left = left

    def submit(self, function, *given):
        self._left -= 1
        future = Future()
        if self._left:
            future.set_result(function(*given))
        else:
            future.set_exception(BrokenProcessPool())
        return future


@pytest.fixture
def losing(monkeypatch):
    """Return a function that sets the task at which all further workers are lost."""
    last = [0]

    @contextmanager
    def pool(workers):
        yield Pool(last[0])

    monkeypatch.setattr("dpjax.sources._host.worker_pool", pool)
    monkeypatch.setattr("dpjax.sources._time_limit._EACH", 0.0)  # Each output is a task.
    return lambda task: last.__setitem__(0, task)


def noisy(database, num_samples, rng):
    return rng.laplace(database, 1.0, num_samples)


def single(database, rng):
    return rng.laplace(database)


def own_noise(database, num_samples):
    return np.random.default_rng().laplace(database, 1.0, num_samples)


@pytest.mark.parametrize(("function", "batched", "task"), [(noisy, True, 40), (single, False, 220)])
def test_a_resumed_audit_has_the_bounds_of_an_undisturbed_audit(losing, function, batched, task):
    subject = HostMechanism(function, batched=batched, workers=2)
    whole = dpjax.audit(subject, PAIRS, **TERMS)
    losing(task)
    found = dpjax.audit(subject, PAIRS, **TERMS)
    losing(0)
    path = found.evidence.counted.path
    assert 1 < len(path) < len(whole.evidence.counted.path)
    assert path == whole.evidence.counted.path[: len(path)]
    assert "a worker process was terminated" in found.notes[-1]
    assert found.notes[-1].endswith("dpjax can resume the audit.")
    more = dpjax.resume(found, subject, num_draws=150)
    assert more.evidence.counted.path == whole.evidence.counted.path
    assert more.lower_bound == whole.lower_bound and "lost_worker" not in more.settings


def test_lost_outputs_are_not_replaced(losing):
    """If large outputs end the process, a resumed audit would count only the small ones."""
    losing(40)
    found = dpjax.audit(HostMechanism(own_noise, workers=1), PAIRS, **TERMS)
    assert "cannot be resumed, because the function has no parameter seed" in found.notes[-1]
    losing(0)
    with pytest.raises(ValueError, match=r"lost a worker process\. The audit cannot be resumed"):
        dpjax.resume(found, HostMechanism(own_noise, workers=1), num_draws=150)


def test_a_worker_that_is_lost_at_once_is_an_error(losing):
    """The function may not be importable in a worker."""
    losing(1)
    with pytest.raises(ValueError, match=r"ended without an answer\. .*; or use workers=0"):
        dpjax.audit(HostMechanism(noisy, workers=1), PAIRS, **TERMS)


def test_an_incomplete_audit_is_no_success(losing):
    subject = HostMechanism(noisy, workers=1)
    losing(40)
    with pytest.raises(ValueError, match="incomplete, because a worker process was terminated"):
        assert_private(subject, epsilon=1.2, pairs=PAIRS, seconds=60)
    entry = Entry(subject, Sequential(150), PAIRS, claim=1.2, num_runs=1)
    with pytest.raises(ValueError, match=r"entry .*noisy.*: the audit is incomplete"):
        compute(entry, [0], 0)
    case = ElementTree.fromstring(junit(dpjax.audit(subject, PAIRS, **TERMS)))
    assert case.find("testsuite").get("errors") == "1"


CALLS = []


def ends_once(database, num_samples, rng):
    CALLS.append(num_samples)
    if len(CALLS) == 40 and not os.path.exists(os.environ["ENDS"]):
        open(os.environ["ENDS"], "x").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return rng.laplace(database, 1.0, num_samples)


@pytest.mark.slow
def test_a_real_worker_that_is_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("ENDS", str(tmp_path / "ended"))
    subject = HostMechanism(ends_once, workers=1)
    found = dpjax.audit(subject, PAIRS, **TERMS)
    more = dpjax.resume(found, subject, num_draws=150)
    whole = dpjax.audit(HostMechanism(ends_once), PAIRS, **TERMS)  # "ended" exists by now.
    assert found.settings["lost_worker"] and len(found.evidence.counted.path) > 1
    assert more.evidence.counted.path == whole.evidence.counted.path
