"""Host-side validation of arguments.

The values to check are passed to each function as keyword arguments, so that an error message can
state the argument's name, its value and the accepted values. Values traced by JAX are not checked,
because they are unknown until the program runs.
"""

import math
import os
import sys
from collections.abc import Collection, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from dpjax.core.errors import nearest
from dpjax.core.wording import BadType, BadValue

LIMITS = {
    "blocks": 10**6,
    "categories": 2**16,
    "cells": 2**22,
    "columns": 10**4,
    "document_bytes": 2**24,
    "entries": 10**4,
    "label_length": 2**16,
    "labels": 2**20,
    "levels": 10**4,
    "line_bytes": 2**20,
    "pairs": 2**18,
    "panel_cells": 2**25,
    "piped_bytes": 2**30,
    "program_bytes": 2**26,
    "runs": 10**9,
    "sizes": 10**4,
    "unpacked_bytes": 2**28,
}
"""Map from the name of each limit to the maximum size of an input. The environment variable
DPJAX_MAX_<NAME> overrides a limit.

Because of these limits, a small file or a mistyped number can neither exhaust the memory nor start
a computation that takes days.
"""


def limit(name: str) -> int:
    """Return a limit from its environment variable if that is set, and from `LIMITS` otherwise.

    Raises:
        ValueError: If the environment variable is set to anything but an integer >= 1.
    """
    variable = f"DPJAX_MAX_{name.upper()}"
    text = os.environ.get(variable, "")
    if text and not (text.isdecimal() and int(text) > 0):
        raise ValueError(f"{variable} must be an integer >= 1, but was {text!r}.")
    return int(text or LIMITS[name])


def within_limit(name: str, number: int, what: str) -> None:
    """Check that the size of an input does not exceed a limit.

    Args:
        name: Name of the limit.
        number: Requested size.
        what: Beginning of the message, such as "outputs have too many categories".

    Raises:
        ValueError: If `number` exceeds the limit; the message says how to raise the limit.
    """
    if number > (most := limit(name)):
        raise BadValue(
            f"{what}: {number}, above the limit of {most}; if that is intended, set "
            f"DPJAX_MAX_{name.upper()} to a larger number."
        )


def is_traced(value: object) -> bool:
    """Return whether `value` is a tracer or another JAX placeholder whose value is unknown."""
    if type(value) is object or value is None:
        return True
    # No value is traced unless jax has been imported, so do not import jax for this check.
    jax = sys.modules.get("jax")
    if jax is None:
        return False
    foreign = type(value).__module__.startswith("jax.") and not isinstance(value, jax.Array)
    return foreign or isinstance(value, jax.core.Tracer)


def _scalar(name: str, value: object, accepted: str) -> float:
    if not (isinstance(value, Real) or (hasattr(value, "shape") and hasattr(value, "dtype"))):
        raise BadType(f"{name} must be {accepted}, but was {value!r} ({type(value).__name__}).")
    # NumPy would convert an integer of 2^64 or more to an array of objects.
    try:
        array = np.asarray(float(value) if type(value) is int else value)
    except OverflowError:
        raise BadValue(f"{name} must be {accepted} (below 1.8e308), but was larger.") from None
    if array.dtype.kind not in "iuf":
        raise BadType(f"{name} must be {accepted}, but was {value!r}.")
    # A parameter may be an array with one entry per pair. Callers check the smallest entry.
    if array.size == 0 or not np.all(np.isfinite(array)):
        raise BadValue(f"{name} must be {accepted} (finite), but was {value!r}.")
    return float(array.min())


def positive(**arguments: object) -> None:
    """Validate that each argument is a finite number above 0, or None if it was left out.

    Raises:
        TypeError: If an argument is not a number.
        ValueError: If an argument is not finite or not above 0.
    """
    for name, value in arguments.items():
        if not is_traced(value) and _scalar(name, value, "a number > 0") <= 0:
            raise BadValue(f"{name} must be a number > 0, but was {value!r}.")


def not_below(least: float, **arguments: object) -> None:
    """Validate that each argument is a finite number >= `least`; raise the errors of `positive`."""
    for name, value in arguments.items():
        if not is_traced(value) and _scalar(name, value, f"a number >= {least:g}") < least:
            raise BadValue(f"{name} must be a number >= {least:g}, but was {value!r}.")


def non_negative(**arguments: object) -> None:
    """Validate that each argument is a finite number >= 0; raise the same errors as `positive`."""
    not_below(0, **arguments)


def finite(**arguments: object) -> None:
    """Validate that each argument is a finite number; raise the same errors as `positive`.

    Unlike `positive`, refuse None, which JAX stores as a placeholder in pytrees such as mechanisms.
    """
    for name, value in arguments.items():
        if value is None or not is_traced(value):
            _scalar(name, value, "a number")


def open_unit(**arguments: object) -> None:
    """Validate that each argument lies strictly in (0, 1); see `finite` for the errors."""
    for name, value in arguments.items():
        if value is not None and is_traced(value):
            continue
        low = _scalar(name, value, "a number between 0 and 1")
        if low <= 0 or float(np.max(np.asarray(value))) >= 1:
            raise BadValue(f"{name} must lie strictly between 0 and 1, but was {value!r}.")


def positive_int(at_least: int = 1, **arguments: object) -> None:
    """Validate that each argument is an integer >= `at_least`.

    Raises:
        TypeError: If an argument is not an integer. For example, 1e4 is a float, and 10_000 is an
            integer.
        ValueError: If an argument is below `at_least`, or is 2^63 or more.
    """
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise BadType(
                f"{name} must be an integer >= {at_least}, but was {value!r} "
                f"({type(value).__name__})."
            )
        if value < at_least:
            raise BadValue(f"{name} must be an integer >= {at_least}, but was {value!r}.")
        if value >= 2**63:
            raise BadValue(f"{name} must be an integer below 2^63, but was larger.")


def own_confidence(confidence: float, num_claims: int) -> float:
    """Return the confidence that each bound needs if all bounds hold jointly with `confidence`."""
    if num_claims == 1:
        return confidence
    error = (1 - confidence) / num_claims
    own = 1 - error
    # Rounding to the nearest float could make the error of each bound larger than its share.
    return own if 1 - own <= error else math.nextafter(own, 1)


def joint_confidence(confidence: float, num_claims: int) -> None:
    """Validate the confidence with which the bounds of multiple audits hold jointly.

    Raises:
        TypeError: If an argument is of the wrong type.
        ValueError: If an argument is out of range, or if the confidence that each bound needs is
            rounded to 1.
    """
    open_unit(confidence=confidence)
    positive_int(num_claims=num_claims)
    if own_confidence(confidence, num_claims) == 1:
        error = (1 - confidence) / num_claims
        raise BadValue(
            f"num_claims must be smaller, because the error probability of each bound, "
            f"{error:.2g}, is too small for double precision, but was {num_claims}."
        )


def draws(**arguments: object) -> None:
    """Validate that each argument is an integer in [2, 2^31).

    Raises:
        TypeError: If an argument is not an integer.
        ValueError: If an argument is out of range.
    """
    positive_int(at_least=2, **arguments)
    for name, value in arguments.items():
        if value >= 2**31:
            raise BadValue(f"{name} must be below 2^31, but was {value}.")


def counts(*, at_most: int | None = None, **arguments: object) -> None:
    """Validate that each argument is an array of whole numbers from 0 to `at_most`.

    Raises:
        TypeError: If an argument does not consist of numbers.
        ValueError: If an argument contains a fraction, NaN, or a number out of range.
    """
    largest = np.iinfo(np.int64).max if at_most is None else at_most
    accepted = "whole numbers >= 0" if at_most is None else f"whole numbers from 0 to {at_most}"
    for name, value in arguments.items():
        array = _within(name, value, 0, largest, accepted)
        if array.dtype.kind == "f" and np.any(broken := array != np.floor(array)):
            raise BadValue(f"{name} must be {accepted}, but held {array[broken].flat[0]}.")


def shares(*, above_0: bool = False, **arguments: object) -> None:
    """Validate that each argument is an array of numbers in [0, 1], or in (0, 1] if `above_0`.

    Raises:
        TypeError: If an argument does not consist of numbers.
        ValueError: If an argument contains NaN or a number out of range.
    """
    low = np.nextafter(0, 1) if above_0 else 0
    for name, value in arguments.items():
        _within(name, value, low, 1, "in (0, 1]" if above_0 else "in [0, 1]")


def _within(name: str, value: object, low: float, high: float, accepted: str) -> np.ndarray:
    """Validate that all entries of an array lie in [low, high], without creating another array."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise BadType(f"{name} must be {accepted}, but held {array.dtype}.")
    if array.size:
        least, most = array.min(), array.max()
        # If any entry is NaN, both `least` and `most` are NaN.
        if not (least >= low and most <= high):
            worst = most if least >= low else least
            raise BadValue(f"{name} must be {accepted}, but held {worst}.")
    return array


def one_of(accepted: Collection[str], **arguments: object) -> None:
    """Validate that each argument is one of the accepted names.

    Raises:
        ValueError: If an argument is not an accepted name; the message suggests the nearest
            accepted name.
    """
    for name, value in arguments.items():
        if not isinstance(value, str) or value not in accepted:
            known = sorted(accepted)
            raise BadValue(f"{name} {value!r} is not known; {nearest(str(value), known)}")


def numbers(name: str, value: Any) -> np.ndarray:
    """Return a number, or nested lists or an array of numbers, as a float array.

    Raises:
        TypeError: If the value contains an object that is neither a number nor a string.
        ValueError: If the value contains a string that is no number, or if lists differ in length.
    """
    try:
        return np.asarray(value, float)
    except TypeError as error:
        raise BadType(f"{name} must consist of numbers, but was {value!r}.") from error
    except ValueError as error:
        raise BadValue(
            f"{name} must consist of numbers, in lists of equal length, but was {value!r}."
        ) from error


def increasing(low: object, high: object, *, name: str) -> None:
    """Validate that the interval or box [low, high] is finite and not empty.

    Raises:
        TypeError: If a bound does not consist of numbers.
        ValueError: If a bound is not finite, or if low >= high on some axis.
    """
    low, high = numbers(name, low), numbers(name, high)
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high))):
        raise BadValue(
            f"{name} must have finite bounds, but was low {low.tolist()}, high {high.tolist()}."
        )
    if np.any(low >= high):
        raise BadValue(
            f"{name} must have low < high on every axis, but was low {low.tolist()}, high "
            f"{high.tolist()}."
        )


def check_table(what: str, content: object) -> dict[str, Any]:
    """Copy a mapping from names to values into a dict.

    Raises:
        TypeError: If the content is not a mapping.
    """
    if not isinstance(content, Mapping):
        raise TypeError(f"{what} must be a table, but was {content!r}.")
    return dict(content)


def check_names(
    what: str, content: Mapping[str, object], names: tuple[str, ...], *taken_before: str
) -> None:
    """Validate that a table has only accepted names.

    Args:
        what: Name of the table. Error messages begin with this name.
        content: Table to validate.
        names: Accepted names.
        taken_before: Names that are accepted elsewhere but not in this table; the error message may
            suggest such a name.
    """
    for name in check_table(what, content):
        if name not in names:
            raise ValueError(
                f"{what} has no {name!r}; {nearest(str(name), (*names, *taken_before))}"
            )
