"""Figures of plain results; matplotlib is loaded when one is drawn."""

from dpjax.plotting._audit import as_plain as as_plain
from dpjax.plotting._audit import density_panel as density_panel
from dpjax.plotting._audit import loss_panel as loss_panel
from dpjax.plotting._audit import plot_audit as plot_audit
from dpjax.plotting._canvas import WIDTH as WIDTH
from dpjax.plotting._canvas import check_figure_path as check_figure_path
from dpjax.plotting._canvas import legend_above as legend_above
from dpjax.plotting._canvas import new_figure as new_figure
from dpjax.plotting._canvas import save_figure as save_figure
from dpjax.plotting._levels import plot_levels as plot_levels
from dpjax.plotting._levels import plot_result as plot_result
from dpjax.plotting._notions import has_chain as has_chain
from dpjax.plotting._notions import plot_notions as plot_notions
from dpjax.plotting._svg import figure_svg as figure_svg
from dpjax.plotting._svg import svg_if_possible as svg_if_possible
