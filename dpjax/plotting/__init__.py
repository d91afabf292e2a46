"""Figures drawn from plain arrays and numbers; matplotlib is imported when a figure is drawn."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpjax.plotting._canvas import DATABASE as DATABASE
    from dpjax.plotting._canvas import NEIGHBOR as NEIGHBOR
    from dpjax.plotting._canvas import QUIET as QUIET
    from dpjax.plotting._canvas import SERIES as SERIES
    from dpjax.plotting._canvas import WIDTH as WIDTH
    from dpjax.plotting._canvas import check_figure_path as check_figure_path
    from dpjax.plotting._canvas import legend_above as legend_above
    from dpjax.plotting._canvas import legend_within as legend_within
    from dpjax.plotting._canvas import literal as literal
    from dpjax.plotting._canvas import new_figure as new_figure
    from dpjax.plotting._canvas import save_figure as save_figure
    from dpjax.plotting._canvas import unboxed as unboxed
    from dpjax.plotting._claimed import Claimed as Claimed
    from dpjax.plotting._levels import plot_levels as plot_levels
    from dpjax.plotting._notions import notion_panels as notion_panels
    from dpjax.plotting._notions import plot_notions as plot_notions
    from dpjax.plotting._outputs import Marks as Marks
    from dpjax.plotting._outputs import Outputs as Outputs
    from dpjax.plotting._outputs import draw_densities as draw_densities
    from dpjax.plotting._outputs import draw_outcomes as draw_outcomes
    from dpjax.plotting._outputs import plot_outputs as plot_outputs
    from dpjax.plotting._overview import plot_overview as plot_overview
    from dpjax.plotting._strips import strips_of as strips_of
    from dpjax.plotting._svg import figure_svg as figure_svg
    from dpjax.plotting._svg import svg_if_possible as svg_if_possible
    from dpjax.plotting._trade_off import Errors as Errors
    from dpjax.plotting._trade_off import Seen as Seen
    from dpjax.plotting._trade_off import plot_trade_off as plot_trade_off
    from dpjax.plotting._wealth import plot_wealth as plot_wealth
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
