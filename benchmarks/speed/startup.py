"""What a fresh process pays: imports, compilation of each experiment, a whole audit, memory."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median

from benchmarks.speed.harness import Entry, Goal, spread_of
from dpjax.sweeps import EXPERIMENTS

_COMPILE = """
import json, resource, sys, time
from dpjax.sweeps import LEVELS, experiment, run_bounds
cell = experiment(sys.argv[1], LEVELS[-1])
start = time.perf_counter()
run_bounds(cell, [0])
first = time.perf_counter() - start
start = time.perf_counter()
run_bounds(cell, [1])
second = time.perf_counter() - start
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([first - second, memory]))
"""

_AUDIT = "from dpjax.cli import main; main()"


def run(*, quick: bool = False, letters: str | None = None) -> tuple[list[Entry], list[Goal]]:
    """Entries (no goals); `quick` is for one experiment and fewer processes."""
    rounds = 1 if quick else 5
    entries = _imports(rounds) + _audits(rounds)
    for letter in letters or ("a" if quick else "".join(EXPERIMENTS)):
        answer = _python(_COMPILE, letter, environment={"DPJAX_CACHE_DIR": ""})
        seconds, kilobytes = json.loads(answer)
        facts = {"peak memory, MB": round(kilobytes / 1024)}
        entries.append(
            Entry("startup", "compile", letter, seconds, 0.0, 1, seconds, "program", facts)
        )
    return entries, []


def _imports(rounds: int) -> list[Entry]:
    times: dict[str, list[float]] = {"jax": [], "dpjax": []}
    for _ in range(rounds):
        for name in times:
            times[name].append(_timed(lambda name=name: _python(f"import {name}")))
    entries = [_entry("import", f"import {name}", each) for name, each in times.items()]
    more = entries[1].seconds - entries[0].seconds
    spread = max(entry.spread for entry in entries)
    entries.append(
        Entry("startup", "import", "dpjax less jax", more, spread, rounds, more, "process")
    )
    return entries


def _audits(rounds: int) -> list[Entry]:
    """`dpjax audit laplace` in a fresh process, without and with its compiled code on disk."""
    cold, warm = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            settings = {"DPJAX_CACHE_DIR": folder}

            def audit(settings=settings) -> None:
                _python(_AUDIT, "audit", "laplace", "--json", environment=settings)

            cold.append(_timed(audit))
            warm.append(_timed(audit))
    # The largest child so far: an upper end of what one audit takes.
    memory = round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
    return [
        _entry("audit laplace", "cold", cold, {"peak memory, MB": memory}),
        _entry("audit laplace", "warm", warm, {"peak memory, MB": memory}),
    ]


def _entry(case: str, name: str, times: list[float], facts: dict | None = None) -> Entry:
    return Entry(
        "startup", case, name, median(times), spread_of(times), len(times), times[0], "process",
        facts or {},
    )  # fmt: skip


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _python(program: str, *arguments: str, environment: dict[str, str] | None = None) -> str:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
