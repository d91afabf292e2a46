"""Figures of a result: of every notion, of the outputs, or of the levels alone."""

from typing import TYPE_CHECKING

from dpjax.results._parts import Parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    from dpjax.plotting import Marks, plot_outputs

    witness, observed, curve = result.witness, result.evidence, result.evidence.curve
    if curve is None or witness is None:
        return levels_figure(result)
    # A level other than epsilon is no loss.
    marks = None
    if result.notion.takes_delta:
        claim = result.claim if isinstance(result.claim, int | float) else None
        marks = Marks(witness.output, result.estimate, result.lower_bound, claim)
    title, score = f"{result.mechanism}: {result.verdict}", observed.settings.get("score")
    return plot_outputs(
        f"{title} ({witness.pair})",
        curve,
        marks,
        discrete=witness.bandwidth is None,
        num_samples=observed.num_samples,
        score=score and score["words"],
    )


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


def figure_of(result: Parts) -> "Figure":
    """The figure that tells most."""
    return notions_figure(result) or outputs_figure(result)
