"""Data structures of a report: page, verdict, sections, tables and figures."""

import datetime
import json
import re
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

from dpjax.core.version import __version__

if TYPE_CHECKING:
    from dpjax.core.types import JsonObject

OPENING, CLOSING = '<pre id="dpjax-result" data-copy>', "</pre>"


class Table(NamedTuple):
    """A table of text cells.

    Attributes:
        rows: Cells of each row, as text; the first cell is the row's name.
        head: Names of the columns, or () if the table has no head.
        numbers: Whether all cells in a row, except the first, are numbers.
        units: Whether the last cell in each row is the unit of the number before it.
    """

    rows: list[tuple[str, ...]]
    head: tuple[str, ...] = ()
    numbers: bool = True
    units: bool = False


class Figure(NamedTuple):
    """A picture.

    Attributes:
        caption: Description of the picture.
        svg: SVG element, for an HTML page.
        path: Path of the picture's file, relative to the folder of the page, for a Markdown page.
    """

    caption: str
    svg: str = ""
    path: str = ""


class Section(NamedTuple):
    """A section of a page; empty parts of a section are omitted.

    Attributes:
        title: The heading.
        paragraphs: Paragraphs of plain text.
        figures: Pictures.
        table: Table of rows.
        items: Items of a list.
        codes: Code that a reader can copy, as pairs (caption, text).
        folded: Whether the section is closed until a reader clicks it; a printed page shows all
            sections open.
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    table: Table | None = None
    items: tuple[str, ...] = ()
    codes: tuple[tuple[str, str], ...] = ()
    folded: bool = False


class Verdict(NamedTuple):
    """The opening statement of a page.

    Attributes:
        kind: "violated", "not random", "not refuted", "no claim", "assumption refuted", "doubtful"
            or "estimate". The kind determines the shape and the color of the statement.
        headline: The verdict in a few words.
        sentence: The verdict in full.
    """

    kind: str
    headline: str
    sentence: str


class Page(NamedTuple):
    """A report.

    Attributes:
        title: The heading.
        verdict: The opening statement.
        sections: The sections, in order.
        footer: Name of the program, and date of the report.
        result: The complete result as JSON values.
    """

    title: str
    verdict: Verdict
    sections: tuple[Section, ...]
    footer: str
    result: "JsonObject"


def written(version: str = __version__) -> str:
    """Return the footer of a page, which contains today's date and a version of dpjax."""
    return f"Written on {datetime.date.today().isoformat()} by dpjax {version}."


def result_of_page(text: str) -> str:
    """Extract the JSON result from an HTML page without rendering or running the page.

    Args:
        text: HTML source of the page.

    Raises:
        ValueError: If the page does not contain exactly one result.
    """
    if text.count(OPENING) != 1:
        raise ValueError("the page is not a dpjax report: it contains no result.")
    return unescape(text.partition(OPENING)[2].partition(CLOSING)[0])


def result_text(result: "JsonObject") -> str:
    """Return a result as JSON, with one line per entry and each innermost list on one line."""
    text = json.dumps(result, indent=2, allow_nan=False)
    return re.sub(r"\[[^\[\]{}\"]*\]", lambda found: " ".join(found[0].split()), text)
