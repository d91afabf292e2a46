"""The figure of a result: the trade-off, and beside it the outputs with their loss."""

from typing import TYPE_CHECKING

import numpy as np

from dpjax.plotting._canvas import LINE, WIDTH, blank_figure, titled
from dpjax.plotting._outputs import Outputs, fill_outputs
from dpjax.plotting._trade_off import Errors, draw_trade_off, plot_trade_off

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PANEL = 2.5
"""Height in inches of a small panel."""


def plot_overview(title: str, errors: Errors, outputs: Outputs | None) -> "Figure":
    """Draws the trade-off of a result, and at its right, smaller, its outputs.

    Args:
        title: Title of the figure.
        errors: What is drawn of tests.
        outputs: What is drawn of outputs; None where there is no curve of them.

    Raises:
        ModuleNotFoundError: matplotlib is missing.
    """
    if outputs is None:
        return plot_trade_off(title, errors)
    strips = outputs.strips()
    rows = 2 * max(len(strips), 1)
    figure = blank_figure((2 * WIDTH, max(_PANEL * rows, WIDTH + 0.9)))
    ((left, right),) = figure.subfigures(1, 2, squeeze=False)
    draw_trade_off(left.subplots(), errors)
    fill_outputs(np.reshape(right.subplots(rows, 1), (-1, 2)), outputs, strips)
    return titled(figure, title, 2 * LINE)
