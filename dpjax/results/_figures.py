"""Figures of a result: of every notion, of the outputs, or of the levels alone."""

from typing import TYPE_CHECKING

from dpjax.results._parts import Parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpjax.plotting import Claimed, Errors, Outputs


def levels_figure(result: Parts) -> "Figure":
    """The bounds, the estimate and the claim on one line."""
    from dpjax.plotting import plot_levels

    stated = result.statement
    claim = stated.claim if isinstance(stated.claim, float) else None
    numbers = stated.lower_bound, stated.upper_bound, stated.estimate, claim
    title, sure = f"{result.mechanism}: {result.verdict}", f"confidence {stated.confidence:g}"
    return plot_levels(title, stated.level, *numbers, sure)


def outputs_figure(result: Parts) -> "Figure":
    """The outputs and their loss with the witness; the levels where there is no curve."""
    from dpjax.plotting import plot_outputs

    shown = _outputs(result)
    return levels_figure(result) if shown is None else plot_outputs(_title(result), shown)


def trade_off_figure(result: Parts) -> "Figure":
    """False alarms and misses of tests: the claim, the bound or band, and the witness."""
    from dpjax.plotting import plot_trade_off

    return plot_trade_off(_title(result), _errors(result))


def figure_of(result: Parts) -> "Figure":
    """The trade-off with the outputs at its side; the levels where neither can be drawn."""
    from dpjax.plotting import plot_overview

    if not has_trade_off(result):
        return outputs_figure(result)
    return plot_overview(_title(result), _errors(result), _outputs(result))


def notions_figure(result: Parts, *, stacked: bool = False) -> "Figure | None":
    """Profile, trade-off curve and Renyi divergences; None where one question was answered.

    Args:
        result: Result of an audit.
        stacked: Whether the panels lie below each other, or in a row.
    """
    from dpjax.plotting import Claimed, plot_notions

    stated, witness = result.statement, result.witness
    band = result.evidence.counted.simultaneous(stated.own_confidence)
    if band is None:
        return None
    notion, pair = result.notion, "" if witness is None else f" ({witness.pair})"
    # A claim is of one record, and curves are of the pair.
    claim = stated.claim if result.recipe["distance"] == 1 else None
    kind, order = None if claim is None else notion.name, getattr(notion, "order", None)
    claimed = Claimed(kind, claim, notion.delta, order)
    sure = f"confidence {stated.confidence:g}, all of them together"
    title = f"{result.mechanism}{pair}: bounds with {sure}"
    return plot_notions(band, title, claimed, stacked=stacked)


def _title(result: Parts) -> str:
    pair = "" if result.witness is None else f" ({result.witness.pair})"
    return f"{result.mechanism}: {result.verdict}{pair}"


def _outputs(result: Parts) -> "Outputs | None":
    """What is drawn of outputs; None where there is no curve."""
    from dpjax.plotting import Marks, Outputs

    witness, observed, curve = result.witness, result.evidence, result.evidence.curve
    if curve is None or witness is None:
        return None
    # A level other than epsilon is no loss.
    marks = None
    if result.notion.takes_delta:
        claim = result.claim if isinstance(result.claim, int | float) else None
        marks = Marks(witness.output, result.estimate, result.lower_bound, claim)
    score, discrete = observed.settings.get("score"), witness.bandwidth is None
    return Outputs(curve, marks, discrete, observed.num_samples, score and score["words"])


def _errors(result: Parts) -> "Errors":
    """What is drawn of tests that tell the two databases apart."""
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
    """A level of one record as one of the pair; no level where that is not known."""
    from dpjax.plotting import Claimed

    notion, distance = result.notion, result.recipe["distance"]
    if distance > 1:
        scales = notion.name == "gdp" or (notion.name == "epsilon" and notion.delta == 0)
        level = level * distance if scales and isinstance(level, float) else None
    kind, order = None if level is None else notion.name, getattr(notion, "order", None)
    return Claimed(kind, level, notion.delta, order)


def has_trade_off(result: Parts) -> bool:
    """Whether there is a line or a point to be drawn."""
    shown = _errors(result)
    return shown.seen is not None or shown.claim.kind is not None
