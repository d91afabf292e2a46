"""How a command ends: by its exit code, by a signal, at a closed pipe."""

import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from types import FrameType
from typing import NoReturn, TextIO

from dpjax.core.errors import neutral

Handler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None
"""What `signal.getsignal` returns."""

_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)

_NO_ANSWER = "Stopped before there was an answer."

ARRIVED = Counter[int]()
"""How often each signal that asks to end has come to this process."""


class Stop:
    """Whether a signal has asked to stop.

    Attributes:
        signal: Its number, or None.
    """

    def __init__(self) -> None:
        self.signal: int | None = None

    def asked(self) -> bool:
        """True from the first signal on."""
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """As shells have it of a command that a signal ended, also if that was finished first."""
        return 128 + (self.signal or signal.SIGINT)


@contextmanager
def stopping_on_signals() -> Iterator[Stop]:
    """Notes the first signal that asks to end; a second one ends the process at once, as usual."""
    stop = Stop()

    def note(number: int, frame: object) -> None:
        stop.signal = number
        for other, handler in before.items():
            signal.signal(other, handler)

    with handled(note) as before:
        yield stop


class Left(BaseException):
    """Raised to end a stopped process without waiting for a computation.

    Attributes:
        exit_code: With which it ends.
    """

    def __init__(self, exit_code: int):
        super().__init__(exit_code)
        self.exit_code = exit_code


def ending_well(run: Callable[..., int | None], codes: list[int]) -> Callable[..., None]:
    """A command that ends with one of dpjax's exit codes and a sentence, whatever it runs.

    An interrupt, SIGTERM and SIGHUP stop it, with 128 and the signal's number. A sys.exit() of
    code that it imports or audits is bad input, and no verdict.

    Args:
        run: The command, which returns its exit code; None is 0.
        codes: Gets the exit code; that of bad input as long as it runs.
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
            # A sequential audit that is stopped has an answer all the same.
            codes[-1] = stop.exit_code if stop.asked() and not code else code
        except KeyboardInterrupt as error:
            say(str(error) or _NO_ANSWER)
            raise Left(stop.exit_code) from None
        except SystemExit as error:
            raise ValueError(
                f"sys.exit({error.code!r}) was called by what dpjax was to run: it must return."
            ) from error
        except EOFError as error:
            raise ValueError("what dpjax was to run asks for input, and there is none.") from error
        except BaseException as error:
            # typer ends by itself at a broken pipe, and Python at what is no Exception.
            if isinstance(error, Exception) and not isinstance(error, BrokenPipeError):
                raise
            raise ValueError(f"what dpjax was to run raised {type(error).__name__}.") from error

    return command


def _imports_jax() -> bool:
    """Whether jax is being imported, which an exception in its compiled modules ends by a crash."""
    return getattr(getattr(sys.modules.get("jax"), "__spec__", None), "_initializing", False)


@contextmanager
def handled(handler: Callable[[int, object], None]) -> Iterator[dict[int, Handler]]:
    """Signals that ask to end go to the handler; what is ignored, as after nohup, stays so."""

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
    """Writes one line to standard error; where that is closed or full, nothing can be said.

    A file's name, or what code of others says, may be in it: control characters are escaped.
    """
    with suppress(OSError, ValueError):
        print(neutral(text), file=sys.stderr, flush=True)


def leave(code: int) -> NoReturn:
    """Ends the process without taking down what may be computing at this moment."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


class _UntilClosed:
    """A stream that forgets what is written once nobody reads it any more.

    Args:
        stream: To write to.
        errors: Those of the system at which it begins to forget.
    """

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
            pass  # closed by what was run

    def forget(self) -> None:
        """Sends what is in its buffer and all that comes nowhere, so that no later flush fails."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


def forget_output() -> None:
    """Drops what standard output could not write, so that the next flush does not fail as well."""
    if isinstance(sys.stdout, _UntilClosed):
        with suppress(OSError, ValueError):  # closed by what was run
            sys.stdout.forget()


@contextmanager
def lasting_streams() -> Iterator[None]:
    """Context in which a closed standard stream is empty, and a closed pipe ends nothing.

    After it no stream holds anything that could fail, for that would change the exit code.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))
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
