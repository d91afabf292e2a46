"""(epsilon, delta)-differential privacy: P(E) <= e^epsilon P'(E) + delta for every event E."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax import _validate
from dpjax._numerics import finite_or_none
from dpjax.inference import Event, choose_event, event_lower_bound
from dpjax.partitions import Partition

_LEAST_ERROR = 1e-12
"""Smaller errors of a refutation are not told apart."""

_PRECISION = 0.01
"""Part of an error to which it is told."""

_NORMAL = NormalDist()


class EventCounts(NamedTuple):
    """Evidence: an event that was chosen before, and how often fresh outputs were in it.

    Attributes:
        event: With the leading shape [...].
        counts: int64 [..., 2], outputs in the event at the database and at its neighbor.
        trials: Fresh outputs at the database and at its neighbor.
    """

    event: Event
    counts: NDArray[np.int64]
    trials: tuple[int, int]


class Statement(NamedTuple):
    """What evidence shows of a level of privacy.

    Attributes:
        lower_bound: The level is at least this, with the confidence of the audit.
        estimate: The level that the fresh outputs show; None where it is infinite or unknown.
        bound: "exact binomial", "normal" or "histogram": what the bound rests on.
        upper_bound: The level is at most this; None where nothing is said.
        standard_error: Of the estimate; None where the bound is exact.
        smallest_error: The smallest error probability at which the claim would still be refuted,
            at least 1e-12; None where it is not refuted at any below 1/2, or nothing is claimed.
    """

    lower_bound: float
    estimate: float | None
    bound: str
    upper_bound: float | None = None
    standard_error: float | None = None
    smallest_error: float | None = None


@dataclass(frozen=True)
class Epsilon:
    """The smallest epsilon of (epsilon, delta)-differential privacy at a fixed delta.

    Attributes:
        delta: Part of the probability that the claim leaves out, 0 <= delta < 1.

    Raises:
        TypeError: delta is not a number.
        ValueError: It lies outside of [0, 1).
    """

    delta: float = 0.0

    def __post_init__(self):
        _validate.finite(delta=self.delta)
        # Leaving out all of the probability claims nothing.
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must lie in [0, 1), but was {self.delta!r}.")

    @property
    def symbol(self) -> str:
        """The level in words."""
        return f"epsilon at delta = {self.delta:g}" if self.delta else "epsilon"

    def choose(
        self,
        partition: Partition,
        halves: NDArray[np.int64],
        allowed: NDArray[np.bool_] | None,
        num_confirm: int,
        confidence: float,
        num_rivals: int = 1,
    ) -> Event:
        """The event with the largest bound to be expected, of fine cells or of coarser ones.

        Args:
            partition: Of the search.
            halves: int64 [..., 2, 2, cells], counts of two halves of the search at both sides: one
                makes sets of cells, the other judges them.
            allowed: bool [cells] that events may hold, or None.
            num_confirm: N, fresh outputs a side.
            confidence: Of the bound.
            num_rivals: How many pairs are searched.
        """
        return choose_event(
            halves[..., 0, :, :],
            num_confirm,
            confidence,
            allowed=allowed,
            delta=self.delta,
            judge=halves[..., 1, :, :],
            coarser=partition.coarser(),
            positions=partition.positions(),
            num_rivals=num_rivals,
        )

    def promise(
        self,
        partition: Partition,
        halves: NDArray[np.int64],
        allowed: NDArray[np.bool_] | None,
        num_confirm: int,
        confidence: float,
        num_rivals: int,
    ) -> NDArray[np.float64]:
        """The bound to be expected of a pair, by a few coarse cells: enough to rank pairs.

        Args:
            partition: Of the search, as all other arguments are those of `choose`.
            halves: int64 [..., 2, 2, cells].
            allowed: bool [cells], or None.
            num_confirm: N.
            confidence: Of the bound.
            num_rivals: How many pairs are searched.

        Returns:
            Of the leading shape of the counts.
        """
        group, positions = partition.merged(allowed)
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
        merged = np.add.reduceat(halves.take(order, axis=-1), starts, axis=-1)
        return choose_event(
            merged[..., 0, :, :],
            num_confirm,
            confidence,
            allowed=None if allowed is None else allowed[order[starts]],
            delta=self.delta,
            judge=merged[..., 1, :, :],
            positions=positions,
            num_rivals=num_rivals,
        ).predicted

    def bound(self, evidence: EventCounts, confidence: float) -> NDArray[np.float64]:
        """Exact lower bounds on epsilon, of the leading shape of the evidence."""
        larger, smaller = _sided(evidence)
        trials = np.asarray(evidence.trials)
        side = np.asarray(evidence.event.larger)
        if trials[0] != trials[1] and side.ndim:
            raise ValueError("trials must be equal where there are several events.")
        first = int(trials[int(side.flat[0]) if side.size else 0])
        return event_lower_bound(
            larger,
            smaller,
            first,
            int(trials.sum() - first),
            confidence,
            evidence.event.share,
            self.delta,
        )

    def estimate(self, evidence: EventCounts) -> NDArray[np.float64]:
        """Ln of the ratio of the event's shares less delta, at least 0; infinite where one is 0."""
        larger, smaller = _sided(evidence)
        side = np.asarray(evidence.event.larger)
        trials = np.asarray(evidence.trials, float)
        above = np.maximum(larger / trials[side] - self.delta, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(above) - np.log(smaller / trials[1 - side])
        # An event that does not exceed delta shows nothing.
        return np.where(above > 0, np.maximum(ratio, 0.0), 0.0)

    def state(
        self, evidence: EventCounts, own_confidence: float, num_claims: int, claim: float | None
    ) -> Statement:
        """The statement of one audit.

        Args:
            evidence: Of one event.
            own_confidence: Of this bound.
            num_claims: By which the smallest error is multiplied.
            claim: Epsilon to compare with, or None.
        """
        error = None
        if claim is not None:
            error = smallest_error(lambda sure: float(self.bound(evidence, sure)), claim)
        return Statement(
            lower_bound=float(self.bound(evidence, own_confidence)),
            estimate=finite_or_none(float(self.estimate(evidence))),
            bound="exact binomial",
            smallest_error=None if error is None else min(error * num_claims, 1.0),
        )


def smallest_error(bound: Callable[[float], float], claim: float) -> float | None:
    """The smallest error at which a lower bound exceeds a claim.

    Args:
        bound: Confidence -> lower bound; larger for a smaller confidence.
        claim: To be exceeded.

    Returns:
        To a hundredth of itself; None where it is above 1/2.

    References:
        Dowell, Jarratt (1971): the Illinois form of the rule of false position.
    """

    def margin(quantile: float) -> float:
        return bound(_NORMAL.cdf(quantile)) - claim

    # A bound is nearly a straight line in the normal quantile of its confidence.
    low, high = 0.0, -_NORMAL.inv_cdf(_LEAST_ERROR)
    above, below = margin(low), margin(high)
    if above <= 0:
        return None
    if below > 0:
        return _LEAST_ERROR
    kept_high = False
    while True:
        errors = _NORMAL.cdf(-low), _NORMAL.cdf(-high)
        if errors[0] <= errors[1] * (1 + _PRECISION):
            return errors[0]
        # Never quite at an end, which would then stay where it is.
        place = low + (high - low) * min(max(above / (above - below), 0.01), 0.99)
        found = margin(place)
        if found > 0:
            below, kept_high = (below / 2 if kept_high else below), True
            low, above = place, found
        else:
            above, kept_high = (above if kept_high else above / 2), False
            high, below = place, found


def _sided(evidence: EventCounts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts at the side that was expected to be likelier, and at the other."""
    side = np.asarray(evidence.event.larger)[..., None]
    larger = np.take_along_axis(evidence.counts, side, axis=-1)[..., 0]
    smaller = np.take_along_axis(evidence.counts, 1 - side, axis=-1)[..., 0]
    return larger, smaller
