"""Lower bounds on the privacy loss at the witness of a local search.

The search stage finds the witness, an output or a point with a large privacy loss. The confirm
stage bounds the loss at the witness.

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
"""If fewer draws are expected at the witness, the exact bound replaces the normal bound."""


class KernelSums(NamedTuple):
    """Sums that a kernel estimate needs in addition to the counts of events.

    Attributes:
        total: [..., 2], sums of the kernel values k over the confirmation draws.
        squares: [..., 2], sums of k^2 over the confirmation draws.
        bandwidth: [...], bandwidth h of the kernel.
        height: K(0) = c_d. Densities are `total` times c_d / (N h^d).
        roughness: Integral of K^2, where K is the kernel.
        dimension: d, number of output coordinates.
    """

    total: ArrayLike
    squares: ArrayLike
    bandwidth: ArrayLike
    height: float
    roughness: float
    dimension: int


class LocalBounds(NamedTuple):
    """Bounds and estimates of several runs, whose shape is [...].

    Attributes:
        lower_bound: LB, the lower bound on epsilon.
        estimate: Privacy loss at the witness, from densities truncated at the floor.
        densities: [..., 2], confirmed densities at the witness, before truncation.
        standard_error: Standard error of the estimate; NaN where the bound is exact.
        on_floor: Whether a density of the search stage was at the floor, at one side or at both
            sides.
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
    """Return lower confidence bounds on epsilon from the confirm stage of MPL.

    The search stage alone decides whether a bound is exact, and in which direction it holds, so the
    choice does not reduce the confidence. The bound is the exact binomial bound for the event at
    the witness if a density from the search stage is at the floor, or too small for 25 expected
    confirmation draws.

    Args:
        search_densities: [..., 2], densities from the search stage at the witness, before
            truncation.
        floor: [...], tau, the floor at which densities are truncated.
        events: Integers [..., 2], numbers of confirmation draws in the event at the witness.
        kernel: Kernel sums if outputs are real numbers, and None if outputs are categories.
        num_confirm: N, the number of confirmation draws per side.
        confidence: Confidence of each bound, 1 - alpha.

    Returns:
        The bounds of all runs, with the shape of `floor`.

    Raises:
        TypeError: If the counts of events are not numbers, or `num_confirm` is not an integer.
        ValueError: If the confidence is not strictly between 0 and 1, or a count is not in 0..N.
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
    # If an outcome is nearly certain, its absence must be seen often enough.
    rarest = found if kernel is not None else np.minimum(found, 1 - found)
    exact = on_floor | (rarest.min(axis=-1) * draws_per_density < _MIN_EXPECTED_DRAWS)

    truncated = np.maximum(densities, floor[..., None])
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = np.abs(np.log(truncated[..., 0]) - np.log(truncated[..., 1]))
        if kernel is None:
            error = frequency_error(truncated, num_confirm)
        else:
            # The paper's formula assumes that the density is flat across a bandwidth. At an atom or
            # a narrower spike the formula is too small, whereas the sample variance of k is right.
            total, squares = (np.asarray(x, np.float64) for x in (kernel.total, kernel.squares))
            error = np.fmax(
                kernel_error(
                    truncated, num_confirm, kernel.bandwidth, kernel.roughness, kernel.dimension
                ),
                kernel_exact_error(total / num_confirm, squares / num_confirm, num_confirm),
            )
        # Keep the sign of the loss, in the direction that the search found: with the absolute value
        # of a loss near 0, both tails would count as errors.
        up = np.argmax(found, axis=-1)[..., None]
        logs = np.log(truncated)
        signed = np.take_along_axis(logs, up, -1) - np.take_along_axis(logs, 1 - up, -1)
        normal = normal_lower_bound(signed[..., 0], error, confidence)
    # Without confirmation draws at one side, the standard error is infinite and the bound is 0.
    # Switching to the exact bound now would be a choice made after looking at the draws.
    normal = np.where(np.isfinite(error), normal, 0.0)
    # Where nothing was seen at either side, replace inf - inf by 0.
    estimate = np.where(np.all(truncated == 0, axis=-1), 0.0, estimate)

    larger = np.take_along_axis(events, up, axis=-1)[..., 0]
    smaller = np.take_along_axis(events, 1 - up, axis=-1)[..., 0]
    lower_bound = normal
    if np.any(exact):  # Rare; importing scipy.special takes longer than an audit.
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
