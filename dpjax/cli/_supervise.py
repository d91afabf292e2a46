"""Supervision of commands that run third-party code, which must not forge the exit code.

Audited code can terminate its process at any time and with any exit code. The caller therefore
waits for another process, the supervisor, which runs no audited code. The supervisor starts a
worker process that runs the command and sends the command's exit code through a private pipe. The
supervisor exits with code 2 in two cases: if it receives no exit code, or if the worker process
ends with an exit code that differs from the one it sent.

The protection is limited, because code can read all memory of its own process. A valid message
contains a secret nonce, so audited code cannot send one by accident. However, audited code
can forge a message if it searches the interpreter's memory or replaces parts of Python itself. A
mechanism cannot affect the verdict if it runs outside the worker process, as with `--command` or
recorded outputs.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from dpjax.cli._stop import ARRIVED, handled, say

if TYPE_CHECKING:
    from subprocess import Popen

FOREIGN = ("audit", "rerun", "search-pairs", "hunt", "sweep")
"""Names of the commands that may import or run third-party code."""

Report = Callable[[int], None]
"""Type of the function that sends the exit code of the command to the supervisor."""

_HANDED = "DPJAX_SUPERVISOR"
"""Environment variable that passes the file descriptors of two pipes to a new interpreter."""

_NONCE_BYTES = 16
_ARRIVAL_SECONDS = 0.1
"""Maximum time, in seconds, until a signal that is sent to both processes has reached both."""

_BAD_INPUT = 2


def is_foreign(words: Sequence[str]) -> bool:
    """Return whether a command line may run third-party code; False for a request for help."""
    asks_help = "--help" in words or "-h" in words
    return not asks_help and any(word in FOREIGN for word in words)


def supervise() -> Report | None:
    """Start a worker process that runs the command, and wait until the process ends.

    The function returns only in the worker process. In the supervisor, it exits instead. If a
    program calls `dpjax.cli.main` after JAX has begun to compute, the function returns None
    immediately, and the command runs without supervision.

    Returns:
        Function that sends the exit code of the command to the supervisor, or None if the command
        runs without supervision.

    Raises:
        SystemExit: In the supervisor, once the worker process has ended. The exit code is the exit
            code of the command.
    """
    handed = os.environ.pop(_HANDED, None)
    if handed is not None:
        # Ignore a variable that no supervisor has set, because it names no pipes.
        with suppress(ValueError, OSError):
            listen, tell = _opened(handed)
            return _working(listen, tell, os.read(listen, _NONCE_BYTES))
    # Fork only on Linux, because a fork breaks system libraries on other systems. Moreover, fork
    # only if this process has a single thread.
    forks = False
    with suppress(OSError):
        forks = sys.platform == "linux" and len(os.listdir("/proc/self/task")) == 1
    if not forks and "jax" in sys.modules:
        return None
    nonce = os.urandom(_NONCE_BYTES)
    (hear, tell), (listen, order) = _pipe(), _pipe()
    if forks:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        child = os.fork()
        if not child:
            os.close(hear)
            os.close(order)
            return _working(listen, tell, nonce)

        def wait() -> int:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    else:
        os.write(order, nonce)
        wait = _interpreter(listen, tell).wait
    os.close(listen)
    os.close(tell)
    came: list[int] = []

    def relay(number: int, frame: object) -> None:
        came.append(number)
        with suppress(OSError):
            os.write(order, bytes([number]))

    with handled(relay):
        ended = wait()
        if os.name == "posix":
            # Do not wait for more data, because a process forked by audited code may keep the pipe
            # open.
            os.set_blocking(hear, False)
        heard = b""
        with suppress(BlockingIOError):
            heard = os.read(hear, 2**20)
        sys.exit(_answer(heard, nonce, ended, came))


def _answer(heard: bytes, nonce: bytes, ended: int, came: Sequence[int]) -> int:
    """Return the exit code of the supervisor, once the worker process has ended.

    Args:
        heard: Bytes that the worker process sent through the pipe.
        nonce: Secret bytes that precede the exit code in a valid message.
        ended: Exit code of the worker process, or minus the number of the signal that terminated
            the process.
        came: Signals that the supervisor received, as signal numbers.
    """
    said = heard[-1] if heard[-1 - _NONCE_BYTES : -1] == nonce else None
    if said == ended:
        return ended
    for number in came:
        if ended in (128 + number, -number):
            if said is not None:
                say("Stopped after the result was printed.")
            return 128 + number
    how = f"with exit code {ended}" if ended >= 0 else f"by signal {-ended}"
    if said is None:
        say(
            f"error: there is no verdict: audited code terminated its process {how}, but must "
            "return an output instead."
        )
    else:
        say(
            f"error: the verdict has exit code {said}, but the process that computed it was "
            f"terminated {how}, perhaps by audited code."
        )
    return _BAD_INPUT


def _working(listen: int, tell: int, nonce: bytes) -> Report:
    """Set up the worker process, and return the function that reports to the supervisor.

    Also start a thread that repeats the supervisor's signals in the worker process.
    """
    # Keep references to these functions, because audited code can replace attributes of modules.
    messages = [nonce + bytes([code]) for code in range(256)]
    this, process, write = os.getpid(), os.getpid, os.write
    threading.Thread(target=_follow, args=(listen,), daemon=True).start()

    def report(code: int) -> None:
        # If audited code forks the worker process, the copy must not report.
        if process() == this:
            with suppress(OSError):
                write(tell, messages[code])

    return report


def _follow(listen: int) -> None:
    """In the worker process, repeat each signal that only the supervisor received.

    If the supervisor ends, the worker process ends too. A terminal sends a signal to both
    processes, but `kill` sends a signal to only one process. Both processes count the signals that
    they receive, and a signal that has reached both processes is not repeated.
    """
    asked = dict.fromkeys(range(256), 0)
    with suppress(OSError):
        while number := os.read(listen, 1):
            asked[number[0]] += 1
            time.sleep(_ARRIVAL_SECONDS)
            if ARRIVED[number[0]] < asked[number[0]]:
                os.kill(os.getpid(), number[0])
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def _pipe() -> tuple[int, int]:
    """Return a pipe whose descriptors are hard to guess and are not standard streams."""
    ends = os.pipe()
    try:
        from fcntl import F_DUPFD_CLOEXEC, fcntl
    except ImportError:
        return ends
    moved: list[int] = []
    for end in ends:
        least = 64 + int.from_bytes(os.urandom(2)) % 512
        try:
            moved.append(fcntl(end, F_DUPFD_CLOEXEC, least))
        except OSError:  # The system allows only a few descriptors.
            moved.append(fcntl(end, F_DUPFD_CLOEXEC, 3))
        os.close(end)
    return moved[0], moved[1]


def _interpreter(listen: int, tell: int) -> "Popen[bytes]":
    """Start the same command in a new interpreter, which inherits one end of each pipe."""
    import subprocess

    numbers: list[int] = [listen, tell]
    if sys.platform == "win32":
        import msvcrt

        numbers = [msvcrt.get_osfhandle(end) for end in numbers]
        for number in numbers:
            os.set_handle_inheritable(number, True)
    command = [sys.executable, "-m", "dpjax.cli", *sys.argv[1:]]
    environment = {**os.environ, _HANDED: ",".join(map(str, numbers))}
    kept = (listen, tell) if os.name == "posix" else ()
    return subprocess.Popen(command, env=environment, pass_fds=kept, close_fds=os.name == "posix")


def _opened(handed: str) -> tuple[int, int]:
    """In a new interpreter, open the inherited pipe ends, and hide them from child processes."""
    listen, tell = map(int, handed.split(","))
    if sys.platform == "win32":
        import msvcrt

        listen = msvcrt.open_osfhandle(listen, os.O_RDONLY)
        tell = msvcrt.open_osfhandle(tell, os.O_WRONLY)
    os.set_inheritable(listen, False)
    os.set_inheritable(tell, False)
    return listen, tell
