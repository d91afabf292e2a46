"""How a command handles its processes: threads, buffered output, signals and cores."""

import os
import signal
import subprocess
import sys
from collections import Counter
from functools import cache, cached_property, partial, wraps
from types import ModuleType, SimpleNamespace

import pytest

from dpjax.cli import _seal, _supervise, _sweep


def ended(script):
    """Return the exit code and the output of a Python script, whose output is a pipe."""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    return run.returncode, run.stdout


def test_other_threads_run_to_completion():
    """A thread outlives the main thread, and registered functions run after it."""
    assert ended("""
import atexit, threading, time
from dpjax.cli._stop import finish

def late():
    time.sleep(0.2)
    print("thread")

atexit.register(print, "registered")
threading.Thread(target=late).start()
finish(3)
""") == (3, "thread\nregistered\n")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems start a new interpreter")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_text_from_before_a_fork_is_printed_once(stream):
    code, out = ended(f"""
import io, os, sys
sys.stderr = io.TextIOWrapper(os.fdopen(os.dup(1), "wb"))  # buffers, as standard output does
print("before", file=sys.{stream})
from dpjax.cli._supervise import supervise
report = supervise()
print("after", file=sys.{stream})
report(5)
sys.exit(5)
""")
    assert (code, out) == (5, "before\nafter\n")


def test_a_sweep_uses_every_core(monkeypatch):
    parts = []
    monkeypatch.setattr(_sweep, "part_cpu", parts.append)
    cores = {3, 5, 6}
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: cores - {process}, raising=False)
    _sweep.use_all_cores()
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    _sweep.use_all_cores()
    assert parts == [3, 7]

    def began(devices):
        raise RuntimeError("jax has begun to compute")

    monkeypatch.setattr(_sweep, "part_cpu", began)
    _sweep.use_all_cores()


@pytest.mark.parametrize("devices", [0, -1])
def test_a_cpu_has_at_least_one_device(devices):
    with pytest.raises(ValueError, match=f"--devices must be at least 1, but was {devices}"):
        _sweep.part_cpu(devices)


@pytest.fixture
def module(monkeypatch):
    """Return a module of dpjax with its own class, a foreign class, functions and a number."""
    found = ModuleType("dpjax.made_up")
    own = type("Own", (), {"number": 1, "method": lambda self: 2, "__module__": found.__name__})
    found.Own, found.Foreign, found.call, found.number = own, ModuleType, lambda: 3, 4
    found.options, found.part = (lambda first=1, *, last=2: first), partial(lambda: 6)
    found.cached, found.wrapped = cache(lambda: 7), wraps(found.call)(lambda: 8)
    own.fixed, own.of = staticmethod(lambda: 9), classmethod(lambda cls: 10)
    own.shown, own.kept = property(lambda self: 11), cached_property(lambda self: 12)
    monkeypatch.setitem(sys.modules, found.__name__, found)
    return found


def recoded(found):
    """Return a change that replaces the code of a function of the module."""

    def change(module):
        function = found(module)
        function.__code__ = function.__code__.replace(co_name="another")

    return change


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda module: setattr(module, "number", 5), "number"),
        (lambda module: setattr(module, "call", lambda: 3), "call"),
        (recoded(lambda module: module.call), "call.__code__"),
        (recoded(lambda module: module.Own.method), "Own.method.__code__"),
        (recoded(lambda module: module.Own.fixed), "Own.fixed.__wrapped__.__code__"),
        (recoded(lambda module: module.Own.of.__func__), "Own.of.__wrapped__.__code__"),
        (recoded(lambda module: module.Own.shown.fget), "Own.shown.fget.__code__"),
        (recoded(lambda module: vars(module.Own)["kept"].func), "Own.kept.func.__code__"),
        (recoded(lambda module: module.part.func), "part.func.__code__"),
        (recoded(lambda module: module.cached.__wrapped__), "cached.__wrapped__.__code__"),
        (recoded(lambda module: module.wrapped), "wrapped.__code__"),
        (lambda module: setattr(module.options, "__defaults__", (1.0,)), "options.__defaults__"),
        (lambda module: module.options.__kwdefaults__.update(last=3), "options.__kwdefaults__"),
        (lambda module: setattr(module.options, "__kwdefaults__", None), "options.__kwdefaults__"),
        (lambda module: setattr(module, "Own", type("Own", (), dict(vars(module.Own)))), "Own"),
        (lambda module: setattr(module, "Foreign", type), "Foreign"),
        (lambda module: delattr(module, "Foreign"), "Foreign"),
        (lambda module: setattr(module.Own, "number", 2), "Own.number"),
        (lambda module: setattr(module.Own, "__eq__", object.__eq__), "Own.__dict__"),
    ],
)
def test_whatever_is_replaced_is_named(module, change, name):
    message = rf"audited code replaced dpjax\.made_up\.{name}: "
    with pytest.raises(ValueError, match=message), _seal.untouched():
        change(module)


def test_what_is_added_beside_or_cached_is_no_replacement(module):
    with _seal.untouched():
        module.more = 5
        module.Own.__slotnames__ = []
        assert module.Own.__annotations__ == {} and "__annotations__" in vars(module.Own)
    with pytest.raises(ValueError, match=r"replaced dpjax\.made_up\.Own\.__dict__"):
        with _seal.untouched():
            module.Own.other = []


@pytest.fixture
def follows(monkeypatch):
    """Return a function that records how a worker follows its supervisor's signals.

    It returns the waits of the worker and the signals that the worker sends to itself. `arrives`
    contains the signals that the terminal sends to both processes; each of them arrives while the
    worker waits.
    """
    told, arriving, counts = [], [], Counter()

    def sleep(seconds):
        told.append(seconds)
        if arriving:
            counts[arriving.pop(0)] += 1

    monkeypatch.setattr(_supervise.time, "sleep", sleep)
    monkeypatch.setattr(_supervise.os, "kill", lambda process, number: told.append(number))
    monkeypatch.setattr(_supervise, "ARRIVED", counts)

    def follow(*numbers, arrives=()):
        told.clear()
        counts.clear()
        arriving[:] = arrives
        hear, tell = os.pipe()
        os.write(tell, bytes(numbers))
        os.close(tell)
        try:
            _supervise._follow(hear)
        finally:
            os.close(hear)
        return told

    return follow


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such signals")
def test_signals_of_the_supervisor_are_repeated_once(follows):
    wait, kill = _supervise._ARRIVAL_SECONDS, signal.SIGKILL
    assert follows() == [kill]  # The supervisor has ended.
    assert follows(2) == [wait, 2, kill]
    assert follows(2, arrives=[2]) == [wait, kill]
    assert follows(2, 2, arrives=[2]) == [wait, wait, 2, kill]
    assert follows(2, 15, arrives=[2]) == [wait, wait, 15, kill]
    assert follows(2, 15, arrives=[15, 2]) == [wait, 2, wait, kill]


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such signals")
def test_a_pipe_that_fails_ends_nothing(monkeypatch):
    monkeypatch.setattr(_supervise.os, "kill", lambda *given: pytest.fail("killed"))
    hear, tell = os.pipe()
    for end in (hear, tell):
        os.close(end)
    _supervise._follow(hear)


def test_only_the_worker_process_reports(monkeypatch):
    """A process that audited code forks cannot report, and replaced functions have no effect."""
    hear, tell = os.pipe()
    started = []

    class Thread:
        def __init__(self, **options):
            self.options = options

        def start(self):
            started.append(self.options)

    monkeypatch.setattr(_supervise.threading, "Thread", Thread)
    number = [os.getpid()]
    monkeypatch.setattr(_supervise.os, "getpid", lambda: number[0])
    report = _supervise._working(hear, tell, b"secret")
    monkeypatch.setattr(_supervise.os, "write", lambda *given: pytest.fail("replaced"))
    report(3)
    number[0] += 1
    report(4)
    os.close(tell)
    report(5)  # The supervisor has ended.
    assert os.read(hear, 99) == b"secret\3"
    os.close(hear)
    assert started == [{"target": _supervise._follow, "args": (hear,), "daemon": True}]


@pytest.mark.skipif(os.name != "posix", reason="needs fcntl")
def test_ends_of_pipes_are_hard_to_guess(monkeypatch):
    monkeypatch.setattr(_supervise.os, "urandom", lambda size: (517).to_bytes(size))
    hear, tell = _supervise._pipe()
    try:
        assert min(hear, tell) >= 64 + 5 and not any(map(os.get_inheritable, (hear, tell)))
        os.write(tell, b"x")
        assert os.read(hear, 9) == b"x"
    finally:
        os.close(hear)
        os.close(tell)
    fcntl = pytest.importorskip("fcntl")
    real = fcntl.fcntl

    def few(end, command, least):
        if least > 3:
            raise OSError
        return real(end, command, least)

    monkeypatch.setattr(fcntl, "fcntl", few)
    hear, tell = _supervise._pipe()
    assert 3 <= min(hear, tell) and max(hear, tell) < 64 + 5
    os.close(hear)
    os.close(tell)


@pytest.mark.parametrize("threads", [OSError(), ["1", "2"]])
def test_a_program_that_computes_is_not_forked(monkeypatch, threads):
    """If threads cannot be counted, there may be several."""

    def listed(path):
        assert path == "/proc/self/task"
        if isinstance(threads, OSError):
            raise threads
        return threads

    monkeypatch.setitem(sys.modules, "jax", sys.modules.get("jax", SimpleNamespace()))
    monkeypatch.setattr(os, "listdir", listed)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked"))
    assert _supervise.supervise() is None
