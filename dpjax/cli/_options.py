"""What several commands read from their options and say while they work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpjax.cli._stop import say


def number_or_text(text: str) -> float | str:
    """A number where the text is one, else the text itself."""
    try:
        return float(text)
    except ValueError:
        return text


def integer_or_text(text: str) -> int | str:
    """An integer >= 0 where the text is one, else the text itself."""
    return int(text) if text.isdecimal() else text


def working(text: str) -> Any:
    """A spinner on standard error, for people only."""
    from rich.console import Console

    return Console(stderr=True).status(text)


@contextmanager
def counting(text: str) -> Iterator[Callable[[int, int], None]]:
    """A spinner that counts: what it yields is called with (done, of how many)."""
    with working(f"{text} ...") as status:
        yield lambda done, total: status.update(f"{text}: {done} of {total} ...")


def say_written(*paths: Path | None) -> None:
    """Names the files that were written, on standard error."""
    for path in paths:
        if path is not None:
            say(f"wrote {path}")
