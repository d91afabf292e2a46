"""Figures that a notebook shows as images without a magic command such as `%matplotlib`."""

import io

from matplotlib.figure import Figure

_SHOWN_DPI = 100
"""Pixels per inch at which a figure is displayed; the image itself has a higher resolution."""


class NotebookFigure(Figure):
    """A figure that a notebook shows as an image at the end of a cell.

    Notebooks show other matplotlib figures only after `%matplotlib inline` or an import of pyplot.
    dpjax never imports pyplot.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the PNG image, and the width and height in pixels at which to display it."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        width, height = (round(_SHOWN_DPI * inches) for inches in self.get_size_inches())
        return buffer.getvalue(), {"width": width, "height": height}
