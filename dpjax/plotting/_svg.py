"""Figures inside pages: SVG that people without sight, a dark screen and a printer can use."""

import io
import re
import secrets
from collections.abc import Callable
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from dpjax.core.errors import neutral
from dpjax.plotting._canvas import CLAIM, DATABASE, EVENT, LOSS, NEIGHBOR

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = TypeVar("Result")

_INK = {LOSS: "currentColor", "#000000": "currentColor"}
_NAMES = {DATABASE: "database", NEIGHBOR: "neighbor", CLAIM: "claim", EVENT: "event"}

COLORS = _INK | {color: f"var(--dpjax-{name}, {color})" for color, name in _NAMES.items()}
"""Color of a figure -> what a page may change; without a word of the page it is as it was."""


def figure_svg(figure: "Figure", name: str, title: str, description: str) -> str:
    """A matplotlib figure as one `svg` element, with its texts as texts.

    Args:
        figure: Figure of `new_figure`.
        name: Name of the figure in its page, letters alone: ids begin with it.
        title: What it is called.
        description: What can be seen in it, in words.

    Returns:
        The element. It has no background, and the colors of `COLORS`.
    """
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    found = re.search(r'<svg[^>]*viewBox="([^"]+)"[^>]*>(.*)</svg>', text, re.S)
    assert found is not None
    # Marks of styles and of matplotlib, which say nothing in a page.
    drawn = re.sub(
        r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", found[2], flags=re.S
    )
    # Change tags alone: labels are foreign texts, with < and > escaped.
    drawn = re.sub(r"<[^<>]*>", lambda tag: _of_page(tag[0], name), drawn)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{found[1]}" role="img" aria-labelledby="{name}-title {name}-description" '
        'fill="currentColor" stroke-linejoin="round" font-family="DejaVu Sans, Verdana" '
        'style="width: 100%; height: auto">'
        f'<title id="{name}-title">{escape(neutral(title))}</title>'
        f'<desc id="{name}-description">{escape(neutral(description))}</desc>{drawn}</svg>'
    )


def _of_page(tag: str, name: str) -> str:
    """A tag with ids of its own and colors of the page."""
    tag = re.sub(r'(?<=\sid=")|(?<=url\(#)|(?<=href="#)', f"{name}-", tag)
    # The family is said once; matplotlib 3.11 writes it apart from the size.
    tag = re.sub(r"font-family: [^;\"]*;? ?", "", tag)
    tag = re.sub(r"font: (?:(bold) )?([\d.]+)px [^;\"]*", _font, tag)
    for color, changed in COLORS.items():
        tag = tag.replace(color, changed)
    return tag


def _font(found: re.Match[str]) -> str:
    weight = "; font-weight: bold" if found[1] else ""
    return f"font-size: {found[2]}px{weight}"


def svg_if_possible(
    draw: "Callable[[Result], Figure]", result: Result, title: str, description: str
) -> str | None:
    """The figure of a result for a notebook; None where matplotlib is missing.

    Args:
        draw: result -> figure.
        result: Result to be drawn.
        title: As in `figure_svg`.
        description: As in `figure_svg`.
    """
    if find_spec("matplotlib") is None:
        return None
    # A notebook shows many results in one page, whose ids must differ.
    name = f"dpjax-{secrets.token_hex(4)}"
    return figure_svg(draw(result), name, title, description)
