"""Workers that start while Ctrl-C is pressed, and workers that are reused."""

import pickle
import signal
import sys
from concurrent.futures import Future
from contextlib import nullcontext
from multiprocessing.reduction import ForkingPickler
from types import SimpleNamespace

import numpy as np
import pytest

from dpjax import HostMechanism
from dpjax.sources import _host, _workers
from dpjax.sources._process import end_with_parent
from dpjax.sources._schedule import Span
from dpjax.sources._workers import Workers, kept_workers, pickled_result, worker_pool


def report(pipe):
    """Send whether interrupts are blocked at the start, and what they do afterwards."""
    at_start = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    signal.raise_signal(signal.SIGINT)  # This has the same effect as Ctrl-C during the imports.
    end_with_parent()
    signal.raise_signal(signal.SIGINT)
    after = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    pipe.send((at_start, after, signal.getsignal(signal.SIGINT) == signal.SIG_IGN))


@pytest.mark.skipif(
    not hasattr(signal, "pthread_sigmask"), reason="this system has no signal masks"
)
def test_an_interrupt_while_a_worker_starts_does_nothing():
    context = Workers()
    hear, tell = context.Pipe(duplex=False)
    worker = context.Process(target=report, args=(tell,))
    worker.start()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert hear.poll(60) and hear.recv() == (True, False, True)
    worker.join()
    assert worker.exitcode == 0


@pytest.fixture
def events(monkeypatch):
    """Record what happens to pools, as strings; each pool has one worker."""
    told = []

    class Pool:
        def __init__(self, workers, **options):
            self.name = f"pool {len([1 for line in told if 'began' in line])} of {workers}"
            self._processes = {1: SimpleNamespace(kill=lambda: told.append(f"killed {self.name}"))}
            told.append(f"began {self.name}")

        def submit(self, function):
            started = Future()
            started.set_result(function())
            return started

        def __enter__(self):
            return self

        def __exit__(self, *raised):
            told.append(f"ended {self.name}")

    monkeypatch.setattr(_workers.futures, "ProcessPoolExecutor", Pool)
    return told


def test_workers_end_with_the_draws_unless_they_are_kept(events):
    for _ in range(2):
        with worker_pool(3):
            pass
    assert events == [f"{what} pool {n} of 3" for n in (0, 1) for what in ("began", "ended")]
    events.clear()
    with kept_workers():
        with worker_pool(3) as first, worker_pool(3) as second, worker_pool(2) as other:
            assert first is second and first is not other
        with kept_workers(), worker_pool(3) as third:
            assert third is first
        assert events == ["began pool 0 of 3", "began pool 1 of 2"]
    assert sorted(events[2:]) == ["ended pool 0 of 3", "ended pool 1 of 2"]
    events.clear()
    with worker_pool(3):
        pass
    assert events == ["began pool 0 of 3", "ended pool 0 of 3"]


def test_kept_workers_are_killed_and_replaced_after_an_error(events):
    with kept_workers():
        with pytest.raises(ValueError), worker_pool(2):
            raise ValueError
        assert events == ["began pool 0 of 2", "killed pool 0 of 2"]
        with worker_pool(2):
            pass
        assert events[2:] == ["began pool 1 of 2"]
    assert not [line for line in events if line == "killed pool 1 of 2"]


def test_kept_workers_are_killed_if_their_context_ends_with_an_error(events):
    with pytest.raises(KeyboardInterrupt), kept_workers():
        with worker_pool(2):
            pass
        raise KeyboardInterrupt
    assert events == ["began pool 0 of 2", "killed pool 0 of 2", "ended pool 0 of 2"]


class Result:
    """A tensor that is the result of a differentiable function, which pools cannot send."""

    def __init__(self, value):
        self.value = value


def refused(result):
    raise RuntimeError("Cowardly refusing to serialize non-leaf tensor which requires_grad")


class OneWorker:
    """A pool whose worker is this process."""

    def submit(self, call, *arguments):
        future = Future()
        future.set_result(pickle.loads(ForkingPickler.dumps(call(*arguments))))
        return future


def test_results_that_pools_cannot_send(monkeypatch):
    monkeypatch.setattr(ForkingPickler, "_extra_reducers", {Result: refused})
    for name in ("worker_pool", "new_pool"):
        monkeypatch.setattr(_host, name, lambda workers: nullcontext(OneWorker()))
    source = HostMechanism(Result, batched=False, workers=1, restart=True)
    with source.drawing() as draw:
        batches = [*draw(1.5, Span(range(3), (1,), print))]
    restarted = source.restarted((1.5, 1.5), 3)
    for batch in [*batches, *restarted[1][0]]:
        assert [result.value for result in batch] == [1.5] * 3


def test_databases_that_pools_cannot_send(monkeypatch):
    class Sending(OneWorker):
        def submit(self, call, *arguments):
            ForkingPickler.dumps(arguments)
            return super().submit(call, *arguments)

    monkeypatch.setattr(ForkingPickler, "_extra_reducers", {Result: refused})
    for name in ("worker_pool", "new_pool"):
        monkeypatch.setattr(_host, name, lambda workers: nullcontext(Sending()))
    source = HostMechanism(Result, batched=False, workers=1, restart=True)
    message = r"pairs must not contain a tensor .*: pass tensor\.detach\(\), or use "
    with pytest.raises(ValueError, match=message + "workers=0"), source.drawing() as draw:
        next(draw([Result(1.5)], Span(range(3), (1,), print)))
    with pytest.raises(ValueError, match=message + "restart=False"):
        source.restarted((Result(1.5), Result(2.5)), 3)


def test_other_errors_of_pools_stay_as_they_are(monkeypatch):
    class Failing:
        def submit(self, call, *arguments):
            raise RuntimeError("cannot schedule new futures after shutdown")

    monkeypatch.setattr(_host, "worker_pool", lambda workers: nullcontext(Failing()))
    source = HostMechanism(Result, batched=False, workers=1)
    with pytest.raises(RuntimeError, match=r"^cannot schedule new"), source.drawing() as draw:
        next(draw(1.5, Span(range(3), (1,), print)))


class Tensor:
    """A part of a large tensor."""

    requires_grad = True

    def __init__(self, value):
        self.storage = np.full(100_000, value)

    def to_dense(self):
        return self

    def numpy(self, force=False):
        return self.storage[:2]


class Parameter(Tensor):
    pass


@pytest.mark.parametrize("kind", [Tensor, Parameter])
def test_parts_of_tensors_are_sent_alone(monkeypatch, kind):
    torch = SimpleNamespace(Tensor=Tensor, nn=SimpleNamespace(Parameter=Parameter))
    monkeypatch.setitem(sys.modules, "torch", torch)
    content = pickled_result(lambda: [{"weight": kind(1.5)}, 3])
    assert len(content) < 1000
    first, second = pickle.loads(content)
    assert first["weight"].tolist() == [1.5, 1.5] and second == 3


def test_all_workers_start_before_the_first_call(monkeypatch):
    """The start of processes takes seconds, which would make fast calls seem slow."""
    asked = []

    class Pool:
        def __init__(self, workers, **options):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *raised):
            pass

        def submit(self, function):
            asked.append(function)
            started = Future()
            # A worker that cannot start makes the first call fail, and not the start.
            started.set_exception(_workers.futures.BrokenExecutor())
            return started

    monkeypatch.setattr(_workers.futures, "ProcessPoolExecutor", Pool)
    with worker_pool(3):
        assert len(asked) == 3
    with kept_workers(), worker_pool(2), worker_pool(2):
        assert len(asked) == 5
