"""Statements, which contain bounds on a privacy level and estimates of the level."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import cast

from dpjax.core.notebook import html_titled
from dpjax.core.settings import own_settings

_LEAST_ERROR = 1e-12
"""Smallest error probability that is reported for a refuted claim."""

_PRECISION = 0.01
"""Relative precision of the result of `smallest_error`."""

_NORMAL = NormalDist()

Crossing = tuple[float, float, float]
"""A point where a bound on a curve exceeds the claim: the abscissa, the bound and the claim."""


class _OnDemand:
    """Descriptor of a dataclass field that may be set to a value or to a function.

    The default of the field is None. If the field is set to a function, the function is called when
    the field is first read, and the result replaces the function. The call uses NumPy's default
    error settings. Until the first read, `vars(instance)` contains the function.
    """

    def __set_name__(self, owner: type, name: str):
        self._name = name

    def __get__(self, instance: object | None, owner: type) -> float | None:
        if instance is None:
            return None
        found = vars(instance)[self._name]
        if callable(found):
            with own_settings():
                found = cast(float | None, found())
            vars(instance)[self._name] = found
        return found

    def __set__(self, instance: object, value: float | Callable[[], float | None] | None) -> None:
        vars(instance)[self._name] = value


@dataclass(frozen=True)
class Statement:
    """Bounds on a privacy level and estimates of the level, computed from evidence.

    Attributes:
        lower_bound: Lower bound on the level, at the confidence level of the audit. The bound is 0
            if no estimate can be computed from a histogram.
        estimate: Level estimated from the confirmation set, or None if the estimate is infinite or
            unknown.
        basis: Kind of the bound: for example, "exact binomial" or "simultaneous band" (both valid
            at any sample size), "normal" (asymptotic), or "histogram" (valid under an assumption).
        upper_bound: Upper bound on the level under an assumption, or None without an assumption.
        standard_error: Standard error of the estimate, or None if the bound does not use a standard
            error.
        smallest_error: Smallest error probability, at least 1e-12, at which the claim would still
            be refuted. The value is None if there is no claim, or if the claim is not refuted at
            any error probability below 1/2. The constructor also accepts a function without
            arguments; the function is called when the field is first read.
        curve: Table of the curve, as a dictionary from column names to columns, or None if the
            level is one number. All bounds in the table hold jointly.
        crossing: Point (abscissa, bound, claim) at which the bound on a curve exceeds the claim by
            the largest margin, or None if the bound does not exceed the claim anywhere.
    """

    lower_bound: float
    estimate: float | None
    basis: str
    upper_bound: float | None = None
    standard_error: float | None = None
    # For type checkers, the field has the type of its value.
    smallest_error: float | None = cast(float | None, _OnDemand())
    curve: dict[str, list[float]] | None = None
    crossing: Crossing | None = None

    def _lines(self) -> list[tuple[str, str]]:
        """Return the names and the formatted values of all fields that are not None."""
        rows = [("lower bound", f"{self.lower_bound:.4f} ({self.basis})")]
        if self.upper_bound is not None:
            rows.append(("upper bound", f"{self.upper_bound:.4f}, under the assumption"))
        if self.estimate is not None:
            rows.append(("estimate", f"{self.estimate:.4f}"))
        if self.standard_error is not None:
            rows.append(("standard error", f"{self.standard_error:.4f}"))
        if self.smallest_error is not None:
            rows.append(
                ("refuted", f"at every error probability down to {self.smallest_error:.2g}")
            )
        if self.crossing is not None:
            place, shown, claimed = self.crossing
            rows.append(("exceeded", f"at {place:g}: bound {shown:.4g}, claim {claimed:.4g}"))
        if self.curve is not None:
            points = len(next(iter(self.curve.values()), []))
            rows.append(("curve", f"{' and '.join(self.curve)}, {points} points"))
        return rows

    def _repr_html_(self) -> str:
        """Show the statement in a notebook."""
        return html_titled(type(self).__name__, self._lines())


def smallest_error(
    bound: Callable[[float], float], claim: float, known: tuple[float, float] | None = None
) -> float | None:
    """Return the smallest error probability at which a lower bound exceeds a claim.

    Args:
        bound: Function that maps a confidence to the lower bound. The bound must not increase with
            the confidence.
        claim: Claimed level with which the bound is compared.
        known: Pair of a confidence above 1/2 and the lower bound at this confidence, or None if no
            bound has been computed yet.

    Returns:
        The error probability, at least 1e-12, with a relative precision of 0.01; or None if it
        would be above 1/2.

    References:
        Dowell, Jarratt (1971), for the Illinois variant of the false position method.
    """

    def margin(quantile: float) -> float:
        return bound(_NORMAL.cdf(quantile)) - claim

    # Search along the normal quantile of the confidence, because bounds are nearly linear in this
    # quantile.
    low, high, below = 0.0, -_NORMAL.inv_cdf(_LEAST_ERROR), None
    if known is not None and 0.5 < known[0] < _NORMAL.cdf(high):
        if known[1] > claim:
            below = margin(high)
            if below > 0:
                return _LEAST_ERROR
        else:
            high, below = _NORMAL.inv_cdf(known[0]), known[1] - claim
    above = margin(low)
    if above <= 0:
        return None
    below = margin(high) if below is None else below
    if below > 0:
        return _LEAST_ERROR
    kept_high = False
    while True:
        errors = _NORMAL.cdf(-low), _NORMAL.cdf(-high)
        if errors[0] <= errors[1] * (1 + _PRECISION):
            return errors[0]
        # Keep the next point away from both ends, so that the interval shrinks in every step.
        place = low + (high - low) * min(max(above / (above - below), 0.01), 0.99)
        found = margin(place)
        if found > 0:
            below, kept_high = (below / 2 if kept_high else below), True
            low, above = place, found
        else:
            above, kept_high = (above if kept_high else above / 2), False
            high, below = place, found
