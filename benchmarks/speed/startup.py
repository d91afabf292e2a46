"""Measure costs of a new process: imports, compilation, a complete audit, and memory."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from statistics import median

from benchmarks.presets.experiments import EXPERIMENTS
from benchmarks.speed.harness import Goal, Timing, spread_of

# Do not use ru_maxrss, because a new process starts with the value of its parent.
_PEAK = """
def peak():
    try:
        with open("/proc/self/status") as file:
            lines = [line for line in file if line.startswith("VmHWM")]
    except OSError:
        return None
    return round(int(lines[0].split()[1]) / 1024)
"""

_COMPILE = (
    _PEAK
    + """
import json, sys, time
from benchmarks.presets.experiments import LEVELS, experiment
from dpjax.sweeps import compute
entry = experiment(sys.argv[1], LEVELS[-1])
start = time.perf_counter()
compute(entry, [0], 0)
first = time.perf_counter() - start
start = time.perf_counter()
compute(entry, [1], 0)
second = time.perf_counter() - start
print(json.dumps([first - second, peak()]))
"""
)

# Measure the memory of children, because the audit runs in a child of the supervising process.
_AUDIT = """
import resource
from dpjax.cli import main
try:
    main()
except SystemExit:
    print(round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024))
    raise
"""


_LIMITS = {
    "dpjax less jax": ("import dpjax: seconds beyond import jax", 0.3),
    "cold": ("seconds of dpjax audit laplace, empty cache", 6.0),
    "warm": ("seconds of dpjax audit laplace, compiled code in cache", 3.0),
}


_CPU_LIMITS = {"warm": 1.6, "cold": 2.0}
"""Limits on the CPU time of `dpjax audit laplace`, as multiples of the time of `import jax`."""


def run(*, quick: bool = False, letters: str | None = None) -> tuple[list[Timing], list[Goal]]:
    """Return timings and goals.

    Args:
        quick: Whether to use only one experiment by default, and fewer processes.
        letters: Letters of the experiments.
    """
    rounds = 1 if quick else 5
    with tempfile.TemporaryDirectory() as folder:
        # Enable bytecode files, because an installed package has them.
        bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}
        _audits(1, bytecode)
        entries = _imports(rounds, bytecode) + _audits(rounds, bytecode)
        goals = _over_jax(rounds, bytecode)
    goals += [
        Goal("startup", _LIMITS[e.name][0], e.seconds, _LIMITS[e.name][1], False)
        for e in entries
        if e.name in _LIMITS
    ]
    for letter in letters or ("a" if quick else "".join(EXPERIMENTS)):
        answer = _python(_COMPILE, letter, environment={"DPJAX_CACHE_DIR": ""})
        seconds, megabytes = json.loads(answer)
        facts = {"peak memory, MB": megabytes}
        entries.append(
            Timing("startup", "compile", letter, seconds, 0.0, 1, seconds, "program", facts)
        )
    return entries, goals


def _imports(rounds: int, bytecode: dict[str, str]) -> list[Timing]:
    # Access an attribute, because `import dpjax` alone does not import any submodule.
    programs = {"jax": "import jax", "dpjax": "import dpjax; dpjax.audit"}
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            start = time.perf_counter()
            _python(program, environment=bytecode)
            times[name].append(time.perf_counter() - start)
    entries = [_entry("import", f"import {name}", each) for name, each in times.items()]
    more = entries[1].seconds - entries[0].seconds
    spread = max(entry.spread for entry in entries)
    entries.append(
        Timing("startup", "import", "dpjax less jax", more, spread, rounds, more, "process")
    )
    return entries


def _audits(rounds: int, bytecode: dict[str, str]) -> list[Timing]:
    """Time `dpjax audit laplace` in a new process, without and with its compiled code on disk."""
    times: dict[str, list[float]] = {"cold": [], "warm": []}
    memory: dict[str, str] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            settings = {**bytecode, "DPJAX_CACHE_DIR": folder}
            for name in times:
                start = time.perf_counter()
                printed = _python(_AUDIT, "audit", "laplace", "--json", environment=settings)
                times[name].append(time.perf_counter() - start)
                memory[name] = printed.split()[-1]
    return [
        _entry("audit laplace", name, each, {"peak memory, MB": memory[name]})
        for name, each in times.items()
    ]


def _over_jax(rounds: int, bytecode: dict[str, str]) -> list[Goal]:
    """Compare the CPU time of an audit with that of `import jax`.

    CPU times depend less on other load than wall times.
    """
    found: dict[str, list[float]] = {"jax": [], "cold": [], "warm": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            settings = {**bytecode, "DPJAX_CACHE_DIR": folder}
            for name, times in found.items():
                program = ("import jax",) if name == "jax" else (_AUDIT, "audit", "laplace")
                before = _cpu_of_children()
                _python(*program, environment=settings)
                times.append(_cpu_of_children() - before)
    return [
        Goal(
            "startup",
            f"CPU time of dpjax audit laplace, {name}, divided by that of import jax",
            min(found[name]) / min(found["jax"]),
            limit,
            False,
        )
        for name, limit in _CPU_LIMITS.items()
    ]


def _cpu_of_children() -> float:
    """Return the CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _entry(case: str, name: str, times: list[float], facts: dict | None = None) -> Timing:
    return Timing(
        "startup", case, name, median(times), spread_of(times), len(times), times[0], "process",
        facts or {},
    )  # fmt: skip


def _python(program: str, *arguments: str, environment: dict[str, str] | None = None) -> str:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
