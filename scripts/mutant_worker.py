"""Run tests in forked processes that have already imported NumPy, JAX and pytest.

Each line of standard input is JSON: [pytest arguments, CPU time limit, time limit] in seconds. For
each line, the script prints [exit status, output of pytest]; the exit status is null if the time
limit was reached. Only the forked processes import dpjax, so changes of dpjax take effect.
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
"""Third-party modules that tests need and that do not start a thread when they are imported."""
PARENT = os.getppid()
"""ID of the process that sends the requests. If this process is killed, running tests end, too."""
MEMORY = 8 * 10**9
"""Memory limit of a process in bytes, because a change may lead to huge arrays."""


def tests_run(arguments: list[str], limit: int, said: io.TextIOBase) -> int:
    """Run pytest in this process, and redirect its output to a file."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, to in ((nothing, 0), (said.fileno(), 1), (said.fileno(), 2)):
        os.dup2(descriptor, to)
    import pytest

    return int(pytest.main(arguments))


def waited(child: int, limit: float) -> int | None:
    """Wait for a process, and kill its process group.

    Returns:
        Exit status, or None if the process does not end in time.
    """
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
    """Process requests until standard input ends."""
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
