"""The eight algorithms of the local approach's experiments, with the paper's settings.

References:
    Askin, Kutta, Dette (2022), section V.
"""

from collections.abc import Callable
from typing import Any

from dpjax import Local, mechanisms
from dpjax.densities import Scott, Silverman
from dpjax.sweeps import Entry

SEED = 2022
"""Of all presets."""

LEVELS = (0.2, 0.7, 1.5)
"""The values of eps0 in the paper's figures."""

DATA_CENTRIC_LEVEL = 1.5
"""eps0 of Figures 5 and 6."""

EXPERIMENTS: dict[str, Callable[[float], Any]] = {
    "a": lambda level: mechanisms.Laplace(epsilon=level),
    "b": lambda level: mechanisms.ReportNoisyMax(epsilon=level),
    "c": lambda level: mechanisms.ContinuousNoisyMax(epsilon=level),
    "d": lambda level: mechanisms.Exponential(epsilon=level),
    "e": lambda level: mechanisms.SVT2(epsilon=level),
    "f": lambda level: mechanisms.SVT4.at_level(level),
    "g": lambda level: mechanisms.SVT5(epsilon=level),
    "h": lambda level: mechanisms.SVT6(epsilon=level),
}
"""Letter in the paper -> mechanism at a level eps0 (for g and h: at the level that is claimed)."""

_LARGE = frozenset("efgh")


def experiment(
    letter: str, epsilon: float, *, objective: str = "loss", num_runs: int = 1000
) -> Entry:
    """One of the paper's experiments.

    Args:
        letter: a (Laplace), b (Report Noisy Max), c (Continuous Noisy Max), d (Exponential),
            e (SVT2), f (SVT4 at its true level), g (SVT5) or h (SVT6).
        epsilon: eps0.
        objective: What the search maximises: "loss" as in the paper, with its bandwidth rule, or
            "lower-bound" with the package's own defaults.
        num_runs: Of the entry.
    """
    sizes = (100_000, 500_000, 1e-4) if letter in _LARGE else (20_000, 50_000, 1e-3)
    return Entry(
        mechanism=EXPERIMENTS[letter](epsilon),
        label=f"{letter} {epsilon:g}",
        num_runs=num_runs,
        method=Local(
            num_samples=sizes[0],
            num_confirm=sizes[1],
            floor=sizes[2],
            objective=objective,
            bandwidth=Silverman() if objective == "loss" else Scott(),
        ),
    )
