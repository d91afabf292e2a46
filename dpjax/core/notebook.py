"""Tables of names and texts as a notebook shows them; they need no extra."""

from collections.abc import Iterable
from html import escape

from dpjax.core.errors import neutral

LEFT = 'style="text-align: left"'


def html_text(text: str) -> str:
    """A text that is nothing but text in HTML."""
    return escape(neutral(text))


def html_rows(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and texts."""
    cells = (
        f'<tr><th scope="row" {LEFT}>{html_text(name)}</th><td {LEFT}>{html_text(text)}</td></tr>'
        for name, text in rows
    )
    return f"<table>{''.join(cells)}</table>"


def html_titled(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table below its title."""
    return f"<div><strong>{html_text(title)}</strong>{html_rows(rows)}</div>"
