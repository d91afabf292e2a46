"""Conversion of claims. A claim is a level, or a curve in one of several forms."""

from collections.abc import Callable, Sequence
from numbers import Real

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue

Claim = float | tuple[tuple[float, float], ...]
"""Type of a converted claim: a level in the notion's unit, or points (x, y) of a curve."""

_EPSILONS = np.concatenate([np.arange(0, 4, 0.02), np.arange(4, 12, 0.1), np.arange(12, 41)])
"""Values of epsilon at which a claimed privacy profile is evaluated."""

_Function = Callable[[float], float]

_FORMS = (
    "a list of ({x}, {y}) pairs, a function {x} -> {y}, a dp_accounting privacy loss "
    "distribution, or an OpenDP privacy curve"
)

_RANGES = {
    "delta": "a delta in [0, 1]",
    "epsilon": "a finite epsilon of at least 0",
    "error": "an error in [0, 1]",
}
"""Description, in words, of the valid range of each quantity of a claimed curve."""

_ROUNDED = 1e-6
"""Largest excess of a claimed error that may be a rounding error of float32."""

_HALVINGS = 60
"""Number of bisection steps for finding an epsilon."""


def number(claim: object) -> float:
    """Return a claimed level as a float.

    Raises:
        TypeError: If the claim is not a number.
        ValueError: If the claim is below 0.
    """
    validate.non_negative(claim=claim)
    return np.asarray(claim, np.float64).item()


def refuse_text(claim: object) -> None:
    """Raise an error if a claim is a string, for example a number in quotes, or a boolean.

    Raises:
        TypeError: If the claim is a string or a boolean.
    """
    if isinstance(claim, bool | np.bool_):
        raise BadType(f"claim must be a number or a curve, such as 1.0, but was {claim}.")
    if isinstance(claim, str | bytes):
        try:
            written = f": write claim={float(claim):g}"
        except ValueError:
            written = ""
        raise BadType(f"claim must be a number or a curve, but was the string {claim!r}{written}.")


def is_number(claim: object) -> bool:
    """Return whether a claim is a single number and not a boolean."""
    if isinstance(claim, bool | np.bool_):
        return False
    return isinstance(claim, Real) or getattr(claim, "shape", None) == ()


def profile_points(claim: object) -> tuple[tuple[float, float], ...]:
    """Return the points (epsilon, delta) of a claimed privacy profile.

    Raises:
        TypeError: If the claim is not a curve.
        ValueError: If the claim has an epsilon below 0 or a delta outside [0, 1], or if it is a
            list in which every delta is 1, perhaps because its columns are swapped.
    """
    function = _delta_of(claim)
    points = (
        _pairs(claim, "epsilon", "delta")
        if function is None
        else [(e, function(e)) for e in _EPSILONS.tolist()]
    )
    for epsilon, delta in points:
        if not (0 <= epsilon < np.inf and 0 <= delta <= 1):
            raise BadValue(
                "claim must have epsilons of at least 0 and deltas in [0, 1], but had "
                f"({epsilon!r}, {delta!r}){_swapped(points)}"
            )
    if function is None and all(delta == 1 for _, delta in points):
        raise BadValue(
            "claim must have a delta below 1, because every mechanism satisfies delta = 1, but had "
            f"only {points[0]!r}{_swapped(points)}"
        )
    return tuple(points)


def _swapped(points: list[tuple[float, float]]) -> str:
    """Return the end of a message, with advice if the points look like (delta, epsilon)."""
    if all(0 <= first <= 1 and second >= 0 for first, second in points):
        return ": if the points are (delta, epsilon), swap them to (epsilon, delta)."
    return "."


def epsilon_at(claim: object, delta: float) -> float:
    """Return the smallest epsilon for which a claimed privacy profile is at most `delta`.

    Raises:
        TypeError: If the claim is not a curve.
        ValueError: If the claimed profile exceeds `delta` at every epsilon.
    """
    for name in ("get_epsilon_for_delta", "epsilon"):
        if callable(asked := getattr(claim, name, None)):
            return _value(asked, delta, "delta", "epsilon", np.inf)
    function = _delta_of(claim)
    if function is None:
        # A list of points makes no claim between its points or before its first point.
        held = [e for e, d in profile_points(claim) if d <= delta]
        if not held:
            raise BadValue(
                f"claim must have a point (epsilon, delta) with a delta of at most {delta:g}, but "
                "had none: to claim an epsilon at a positive delta, pass dpjax.Epsilon(delta) as "
                "the notion, and a number as the claim."
            )
        return min(held)
    epsilons = _EPSILONS.tolist()
    # Use the first epsilon where the profile is at most `delta`. True profiles decrease, so an
    # increase at a larger epsilon does not weaken the claim made at the first epsilon.
    held = next((i for i, e in enumerate(epsilons) if function(e) <= delta), None)
    if held is None:
        raise BadValue(
            f"claim must fall to delta = {delta} at some epsilon up to {epsilons[-1]:g}, but its "
            f"delta at epsilon = {epsilons[-1]:g} was {function(epsilons[-1])!r}."
        )
    low, high = epsilons[max(held - 1, 0)], epsilons[held]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) <= delta else (middle, high)
    return high


def trade_off_points(claim: object, levels: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Return the points (level, type II error) of a claimed trade-off curve.

    Args:
        claim: Sequence of points, or a function that returns the type II error at a level.
        levels: float64 [levels], levels at which the claim is evaluated if it is a function.

    Raises:
        TypeError: If the claim is not a curve.
        ValueError: If a point is outside the unit square, or if no mechanism satisfies the claim
            because an error is above 1 - level.
    """
    if callable(claim):
        points = [(x, _value(claim, x, "level", "error", 1.0)) for x in levels.tolist()]
    else:
        points = _pairs(claim, "level", "error")
    for point in points:
        if not all(0 <= value <= 1 for value in point):
            raise BadValue(f"claim must have points in the unit square, but had {point!r}.")
        if sum(point) > 1 + _ROUNDED:
            raise BadValue(
                "claim must have errors of at most 1 - level, because a test may ignore the "
                f"outputs, but had (level, error) = {point!r}: if the claim is a ROC curve, which "
                "gives the power of a test, pass one minus the power."
            )
    return tuple(points)


def _delta_of(claim: object) -> _Function | None:
    """Return the function that maps an epsilon to the claimed delta.

    The result is None if the claim is a list of points.
    """
    names = ("get_delta_for_epsilon", "delta")
    asked = next((found for name in names if callable(found := getattr(claim, name, None))), claim)
    if not callable(asked):
        return None
    return lambda epsilon: _value(asked, epsilon, "epsilon", "delta", 1.0)


def _value(function: Callable[[float], object], place: float, x: str, y: str, most: float) -> float:
    """Return the value of a claimed curve at one point.

    Args:
        function: Claimed curve.
        place: Point at which the curve is evaluated.
        x: Name of the curve's argument, for error messages.
        y: Name of the curve's value, a key of `_RANGES`.
        most: Largest valid value.

    Raises:
        TypeError: If the value is not a number.
        ValueError: If the value is NaN or out of range, or if the function raised an exception.
    """
    try:
        found = function(place)
    except Exception as error:  # A caller's function may raise anything.
        kind = type(error).__name__
        raise BadValue(f"claim raised {kind} at {x} = {place:g}: {error}") from error
    wanted = f"claim must give {_RANGES[y]} at {x} = {place:g}, but gave"
    if not is_number(found):
        raise BadType(f"{wanted} {found!r} ({type(found).__name__}).")
    value = np.asarray(found, np.float64).item()
    if not 0 <= value <= most or value == np.inf:
        raise BadValue(f"{wanted} {value!r}.")
    return value


def _pairs(claim: object, x: str, y: str) -> list[tuple[float, float]]:
    accepted = _FORMS.format(x=x, y=y)
    if (
        isinstance(claim, str | bytes)
        or not isinstance(claim, Sequence | np.ndarray)
        or not len(claim)
    ):
        raise BadType(f"claim must be {accepted}, but was {claim!r}.")
    try:
        array = np.asarray(claim, np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    array = np.atleast_2d(array)
    if array.shape[-1] != 2 or array.ndim != 2 or not np.isfinite(array).all():
        raise BadValue(f"claim must be {accepted}, but was {claim!r}.")
    return [(float(a), float(b)) for a, b in array[np.argsort(array[:, 0], kind="stable")]]
