"""Runs tests in forked processes that have numpy, jax and pytest imported already.

Standard input has JSON lines [arguments of pytest, seconds of CPU, seconds]; standard output
answers each with [exit code, what pytest said], where no code means that the seconds were not
enough. The fork alone imports dpjax, so that a change of it counts.
"""

import contextlib
import importlib
import io
import json
import os
import resource
import signal
import sys
import tempfile
import time

IMPORTED = ("jax", "scipy.stats", "scipy.special", "pytest", "matplotlib.figure", "pandas",
            "pyarrow.parquet", "rich.console", "click", "jinja2", "statsmodels.api")  # fmt: skip
"""Third-party modules that tests need; none begins a thread when imported."""
PARENT = os.getppid()
"""ID of the process that sends the requests. If this process is killed, running tests end, too."""
MEMORY = 8 * 10**9
"""Bytes of data that a process may hold: a changed size may be any."""


def tests_run(arguments: list[str], limit: int, said: io.TextIOBase) -> int:
    """Pytest in this process, with its words in a file."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, to in ((nothing, 0), (said.fileno(), 1), (said.fileno(), 2)):
        os.dup2(descriptor, to)
    import pytest

    return int(pytest.main(arguments))


def waited(child: int, limit: float) -> int | None:
    """The exit code of a process, or None where it does not end in time; its group ends with it."""
    end, status = time.monotonic() + limit, None
    while status is None and time.monotonic() < end and os.getppid() == PARENT:
        done, code = os.waitpid(child, os.WNOHANG)
        status = os.waitstatus_to_exitcode(code) if done else None
        time.sleep(0 if done else 0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    return status


def main() -> None:
    """Answers until its input ends."""
    for name in IMPORTED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        arguments, limit, longest = json.loads(line)
        with tempfile.TemporaryFile("w+", errors="replace") as said:
            child = os.fork()
            if not child:
                code = 70
                try:
                    code = tests_run(arguments, limit, said)
                finally:
                    sys.stdout.flush()
                    os._exit(code)
            code = waited(child, longest)
            said.seek(0)
            print(json.dumps([code, said.read()[-100_000:]]), flush=True)


if __name__ == "__main__":
    main()
