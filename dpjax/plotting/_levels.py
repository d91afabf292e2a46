"""What was found on one line: bound or interval, estimate and claim."""

from typing import TYPE_CHECKING

from dpjax.plotting._canvas import CLAIM, DATABASE, WIDTH, legend_above, literal, new_figure, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_levels(
    title: str,
    name: str,
    low: float,
    high: float | None,
    estimate: float | None,
    claim: float | None,
    sure: str,
) -> "Figure":
    """The lower bound, or an interval, with the estimate and the claim.

    Args:
        title: Title of the figure.
        name: What is bounded, in words.
        low: Lower bound.
        high: Upper bound, or None.
        estimate: Estimate of the level, or None.
        claim: Claimed level, or None.
        sure: Confidence of the bounds, in words.

    Raises:
        ModuleNotFoundError: matplotlib is missing.
    """
    figure, axes = new_figure(size=(WIDTH, 2.0))
    right = 1.15 * max(v for v in (low, high, estimate, claim, 0.1) if v is not None)
    label = f"at least {low:.3f} ({sure})" if high is None else f"interval ({sure})"
    axes.barh([0], [(right if high is None else high) - low], 0.4, low, color=DATABASE, alpha=0.4,
              label=label)  # fmt: skip
    if estimate is not None:
        axes.plot([estimate], [0], "o", color="black", label=f"estimate {estimate:.3f}")
    if claim is not None:
        axes.axvline(claim, color=CLAIM, label=f"claim {claim:g}")
    axes.set(xlim=(0, right), ylim=(-0.5, 0.5), yticks=[], xlabel=literal(name))
    legend_above(axes)
    return titled(figure, title)
