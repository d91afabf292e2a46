"""How a command ends: exit codes, signals and closed pipes."""

import atexit
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from types import FrameType
from typing import NoReturn, TextIO

from dpjax.core.errors import neutral

Handler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None

_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)

_NO_ANSWER = "Stopped before there was a result."

STOPPED = 128 + signal.SIGINT
"""Exit code of a command that was interrupted."""

ARRIVED = Counter[int]()
"""Map from each termination signal to the number of times that it has reached this process."""


class Stop:
    """A record of whether a termination signal has arrived.

    Attributes:
        signal: Number of the signal that arrived, or None if no signal has arrived.
    """

    def __init__(self) -> None:
        self.signal: int | None = None

    def asked(self) -> bool:
        """Return whether a signal has arrived."""
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """Exit code of a command that a signal stopped: 128 plus the signal's number."""
        return 128 + (self.signal or signal.SIGINT)


@contextmanager
def stopping_on_signals() -> Iterator[Stop]:
    """Within the context, record the first termination signal and continue.

    A second termination signal is handled as it would be outside the context.
    """
    stop = Stop()

    def note(number: int, frame: object) -> None:
        stop.signal = number
        for other, handler in before.items():
            signal.signal(other, handler)

    with handled(note) as before:
        yield stop


class Left(BaseException):
    """Exception that terminates the process without waiting for a running computation.

    Attributes:
        exit_code: Exit code of the process.
    """

    def __init__(self, exit_code: int):
        super().__init__(exit_code)
        self.exit_code = exit_code


def ending_well(run: Callable[..., int | None], codes: list[int]) -> Callable[..., None]:
    """Wrap a command so that it ends with one of dpjax's exit codes, even if it is interrupted.

    If an interrupt, SIGTERM or SIGHUP stops the command, the exit code is 128 plus the number of
    the signal. If imported or audited code calls sys.exit(), the exit code is 2, as for bad input.

    Args:
        run: The command, which returns its exit code, or None for 0.
        codes: List to which the exit code is appended. While the command runs, the last entry of
            the list is 2, the exit code for bad input.
    """

    @wraps(run)
    def command(**given: object) -> None:
        stop = Stop()
        codes.append(2)

        def interrupt(number: int, frame: object) -> None:
            stop.signal = number
            if _imports_jax():
                os.write(2, f"{_NO_ANSWER}\n".encode())
                os._exit(stop.exit_code)
            raise KeyboardInterrupt

        try:
            with handled(interrupt):
                code = run(**given) or 0
            # A sequential audit that a signal stops still returns an exit code, which is kept
            # unless it is 0 or says only that the audit was stopped.
            codes[-1] = stop.exit_code if stop.asked() and code in (0, STOPPED) else code
        except KeyboardInterrupt as error:
            say(str(error) or _NO_ANSWER)
            raise Left(stop.exit_code) from None
        except SystemExit as error:
            raise ValueError(
                f"audited code called sys.exit({error.code!r}): audited code must return an "
                "output instead."
            ) from error
        except EOFError as error:
            raise ValueError(
                "audited code tried to read standard input, which is empty."
            ) from error
        except BaseException as error:
            # click would exit on a BrokenPipeError, and Python on any other BaseException.
            if isinstance(error, Exception) and not isinstance(error, BrokenPipeError):
                raise
            raise ValueError(f"audited code raised {type(error).__name__}.") from error

    return command


def _imports_jax() -> bool:
    """Return whether jax is being imported; an exception during this import could crash Python."""
    return getattr(getattr(sys.modules.get("jax"), "__spec__", None), "_initializing", False)


@contextmanager
def handled(handler: Callable[[int, object], None]) -> Iterator[dict[int, Handler]]:
    """Within the context, pass termination signals to `handler`, and count them in `ARRIVED`.

    A signal that the process already ignores, for example because of nohup, stays ignored. The
    context manager yields a dict from signal numbers to the earlier handlers.
    """

    def counted(number: int, frame: object) -> None:
        ARRIVED[number] += 1
        handler(number, frame)

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    before = {number: old for number, old in before.items() if old is not signal.SIG_IGN}
    if threading.current_thread() is not threading.main_thread():
        before = {}
    for number in before:
        signal.signal(number, counted)
    try:
        yield before
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def say(text: str) -> None:
    """Write a line of text to standard error, or do nothing if standard error is closed.

    The text may contain file names or third-party messages, so control characters are escaped.
    """
    with suppress(OSError, ValueError):
        print(neutral(text), file=sys.stderr, flush=True)


def leave(code: int) -> NoReturn:
    """Terminate the process immediately, even if a computation is still running."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def finish(code: int) -> NoReturn:
    """Terminate a process that ran only one command, without freeing its objects.

    As in a normal exit of the interpreter, other threads run to completion, and functions
    registered with `atexit` are called. Freeing jax's objects would take about 0.05 s.
    """
    # `multiprocessing` terminates forked processes in the same way.
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]
    atexit._run_exitfuncs()
    leave(code)


class _UntilClosed:
    """A stream that discards all further output once the reader has closed the pipe."""

    def __init__(self, stream: TextIO, errors: type[OSError]):
        self._stream, self._errors = stream, errors

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except self._errors:
            self.forget()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except self._errors:
            self.forget()
        except ValueError:
            pass  # Audited code has closed the stream.

    def forget(self) -> None:
        """Redirect buffered and future output to the null device so that no later flush fails."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


def forget_output() -> None:
    """Discard buffered output that could not be written, so that the next flush does not fail."""
    if isinstance(sys.stdout, _UntilClosed):
        with suppress(OSError, ValueError):  # Audited code has closed the stream.
            sys.stdout.forget()


@contextmanager
def lasting_streams() -> Iterator[None]:
    """Within the context, replace missing streams with the null device, and tolerate closed pipes.

    At the end of the context, all output is flushed or discarded so that no later flush can fail
    and change the exit code.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    with ExitStack() as opened:
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:
                setattr(sys, name, opened.enter_context(open(os.devnull, mode)))
        written = _UntilClosed(sys.stdout, BrokenPipeError), _UntilClosed(sys.stderr, OSError)
        sys.stdout, sys.stderr = written
        try:
            yield
        finally:
            for stream in written:
                try:
                    stream.flush()
                except OSError:
                    stream.forget()
            sys.stdin, sys.stdout, sys.stderr = before
