"""The ways in which dpjax refuses and is stopped, and the outcomes that are not numbers.

Bad arguments raise the built-in `ValueError` and `TypeError`, on the host and before any compile.
What can only be seen in the data is a `Status`: an outcome with a full sentence and what to do
next, never a NaN that travels on. An interrupt raises `Stopped`, between two compiled calls.
"""

import enum
import re
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher, get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_MOST_NAMED = 8
"""Known names in a message about one that is unlike all of them."""


class Status(enum.Enum):
    """Outcome of an estimation; the value is the sentence that people read."""

    OK = "The estimate stands."
    ON_FLOOR = (
        "A density at the witness lies at the floor, so the loss there is only known to be at "
        "least this large; the lower bound is an exact binomial one for an event at the witness."
    )
    EMPTY_INTERVAL = (
        "An interval received no sample, so the ratio there is undefined and the run failed: draw "
        "more samples, or ask for a coarser precision."
    )

    @property
    def sentence(self) -> str:
        """The human-readable meaning of this outcome."""
        return self.value


def neutral(text: str) -> str:
    """A text of somebody else's in one line that does nothing: its control characters are escaped.

    These move the cursor of a terminal, colour it, or begin lines that a CI service obeys. Half a
    surrogate, which stands for a byte of a file's name, is escaped too: UTF-8 does not hold it.
    """
    return re.sub(
        r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]",
        lambda found: repr(found[0])[1:-1],
        text,
    )


class Stopped(KeyboardInterrupt):
    """An interrupt of an audit, with a sentence on what was drawn and what that shows so far."""


@contextmanager
def signals_wait() -> Iterator[None]:
    """Within it, interrupts and SIGTERM wait for the end of the block.

    What jax or an import does at that moment cannot be left halfway: an exception in one of its
    callbacks is lost or ends the process. Only Python's own handlers wait, and only in the main
    thread, where they run; what the system does by itself or ignores stays as it is.
    """
    came: list[tuple[int, Any]] = []
    before: dict[int, Any] = {}
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
    """Within it, code of others can end neither the caller nor, as `pytest.skip` does, its test.

    Args:
        name: Of what is run, for the message.

    Raises:
        ValueError: An exception came out that is neither an error nor an interrupt.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        what = f"{type(error).__name__}: {text_of(error)}"
        if isinstance(error, SystemExit):
            what = f"sys.exit({error.code!r})"
        raise ValueError(f"{name} called {what}, but what is audited must return.") from error


def text_of(value: object) -> str:
    """The text of an object of others, whose `__repr__` may raise."""
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__} without a text>"


def name_of_function(function: Any) -> str:
    """What a function is called in results and messages; a lambda by the line that it is from."""
    name = getattr(function, "__name__", type(function).__name__)
    code = getattr(function, "__code__", None)
    if name != "<lambda>" or code is None:
        return name
    return f"lambda ({Path(code.co_filename).name}, line {code.co_firstlineno})"


def needs(what: str, extra: str, *modules: str) -> None:
    """Refuses what cannot be done without a package that is not installed, before any work.

    Args:
        what: Needs it, in the plural.
        extra: Of dpjax, that brings it.
        *modules: That must be there.

    Raises:
        ModuleNotFoundError: One is missing; the message has the command that installs it.
    """
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(
            f"{what} need {' and '.join(missing)}: pip install 'dpjax[{extra}]'."
        )


def nearest(name: str, known: Iterable[str]) -> str:
    """Ends a message about an unknown name with the nearest known ones, or with the known ones.

    Of many that are all unlike it, only some are named.
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=3, cutoff=0.4)
    if close:
        # None that is much farther than the best.
        best = SequenceMatcher(None, close[0], name).ratio()
        close = get_close_matches(name, close, n=3, cutoff=0.8 * best)
        return f"did you mean {' or '.join(map(repr, close))}?"
    if len(names) <= _MOST_NAMED:
        return f"known: {', '.join(names)}."
    return f"known: {', '.join(names[:_MOST_NAMED])}, ... ({len(names)} in all)."
