"""Notions whose level is one number: Gaussian, Renyi and zero-concentrated DP, and others."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpjax.core import validate
from dpjax.core.wording import BadValue
from dpjax.inference import (
    Band,
    Difference,
    Hypothesis,
    Shift,
    at_largest,
    gdp_of,
    largest,
    renyi,
    zcdp,
)
from dpjax.notions._notion import Notion


class _OfAnEvent(Notion):
    """Base class of notions that can be tested by a hypothesis about one event.

    The level of such a notion is proportional to the number of records in which the databases
    differ.
    """

    def of_band(self, band: Band, distance: int = 1) -> float:
        """See `Notion`."""
        return largest(band, self.value) / distance

    def of_observed(self, band: Band, shares: Band, distance: int = 1) -> float:
        """See `Notion`."""
        return self.of_band(at_largest(band, shares, self.value), distance)


@dataclass(frozen=True)
class Gdp(_OfAnEvent):
    """mu of Gaussian differential privacy.

    Distinguishing neighboring databases is at least as hard as distinguishing N(0, 1) from
    N(mu, 1).

    References:
        Dong, Roth, Su (2022), Definition 2.6 and Theorem 2.14.
    """

    name: ClassVar[str] = "gdp"
    unit: ClassVar[tuple[str, str]] = (
        "standard deviations",
        "mu is the distance between two normal distributions, in standard deviations.",
    )

    @property
    def symbol(self) -> str:
        """See `Notion`."""
        return "mu of Gaussian differential privacy"

    def value(self, p: NDArray, q: NDArray) -> NDArray[np.float64]:
        """See `Notion`."""
        return gdp_of(p, q)

    def hypothesis(self, distance: int = 1) -> Hypothesis:
        """See `Notion`."""
        return Shift(distance)


@dataclass(frozen=True)
class TotalVariation(_OfAnEvent):
    """The total variation distance, which equals the smallest delta at epsilon = 0.

    The total variation distance is the largest difference between the probabilities of an event
    under two neighboring databases.
    """

    name: ClassVar[str] = "total-variation"
    unit: ClassVar[tuple[str, str]] = (
        "probability",
        "Total variation is a difference between two probabilities.",
    )

    @property
    def symbol(self) -> str:
        """See `Notion`."""
        return "total variation"

    def value(self, p: NDArray, q: NDArray) -> NDArray[np.float64]:
        """See `Notion`."""
        return p - q

    def hypothesis(self, distance: int = 1) -> Hypothesis:
        """See `Notion`."""
        return Difference(distance)


@dataclass(frozen=True)
class Renyi(Notion):
    """The Renyi divergence of a given order, maximized over both directions.

    Attributes:
        order: Finite order alpha > 1.

    Raises:
        TypeError: If the order is not a number.
        ValueError: If the order is not a finite number above 1.

    References:
        Mironov (2017), Definition 4 and Proposition 2.
    """

    order: float
    name: ClassVar[str] = "renyi"
    unit: ClassVar[tuple[str, str]] = (
        "nats",
        "A Renyi divergence is measured in nats, the unit of the natural logarithm of a ratio of "
        "probabilities.",
    )

    def __post_init__(self):
        if isinstance(self.order, float | int) and math.isinf(self.order) and self.order > 0:
            raise BadValue("order must be finite, but was infinite: use dpjax.Epsilon().")
        validate.finite(order=self.order)
        if self.order <= 1:
            raise BadValue(f"order must be a number > 1, but was {self.order!r}.")

    @property
    def symbol(self) -> str:
        """See `Notion`."""
        return f"the Renyi divergence of order {self.order:g}"

    def of_band(self, band: Band, distance: int = 1) -> float:
        """See `Notion`.

        If the databases differ in at most 2^c records, return the bound for order / 2^c, divided by
        3^c.
        """
        return self._of(band, distance)

    def of_observed(self, band: Band, shares: Band, distance: int = 1) -> float:
        """See `Notion`."""
        return self._of(band, distance, shares)

    def _of(self, band: Band, distance: int, shares: Band | None = None) -> float:
        halvings = (distance - 1).bit_length()
        return float(renyi(band, [self.order / 2**halvings], shares=shares)[0]) / 3**halvings

    def refuse_distance(self, distance: int) -> None:
        """See `Notion`.

        Raises:
            ValueError: If the distance is above 1 and the order is less than 2 * 2^c, where 2^c is
                the smallest power of two that is at least the distance.
        """
        least = 2 * 2 ** (distance - 1).bit_length()
        if distance > 1 and self.order < least:
            raise BadValue(
                f"order must be at least {least} for pairs with distance {distance}, but was "
                f"{self.order:g}: a smaller order implies no bound for one record."
            )


@dataclass(frozen=True)
class Zcdp(Notion):
    """rho of zero-concentrated differential privacy.

    For every order a > 1, the Renyi divergence of order a is at most rho a.

    References:
        Bun, Steinke (2016), Definition 1.1 and Proposition 1.9.
    """

    name: ClassVar[str] = "zcdp"
    unit: ClassVar[tuple[str, str]] = (
        "nats per order",
        "Rho is a Renyi divergence in nats, divided by the order of the divergence.",
    )

    @property
    def symbol(self) -> str:
        """See `Notion`."""
        return "rho of zero-concentrated differential privacy"

    def of_band(self, band: Band, distance: int = 1) -> float:
        """See `Notion`."""
        return zcdp(band) / distance**2

    def of_observed(self, band: Band, shares: Band, distance: int = 1) -> float:
        """See `Notion`."""
        return zcdp(band, shares=shares) / distance**2
