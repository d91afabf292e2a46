"""Figures that a notebook shows as images without a magic command such as `%matplotlib`."""

import io

from matplotlib.figure import Figure

_SHOWN_DPI = 100
"""Pixels per inch at which a figure is shown; the image has more pixels, to be sharp."""


class NotebookFigure(Figure):
    """A figure that a notebook shows as an image at the end of a cell.

    Notebooks show other figures of matplotlib only after `%matplotlib inline`, or after an import
    of pyplot, which dpjax never imports.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the image, with the width and height at which it is shown, in pixels."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        width, height = (round(_SHOWN_DPI * inches) for inches in self.get_size_inches())
        return buffer.getvalue(), {"width": width, "height": height}
