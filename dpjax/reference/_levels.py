"""Exact privacy levels for pairs of databases; tests compare lower bounds with these levels."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from dpjax import mechanisms
from dpjax.core.types import FiniteSpace, IntegerSpace, MixedSpace, VectorSpace
from dpjax.core.wording import BadValue
from dpjax.databases import Pairs
from dpjax.mechanisms import BuiltIn
from dpjax.reference._density import log_density
from dpjax.reference._laws import noise_scale
from dpjax.reference._vectors import vector_level

_TAIL_SCALES = 50.0
"""Distance from the loss's outermost kinks, in noise scales, beyond which the loss is constant."""

_GRID, _MIXED_GRID = 129, 17
"""Numbers of grid points between two kinks of the loss: in general, and for mixed outputs.

The grid for mixed outputs is coarser because their densities are integrals, which take longer to
compute.
"""

_FLAT = 1e-13
"""Threshold below which the maximum of the loss is not refined.

If the loss at the best grid point exceeds the losses at both adjacent grid points by less than the
threshold, the maximum over the grid is used.
"""


def pair_level(
    mechanism: BuiltIn,
    database: ArrayLike,
    neighbor: ArrayLike,
    region: tuple[float, float] | None = None,
) -> float:
    """Return the exact privacy level of a pair of databases x and x'.

    The level is the supremum of the loss |ln f_x(t) - ln f_x'(t)| over all outputs t in a region,
    where f_x is the density of the outputs for database x. The loss is 0 if an output is impossible
    for both databases.

    Args:
        mechanism: A built-in mechanism with one value per parameter.
        database: Database x, in a form that `density` accepts.
        neighbor: Neighbor x', in a form that `density` accepts.
        region: Lower and upper bound of the region, both included, or None for all outputs.

    Returns:
        The level of the pair, possibly infinite, with an error of about 1e-12.

    Raises:
        TypeError: If the mechanism is not built in.
        ValueError: If a database has the wrong shape, if the region is empty, or if a region is
            passed for vectors or mixed outputs.

    References:
        Askin, Kutta, Dette (2022), Theorem 1.
    """
    database, neighbor = np.asarray(database, float), np.asarray(neighbor, float)
    if region is not None and not region[0] <= region[1]:
        raise BadValue(f"region must be (low, high) with low <= high, but was {region}.")
    space = mechanism.output_space
    if isinstance(space, VectorSpace | MixedSpace) and region is not None:
        raise BadValue(f"region must be None for outputs in {space}, but was {region!r}.")
    unbounded = mechanisms.Gaussian | mechanisms.DiscreteGaussian | mechanisms.ShuffledBatches
    if isinstance(mechanism, unbounded) and region is None:
        # The loss increases without bound in t, so its supremum over all outputs is infinite.
        return 0.0 if database == neighbor else float("inf")

    def loss(outputs: ArrayLike) -> np.ndarray:
        one, other = (log_density(mechanism, x, outputs) for x in (database, neighbor))
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(one) & np.isneginf(other), 0.0, np.abs(one - other))

    if isinstance(space, VectorSpace):
        return vector_level(mechanism, database, neighbor)
    if isinstance(mechanism, mechanisms.SVT3And4):
        # The two variants have independent noise, so the signed loss of the combined output is the
        # sum of the variants' signed losses. The suprema add up, too.
        third, fourth = mechanism.parts
        return max(
            _signed_level(third, *ends) + _signed_level(fourth, *ends)
            for ends in ((database, neighbor), (neighbor, database))
        )
    if isinstance(space, MixedSpace):
        ends = database, neighbor
        return max(_signed_level(mechanism, *ends), _signed_level(mechanism, *ends[::-1]))
    if isinstance(space, FiniteSpace):
        low, high = region or (0, space.size - 1)
        return float(loss(np.arange(max(0, np.ceil(low)), min(space.size - 1, high) + 1)).max())
    if isinstance(space, IntegerSpace):
        low, high = region or _integers_that_matter(mechanism, database, neighbor)
        return float(loss(np.arange(np.ceil(low), np.floor(high) + 1)).max())
    low, high = region or (-np.inf, np.inf)
    low, high = max(low, space.low), min(high, space.high)
    return _line_level(mechanism, database, neighbor, loss, low, high)


def best_level(
    mechanism: BuiltIn, pairs: Pairs, region: tuple[float, float] | None = None
) -> float:
    """Return the largest `pair_level` among the given pairs; no valid lower bound exceeds it.

    Args:
        mechanism: A built-in mechanism with one value per parameter.
        pairs: Pairs of databases, in a form that `density` accepts.
        region: Lower and upper bound of the region, both included, or None for all outputs.
    """
    return max(
        pair_level(mechanism, x, y, region)
        for x, y in zip(pairs.database, pairs.neighbor, strict=True)
    )


def _line_level(
    mechanism: BuiltIn,
    database: np.ndarray,
    neighbor: np.ndarray,
    loss: Callable[[ArrayLike], np.ndarray],
    low: float,
    high: float,
    num_points: int = _GRID,
) -> float:
    """Return the supremum over [low, high] of a loss that is smooth except at known kinks."""
    kinks = np.append(database, neighbor)
    if isinstance(mechanism, mechanisms.SVT3):
        # The loss also has a kink at the threshold.
        kinks = np.append(kinks, float(mechanism.threshold))
    reach = _TAIL_SCALES * noise_scale(mechanism)
    low = kinks.min() - reach if np.isneginf(low) else low
    high = kinks.max() + reach if np.isposinf(high) else high
    edges = np.unique(np.concatenate([[low, high], kinks[(kinks > low) & (kinks < high)]]))
    if len(edges) == 1:
        return float(loss(edges[0]))
    grid = np.concatenate([np.linspace(*ends, num_points) for ends in pairwise(edges)])
    values = loss(grid)
    best = int(values.argmax())
    if np.isinf(values[best]):
        return float("inf")
    # The maximum is refined only between two adjacent kinks because the loss is smooth there.
    first = best - best % num_points
    beside = [max(best - 1, first), min(best + 1, first + num_points - 1)]
    if values[best] - values[beside].min() < _FLAT:
        return float(values[best])
    around = grid[beside[0]], grid[beside[1]]
    refined = minimize_scalar(
        lambda t: -float(loss(t)), bounds=around, method="bounded", options={"xatol": 1e-10}
    )
    return max(float(values[best]), -float(refined.fun))


def _signed_level(mechanism: BuiltIn, database: np.ndarray, neighbor: np.ndarray) -> float:
    """Return the supremum of the signed loss ln f_x - ln f_x' for a sparse vector variant."""

    def loss(outputs: np.ndarray) -> np.ndarray:
        return log_density(mechanism, database, outputs) - log_density(mechanism, neighbor, outputs)

    if isinstance(mechanism.output_space, FiniteSpace):
        return float(loss(np.arange(mechanism.output_space.size)).max())

    def loss_at_label(label: int, v: ArrayLike) -> np.ndarray:
        v = np.asarray(v, float)
        return loss(np.stack([np.full_like(v, label), v], axis=-1))

    k = mechanism.output_space.num_labels - 1
    levels = [
        _line_level(
            mechanism, database, neighbor, partial(loss_at_label, i), -np.inf, np.inf, _MIXED_GRID
        )
        for i in range(k)
    ]
    # The label k comes without a number; it means that no query was above the threshold.
    return max(*levels, float(loss_at_label(k, 0.0)))


def _integers_that_matter(
    mechanism: BuiltIn, database: np.ndarray, neighbor: np.ndarray
) -> tuple[float, float]:
    """Return the smallest and the largest integer at which the loss must be evaluated.

    The loss is constant below the smallest and above the largest of these integers.
    """
    if isinstance(mechanism, mechanisms.SnappedLaplace):
        # An output represents an interval of values. The loss is constant for all intervals below
        # both databases, and for all intervals above both databases.
        bound = float(mechanism.bound)
        in_steps = np.sort(np.clip([database, neighbor], -bound, bound)) / float(mechanism.step())
        last = np.ceil(float(mechanism.bound) / float(mechanism.step()))
        return max(in_steps[0] - 2, -last), min(in_steps[1] + 2, last)
    # Mechanisms with integer outputs round their databases towards 0.
    low, high = np.sort(np.trunc([database, neighbor]))
    return low, high
