"""Processes that end when they must: workers, and programs with what they have started."""

import ctypes
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from dpjax.core import validate

_PDEATHSIG = 1
"""Option of prctl that sets the signal which a process gets when its parent ends."""

_LAST_LINES, _LAST_BYTES = 5, 10_000
_GRACE = 0.5
"""Seconds for the pipe to close once everything that should hold it was killed."""


_GUARD = """
import os, signal, sys
running = set()
for line in sys.stdin:
    (running.add if line[0] == "+" else running.discard)(int(line[1:]))
for number in running:
    try:
        os.killpg(number, signal.SIGKILL)
    except OSError:
        pass
"""
"""A process that outlives this one by a moment, to end what it has left running."""

_ANNOUNCED = ["/bin/sh", "-c", 'echo "+$$" >&0; exec "$@" </dev/null', "sh"]
"""Runs a program that has told the guard its number before it begins, through its input.

Told by this process, it would be left running where a signal came just before.
"""


def end_with_parent() -> None:
    """Lets this worker end as soon as its parent does, whatever ends that.

    An interrupt of the terminal is left to the parent, which ends its workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    if sys.platform == "linux":
        # The system does it, also where a call never returns to Python.
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Ended(NamedTuple):
    """Output and status of a run that ended.

    Attributes:
        lines: Of its standard output, one more than asked at most.
        code: Its exit status; None if it took too long.
        last: The last lines of its errors.
    """

    lines: list[str]
    code: int | None
    last: str


class Programs:
    """Programs that run at the same time, and end with this process, whatever ends it.

    They have sessions of their own, which no signal of a terminal reaches. So each tells a guard
    that it begins, and the guard kills those that still run when its pipe is closed.
    """

    def __init__(self):
        # A signal may come while its own thread stops them.
        self._lock, self._stopped = threading.RLock(), False
        self._running: set[subprocess.Popen] = set()
        self._guard: subprocess.Popen | None = None

    def stop(self) -> None:
        """Kills all that run, and starts no more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                if process.returncode is None:
                    _kill(process)
            if self._guard is not None:
                self._guard.communicate()
                self._guard = None

    def _start(self, words: Sequence[str], errors: int) -> subprocess.Popen:
        """Starts a program, guarded where the system has groups of processes."""
        stdin: object = subprocess.DEVNULL
        # What cannot be found is started as it is, to fail with the system's own error.
        if hasattr(os, "killpg") and shutil.which(words[0]) is not None:
            if self._guard is None:
                self._guard = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _GUARD],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            words, stdin = [*_ANNOUNCED, *words], self._guard.stdin
        # A session of its own: a kill reaches the children too.
        return subprocess.Popen(
            words, stdin=stdin, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )

    def _forget(self, process: subprocess.Popen) -> None:
        """Tells the guard that a program has ended."""
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.write(f"-{process.pid}\n".encode())
            self._guard.stdin.flush()

    def run(self, words: Sequence[str], num_lines: int, timeout: float | None) -> Ended:
        """Runs a program to its end, or until it printed too much or took too long.

        Args:
            words: The program and its arguments.
            num_lines: That it should print; it is killed at the next one.
            timeout: Seconds that it may take, or None.

        Raises:
            OSError: The program cannot be started.
            ValueError: The program printed more than the limit.
        """
        with _Tail() as errors:
            with self._lock:
                if self._stopped:
                    raise RuntimeError("programs were stopped")
                process = self._start(words, errors.fileno())
                self._running.add(process)
            try:
                lines, code = _read(process, words[0], num_lines, timeout)
            finally:
                if process.poll() is None:
                    _kill(process)
                    process.wait()
                with self._lock:
                    self._running.discard(process)
                    self._forget(process)
            return Ended(lines, code, " | ".join(errors.lines()))


class _Tail:
    """The end of what a program writes to its errors, however much that is."""

    def __init__(self):
        self._kept = b""
        read, self._write = os.pipe()
        self._reader = threading.Thread(target=self._drain, args=(read,), daemon=True)

    def __enter__(self) -> "_Tail":
        self._reader.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._close()

    def fileno(self) -> int:
        """Where the program writes."""
        return self._write

    def lines(self) -> list[str]:
        """The last lines, once the program has ended."""
        self._close()
        self._reader.join(_GRACE)
        last = self._kept.decode("utf-8", "replace").splitlines()[-_LAST_LINES:]
        return [line.strip() for line in last]

    def _close(self) -> None:
        if self._write >= 0:
            os.close(self._write)
            self._write = -1

    def _drain(self, read: int) -> None:
        with open(read, "rb", buffering=0) as pipe:
            while part := pipe.read(2**16):
                self._kept = (self._kept + part)[-_LAST_BYTES:]


def _read(
    process: subprocess.Popen, name: str, num_lines: int, timeout: float | None
) -> tuple[list[str], int | None]:
    """Lines and exit status; None for a status that did not come in time."""
    raw: list[bytes] = []
    pipe, most, size = process.stdout, validate.limit("program_bytes"), 0
    assert pipe is not None

    def read() -> None:
        nonlocal size
        # A line more than asked is enough to know that there are too many.
        while len(raw) <= num_lines and size <= most and (line := pipe.readline(most - size + 1)):
            raw.append(line)
            size += len(line)
        if len(raw) > num_lines or size > most:
            _kill(process)
        pipe.close()

    start = time.monotonic()
    # Of its own thread, for a child that left the session may hold the pipe open for ever.
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(timeout)
    code = None
    if not reader.is_alive():
        try:
            left = None if timeout is None else max(timeout - (time.monotonic() - start), 0.0)
            code = process.wait(left)
        except subprocess.TimeoutExpired:
            pass
    if code is None:
        _kill(process)
        process.wait()
        reader.join(_GRACE)
    # Of a copy, where the reader could not be stopped.
    taken = list(raw)
    validate.within_limit("program_bytes", size, f"the program {name!r} printed too many bytes")
    # Bytes that are no UTF-8 stay apart from each other, and on most systems \r is of the line.
    end = os.linesep.encode()
    lines = [line.removesuffix(end).decode("utf-8", "surrogateescape") for line in taken]
    return lines, 0 if len(lines) > num_lines else code


def _kill(process: subprocess.Popen) -> None:
    """Ends a program and its children; on Windows, which has no groups of processes, it alone."""
    if not hasattr(os, "killpg"):
        process.kill()
        return
    try:
        # Its number is that of its session, since it leads it.
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
