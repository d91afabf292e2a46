"""Lower bounds on the privacy loss at the witness of a local search.

The search stage chooses the witness, which is an output with a large estimated privacy loss. The
confirmation stage bounds the loss at the witness.

References:
    Askin, Kutta, Dette (2022), Algorithm 4, lines 8-10.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate
from dpjax.inference._binomial import binomial_lower_bound
from dpjax.inference._normal import (
    frequency_error,
    kernel_error,
    kernel_exact_error,
    normal_lower_bound,
)

_MIN_EXPECTED_DRAWS = 25
"""The normal bound is used if at least this number of draws is expected at the witness.

If fewer draws are expected, the exact bound is used.
"""


class KernelSums(NamedTuple):
    """Sums of kernel values, from which densities are estimated.

    Attributes:
        total: Float [..., 2], sums of the kernel values k over the confirmation draws from the
            database and from its neighbor. Kernel values are scaled to a maximum of 1.
        squares: Float [..., 2], sums of k^2 over the confirmation draws.
        bandwidth: Float [...], bandwidth h of the kernel.
        height: c_d = K(0), the height of the kernel K. The density estimates are c_d / (N h^d)
            times `total`, where N is the number of confirmation draws per side.
        roughness: Integral of K^2.
        dimension: d, the number of output coordinates.
    """

    total: ArrayLike
    squares: ArrayLike
    bandwidth: ArrayLike
    height: float
    roughness: float
    dimension: int


class LocalBounds(NamedTuple):
    """Bounds and estimates for one or more runs.

    Each attribute is an array of shape [...] unless another shape is stated.

    Attributes:
        lower_bound: LB, the lower bound on epsilon.
        estimate: Estimated privacy loss at the witness, computed after densities below the floor
            are raised to the floor.
        densities: float64 [..., 2], densities at the witness, estimated from the confirmation set.
            Densities below the floor are not raised to the floor.
        standard_error: Standard error of the estimate, or NaN if the bound is exact.
        on_floor: Whether the density estimated in the search stage was at or below the floor on at
            least one side.
        exact: Whether the bound is the exact binomial bound.
    """

    lower_bound: NDArray[np.float64]
    estimate: NDArray[np.float64]
    densities: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    on_floor: NDArray[np.bool_]
    exact: NDArray[np.bool_]


def local_bounds(
    search_densities: ArrayLike,
    floor: ArrayLike,
    events: ArrayLike,
    kernel: KernelSums | None,
    num_confirm: int,
    confidence: float,
) -> LocalBounds:
    """Return lower confidence bounds on epsilon from the confirmation stage of a local audit.

    The search stage estimates the density at the witness on each side. If one of the two estimates
    is at or below the floor, the bound is the exact binomial bound for the witness's event. The
    same holds if one of them is so small that fewer than 25 confirmation draws are expected.
    Otherwise, the bound is a normal approximation. The type and the direction of the bound are
    chosen from the results of the search stage alone. Therefore, these choices do not reduce the
    confidence.

    Args:
        search_densities: Float [..., 2], densities at the witness under the database and its
            neighbor, estimated in the search stage. Densities below the floor must not be raised to
            the floor.
        floor: Float [...], the floor tau. Densities below the floor are raised to the floor.
        events: Integers [..., 2], numbers of confirmation draws in the witness's event.
        kernel: Kernel sums if outputs are real numbers, or None if outputs are categories.
        num_confirm: N, the number of confirmation draws per side.
        confidence: Confidence 1 - alpha of each bound.

    Returns:
        The bounds for all runs, with the shape of `floor`.

    Raises:
        TypeError: If the counts of events are not numbers, or if `num_confirm` is not an integer.
        ValueError: If the confidence is not strictly between 0 and 1, or if a count is not between
            0 and N.
    """
    validate.open_unit(confidence=confidence)
    validate.positive_int(num_confirm=num_confirm)
    validate.counts(at_most=num_confirm, events=events)
    found = np.asarray(search_densities, np.float64)
    floor = np.asarray(floor, np.float64)
    events = np.asarray(events, np.int64)
    if kernel is None:
        draws_per_density = np.full(floor.shape, float(num_confirm))
        densities = events / num_confirm
    else:
        volume = np.asarray(kernel.bandwidth, np.float64) ** kernel.dimension
        draws_per_density = num_confirm * volume / kernel.height
        densities = np.asarray(kernel.total, np.float64) / draws_per_density[..., None]
    on_floor = found.min(axis=-1) <= floor
    # If a category is almost certain, the normal approximation requires enough draws of other
    # categories.
    rarest = found if kernel is not None else np.minimum(found, 1 - found)
    exact = on_floor | (rarest.min(axis=-1) * draws_per_density < _MIN_EXPECTED_DRAWS)

    truncated = np.maximum(densities, floor[..., None])
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = np.abs(np.log(truncated[..., 0]) - np.log(truncated[..., 1]))
        if kernel is None:
            error = frequency_error(truncated, num_confirm)
        else:
            # The paper's formula assumes that the density is flat within a bandwidth of the
            # witness. At an atom or a narrow peak, the formula gives too small an error, but the
            # sample variance of k is correct.
            total, squares = (np.asarray(x, np.float64) for x in (kernel.total, kernel.squares))
            error = np.fmax(
                kernel_error(
                    truncated, num_confirm, kernel.bandwidth, kernel.roughness, kernel.dimension
                ),
                kernel_exact_error(total / num_confirm, squares / num_confirm, num_confirm),
            )
        # Bound the signed loss in the direction chosen by the search. If a loss near 0 were
        # replaced by its absolute value, deviations in both directions would cause errors.
        up = np.argmax(found, axis=-1)[..., None]
        logs = np.log(truncated)
        signed = np.take_along_axis(logs, up, -1) - np.take_along_axis(logs, 1 - up, -1)
        normal = normal_lower_bound(signed[..., 0], error, confidence)
    # If one side has no confirmation draws at the witness, the standard error is infinite and the
    # bound is 0. Do not switch to the exact bound here: the type of the bound would then depend on
    # the confirmation draws.
    normal = np.where(np.isfinite(error), normal, 0.0)
    # If there are no draws at the witness on either side, replace inf - inf by 0.
    estimate = np.where(np.all(truncated == 0, axis=-1), 0.0, estimate)

    larger = np.take_along_axis(events, up, axis=-1)[..., 0]
    smaller = np.take_along_axis(events, 1 - up, axis=-1)[..., 0]
    lower_bound = normal
    if np.any(exact):  # Skip the rarely needed import of scipy.special, which is slow.
        binomial = binomial_lower_bound(larger, smaller, num_confirm, confidence)
        lower_bound = np.where(exact, binomial, normal)
    return LocalBounds(
        lower_bound=lower_bound,
        estimate=estimate,
        densities=densities,
        standard_error=np.where(exact, np.nan, error),
        on_floor=on_floor,
        exact=exact,
    )
