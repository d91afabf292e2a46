"""The figures of a result with their captions, as result pages and the site show them."""

from typing import TYPE_CHECKING, NamedTuple

from dpjax.results._figures import (
    has_band,
    has_losses,
    has_trade_off,
    notions_figures,
    outputs_figure,
    trade_off_figure,
    wealth_figure,
)
from dpjax.results._shortcuts import Parts
from dpjax.results._words import outputs_caption, trade_off_caption

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CAPTIONS = {
    "profile": "For each epsilon, a lower bound on delta.",
    "errors": "For each rate of false alarms, an upper bound on the best test's rate of misses.",
    "divergences": "For each order, a lower bound on the Renyi divergence.",
}


class Panel(NamedTuple):
    """A figure without a title, and its caption.

    Attributes:
        name: Name that no other panel of the result has. The ids in its SVG begin with this name.
        figure: The figure.
        caption: Caption, which also describes the figure to screen readers.
    """

    name: str
    figure: "Figure"
    caption: str


def panels(result: Parts) -> list[Panel]:
    """Return the panels for the audited notion: trade-off, outputs, and the wealth of bets."""
    found = []
    if has_trade_off(result):
        found.append(Panel("tests", trade_off_figure(result), trade_off_caption(result)))
    said = outputs_caption(result, banded=has_band(result), known=has_losses(result))
    found.append(Panel("outputs", outputs_figure(result, titled=False), said))
    if (way := wealth_figure(result, titled=False)) is not None:
        said = "The lower bound after each block of draws."
        if result.claim is not None:
            said = (
                "Wealth of the bets after each block of draws. The claim is refuted once the "
                "wealth reaches 1 / (error probability)."
            )
        found.append(Panel("wealth", way, said))
    return found


def panels_of_every_notion(result: Parts) -> list[Panel]:
    """Return the panels for all notions, or [] if no chain of nested events was counted."""
    return [
        Panel(name, figure, _CAPTIONS[name]) for name, figure in notions_figures(result).items()
    ]
