"""Figures of a result: trade-off curve, outputs, levels, all notions, and the wealth of bets."""

from typing import TYPE_CHECKING

from dpjax.core.wording import confidence_text
from dpjax.results._shortcuts import Parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpjax.inference import Band
    from dpjax.plotting import Claimed, Errors, Outputs


def levels_figure(result: Parts, *, titled: bool = True) -> "Figure":
    """Draw the bounds, the estimate and the claim on one number line."""
    from dpjax.plotting import plot_levels

    stated = result.statement
    claim = stated.claim if isinstance(stated.claim, float) else None
    numbers = stated.lower_bound, stated.upper_bound, stated.estimate, claim
    title = f"{result.mechanism}: {result.verdict}" if titled else ""
    sure = f"confidence {confidence_text(stated.confidence)}"
    return plot_levels(title, stated.level, *numbers, sure)


def outputs_figure(result: Parts, *, titled: bool = True) -> "Figure":
    """Draw the outputs, their loss and the witness; without a loss curve, draw only the levels."""
    from dpjax.plotting import plot_outputs

    shown = _outputs(result)
    if shown is None:
        return levels_figure(result, titled=titled)
    return plot_outputs(_title(result) if titled else "", shown)


def has_band(result: Parts) -> bool:
    """Return whether `outputs_figure` draws the losses with a confidence band."""
    shown = _outputs(result)
    return shown is not None and shown.banded()


def has_losses(result: Parts) -> bool:
    """Return whether `outputs_figure` draws the privacy loss of at least one output."""
    shown = _outputs(result)
    return shown is not None and shown.has_losses()


def trade_off_figure(result: Parts) -> "Figure":
    """Draw the claim, the bound or band, and the witness in a trade-off plot without a title."""
    from dpjax.plotting import plot_trade_off

    return plot_trade_off("", _errors(result))


def figure_of(result: Parts) -> "Figure":
    """Plot the trade-off next to the outputs; omit a plot if there are no data for it."""
    from dpjax.plotting import plot_overview

    if not has_trade_off(result):
        return outputs_figure(result)
    return plot_overview(_title(result), _errors(result), _outputs(result))


def notions_figure(result: Parts) -> "Figure | None":
    """Draw the bounds for all notions; return None if no chain of nested events was counted."""
    from dpjax.plotting import plot_notions

    shown = _of_every_notion(result)
    if shown is None:
        return None
    pair = "" if result.witness is None else f" ({result.witness.pair})"
    sure = f"joint confidence {confidence_text(result.confidence)}"
    return plot_notions(shown[0], f"{result.mechanism}{pair}: bounds with {sure}", shown[1])


def notions_figures(result: Parts) -> "dict[str, Figure]":
    """Draw each panel of `notions_figure`; return {} if no chain of nested events was counted."""
    from dpjax.plotting import notion_panels

    shown = _of_every_notion(result)
    return {} if shown is None else notion_panels(*shown)


def _of_every_notion(result: Parts) -> "tuple[Band, Claimed] | None":
    """Return the confidence band for nested events, and the claim; None if no chain was counted."""
    from dpjax.plotting import Claimed

    stated = result.statement
    band = result.evidence.counted.simultaneous(stated.own_confidence)
    if band is None:
        return None
    notion = result.notion
    # The claim refers to databases that differ in one record, but the curves refer to the pair's
    # databases.
    claim = stated.claim if result.recipe["distance"] == 1 else None
    kind, order = None if claim is None else notion.name, getattr(notion, "order", None)
    return band, Claimed(kind, claim, notion.delta, order)


def wealth_figure(result: Parts, *, titled: bool = True) -> "Figure | None":
    """Plot the wealth of the bets over the draws; return None if the audit was not sequential."""
    from dpjax.plotting import plot_wealth

    history = result.evidence.counted.history()
    if history is None:
        return None
    title = f"{result.mechanism}: {result.verdict}" if titled else ""
    return plot_wealth(title, *history, result.statement.level)


def _title(result: Parts) -> str:
    pair = "" if result.witness is None else f" ({result.witness.pair})"
    return f"{result.mechanism}: {result.verdict}{pair}"


def _outputs(result: Parts) -> "Outputs | None":
    """Return the data for the panels of outputs; None if there is no loss curve or no witness."""
    from dpjax.plotting import Marks, Outputs

    witness, observed, curve = result.witness, result.evidence, result.evidence.curve
    if curve is None or witness is None:
        return None
    # Only epsilon is a privacy loss, so other levels cannot be marked in a plot of losses.
    marks = None
    if result.notion.takes_delta:
        claim = result.claim if isinstance(result.claim, int | float) else None
        marks = Marks(witness.output, result.estimate, result.lower_bound, claim)
    score, discrete = observed.settings.get("score"), witness.bandwidth is None
    return Outputs(curve, marks, discrete, observed.num_samples, score and score["words"])


def _errors(result: Parts) -> "Errors":
    from dpjax.plotting import Errors, Seen

    stated, witness = result.statement, result.witness
    counted = result.evidence.counted
    claim = stated.claim
    said = f"claim {claim:g}" if isinstance(claim, int | float) else "claimed curve"
    seen = None
    if witness is not None and witness.event_counts is not None:
        sure = stated.own_confidence if counted.planned else None
        larger = 0 if witness.larger == "database" else 1
        words = isinstance(witness.output, str) or witness.event is None
        event = f"the output is {witness.output}" if words else str(witness.event)
        seen = Seen(witness.event_counts, result.evidence.trials, larger, event, sure)
    return Errors(
        _of_pair(result, claim),
        _of_pair(result, stated.lower_bound if stated.curve is None else None),
        said,
        f"lower bound {stated.lower_bound:.3f}",
        seen,
        counted.simultaneous(stated.own_confidence),
    )


def _of_pair(result: Parts, level: float | list[list[float]] | None) -> "Claimed":
    """Convert a level for databases that differ in one record to a level for the audited pair.

    If the notion has no such conversion, the level is omitted.
    """
    from dpjax.plotting import Claimed

    notion, distance = result.notion, result.recipe["distance"]
    if distance > 1:
        scales = notion.name == "gdp" or (notion.name == "epsilon" and notion.delta == 0)
        level = level * distance if scales and isinstance(level, float) else None
    kind, order = None if level is None else notion.name, getattr(notion, "order", None)
    return Claimed(kind, level, notion.delta, order)


def has_trade_off(result: Parts) -> bool:
    """Return whether a trade-off plot of the result would show a claim or a witness."""
    shown = _errors(result)
    return shown.seen is not None or shown.claim.kind is not None
