"""Figure that shows the bounds, the estimate and the claim for one privacy level."""

from typing import TYPE_CHECKING

from dpjax.plotting._canvas import (
    CLAIM,
    DATABASE,
    SMALL,
    literal,
    new_figure,
    titled,
    unboxed,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NARROW = 3.4
"""Width of the figure in inches; text stays legible beside a larger figure."""

_OTHER = {"left": "right", "right": "left", None: None}
_GAPS = {"left": 2, "right": -2, None: 0}
"""Map from a label's horizontal alignment to its offset, in points, from the marked value."""


def plot_levels(
    title: str,
    name: str,
    low: float,
    high: float | None,
    estimate: float | None,
    claim: float | None,
    sure: str,
) -> "Figure":
    """Plot the bounds on a privacy level, together with the estimate and the claim.

    Args:
        title: Title of the figure.
        name: Name of the level that is bounded, such as "epsilon".
        low: Lower bound.
        high: Upper bound, or None if there is no upper bound.
        estimate: Estimate of the level, or None if there is no estimate.
        claim: Claimed level, or None if there is no claim.
        sure: Confidence level of the bounds, as text.

    Raises:
        ModuleNotFoundError: If matplotlib is not installed.
    """
    figure, axes = new_figure(size=(_NARROW, 1.5))
    right = 1.15 * max(v for v in (low, high, estimate, claim, 0.1) if v is not None)
    end, said = (
        (right, f"at least {low:.3f}") if high is None else (high, f"{low:.3f} to {high:.3f}")
    )
    axes.barh([0], [end - low], 0.5, low, color=DATABASE, alpha=0.4)
    # The text starts at the middle of the bar and extends to the side with more room.
    inside = (end + low) / 2
    text = {"fontsize": SMALL, "va": "bottom", "color": DATABASE}
    axes.text(inside, 0.3, f"{said} ({sure})", ha=_side(inside, right), **text)
    # If there is a claim, the labels of the claim and of the estimate extend away from each other.
    away = None if claim is None or estimate is None else "right" if estimate < claim else "left"
    below = {"fontsize": SMALL, "va": "top", "textcoords": "offset points"}
    if estimate is not None:
        axes.plot([estimate], [0], "o", color="black", markersize=5)
        axes.annotate(f"estimate {estimate:.3f}", (estimate, -0.38), (_GAPS[away], 0),
                      ha=away or _side(estimate, right), **below)  # fmt: skip
    if claim is not None:
        away = _OTHER[away]
        axes.plot([claim, claim], [-0.35, 0.28], color=CLAIM, linewidth=1.6)
        axes.annotate(f"claim {claim:g}", (claim, -0.38), (_GAPS[away], 0), color=CLAIM,
                      ha=away or _side(claim, right), **below)  # fmt: skip
    axes.set(xlim=(0, right), ylim=(-0.8, 0.7), yticks=[], xlabel=literal(name))
    axes.spines["left"].set_visible(False)
    unboxed(axes)
    return titled(figure, title)


def _side(at: float, right: float) -> str:
    """Return the horizontal alignment that keeps text at position `at` inside the panel."""
    return "left" if at < 0.3 * right else "right" if at > 0.7 * right else "center"
