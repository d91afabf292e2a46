"""Plot of a sequential audit: the wealth of the bets, or the bound, after each block of draws."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpjax.plotting._canvas import CLAIM, DATABASE, WIDTH, legend_above, new_figure, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DECADE = 10


def plot_wealth(
    title: str,
    path: Sequence[tuple[int, float, float]],
    claim: float | None,
    refuted_from: float,
    name: str,
) -> "Figure":
    """Plot how the wealth of bets against a claim grows, and the wealth that refutes the claim.

    The horizontal axis shows the number of draws, and is logarithmic if the number grows by a
    factor of at least 10. If there is no claim, the plot shows the bound.

    Args:
        title: Title of the figure.
        path: One entry per block of draws. An entry consists of the number of draws per side so
            far, the bound, and the natural logarithm of the wealth of the bets against the claim.
        claim: The claim, or None if there is no claim.
        refuted_from: Natural logarithm of the wealth at which the claim is refuted.
        name: Name of the bounded level, such as "epsilon".

    Raises:
        ModuleNotFoundError: If matplotlib is not installed.
    """
    figure, axes = new_figure(size=(WIDTH, 2.6))
    draws, bounds, wealth = zip(*path, strict=True)
    if claim is None:
        axes.step(draws, bounds, where="post", color=DATABASE, label="bound after each block")
        axes.set_ylabel(name)
    else:
        axes.plot(draws, wealth, color=DATABASE, label=f"ln wealth of bets against {claim:g}")
        axes.axhline(refuted_from, color=CLAIM, label="ln (1 / error): refuted")
        crossed = next((at for at, _, won in path if won >= refuted_from), None)
        if crossed is not None:
            axes.plot([crossed], [refuted_from], "o", color="black", label=f"at {crossed:,} draws")
        axes.set_ylabel("ln wealth")
    # Ticks of a logarithmic axis that spans less than a decade are long and overlap.
    if draws[-1] >= _DECADE * draws[0]:
        axes.set_xscale("log")
    else:
        axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("draws per side, summed over all pairs")
    legend_above(axes)
    return titled(figure, title)
