"""Audited code cannot forge exit codes: hostile functions whose outputs all violate a claim.

Each function runs in a separate process, forked from a process that has imported everything.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpjax.cli import _supervise

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes of POSIX")

COMMON = """
import asyncio, atexit, builtins, ctypes, importlib, os, resource, signal, sys, threading, time
import numpy as np

def noisy(database, num_samples, seed):
    return database + np.random.default_rng(seed).laplace(size=num_samples)

class OwnExit(SystemExit): pass
class OwnInterrupt(KeyboardInterrupt): pass
class Own(BaseException): pass
class Mute(Exception):
    def __str__(self): raise ValueError
    __repr__ = __str__
class AtEnd:
    def __del__(self, leave=os._exit): leave(0)

def throw(error):
    raise error

def later(what):
    threading.Timer(0.01, what).start()
    time.sleep(5)

def patch(module, name, value):
    setattr(importlib.import_module(module), name, value)

def all_descriptors(what):
    for number in range(3, 1024):
        try: what(number)
        except OSError: pass
"""

# Name -> (action before returning outputs, exit code, words of the message).
ENDS = "terminated its process"
REPLACED = "must not change the code of dpjax"
HOSTILE = {
    "leaves_with_0": ("os._exit(0)", 2, ENDS),
    "at_exit": ("atexit.register(os._exit, 0)", 2, "the verdict has exit code 1"),
    "replaces_a_word": ("patch('dpjax.results', 'VIOLATED', 'x')", 2, REPLACED),
    # The remaining ones are slow.
    "leaves_with_1": ("os._exit(1)", 2, ENDS),
    "closes_output": ("sys.stdout.close()", 1, "standard output was not written"),
    "forks_and_leaves": ("os.fork() and os._exit(0)", 2, ENDS),
    "executes": ("os.execv('/bin/true', ['true'])", 2, ENDS),
    "not_an_exception": ("throw(Own())", 2, ""),
    "exits_with_0": ("sys.exit(0)", 2, "raised SystemExit"),
    "exits_with_1": ("sys.exit(1)", 2, "raised SystemExit"),
    "own_exit": ("throw(OwnExit(0))", 2, "raised OwnExit"),
    "own_interrupt": ("throw(OwnInterrupt())", 130, "Stopped"),
    "generator_exit": ("throw(GeneratorExit())", 2, ""),
    "cancelled": ("throw(asyncio.CancelledError())", 2, ""),
    "broken_pipe": ("throw(BrokenPipeError())", 2, ""),
    "mute_error": ("throw(Mute())", 2, ""),
    "leaves_in_a_thread": ("later(lambda: os._exit(0))", 2, ENDS),
    "leaves_in_c": ("ctypes.CDLL(None)._exit(0)", 2, ENDS),
    "exits_in_c": ("ctypes.CDLL(None).exit(0)", 2, ENDS),
    "executes_1": ("os.execv('/bin/false', ['false'])", 2, ENDS),
    "kills_itself": ("os.kill(os.getpid(), signal.SIGKILL)", 2, "by signal 9"),
    "terminates_itself": ("os.kill(os.getpid(), signal.SIGTERM)", 143, "Stopped"),
    "no_memory_there": ("ctypes.string_at(0)", 2, "by signal 11"),
    "aborts": ("os.abort()", 2, "by signal 6"),
    "alarm": ("signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(5)", 2, "by signal 14"),
    "cpu_limit": (
        "resource.setrlimit(resource.RLIMIT_CPU, (0, 0)); [0 for _ in iter(int, 1)]",
        *(2, "by signal"),
    ),
    "profile": ("sys.setprofile(lambda *_: os._exit(0))", 2, ENDS),
    "kills_itself_at_exit": (
        "atexit.register(os.kill, os.getpid(), 9)",
        *(2, "exit code 1, but the process that computed it was terminated by signal 9"),
    ),
    "deleted": ("builtins.kept = AtEnd()", 2, ENDS),
    "forks": ("os.fork() or os._exit(0)", 1, "VIOLATED"),
    "forks_and_copy_lives": ("os.fork() or (time.sleep(20), os._exit(0))", 1, "VIOLATED"),
    "copy_goes_on": ("os.fork() and (time.sleep(2), os._exit(0))", 2, ENDS),
    "closes_all": ("os.closerange(3, 4096)", 2, ""),
    "closes_streams_too": ("os.closerange(0, 4096); os._exit(0)", 2, ENDS),
    "writes_everywhere": (
        "all_descriptors(lambda n: os.write(n, bytes(99))); os._exit(0)",
        2,
        ENDS,
    ),
    "reads_everywhere": (
        "all_descriptors(lambda n: (os.set_blocking(n, False), os.write(n, os.read(n, 99))));"
        "os._exit(0)",
        *(2, ENDS),
    ),
    "no_exit_in_os": ("os._exit = sys.exit = lambda *_: None", 1, "VIOLATED"),
    "exit_is_leave": ("sys.exit = lambda *_, leave=os._exit: leave(0)", 1, "VIOLATED"),
    "no_system_exit": ("builtins.SystemExit = Own", 1, "VIOLATED"),
    "writes_zeros": (
        "real = os.write; os.write = lambda n, b: real(n, b[:-1] + bytes(1));"
        "atexit.register(os._exit, 0)",
        *(2, "the verdict has exit code 1"),
    ),
    "replaces_the_end": (
        "patch('dpjax.cli._audit', 'finish', lambda *_: 0)",
        *(2, REPLACED),
    ),
    "replaces_a_class": (
        "import dpjax; dpjax.AuditResult.verdict = 'not refuted'",
        *(2, REPLACED),
    ),
    "adds_to_a_base": (
        "from dpjax.report._shown import Shown; Shown.__getattribute__ = (lambda result, name: "
        "'not refuted' if name == 'verdict' else object.__getattribute__(result, name))",
        *(2, REPLACED),
    ),
    "replaces_what_is_wrapped": (
        "import dpjax; f = dpjax.rerun; f.__kwdefaults__['allow_import'] = ('os',)",
        *(2, REPLACED),
    ),
    "replaces_code": (
        "import dpjax.cli._finish as f; f.finish.__code__ = (lambda r, a, p, t: 0).__code__",
        *(2, REPLACED),
    ),
    "kills_the_supervisor": ("os.kill(os.getppid(), signal.SIGKILL); time.sleep(5)", -9, ""),
    "stops_the_supervisor": ("os.kill(os.getppid(), signal.SIGTERM); time.sleep(5)", 143, "Stop"),
    "asks_and_leaves": ("os.kill(os.getppid(), 2); time.sleep(0.05); os._exit(0)", 2, ENDS),
}
FAST = list(HOSTILE).index("leaves_with_1")

WARM = """
import os, sys, tempfile
import numpy, dpjax.audit, dpjax.cli._app, dpjax.cli._audit, dpjax.methods, dpjax.sources
from dpjax.cli import main

for name in sys.argv[1:]:
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            os.setsid()
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            options = "--claim 0.1 --num-samples 500 --num-confirm 1000 --quiet".split()
            sys.argv = ["dpjax", "audit", "--host", f"hostile.py:{name}", "--pairs", "[[0, 1]]"]
            sys.argv += options
            main()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        try:
            os.killpg(child, 9)
        except ProcessLookupError:
            pass
        said.seek(0)
        print("<", name, code, ">", said.read().decode(), flush=True)
"""


def environment():
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def ended(folder, names):
    """Return exit codes and messages by name."""
    texts = [
        f"def {name}(database, num_samples, seed):\n    {HOSTILE[name][0]}\n"
        "    return noisy(database, num_samples, seed)\n"
        for name in names
    ]
    (folder / "hostile.py").write_text(COMMON + "".join(texts))
    done = subprocess.run(
        [sys.executable, "-c", WARM, *names],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    found = re.findall(r"< (\w+) (-?\d+) >([^<]*)", done.stdout)
    return {name: (int(code), said) for name, code, said in found}


def check(found, names):
    assert list(found) == names
    wrong = {
        name: found[name]
        for name in names
        if (found[name][0], HOSTILE[name][2] in found[name][1]) != (HOSTILE[name][1], True)
    }
    assert wrong == {}


def test_hostile_functions_forge_nothing(tmp_path):
    names = list(HOSTILE)[:FAST]
    check(ended(tmp_path, names), names)


@pytest.mark.slow
def test_more_hostile_functions(tmp_path):
    assert len(HOSTILE) >= 40
    names = list(HOSTILE)[FAST:]
    check(ended(tmp_path, names), names)


SLOW = """
import os, pathlib, time
def slow(database):
    pathlib.Path("begun").write_text(str(os.getpid()))
    time.sleep(60)
"""
THREADED = """
import threading, time
threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
from dpjax.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("start", [("-m", "dpjax"), ("-c", THREADED)])
def test_the_end_of_the_supervisor_is_that_of_the_audit(tmp_path, start):
    """Test a forked worker and a worker in a new interpreter."""
    (tmp_path / "slow.py").write_text(SLOW)
    audit = ("audit", "--host", "slow.py:slow", "--one-by-one", "--pairs", "[[0, 1]]")
    begun = tmp_path / "begun"
    with subprocess.Popen(
        [sys.executable, *start, *audit], cwd=tmp_path, env=environment(), stderr=subprocess.PIPE
    ) as process:
        while not (begun.exists() and begun.read_text()):
            assert process.poll() is None
            time.sleep(0.05)
        worker = int(begun.read_text())
        assert worker != process.pid
        process.kill()
        killed = time.monotonic()
        # The worker has inherited this stream, which closes only when the worker has ended.
        assert process.stderr is not None and b"Traceback" not in process.stderr.read()
        assert time.monotonic() - killed < 20


@pytest.mark.slow
@pytest.mark.parametrize(("function", "code"), [("leaves_with_0", 2), ("forks", 1)])
def test_in_a_fresh_interpreter(tmp_path, function, code):
    """Test a process with threads, which is not forked, as on systems without fork."""
    text = f"def f(database, num_samples, seed):\n    {HOSTILE[function][0]}\n"
    (tmp_path / "hostile.py").write_text(
        f"{COMMON}{text}    return noisy(database, num_samples, seed)"
    )
    audit = ["audit", "--host", "hostile.py:f", "--pairs", "[[0, 1]]", "--claim", "0.1"]
    done = subprocess.run(
        [sys.executable, "-c", THREADED, *audit, "--num-samples", "500", "--num-confirm", "1000"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == code and HOSTILE[function][2] in done.stdout + done.stderr


COUNTING = f"""
import os, signal, threading, time
from dpjax.cli import _stop, _supervise

came = []
listen, order = os.pipe()
with _stop.handled(lambda number, frame: came.append(number)):
    threading.Thread(target=_supervise._follow, args=(listen,), daemon=True).start()
    for own, relayed in ((1, 1), (0, 1), (2, 1), (0, 1)):
        for _ in range(own):
            os.kill(os.getpid(), signal.SIGINT)
        for _ in range(relayed):
            os.write(order, bytes([signal.SIGINT]))
        time.sleep(3 * {_supervise._ARRIVAL_SECONDS})
        print(len(came))
"""


@pytest.mark.slow
def test_a_signal_to_both_processes_counts_once():
    """The count is the larger of the numbers of signals to the two processes."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTING], env=environment(), capture_output=True, text=True
    )
    assert done.stdout.split() == ["1", "2", "4", "4"], done.stderr


def test_help_is_not_supervised():
    assert not _supervise.is_foreign(["audit", "--help"])
    assert not _supervise.is_foreign(["--version"])
    assert all(_supervise.is_foreign([name, "laplace"]) for name in _supervise.FOREIGN)


def test_answers(capsys):
    """Only a complete message counts. A relayed signal explains an end by this signal."""
    nonce = bytes(range(16))
    for heard, ended, came, code in (
        (nonce + b"\0", 0, [], 0),
        (nonce + b"\1", 1, [], 1),
        (b"xx" + nonce + b"\3", 3, [], 3),
        (b"", 0, [], 2),
        (nonce, 0, [], 2),
        (b"\0" * 17, 0, [], 2),
        (nonce + b"\0\0", 0, [], 2),
        (nonce + b"\1", 0, [], 2),
        (nonce + b"\0", 1, [], 2),
        (nonce + b"\0", -9, [], 2),
        (b"", 130, [signal.SIGINT], 130),
        (b"", -15, [signal.SIGTERM], 143),
        (b"", 0, [signal.SIGTERM], 2),
        (b"", 130, [], 2),
        (nonce + b"\0", 0, [signal.SIGTERM], 0),
        (nonce + b"\0", 143, [signal.SIGTERM], 143),
        (nonce + b"\1", -2, [signal.SIGINT], 130),
        (nonce + b"\0", 143, [signal.SIGINT], 2),
    ):
        assert _supervise._answer(heard, nonce, ended, came) == code
        said = capsys.readouterr().err
        after = "Stopped after the result was printed." in said
        assert after == (bool(heard) and code > 128)
        assert bool(said) == (code == 2 or after) and "Traceback" not in said


INTERRUPTS_IMPORTS = """
import os, signal, sys, time

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "MODULE":
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(2)
            except KeyboardInterrupt:
                os.write(2, b"raised")
                raise

sys.meta_path.insert(0, Interrupts())
"""


@pytest.mark.parametrize("module", ["jaxlib.xla_client", "dpjax.mechanisms"])
def test_an_interrupt_raises_nothing_while_jax_is_imported(tmp_path, module):
    """An exception there ended some processes by a segmentation fault or an ImportError."""
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTS_IMPORTS.replace("MODULE", module))
    paths = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "dpjax", "mechanisms"],
        env=environment() | {"PYTHONPATH": paths}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 130 and "Traceback" not in done.stderr
    assert "Stopped before there was a result." in done.stderr
    assert ("raised" in done.stderr) == (module == "dpjax.mechanisms")


@pytest.mark.parametrize("handed", ["a word", "98,99"])
def test_a_variable_that_no_supervisor_set_is_ignored(tmp_path, handed):
    """Otherwise, a traceback would have the exit code of a violated claim."""
    done = subprocess.run(
        [sys.executable, "-m", "dpjax", "sweep", "nowhere.toml", "--out", "store"],
        cwd=tmp_path,
        env={**os.environ, "DPJAX_SUPERVISOR": handed},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and done.stderr.startswith("error: ") and "nowhere" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="handles of Windows are no descriptors")
def test_children_of_audited_code_inherit_no_end_of_the_pipe():
    ends = os.pipe()
    try:
        for end in ends:
            os.set_inheritable(end, True)
        assert _supervise._opened(",".join(map(str, ends))) == ends
        assert not any(map(os.get_inheritable, ends))
    finally:
        for end in ends:
            os.close(end)


def test_replaced_variables_of_classes_are_seen():
    """Unlike methods, variables have no code that could be compared."""
    from dpjax import Recorded
    from dpjax.cli._seal import untouched

    with pytest.raises(ValueError, match=r"replaced dpjax\.\S*Recorded\.takes_pairs"):
        with untouched():
            Recorded.takes_pairs = True
    Recorded.takes_pairs = False
    with untouched():
        assert not Recorded.takes_pairs
