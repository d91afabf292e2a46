"""The panels of Figures 4 and 5: empirical distribution functions of lower bounds.

References:
    Askin, Kutta, Dette (2022), Figures 4 and 5.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

_COLORS = ("#1b6ca8", "#d1603d", "#2e8b57", "#7b4ea3")


def ecdf_panel(
    axes: Any,
    bounds: Mapping[str, ArrayLike],
    levels: Mapping[str, float],
    *,
    confidence: float = 0.95,
) -> None:
    """Draw empirical distribution functions of lower bounds, each with a line at its level.

    Args:
        axes: Matplotlib axes.
        bounds: Map from the name of a curve to its lower bounds, one per run.
        levels: Map from the name of a curve to the position of its dashed vertical line.
        confidence: Position of the horizontal line.
    """
    for (name, values), color in zip(bounds.items(), _COLORS, strict=False):
        axes.ecdf(np.asarray(values, float), color=color, label=name, linewidth=1.4)
        axes.axvline(levels[name], color=color, linestyle="--", linewidth=0.9)
    axes.axhline(confidence, color="#3b3b3b", linestyle=":", linewidth=0.9)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.2)
