"""Notions whose level is a curve: the privacy profile and the trade-off curve."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpjax.core.wording import BadValue
from dpjax.inference import Band, epsilon_of, largest, profile, trade_off
from dpjax.notions import _claims
from dpjax.notions._claims import Claim
from dpjax.notions._levels import TotalVariation
from dpjax.notions._notion import Notion
from dpjax.notions._statement import Crossing

_POINTS = 101
"""Number of points in the table of a privacy profile."""

_ROUNDING = 1e-12
"""Rounding error of bounds on probabilities. A bound that exceeds the claim by less than this value
does not refute the claim.
"""


class _Curve(Notion):
    """Base class of notions whose level is a curve.

    A level that is a curve is summarized by one number, the total variation distance per record.
    """

    def of_band(self, band: Band, distance: int = 1) -> float:
        """See `Notion`."""
        return largest(band, lambda p, q: p - q) / distance

    def margins(self, band: Band, claim: NDArray[np.float64], distance: int) -> NDArray[np.float64]:
        """Return float64 [2, points]: bounds on the curve in row 0, and claimed values in row 1.

        Args:
            band: Band of a chain.
            claim: float64 [points, 2], points of the claimed curve. The bound is evaluated at the
                first coordinate of each point.
            distance: Number of records in which the databases of the pair differ.
        """
        raise NotImplementedError

    def compare(self, band: Band, claim: Claim, distance: int) -> tuple[float, Crossing | None]:
        """See `Notion`."""
        points = np.array(claim)
        shown, claimed = self.margins(band, points, distance)
        at = int(np.argmax(shown - claimed))
        excess = float(shown[at] - claimed[at]) - _ROUNDING
        if excess <= 0:
            return excess, None
        return excess, (float(points[at, 0]), float(shown[at]), float(claimed[at]))


@dataclass(frozen=True)
class Profile(_Curve):
    """The privacy profile: delta as a function of epsilon.

    A profile is summarized by one number, which is delta at epsilon = 0.

    A claim is a list of pairs (epsilon, delta), a function that returns delta at an epsilon, a
    dp_accounting privacy loss distribution, or an OpenDP privacy curve.

    References:
        Balle, Barthe, Gaboardi (2018).
    """

    name: ClassVar[str] = "profile"
    unit: ClassVar[tuple[str, str]] = ("probability", "Delta is a probability.")

    @property
    def symbol(self) -> str:
        """See `Notion`."""
        return "delta at epsilon = 0"

    @property
    def claimable(self) -> str:
        """See `Notion`."""
        return "the privacy profile"

    def claimed(self, claim: object) -> Claim:
        """See `Notion`."""
        return _claims.profile_points(claim)

    def point(self, place: float, shown: float) -> str:
        """See `Notion`."""
        return f"delta is at least {shown:.4g} at epsilon = {place:g}"

    def margins(self, band: Band, claim: NDArray[np.float64], distance: int) -> NDArray[np.float64]:
        """See `_Curve`."""
        shown = of_one_record(band, claim[:, 0], distance).max(axis=0)
        return np.stack([shown, claim[:, 1]])

    def columns(self, band: Band, distance: int) -> dict[str, list[float]]:
        """Return epsilons and, for each direction of the pair, lower bounds on delta."""
        top = largest(band, epsilon_of(0.0)) / distance
        epsilons = np.linspace(0, top if np.isfinite(top) else 1.0, _POINTS)
        first, second = of_one_record(band, epsilons, distance)
        return {
            "epsilon": epsilons.tolist(),
            "delta": first.tolist(),
            "reverse_delta": second.tolist(),
        }


@dataclass(frozen=True)
class TradeOff(_Curve):
    """The trade-off curve: at each significance level, the smallest type II error of a test.

    A trade-off curve is summarized by one number, the total variation distance. The total variation
    distance is the largest difference between the power and the significance level of a test. A
    claim is a list of pairs (level, type II error), or a function that returns the type II error at
    a level. The claimed curve applies to tests in both directions.

    References:
        Dong, Roth, Su (2022), Definition 2.1.
    """

    name: ClassVar[str] = "trade-off"
    unit: ClassVar[tuple[str, str]] = TotalVariation.unit

    @property
    def symbol(self) -> str:
        """See `Notion`."""
        return "total variation"

    @property
    def claimable(self) -> str:
        """See `Notion`."""
        return "the trade-off curve"

    def claimed(self, claim: object) -> Claim:
        """See `Notion`."""
        return _claims.trade_off_points(claim, np.linspace(0, 1, 201))

    def point(self, place: float, shown: float) -> str:
        """See `Notion`."""
        return f"a test of level {place:g} has a power of at least {shown:.4g}"

    def refuse_distance(self, distance: int) -> None:
        """See `Notion`.

        Raises:
            ValueError: If the distance is above 1.
        """
        if distance > 1:
            raise BadValue(
                f"distance must be 1 for a trade-off curve, but was {distance}: use "
                "dpjax.Profile() or dpjax.Gdp()."
            )

    def margins(self, band: Band, claim: NDArray[np.float64], distance: int) -> NDArray[np.float64]:
        """Return lower bounds on the power of tests in row 0, and the claimed power in row 1."""
        x, missed = trade_off(band)
        levels = claim[:, 0]
        # A test in the reverse direction has the type I and type II errors exchanged.
        least = np.minimum(np.interp(levels, x, missed), np.interp(levels, missed[::-1], x[::-1]))
        return np.stack([1 - least, 1 - claim[:, 1]])

    def columns(self, band: Band, distance: int) -> dict[str, list[float]]:
        """Return the significance levels of tests, and upper bounds on their type II errors.

        The null hypothesis of the tests is that outputs come from the neighbor.
        """
        x, missed = trade_off(band)
        return {"level": x.tolist(), "error": missed.tolist()}


def of_one_record(band: Band, epsilons: NDArray[np.float64], distance: int) -> NDArray[np.float64]:
    """Bound the privacy profile for one record using a pair that differs in `distance` records.

    Let delta_k be the profile of pairs that differ in k records, and let delta be the profile of
    pairs that differ in one record. Let r = (exp(k e) - 1) / (exp(e) - 1). By group privacy,
    delta_k(k e) <= r delta(e). A lower bound on delta_k(k e), divided by r, is therefore a lower
    bound on delta(e).

    Returns:
        Lower bounds on delta, float64 [2, epsilons]. Row 0 compares the database with its neighbor,
        and row 1 compares the neighbor with the database.

    References:
        Vadhan (2017), Lemma 2.2.
    """
    powers = np.exp(np.multiply.outer(epsilons, np.arange(distance))).sum(axis=1)
    return profile(band, distance * epsilons) / powers
