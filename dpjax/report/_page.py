"""The structure of a report of any kind."""

import json
import re
from html import unescape
from typing import Any, NamedTuple

OPENING, CLOSING = '<pre id="dpjax-result" data-copy>', "</pre>"
"""Tags around the JSON of the result in a page."""


class Table(NamedTuple):
    """Rows of cells.

    Attributes:
        rows: Texts; the first of each row names it.
        head: Names of the columns, or none.
        numbers: Whether all cells but the first of a row are numbers.
    """

    rows: list[tuple[str, ...]]
    head: tuple[str, ...] = ()
    numbers: bool = True


class Figure(NamedTuple):
    """A picture.

    Attributes:
        caption: What it shows, in words.
        svg: The element, for a page of HTML.
        path: Of a file beside the page, for Markdown.
    """

    caption: str
    svg: str = ""
    path: str = ""


class Section(NamedTuple):
    """A part of a page under its own heading; what is empty is left out.

    Attributes:
        title: The heading.
        paragraphs: Of plain text.
        figures: Pictures.
        table: Rows.
        items: Of a list.
        codes: (what it is, text) of what can be copied.
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    table: Table | None = None
    items: tuple[str, ...] = ()
    codes: tuple[tuple[str, str], ...] = ()


class Verdict(NamedTuple):
    """What a page says first.

    Attributes:
        kind: "violated", "not refuted", "no claim", "assumption refuted", "doubtful" or
            "estimate": its shape and color.
        headline: In a few words.
        sentence: In whole.
    """

    kind: str
    headline: str
    sentence: str


class Page(NamedTuple):
    """A report.

    Attributes:
        title: The heading.
        verdict: What is said first.
        sections: Everything else, in order.
        footer: Of whom and when.
        result: All that was found, as plain words and numbers.
    """

    title: str
    verdict: Verdict
    sections: tuple[Section, ...]
    footer: str
    result: dict[str, Any]


def result_of_page(text: str) -> str:
    """The JSON of the result that a page of HTML holds.

    It is cut out as text: nothing of the page is rendered or run.

    Args:
        text: The page.

    Raises:
        ValueError: The page holds no result, or several.
    """
    if text.count(OPENING) != 1:
        raise ValueError("the page is no report of dpjax: it holds no result.")
    return unescape(text.partition(OPENING)[2].partition(CLOSING)[0])


def result_text(result: dict[str, Any]) -> str:
    """JSON with one line for each entry, and for each innermost list of numbers."""
    text = json.dumps(result, indent=2, allow_nan=False)
    return re.sub(r"\[[^\[\]{}\"]*\]", lambda found: " ".join(found[0].split()), text)
