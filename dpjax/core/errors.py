"""Errors, signals, and estimation statuses.

Invalid arguments raise the built-in `ValueError` or `TypeError` on the host, before compilation. A
problem that depends on the data is not reported as NaN but as a `Status`, which is a sentence that
says what happened and what to do next. After an interrupt, `Stopped` is raised between two compiled
calls.
"""

import enum
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher, get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

_MOST_NAMED = 8
SHOWN = 200
"""Maximum length, in characters, of a quoted message of an audited function or program."""


class Status(enum.Enum):
    """Outcome of an estimation. Each member's value is a sentence that is shown to the user."""

    OK = "The estimate stands."
    ON_FLOOR = (
        "At the witness, a density estimate is at its smallest allowed value (the floor), so the "
        "true loss may be larger than the estimate. The lower bound is the exact binomial bound "
        "for an event at the witness."
    )
    EMPTY_INTERVAL = (
        "The run failed because an interval received no draw, so its ratio of probabilities is "
        "undefined: draw more samples, or request a coarser precision."
    )

    @property
    def sentence(self) -> str:
        """Sentence that says whether an estimate is reliable and, if it is not, why."""
        return self.value


def neutral(text: str) -> str:
    """Escape the control characters and lone surrogates of untrusted text.

    Control characters can move a terminal's cursor, change the terminal's colors, or start lines
    that a CI service would interpret as commands. Lone surrogates stand for undecodable bytes in
    file names and cannot be encoded in UTF-8.
    """
    return re.sub(
        r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]",
        lambda found: repr(found[0])[1:-1],
        text,
    )


class Stopped(KeyboardInterrupt):
    """Raised when an audit is interrupted; the message states the progress and result so far."""


@contextmanager
def signals_wait() -> Iterator[None]:
    """Defer SIGINT and SIGTERM to the end of the `with` block.

    If a signal handler raised an exception inside jax or during an import, the exception could be
    lost in a callback or could end the process. Only signals that have a Python handler are
    deferred, and only in the main thread.
    """
    came: list[tuple[int, FrameType | None]] = []
    before: dict[int, Callable[[int, FrameType | None], object]] = {}
    if threading.current_thread() is threading.main_thread():
        found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        before = {number: handler for number, handler in found.items() if callable(handler)}
    for number in before:
        signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number, frame in came[:1]:
            before[number](number, frame)


@contextmanager
def contained(name: str) -> Iterator[None]:
    """Prevent audited code from ending the process or (by `pytest.skip`) the current test.

    Raises:
        ValueError: If the code raises a BaseException that is neither an Exception nor a
            KeyboardInterrupt, such as SystemExit.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        what = f"raised {type(error).__name__}: {text_of(error)}"
        if isinstance(error, SystemExit):
            what = f"called sys.exit({error.code!r})"
        raise ValueError(
            f"{name} {what}, but audited code must return an output or raise an Exception."
        ) from error


def text_of(value: object) -> str:
    """Return the repr of an object whose `__repr__` may raise."""
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__} without a repr>"


def message_of(error: BaseException) -> str:
    """Return the message of an exception whose `__str__` may raise."""
    try:
        return str(error)
    except Exception:
        return ""


def one_line(message: str, length: int = SHOWN) -> str:
    """Return the printable characters of a message on one line, shortened to a maximum length."""
    printable = "".join(c if c.isprintable() else " " for c in message[: 2 * length])
    shown = " ".join(printable.split())
    return shown if len(shown) <= length else f"{shown[: length - 3]}..."


def name_of_function(function: object) -> str:
    """Return a function's display name; for a lambda, return its file and line."""
    name = getattr(function, "__name__", type(function).__name__)
    code = getattr(function, "__code__", None)
    if name != "<lambda>" or code is None:
        return name
    return f"lambda ({Path(code.co_filename).name}, line {code.co_firstlineno})"


def needs(what: str, extra: str, *modules: str) -> None:
    """Check that the packages of an optional extra are installed.

    Args:
        what: Plural noun for the feature that needs the packages. The error message begins with
            this noun.
        extra: Name of the optional extra of dpjax that installs the packages.
        *modules: Required modules.

    Raises:
        ModuleNotFoundError: If a module is not installed; the message says how to install the
            module.
    """
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(
            f"{what} need {' and '.join(missing)}: pip install 'dpjax[{extra}]'."
        )


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message about an unknown name.

    The returned part suggests the known names that are most similar to `name`. If no known name is
    similar, the returned part lists all known names, or only the first few if there are many.
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        # Drop names that are much less similar than the best match.
        best = SequenceMatcher(None, close[0], name).ratio()
        close = get_close_matches(name, close, n=3, cutoff=0.8 * best)
        return f"did you mean {' or '.join(map(repr, close))}?"
    if len(names) <= _MOST_NAMED:
        return f"known: {', '.join(names)}."
    return f"known: {', '.join(names[:_MOST_NAMED])}, ... ({len(names)} in all)."
