"""Progress on standard error: a bar in a terminal, or a line every half minute in a pipe."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from dpjax.cli._stop import say
from dpjax.core.errors import neutral
from dpjax.core.forecast import Forecast, clock

if TYPE_CHECKING:
    from rich.console import Console

    from dpjax.core.execution import Execution

_LINE_SECONDS = 30.0


class _State(Forecast):
    """The progress of a computation, and the line of text that describes it."""

    def __init__(self, unit: str, announce: Callable[[int, str], object] | None = None):
        super().__init__(announce)
        self.unit, self.text = unit, ""
        self._start = time.monotonic()

    def words(self) -> str:
        total = f" of {self.total:,}" if self.total else ""
        parts = [f"{self.done:,}{total} {self.unit}"] if self.total or self.done else [self.unit]
        if self.text:
            parts.insert(0, neutral(self.text))
        if self.now and self.seconds:
            parts.append(f"{self.now / self.seconds:,.3g} a second")
        left = self.left
        so_far = clock(time.monotonic() - self._start)
        parts.append(f"{so_far} so far" if left is None else f"{clock(left)} left")
        return ", ".join(parts)


@contextmanager
def progress_bar(
    unit: str = "outputs", *, quiet: bool = False, announce: Callable[[int, str], str] | None = None
) -> Iterator[Callable[..., None]]:
    """Show the progress of a computation on standard error or in a notebook (needs rich).

    Args:
        unit: Plural noun for the units of work, such as "outputs".
        quiet: Whether to hide the progress.
        announce: Function (total, time) -> sentence, where `total` is the number of units of work,
            and `time` is the estimated total time as text. The sentence is printed once, as soon as
            the work is estimated to take more than a minute.

    Yields:
        A function (done, total, text="") that updates the display. You can pass the function to
        `dpjax.Execution(progress=...)`.

    Example:
        >>> import dpjax
        >>> from dpjax.cli import progress_bar
        >>> with progress_bar(quiet=True) as show:
        ...     execution = dpjax.Execution(progress=show)
    """
    said = None if quiet or announce is None else announce
    state = _State(unit, said and (lambda total, seconds: say(said(total, seconds))))

    def show(done: int, total: int, text: str = "") -> None:
        state.text = text
        state.told(done, total)

    with nullcontext() if quiet else _shown(state):
        yield show


def shown_by(show: Callable[..., None]) -> "Execution":
    """Return the default execution options with `show` as the progress callback."""
    from dataclasses import replace

    from dpjax.core.execution import Execution

    return replace(Execution(), progress=show)


@contextmanager
def _shown(state: _State) -> Iterator[None]:
    console = terminal(stderr=True)
    if console is None:
        with _lines(state):
            yield
        return
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task
    from rich.text import Text

    class Words(ProgressColumn):
        """Text next to the progress bar, refreshed ten times a second, even without reports."""

        def render(self, task: Task) -> Text:
            bar.update(task.id, completed=state.done, total=state.total or None)
            return Text(state.words())

    with Progress(SpinnerColumn(), BarColumn(24), Words(), console=console, transient=True) as bar:
        bar.add_task("", total=None)
        yield


def terminal(*, stderr: bool = False) -> "Console | None":
    """Return a rich console if the stream is a terminal or a notebook, and None otherwise.

    Args:
        stderr: Whether the stream is standard error instead of standard output.
    """
    # For speed, import rich only if it may find a terminal or a notebook. The following environment
    # variables make rich treat a pipe as a terminal.
    forced = {"FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"} & os.environ.keys()
    stream = sys.stderr if stderr else sys.stdout
    piped = stream is None or not stream.isatty()
    if piped and not forced and "IPython" not in sys.modules:
        return None
    from rich.console import Console

    console = Console(stderr=stderr)
    return console if console.is_terminal or console.is_jupyter else None


@contextmanager
def _lines(state: _State) -> Iterator[None]:
    """Print progress every half minute, from another thread so that slow calls do not delay it."""
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(_LINE_SECONDS):
            say(state.words())

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        with suppress(RuntimeError):
            thread.join(1.0)
