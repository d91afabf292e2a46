"""Functions that create, style, label and save figures without a display."""

import io
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from dpjax.core.errors import needs, neutral
from dpjax.core.files import path_to_write, write_whole

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DATABASE, NEIGHBOR, LOSS = "#1b6ca8", "#b84a26", "#3b3b3b"
EVENT, CLAIM = "#e3c565", "#237a4b"
QUIET = "#666b70"
# All of these colors except EVENT are also used for text, so their contrast with white is at least
# 4.5.

SIDES = ((DATABASE, "database"), (NEIGHBOR, "neighbor"))
"""Color and display name of each side of a pair; the first side is the database."""

LINE = 48
"""Maximum number of characters per line of text in a figure of width `WIDTH`."""

SMALL = 9
"""Font size, in points, of labels and legends."""

SERIES = ("#1f7fc4", "#d1571b", "#2e8b57", "#a763c4", "#97701a", "#d2467f")
"""Colors of lines without a fixed meaning; visible on both a white and a dark page."""

_LONGEST = 100
"""Maximum length, in characters, of an untrusted text; longer texts are cut off."""

_LABEL = 40

_BESIDE, _ROW = 24, 34
"""Limits, in characters, that determine the number of columns in a legend.

If a label is longer than `_BESIDE`, a legend has one column. Otherwise, it has three columns if the
total length of all labels is at most `_ROW`, and two columns if not.
"""

_FORMATS = (".png", ".svg", ".pdf")

WIDTH = 4.2
"""Default width of a figure in inches; text stays legible if the figure is 400 pixels wide."""


def new_figure(
    num_rows: int = 1, num_columns: int = 1, *, size: tuple[float, float]
) -> "tuple[Figure, Any]":
    """Return a figure and its axes; no display is needed.

    Args:
        num_rows: Number of rows of panels.
        num_columns: Number of columns of panels.
        size: Width and height of the figure, in inches.

    Returns:
        The figure, and its axes as returned by `matplotlib.figure.Figure.subplots`.

    Raises:
        ModuleNotFoundError: If matplotlib is not installed; the message says how to install it.
    """
    figure = blank_figure(size)
    return figure, figure.subplots(num_rows, num_columns)


def blank_figure(size: tuple[float, float]) -> "Figure":
    """Return a figure without panels.

    Args:
        size: Width and height of the figure, in inches.

    Raises:
        ModuleNotFoundError: If matplotlib is not installed.
    """
    needs("figures", "plot", "matplotlib")
    from dpjax.plotting._notebook import NotebookFigure

    return NotebookFigure(figsize=size, layout="constrained", dpi=150)


def legend_above(axes: "Axes", *, raised: bool = False) -> None:
    """Place a legend above a panel, so that the legend hides no data and is not clipped.

    Args:
        axes: Panel to draw in. If no artist has a label, the panel gets no legend.
        raised: Whether to leave room for one line of text between the panel and the legend.
    """
    entries = _entries(axes)
    if not entries:
        return
    beside = max(map(len, entries)) <= _BESIDE
    _legend(
        axes,
        entries,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=1.5 if raised else 0.2,
        ncols=min(len(entries), 3 if sum(map(len, entries)) <= _ROW else 2) if beside else 1,
    )


def legend_within(axes: "Axes", corner: str, title: str = "") -> None:
    """Place a legend in an empty corner of a panel.

    Args:
        axes: Panel to draw in.
        corner: Corner of the panel, such as "upper right".
        title: Title of the panel.
    """
    axes.set_title(title, fontsize=10, loc="left", weight="bold")
    right = corner.endswith("right")
    if entries := _entries(axes):
        side = "right" if right else "left"
        _legend(axes, entries, loc=corner, markerfirst=not right, alignment=side)


def _entries(axes: "Axes") -> "dict[str, Artist]":
    handles, labels = axes.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def _legend(axes: "Axes", entries: "dict[str, Artist]", **where: Any) -> None:
    """Place a frameless legend whose labels have the colors of their artists."""
    legend = axes.legend(
        entries.values(),
        [shorten(label, _LABEL) if "\n" not in label else label for label in entries],
        **{"alignment": "left", **where},
        columnspacing=1.0,
        handlelength=1.4,
        handletextpad=0.5,
        labelspacing=0.35,
        fontsize=SMALL,
        frameon=False,
    )
    for text, artist in zip(legend.get_texts(), entries.values(), strict=True):
        text.set_color(_ink(artist))


def _ink(artist: Any) -> str:
    """Return the color of an artist's label: the artist's color, made opaque.

    The colors `EVENT` and `SERIES` are too light for text, so labels of artists in these colors get
    the dark gray `LOSS`.
    """
    from matplotlib.colors import to_hex

    if hasattr(artist, "patches"):
        artist = artist.patches[0]
    if not hasattr(artist, "get_color"):
        color = artist.get_facecolor()
        color = to_hex(color[0] if getattr(color, "ndim", 1) == 2 else color)
        if hasattr(artist, "get_fill") and not artist.get_fill():
            color = to_hex(artist.get_edgecolor())
    else:
        color = to_hex(artist.get_color())
    return LOSS if color in (EVENT, "#000000", *SERIES) else color


def shorten(text: str, most: int) -> str:
    """Shorten a string to a maximum number of characters."""
    return text if len(text) <= most else f"{text[:most]}…"


def literal(text: str) -> str:
    """Shorten an untrusted text, and neutralize control characters and TeX formulas in it."""
    text = neutral(text)
    return shorten(text, _LONGEST).replace("$", r"\$")


def titled(figure: "Figure", title: str, line: int = LINE) -> "Figure":
    """Add a title to a figure, wrapped at `line` characters, and return the figure.

    If the title is empty, the figure is not changed.
    """
    if title:
        figure.suptitle(fill(literal(title), line), fontsize=11, x=0.01, ha="left")
    return figure


def unboxed(axes: "Axes") -> None:
    """Hide the top and right borders of a panel."""
    axes.spines[["top", "right"]].set_visible(False)


def save_figure(figure: "Figure", path: str | Path) -> Path:
    """Write a figure to a file; the file appears only when its content is complete.

    Args:
        figure: A matplotlib figure.
        path: File name that ends in .png, .svg or .pdf.

    Returns:
        The path of the written file.

    Raises:
        ValueError: If the file name does not end in .png, .svg or .pdf.
        OSError: If the file's folder does not exist or is not writable.
    """
    path = check_figure_path(path)
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix.lower()[1:])
    write_whole({path: content.getvalue()})
    return path


def check_figure_path(path: str | Path) -> Path:
    """Validate and return the path of a figure file; raise the same errors as `save_figure`."""
    needs("figures", "plot", "matplotlib")
    return path_to_write("plot file", path, _FORMATS)
