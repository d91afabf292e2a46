"""The eight algorithms of the local approach's experiments, with the paper's settings.

References:
    Askin, Kutta, Dette (2022), section V.
"""

from collections.abc import Callable
from typing import Any

from dpjax import _validate, mechanisms
from dpjax.densities import Scott, Silverman
from dpjax.methods.local import LocalSettings
from dpjax.sweeps._cell import Cell

LEVELS = (0.2, 0.7, 1.5)
"""The values of eps0 in the paper's figures."""

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
) -> Cell:
    """One of the paper's experiments.

    Args:
        letter: a (Laplace), b (Report Noisy Max), c (Continuous Noisy Max), d (Exponential),
            e (SVT2), f (SVT4 at its true level), g (SVT5) or h (SVT6).
        epsilon: eps0.
        objective: What the search maximises: "loss" as in the paper, with its bandwidth rule, or
            "lower-bound" with the package's own defaults.
        num_runs: Of the cell.

    Raises:
        ValueError: An unknown letter or objective, or epsilon <= 0.

    References:
        Askin, Kutta, Dette (2022), section V.
    """
    _validate.one_of(EXPERIMENTS, letter=letter)
    _validate.positive(epsilon=epsilon)
    sizes = (100_000, 500_000, 1e-4) if letter in _LARGE else (20_000, 50_000, 1e-3)
    return Cell(
        mechanism=EXPERIMENTS[letter](epsilon),
        label=f"{letter} {epsilon:g}",
        num_runs=num_runs,
        settings=LocalSettings(
            num_samples=sizes[0],
            num_confirm=sizes[1],
            floor=sizes[2],
            objective=objective,
            bandwidth=Silverman() if objective == "loss" else Scott(),
        ),
    )
