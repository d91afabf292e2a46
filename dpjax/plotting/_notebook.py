"""Figures that a notebook shows as images, without a magic command."""

import io

from matplotlib.figure import Figure

_SHOWN_DPI = 100
"""Pixels per inch on the page. The image itself has more, so that it is sharp on any screen."""


class NotebookFigure(Figure):
    """A figure that is shown as an image at the end of a cell.

    Notebooks show figures of matplotlib only after `%matplotlib inline`, or after an import of
    pyplot. Figures of dpjax are made without pyplot.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the image and its width and height on the page, in pixels."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        width, height = (round(_SHOWN_DPI * inches) for inches in self.get_size_inches())
        return buffer.getvalue(), {"width": width, "height": height}
