"""Figures as SVG elements for HTML pages, suited to screen readers, dark mode and print."""

import io
import re
import secrets
from collections.abc import Callable
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING

from dpjax.core.errors import neutral
from dpjax.plotting._canvas import CLAIM, DATABASE, EVENT, LOSS, NEIGHBOR, QUIET

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INK = {LOSS: "currentColor", "#000000": "currentColor"}
_NAMES = {
    DATABASE: "database",
    NEIGHBOR: "neighbor",
    CLAIM: "claim",
    EVENT: "event",
    QUIET: "quiet",
}

COLORS = _INK | {color: f"var(--dpjax-{name}, {color})" for color, name in _NAMES.items()}
"""CSS value that replaces each figure color, so that a page can choose its own colors."""


def figure_svg(figure: "Figure", name: str, title: str, description: str) -> str:
    """Convert a matplotlib figure to one `svg` element with selectable text.

    Args:
        figure: Figure created by `new_figure`.
        name: Name of the figure, unique within the page and used as a prefix of all ids.
        title: Title for screen readers.
        description: Description for screen readers.

    Returns:
        The `svg` element, without a background and with the CSS colors in `COLORS`.
    """
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    found = re.search(r'<svg[^>]*viewBox="([^"]+)"[^>]*>(.*)</svg>', text, re.S)
    assert found is not None
    # A page needs neither matplotlib's styles nor its metadata.
    drawn = re.sub(
        r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", found[2], flags=re.S
    )
    # Only tags are changed, not the text between them. Labels are untrusted text, but < and > in
    # labels are escaped.
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
    """Add the prefix `name` to the ids in a tag, and let the page set the tag's colors and font."""
    tag = re.sub(r'(?<=\sid=")|(?<=url\(#)|(?<=href="#)', f"{name}-", tag)
    # The svg element sets the font family for all text, so a tag needs none. Matplotlib 3.11 writes
    # the family separately from the font size.
    tag = re.sub(r"font-family: [^;\"]*;? ?", "", tag)
    tag = re.sub(r"font: (?:(bold) )?([\d.]+)px [^;\"]*", _font, tag)
    for color, changed in COLORS.items():
        tag = tag.replace(color, changed)
    return tag


def _font(found: re.Match[str]) -> str:
    weight = "; font-weight: bold" if found[1] else ""
    return f"font-size: {found[2]}px{weight}"


def svg_if_possible(draw: "Callable[[], Figure]", title: str, description: str) -> str | None:
    """Return a figure as SVG for a notebook, or None if matplotlib is not installed.

    Args:
        draw: Function that returns the figure.
        title: Title for screen readers.
        description: Description for screen readers.
    """
    if find_spec("matplotlib") is None:
        return None
    # A notebook may show many results on one page, so each figure needs a unique name.
    name = f"dpjax-{secrets.token_hex(4)}"
    return figure_svg(draw(), name, title, description)
