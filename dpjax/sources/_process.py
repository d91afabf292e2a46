"""Worker processes and programs that end when their parent process ends."""

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
from dpjax.core.errors import SHOWN, one_line

_PDEATHSIG = 1
"""The prctl option that sets which signal a process receives when its parent ends."""

_LAST_LINES, _LAST_BYTES = 5, 10_000
_LEAST, _BETWEEN = 20, " | "
"""A line of standard error is quoted if at least _LEAST characters remain for it. The string
_BETWEEN separates the quoted lines.
"""

_GRACE = 0.5
"""Maximum time, in seconds, to wait for a pipe to close after its writers were killed."""


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
"""Source code of the guard, which is a process that kills the registered programs when this process
ends.
"""

_ANNOUNCED = ["/bin/sh", "-c", 'echo "+$$" >&0; exec "$@" </dev/null', "sh"]
"""Shell command that sends its own process ID to the guard, and then becomes the program."""


def end_with_parent() -> None:
    """Make this worker process end as soon as its parent process ends for any reason.

    The worker ignores interrupts from the terminal, because after an interrupt the parent itself
    terminates its workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        # Workers start with interrupts blocked; see `_workers`.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()
    assert parent is not None
    if sys.platform == "linux":
        # Ask the kernel, which can terminate even a call that never returns to Python.
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Ended(NamedTuple):
    """Output and exit code of a program that has ended.

    Attributes:
        lines: Lines of standard output, at most one more than requested.
        code: Exit code, or None after a timeout.
        last: Last lines of standard error: printable characters on one line, at most 200.
    """

    lines: list[str]
    code: int | None
    last: str


class Programs:
    """Programs that run simultaneously and are killed when this process ends.

    Each program runs in a session of its own, so signals from the terminal do not reach it.
    Therefore each program is registered with the guard, a separate process. When this process ends,
    the pipe to the guard closes, and then the guard kills all registered programs that are still
    running.
    """

    def __init__(self):
        # The lock is reentrant, since a signal may arrive in the thread that stops the programs.
        self._lock, self._stopped = threading.RLock(), False
        self._running: set[subprocess.Popen] = set()
        self._guard: subprocess.Popen | None = None

    def stop(self) -> None:
        """Kill all running programs, and prevent new programs from starting."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                if process.returncode is None:
                    _kill(process)
            if self._guard is not None:
                self._guard.communicate()
                self._guard = None

    def _start(self, words: Sequence[str], errors: int) -> subprocess.Popen:
        """Start a program, and register it with the guard if the system has process groups."""
        stdin: object = subprocess.DEVNULL
        # If the program does not exist, do not use the guard, so that the system's own error is
        # raised.
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
        # Start a new session, whose process group includes the program's children.
        return subprocess.Popen(
            words, stdin=stdin, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )

    def _forget(self, process: subprocess.Popen) -> None:
        """Notify the guard that a program has ended."""
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.write(f"-{process.pid}\n".encode())
            self._guard.stdin.flush()

    def run(self, words: Sequence[str], num_lines: int, timeout: float | None) -> Ended:
        """Run a program until it ends, prints too much, or takes too long.

        Args:
            words: Program and its arguments.
            num_lines: Expected number of lines. The program is killed if it prints more lines.
            timeout: Maximum duration, in seconds, or None for no limit.

        Raises:
            OSError: If the program cannot be started.
            ValueError: If the program prints more bytes than the limit.
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
            return Ended(lines, code, errors.last())


class _Tail:
    """Reader that keeps only the last lines of a program's standard error."""

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
        """Return the file descriptor to which the program writes."""
        return self._write

    def last(self) -> str:
        """Return the last lines of standard error after the program has ended; see `Ended`."""
        self._close()
        self._reader.join(_GRACE)
        shown, room = [], SHOWN
        # Begin with the last lines, which usually name the error.
        for line in self._kept.decode("utf-8", "replace").splitlines()[: -_LAST_LINES - 1 : -1]:
            if room < _LEAST:
                break
            if text := one_line(line, room):
                shown.append(text)
                room -= len(text) + len(_BETWEEN)
        return _BETWEEN.join(reversed(shown))

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
    """Return the lines that a program prints, and the exit code (None after a timeout)."""
    raw: list[bytes] = []
    pipe, most, size = process.stdout, validate.limit("program_bytes"), 0
    assert pipe is not None

    def read() -> None:
        nonlocal size
        # Read at most one line more than expected; an additional line shows that there are too
        # many.
        while len(raw) <= num_lines and size <= most and (line := pipe.readline(most - size + 1)):
            raw.append(line)
            size += len(line)
        if len(raw) > num_lines or size > most:
            _kill(process)
        pipe.close()

    start = time.monotonic()
    # Read in a thread, which may wait forever if a child that left the session keeps the pipe open.
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
    # Copy the lines, since the thread may still be reading.
    taken = list(raw)
    validate.within_limit("program_bytes", size, f"the program {name!r} printed too many bytes")
    # Decode invalid UTF-8 so that different bytes stay different. Keep \r, except on Windows.
    end = os.linesep.encode()
    lines = [line.removesuffix(end).decode("utf-8", "surrogateescape") for line in taken]
    return lines, 0 if len(lines) > num_lines else code


def _kill(process: subprocess.Popen) -> None:
    """Kill a program and, except on Windows, its child processes."""
    if not hasattr(os, "killpg"):
        process.kill()
        return
    try:
        # The program leads its process group, which therefore has the same ID as the program.
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
