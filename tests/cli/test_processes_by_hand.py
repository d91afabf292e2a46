"""What a command does around its processes: threads, text that is not yet printed, and cores."""

import os
import subprocess
import sys
from functools import cache, cached_property, partial, wraps
from types import ModuleType

import pytest

from dpjax.cli import _seal, _sweep


def ended(script):
    """The exit code and the output of a Python script, whose output goes into a pipe."""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    return run.returncode, run.stdout


def test_other_threads_run_to_completion():
    """The main thread has ended long before, and functions that were registered come last."""
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
    """A module of dpjax with a class of its own, a foreign class, a function and a number."""
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
    """Return a change that gives a function of the module another code."""

    def change(module):
        function = found(module)
        function.__code__ = function.__code__.replace(co_name="another")

    return change


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
    with pytest.raises(ValueError, match=r"replaced dpjax\.made_up\.Own\.__dict__"):
        with _seal.untouched():
            module.Own.other = []
