"""The exact loss of a pair of databases: the truth that lower bounds are judged by."""

from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from dpjax import mechanisms
from dpjax._types import FiniteSpace, IntegerSpace
from dpjax.databases import Pairs
from dpjax.reference._density import exponential_rate, log_density

_TAIL_SCALES = 50.0
"""The loss reaches its limits like e^-distance: this far out they are exact in float64."""

_GRID = 129
"""Points a smooth stretch of the loss is searched on before the best one is refined."""


def pair_level(
    mechanism: Any,
    database: ArrayLike,
    neighbor: ArrayLike,
    region: tuple[float, float] | None = None,
) -> float:
    """The exact supremum over a region C of |ln f_x(t) - ln f_x'(t)|, with inf - inf := 0.

    Args:
        mechanism: A built-in mechanism with one value per parameter.
        database: x, as `density` takes it.
        neighbor: x', likewise.
        region: Ends (low, high) of C, both of them inside it; all outputs if None.

    Returns:
        The level, infinity where it is; exact to about 1e-12.

    Raises:
        TypeError: The mechanism is not a built-in one.
        ValueError: A database has the wrong shape, or the region is empty.

    References:
        Askin, Kutta, Dette (2022), Theorem 1.
    """
    database, neighbor = np.asarray(database, float), np.asarray(neighbor, float)
    if region is not None and not region[0] <= region[1]:
        raise ValueError(f"region must be (low, high) with low <= high, but was {region}.")
    if isinstance(mechanism, mechanisms.Gaussian) and region is None:
        # The loss is a line in t: the one built-in density whose whole-space level is not a limit.
        return 0.0 if database == neighbor else float("inf")

    def loss(outputs: ArrayLike) -> np.ndarray:
        one, other = (log_density(mechanism, x, outputs) for x in (database, neighbor))
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(one) & np.isneginf(other), 0.0, np.abs(one - other))

    space = mechanism.output_space
    if isinstance(space, FiniteSpace):
        low, high = region or (0, space.size - 1)
        return float(loss(np.arange(max(0, np.ceil(low)), min(space.size - 1, high) + 1)).max())
    if isinstance(space, IntegerSpace):
        # Beyond the two databases the loss is constant.
        ends = np.sort([database, neighbor])
        low, high = region or (ends[0], ends[1])
        inner = np.clip(ends, np.ceil(low), np.floor(high))
        return float(loss(np.arange(inner[0], inner[1] + 1)).max())

    parts = [_landmarks(mechanism, x) for x in (database, neighbor)]
    kinks, scale = np.concatenate([k for k, _ in parts]), parts[0][1]
    reach = _TAIL_SCALES * scale
    low, high = region or (kinks.min() - reach, kinks.max() + reach)
    low, high = max(low, space.low), min(high, space.high)
    edges = np.unique(np.concatenate([[low, high], kinks[(kinks > low) & (kinks < high)]]))
    if len(edges) == 1:
        return float(loss(edges[0]))
    return max(_stretch(loss, *ends) for ends in pairwise(edges))


def best_level(mechanism: Any, pairs: Pairs, region: tuple[float, float] | None = None) -> float:
    """The largest `pair_level` of a stack of pairs: what no honest lower bound may exceed.

    Args:
        mechanism: A built-in mechanism.
        pairs: B pairs.
        region: As `pair_level`.

    Returns:
        max over b of eps_C(x_b, x_b').
    """
    return max(
        pair_level(mechanism, x, y, region)
        for x, y in zip(pairs.database, pairs.neighbor, strict=True)
    )


def _stretch(loss: Any, low: float, high: float) -> float:
    """The supremum over [low, high], where the loss is smooth inside."""
    grid = np.linspace(low, high, _GRID)
    values = loss(grid)
    best = int(values.argmax())
    if np.isinf(values[best]):
        return float("inf")
    around = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
    refined = minimize_scalar(
        lambda t: -float(loss(t)), bounds=around, method="bounded", options={"xatol": 1e-10}
    )
    return max(float(values[best]), -float(refined.fun))


@singledispatch
def _landmarks(mechanism: Any, database: np.ndarray) -> tuple[np.ndarray, float]:
    """Where the density is not smooth, and the scale at which its tails fall."""
    raise NotImplementedError


@_landmarks.register(mechanisms.Laplace | mechanisms.NoisyHistogram1)
def _(mechanism, database):
    return database[None], 1 / float(mechanism.epsilon)


@_landmarks.register
def _(mechanism: mechanisms.NoisyHistogram2, database):
    return database[None], float(mechanism.epsilon)


@_landmarks.register(mechanisms.Gaussian | mechanisms.TruncatedGaussian)
def _(mechanism, database):
    return database[None], float(mechanism.sigma)


@_landmarks.register
def _(mechanism: mechanisms.TruncatedLaplace, database):
    return database[None], float(mechanism.scale)


@_landmarks.register
def _(mechanism: mechanisms.Exponential, database):
    return database[None], 1 / exponential_rate(float(mechanism.epsilon))


@_landmarks.register(mechanisms.ReportNoisyMax3 | mechanisms.ReportNoisyMax4)
def _(mechanism, database):
    return database, 2 / float(mechanism.epsilon)


@_landmarks.register
def _(mechanism: mechanisms.ContinuousNoisyMax, database):
    return database, mechanism.num_queries / float(mechanism.epsilon)
