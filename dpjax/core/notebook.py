"""HTML tables for notebooks, without optional dependencies."""

from collections.abc import Iterable
from html import escape

from dpjax.core.errors import neutral

LEFT = 'style="text-align: left"'


def html_text(text: str) -> str:
    """Escape text for HTML."""
    return escape(neutral(text))


def html_rows(rows: Iterable[tuple[str, str]]) -> str:
    """Return an HTML table with one row per pair (name, text)."""
    cells = (
        f'<tr><th scope="row" {LEFT}>{html_text(name)}</th><td {LEFT}>{html_text(text)}</td></tr>'
        for name, text in rows
    )
    return f"<table>{''.join(cells)}</table>"


def html_titled(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return an HTML table with a title above it."""
    return f"<div><strong>{html_text(title)}</strong>{html_rows(rows)}</div>"
