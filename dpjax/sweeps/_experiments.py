"""The eight algorithms of the local approach's experiments, with the paper's settings.

References:
    Askin, Kutta, Dette (2022), section V.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpjax import _random, _validate, mechanisms
from dpjax._batching import Execution, default_execution
from dpjax._join import bounds_of
from dpjax.databases import Pairs
from dpjax.densities import Scott, Silverman
from dpjax.estimators import LocalSettings, mpl_runs
from dpjax.inference import LocalBounds
from dpjax.loss import Region, as_region

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


@dataclass(frozen=True)
class Experiment:
    """One curve of Figure 4.

    Attributes:
        letter: a to h.
        epsilon: eps0.
        mechanism: At that level.
        pairs: Ten pairs.
        region: C.
        settings: n, N, tau and the rest.
    """

    letter: str
    epsilon: float
    mechanism: Any
    pairs: Pairs
    region: Region
    settings: LocalSettings


def experiment(letter: str, epsilon: float, *, objective: str = "loss") -> Experiment:
    """One of the paper's experiments.

    Args:
        letter: a (Laplace), b (Report Noisy Max), c (Continuous Noisy Max), d (Exponential),
            e (SVT2), f (SVT4 at its true level), g (SVT5) or h (SVT6).
        epsilon: eps0.
        objective: What the search maximises: "loss" as in the paper, with its bandwidth rule, or
            "lower-bound" with the package's own defaults.

    Raises:
        ValueError: An unknown letter or objective, or epsilon <= 0.

    References:
        Askin, Kutta, Dette (2022), section V.
    """
    _validate.one_of(EXPERIMENTS, letter=letter)
    _validate.positive(epsilon=epsilon)
    mechanism = EXPERIMENTS[letter](epsilon)
    sizes = (100_000, 500_000, 1e-4) if letter in _LARGE else (20_000, 50_000, 1e-3)
    return Experiment(
        letter=letter,
        epsilon=epsilon,
        mechanism=mechanism,
        pairs=mechanism.standard_pairs(),
        region=as_region(mechanism.standard_region, mechanism.output_space),
        settings=LocalSettings(
            num_samples=sizes[0],
            num_confirm=sizes[1],
            floor=sizes[2],
            objective=objective,
            bandwidth=Silverman() if objective == "loss" else Scott(),
        ),
    )


def run_bounds(
    cell: Experiment,
    runs: Iterable[int],
    *,
    key: Any = 0,
    confidence: float = 0.95,
    execution: Execution | None = None,
) -> LocalBounds:
    """Lower bounds of many independent runs of an experiment.

    Args:
        cell: The experiment.
        runs: Run numbers; each run's draws follow from its number and the key alone.
        key: Integer seed or typed key; the letter and epsilon are folded into it.
        confidence: Of the bounds.
        execution: Layout on the machine; never changes the bounds.

    Returns:
        Bounds with a leading axis of runs.
    """
    numbers = np.asarray(list(runs), np.int32)
    name = _random.stable_hash(f"{cell.letter} {cell.epsilon!r}")
    statistics = mpl_runs(
        cell.mechanism,
        cell.pairs.database,
        cell.pairs.neighbor,
        cell.region,
        cell.settings,
        _random.fold_in(_random.as_key(key), name),
        jnp.asarray(numbers),
        execution=execution or default_execution(),
    )
    return bounds_of(statistics, cell.settings, cell.region, confidence)
