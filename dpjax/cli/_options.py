"""Options, parsers and messages that multiple commands share."""

from pathlib import Path

from dpjax.cli._stop import say
from dpjax.cli._table import option

AS_JSON = option(bool, "Print one JSON object instead of text.", "--json", default=False)
REPORT = option(Path, "Write a report (html or md).")
PLOT = option(Path, "Write a figure (png, svg, pdf).")
JUNIT = option(Path, "Write the verdict as JUnit XML, which CI services show as a test.")
SARIF = option(Path, "Write the verdict as SARIF, which code scanning shows as an alert.")
QUIET = option(bool, "Show no progress on standard error.", "--quiet", default=False)


def number_or_text(text: str) -> float | str:
    """Convert a string to a float if possible; otherwise, return the string unchanged."""
    try:
        return float(text)
    except ValueError:
        return text


def integer_or_text(text: str) -> int | str:
    """Convert a string to an integer >= 0 if possible; otherwise, return the string unchanged."""
    return int(text) if text.isdecimal() else text


def say_written(path: Path | None) -> None:
    """Print the path of a written file to standard error, or nothing if the path is None."""
    if path is not None:
        say(f"wrote {path}")
