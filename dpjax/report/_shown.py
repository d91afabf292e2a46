"""Base class for results that can be plotted, reported, serialized and shown in a notebook."""

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dpjax.core.files import write_whole
from dpjax.core.types import JsonObject
from dpjax.plotting import check_figure_path, save_figure, svg_if_possible
from dpjax.report._files import check_report_path, render
from dpjax.report._notebook import notebook_html
from dpjax.report._page import Page, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Glance(NamedTuple):
    """Summary of a result for a notebook.

    Attributes:
        title: Title of the figure.
        verdict: Kind, headline and sentence of the verdict.
        rows: Rows of a table, each of which is a pair (name, text).
    """

    title: str
    verdict: Verdict
    rows: list[tuple[str, str]]


class Shown(ABC):
    """A result that can be displayed; subclasses provide the contents of the displays."""

    @abstractmethod
    def to_dict(self) -> JsonObject:
        """Return the result as nested dicts and lists, as in JSON."""

    @abstractmethod
    def _figure(self) -> "Figure":
        """Return the figure that `plot` shows."""

    @abstractmethod
    def _glance(self) -> Glance:
        """Return the summary for a notebook."""

    @abstractmethod
    def _document(self, path: Path) -> tuple[Page, dict[Path, str | bytes]]:
        """Return the page that `report` writes to `path`, and the content of additional files."""

    def _small_figure(self) -> "Figure":
        """Return a figure that is fast to draw, for a notebook."""
        return self._figure()

    def to_json(self, indent: int | None = 2) -> str:
        """Return the result as a JSON object, without NaN or infinity."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Plot the result (needs matplotlib).

        Args:
            path: Path of the figure's file (png, svg or pdf), or None to write no file.

        Returns:
            The matplotlib figure.
        """
        if path is not None:
            check_figure_path(path)
        figure = self._figure()
        if path is not None:
            save_figure(figure, path)
        return figure

    def report(self, path: str | Path) -> Path:
        """Write a self-contained report (needs jinja2).

        Args:
            path: Path of the report (html or md).

        Returns:
            The path of the report.
        """
        path = check_report_path(path)
        page, files = self._document(path)
        write_whole({**files, path: render(page, path.suffix.lower())})
        return path

    def _repr_html_(self) -> str:
        """Return HTML with the verdict, the numbers and, if matplotlib is installed, a figure."""
        title, verdict, rows = self._glance()
        svg = svg_if_possible(self._small_figure, title, verdict.sentence)
        return notebook_html(*verdict, rows, svg)
