"""Figures without a display, and files that are written whole or not at all."""

import io
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from dpjax.core.errors import needs, neutral
from dpjax.core.files import refuse_unwritable, write_whole

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DATABASE, NEIGHBOR, LOSS = "#1b6ca8", "#d1603d", "#3b3b3b"
EVENT, CLAIM = "#e3c565", "#2e8b57"

LINE = 54
"""Characters of a line of text."""

_LONGEST = 100
"""Most characters of a text beside a figure."""

_LABEL = 40
"""Most characters of a label in a legend."""

_BESIDE = 24
"""Most characters of labels that stand beside each other."""

_FORMATS = (".png", ".svg", ".pdf")

WIDTH = 4.6
"""Width in inches of a figure that can be read at 400 pixels."""


def new_figure(
    num_rows: int = 1, num_columns: int = 1, *, size: tuple[float, float]
) -> "tuple[Figure, Any]":
    """A figure and its axes, independent of any display.

    Args:
        num_rows: Rows of panels.
        num_columns: Columns of panels.
        size: Width and height in inches.

    Returns:
        (figure, axes), as `matplotlib.figure.Figure.subplots` shapes them.

    Raises:
        ModuleNotFoundError: matplotlib is missing; the message says how to get it.
    """
    figure = blank_figure(size)
    return figure, figure.subplots(num_rows, num_columns)


def blank_figure(size: tuple[float, float]) -> "Figure":
    """A figure without panels, of a width and height in inches; raises as `new_figure` does."""
    needs("figures", "plot", "matplotlib")
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained", dpi=150)


def legend_above(axes: "Axes", entries: "dict[str, Artist] | None" = None, title: str = "") -> None:
    """A legend between a panel and what is above it, where it hides no data and nothing cuts it.

    Args:
        axes: The panel.
        entries: Label -> what is drawn; all that has a label in the panel if None.
        title: Title of the panel, in words.
    """
    if entries is None:
        handles, labels = axes.get_legend_handles_labels()
        entries = dict(zip(labels, handles, strict=True))
    if not entries:
        axes.set_title(title, fontsize="medium", loc="left")
        return
    axes.legend(
        entries.values(),
        [shorten(label, _LABEL) for label in entries],
        title=title or None,
        title_fontproperties={"weight": "bold"},
        alignment="left",
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        ncols=2 if max(map(len, entries)) <= _BESIDE else 1,
        columnspacing=1.0,
        handlelength=1.5,
        fontsize=9,
        frameon=False,
    )


def shorten(text: str, most: int) -> str:
    """A text, or its beginning."""
    return text if len(text) <= most else f"{text[:most]}…"


def literal(text: str) -> str:
    """A foreign text, or its beginning, without formulas and control characters."""
    text = neutral(text)
    return shorten(text, _LONGEST).replace("$", r"\$")


def titled(figure: "Figure", title: str, line: int = LINE) -> "Figure":
    """The figure, with a title in lines of that many characters."""
    figure.suptitle(fill(literal(title), line), fontsize="medium")
    return figure


def save_figure(figure: "Figure", path: str | Path) -> Path:
    """Writes a figure to a file; the file appears only once it is complete.

    Args:
        figure: A matplotlib figure.
        path: Name that ends in .png, .svg or .pdf.

    Returns:
        The path.

    Raises:
        ValueError: Another ending.
        OSError: The folder is missing or cannot be written to.
    """
    path = check_figure_path(path)
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix.lower()[1:])
    write_whole({path: content.getvalue()})
    return path


def check_figure_path(path: str | Path) -> Path:
    """The path, if a figure can be written to it; raises as `save_figure` does."""
    path = Path(path)
    if path.suffix.lower() not in _FORMATS:
        raise ValueError(f"plot file must end in one of {', '.join(_FORMATS)}, but was {path}.")
    needs("figures", "plot", "matplotlib")
    refuse_unwritable("plot file", path)
    return path
