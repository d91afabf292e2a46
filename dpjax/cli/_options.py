"""Options, parsers and messages shared by several commands."""

from pathlib import Path

from dpjax.cli._stop import say
from dpjax.cli._table import option

AS_JSON = option(bool, "Print one JSON object instead.", "--json", default=False)
REPORT = option(Path, "Write a report (html or md).")
PLOT = option(Path, "Write a figure (png, svg, pdf).")
JUNIT = option(Path, "Write the verdict as JUnit XML, which CI services show as a test.")
SARIF = option(Path, "Write the verdict as SARIF, which code scanning shows as an alert.")
QUIET = option(bool, "Show no progress on standard error.", "--quiet", default=False)
"""Option of every command that may take long."""


def number_or_text(text: str) -> float | str:
    """Return a number if the text is one, else the text itself."""
    try:
        return float(text)
    except ValueError:
        return text


def integer_or_text(text: str) -> int | str:
    """Return an integer >= 0 if the text is one, else the text itself."""
    return int(text) if text.isdecimal() else text


def say_written(*paths: Path | None) -> None:
    """Report the written files on standard error."""
    for path in paths:
        if path is not None:
            say(f"wrote {path}")
