"""(epsilon, delta)-differential privacy: P(E) <= e^epsilon P'(E) + delta for every event E."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpjax.core import validate
from dpjax.core.options import option
from dpjax.core.wording import BadValue
from dpjax.inference import Band, Hypothesis, Ratio, at_largest, epsilon_of, largest
from dpjax.notions import _claims
from dpjax.notions._claims import Claim
from dpjax.notions._notion import Notion

_LARGEST, _HALVINGS = 60.0, 60
"""Largest epsilon, in nats, that bisection can find; and number of bisection steps."""


@dataclass(frozen=True)
class Epsilon(Notion):
    """The smallest epsilon of (epsilon, delta)-differential privacy for a fixed delta.

    Attributes:
        delta: Delta of (epsilon, delta)-differential privacy, in [0, 1).

    Raises:
        TypeError: If delta is not a number.
        ValueError: If delta is outside [0, 1).
    """

    delta: float = option(
        "delta of (epsilon, delta)-differential privacy.",
        default=0.0,
        only=("events", "sequential", "guesses"),
    )
    name: ClassVar[str] = "epsilon"
    unit: ClassVar[tuple[str, str]] = (
        "nats",
        "Epsilon is the natural logarithm of a ratio of probabilities.",
    )
    takes_delta: ClassVar[bool] = True

    def __post_init__(self):
        validate.finite(delta=self.delta)
        # Every mechanism satisfies a claim with delta = 1.
        if not 0 <= self.delta < 1:
            raise BadValue(f"delta must lie in [0, 1), but was {self.delta!r}.")

    @property
    def symbol(self) -> str:
        """Name of the level, including delta unless delta is 0."""
        return f"epsilon at delta = {self.delta:g}" if self.delta else "epsilon"

    @property
    def quantity(self) -> str:
        """See `Notion`."""
        return self.name

    def hypothesis(self, distance: int = 1) -> Hypothesis:
        """See `Notion`."""
        return Ratio(self.delta, distance)

    def value(self, p: NDArray, q: NDArray) -> NDArray[np.float64]:
        """See `Notion`."""
        return epsilon_of(self.delta)(p, q)

    def of_band(self, band: Band, distance: int = 1) -> float:
        """See `Notion`."""
        if self.delta == 0 or distance == 1:
            return largest(band, self.value) / distance
        # Find the largest per-record epsilon that the band refutes at this delta, for databases
        # that differ in `distance` records.
        low, high = 0.0, _LARGEST
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            slope, start = Ratio(self.delta, distance).line(middle)
            refuted = largest(band, lambda p, q, r=slope: p - r * q) > start
            low, high = (middle, high) if refuted else (low, middle)
        return low

    def of_observed(self, band: Band, shares: Band, distance: int = 1) -> float:
        """See `Notion`."""
        value = self.value
        if distance > 1 and self.delta:
            slope, _ = Ratio(self.delta, distance).line(self.of_band(band, distance))
            value = lambda p, q: p - slope * q  # noqa: E731
        return self.of_band(at_largest(band, shares, value), distance)

    def of_shares(self, p: NDArray, q: NDArray, distance: int) -> NDArray[np.float64]:
        """Return ln((p - delta) / q) divided by the distance, at least 0."""
        if self.delta and distance > 1:
            shares = (np.array([[[share]] for share in np.ravel(side)]) for side in (p, q))
            bands = (Band.of(*pair, usable=(1, 1)) for pair in zip(*shares, strict=True))
            return np.reshape([self.of_band(band, distance) for band in bands], np.shape(p))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.value(p, q)
        # If p <= delta, the event is consistent with epsilon = 0.
        return np.where(p > self.delta, np.maximum(ratio, 0.0), 0.0) / distance

    def claimed(self, claim: object) -> Claim:
        """Return the claimed epsilon, or a claimed curve's epsilon at the delta of the notion."""
        if _claims.is_number(claim):
            return _claims.number(claim)
        _claims.refuse_text(claim)
        return _claims.epsilon_at(claim, self.delta)
