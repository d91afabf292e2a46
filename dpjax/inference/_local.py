"""MPL's inference: lower bounds from the confirm stage, exact ones where draws are few.

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
"""The normal quantile is trusted from this many expected draws at the witness on."""


class KernelSums(NamedTuple):
    """What a kernel estimate adds to the counts of events.

    Attributes:
        total: [..., 2] sums of k over the confirm draws.
        squares: [..., 2] sums of k^2.
        bandwidth: [...] h.
        height: K(0) = c_d, so that densities are total c_d / (N h^d).
        roughness: Integral of K^2.
        dimension: d.
    """

    total: ArrayLike
    squares: ArrayLike
    bandwidth: ArrayLike
    height: float
    roughness: float
    dimension: int


class LocalBounds(NamedTuple):
    """Inference of a number of runs; every entry has the shape [...] of the runs.

    Attributes:
        lower_bound: LB.
        estimate: The loss at the witness, of densities truncated at the floor.
        densities: [..., 2], confirmed densities at the witness, before truncation.
        standard_error: Of the estimate; NaN where the bound is exact.
        on_floor: Whether the search stage saw a density at the floor there.
        exact: Whether the bound is the exact binomial one.
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

    The kind of bound and its direction are decided by the search stage alone, so that choosing
    costs no confidence. Where a density there was at the floor, or too small for
    25 expected confirm draws, the bound is the exact binomial one of the event at the witness.

    Args:
        search_densities: [..., 2], of the search stage at the witness, before truncation.
        floor: [...] tau.
        events: [..., 2] integers, confirm draws in the event at the witness.
        kernel: Kernel sums for real outputs; None for outcomes.
        num_confirm: N.
        confidence: 1 - alpha.

    Returns:
        Bounds with the leading shape of the runs.

    Raises:
        TypeError: When the counts of events are not numbers, or `num_confirm` is not an integer.
        ValueError: When the confidence is not strictly between 0 and 1, or a count is not in 0..N.
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
    # For an outcome that is nearly certain, it is its absence that must be seen often enough.
    rarest = found if kernel is not None else np.minimum(found, 1 - found)
    exact = on_floor | (rarest.min(axis=-1) * draws_per_density < _MIN_EXPECTED_DRAWS)

    truncated = np.maximum(densities, floor[..., None])
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = np.abs(np.log(truncated[..., 0]) - np.log(truncated[..., 1]))
        if kernel is None:
            error = frequency_error(truncated, num_confirm)
        else:
            # The paper's form takes the density as flat across a bandwidth. At an atom, or at any
            # spike narrower than that, it is too small, and the sample variance of k is right.
            total, squares = (np.asarray(x, np.float64) for x in (kernel.total, kernel.squares))
            error = np.fmax(
                kernel_error(
                    truncated, num_confirm, kernel.bandwidth, kernel.roughness, kernel.dimension
                ),
                kernel_exact_error(total / num_confirm, squares / num_confirm, num_confirm),
            )
        # Signed, in the direction that the search found: the absolute value of a loss near 0 would
        # be exceeded on both sides, with twice the error probability.
        up = np.argmax(found, axis=-1)[..., None]
        logs = np.log(truncated)
        signed = np.take_along_axis(logs, up, -1) - np.take_along_axis(logs, 1 - up, -1)
        normal = normal_lower_bound(signed[..., 0], error, confidence)
    # A side of which nothing was seen again has no finite error: no bound can come of it, and the
    # exact one would be a choice made after looking.
    normal = np.where(np.isfinite(error), normal, 0.0)
    # Nothing seen at either side: inf - inf is 0.
    estimate = np.where(np.all(truncated == 0, axis=-1), 0.0, estimate)

    larger = np.take_along_axis(events, up, axis=-1)[..., 0]
    smaller = np.take_along_axis(events, 1 - up, axis=-1)[..., 0]
    lower_bound = normal
    if np.any(exact):  # seldom, and scipy.special takes longer to import than an audit to compute
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
