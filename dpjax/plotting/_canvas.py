"""Figures without a display, and files that are written whole or not at all."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpjax._errors import neutral
from dpjax._files import write_whole

_LONGEST = 100
"""Characters of a text that leave room for the figure."""

_FORMATS = (".png", ".svg", ".pdf")


def new_figure(
    num_rows: int = 1,
    num_columns: int = 1,
    *,
    size: tuple[float, float],
    widths: Sequence[float] | None = None,
) -> tuple:
    """A figure and its axes, independent of any display.

    Args:
        num_rows: Rows of panels.
        num_columns: Columns of panels.
        size: Width and height in inches.
        widths: Of the columns, in relation to each other; equal if None.

    Returns:
        (figure, axes), as `matplotlib.figure.Figure.subplots` shapes them.

    Raises:
        ModuleNotFoundError: matplotlib is missing; the message says how to get it.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("figures need matplotlib: pip install 'dpjax[plot]'.") from error
    figure = Figure(figsize=size, layout="constrained", dpi=150)
    return figure, figure.subplots(num_rows, num_columns, width_ratios=widths)


def plain(text: str) -> str:
    """A text of somebody else's, or its beginning: no formula, and no control characters."""
    text = neutral(text)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return text.replace("$", r"\$")


def save_figure(figure: Any, path: str | Path) -> Path:
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
    if not path.parent.is_dir():
        raise FileNotFoundError(f"plot file {path} is in a folder that does not exist.")
    return path
