"""The eight algorithms of the local approach's experiments, with the settings of the paper.

References:
    Askin, Kutta, Dette (2022), section V.
"""

from collections.abc import Callable
from typing import Any

from dpjax import Local, mechanisms
from dpjax.densities import Scott, Silverman
from dpjax.sweeps import Entry

SEED = 2022
"""Seed of all presets."""

LEVELS = (0.2, 0.7, 1.5)
"""The values of eps0 in the paper's figures."""

DATA_CENTRIC_LEVEL = 1.5
"""The value of eps0 in Figures 5 and 6."""

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
"""Map from a letter in the paper to a function of the level eps0 that returns the mechanism.

For g and h, eps0 is only the claimed level.
"""

_LARGE = frozenset("efgh")


def experiment(
    letter: str, epsilon: float, *, objective: str = "loss", num_runs: int = 1000
) -> Entry:
    """Return one of the paper's experiments.

    Args:
        letter: a (Laplace), b (Report Noisy Max), c (Continuous Noisy Max), d (Exponential),
            e (SVT2), f (SVT4 at its true level), g (SVT5) or h (SVT6).
        epsilon: Level eps0.
        objective: Quantity that the search maximizes: "loss" as in the paper, with the paper's
            bandwidth rule, or "lower-bound" with dpjax's default bandwidth.
        num_runs: Number of runs.
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
