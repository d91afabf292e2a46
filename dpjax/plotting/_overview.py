"""Figure of a result: the trade-off curve on the left, outputs and their losses on the right."""

from typing import TYPE_CHECKING

import numpy as np

from dpjax.plotting._canvas import LINE, WIDTH, blank_figure, titled
from dpjax.plotting._outputs import Outputs, fill_outputs
from dpjax.plotting._trade_off import Errors, draw_trade_off, plot_trade_off

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BESIDE, _LABELS = 3.2, 1.1
"""Widths, in inches, of the columns of panels to the right of the trade-off plot.

`_BESIDE` is the width of the first column. `_LABELS` is the width of the second column, which
shows outputs that are labels.
"""


def plot_overview(title: str, errors: Errors, outputs: Outputs | None) -> "Figure":
    """Plot the trade-off curve of a result, with smaller panels for its outputs on the right.

    Args:
        title: Title of the figure.
        errors: Data for the trade-off plot.
        outputs: Data for the panels that show outputs, or None if the result has no curve.

    Raises:
        ModuleNotFoundError: If matplotlib is not installed.
    """
    if outputs is None:
        return plot_trade_off(title, errors)
    strips = outputs.strips()
    columns = max(len(strips), 1)
    # The second column, if there is one, shows labels and needs less room.
    widths = [_BESIDE, *[_LABELS] * (columns - 1)]
    figure = blank_figure((WIDTH + sum(widths), WIDTH))
    ratios = (WIDTH, sum(widths))
    ((left, right),) = figure.subfigures(1, 2, squeeze=False, width_ratios=ratios)
    draw_trade_off(left.subplots(), errors)
    panels = right.subplots(2, columns, squeeze=False, width_ratios=widths)
    fill_outputs(np.transpose(panels), outputs, strips)
    return titled(figure, title, 2 * LINE)
