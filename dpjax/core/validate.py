"""Host-side checks of arguments, one sentence each.

Every function takes keyword arguments, so that the message names the argument as the caller wrote
it, says what it was and what is accepted. Values that are being traced by JAX are let through: a
check of a traced value would need the device.
"""

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
    "label_length": 256,
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
"""What an input may cost at most, by name; DPJAX_MAX_NAME in the environment sets another number.

They keep a small file, or a wrong zero in a number, from taking the machine's memory or days.
"""


def limit(name: str) -> int:
    """A limit of `LIMITS`, or what the environment says instead.

    Raises:
        ValueError: The environment says something that is no integer >= 1.
    """
    variable = f"DPJAX_MAX_{name.upper()}"
    text = os.environ.get(variable, "")
    if text and not (text.isdecimal() and int(text) > 0):
        raise ValueError(f"{variable} must be an integer >= 1, but was {text!r}.")
    return int(text or LIMITS[name])


def within_limit(name: str, number: int, what: str) -> None:
    """Refuses what would cost more than a limit allows.

    Args:
        name: Of the limit.
        number: What is asked for.
        what: Is so many, for the message.

    Raises:
        ValueError: The number is above the limit; the message says how to raise it.
    """
    if number > (most := limit(name)):
        raise BadValue(
            f"{what}: {number}, above the limit of {most}; where that is meant, set "
            f"DPJAX_MAX_{name.upper()} to a larger number."
        )


def is_traced(value: Any) -> bool:
    """Whether `value` has no number to look at: a tracer, or JAX's placeholder for one."""
    if type(value) is object or value is None:
        return True
    # Where nothing has imported jax, nothing is traced: bounds of counts do not wait for it.
    jax: Any = sys.modules.get("jax")
    if jax is None:
        return False
    foreign = type(value).__module__.startswith("jax.") and not isinstance(value, jax.Array)
    return foreign or isinstance(value, jax.core.Tracer)


def _scalar(name: str, value: Any, accepted: str) -> float:
    if isinstance(value, bool) or not (
        isinstance(value, Real) or (hasattr(value, "shape") and hasattr(value, "dtype"))
    ):
        raise BadType(f"{name} must be {accepted}, but was {value!r} ({type(value).__name__}).")
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise BadType(f"{name} must be {accepted}, but was {value!r}.")
    # A stacked parameter is checked by its worst entry.
    if array.size == 0 or not np.all(np.isfinite(array)):
        raise BadValue(f"{name} must be {accepted} (finite), but was {value!r}.")
    return float(array.min())


def positive(**arguments: Any) -> None:
    """Each argument is a finite number above 0.

    Raises:
        TypeError: An argument is not a number.
        ValueError: An argument is not finite or not above 0.
    """
    for name, value in arguments.items():
        if not is_traced(value) and _scalar(name, value, "a number > 0") <= 0:
            raise BadValue(f"{name} must be a number > 0, but was {value!r}.")


def non_negative(**arguments: Any) -> None:
    """Each argument is a finite number that is not below 0; raises as `positive` does."""
    for name, value in arguments.items():
        if not is_traced(value) and _scalar(name, value, "a number >= 0") < 0:
            raise BadValue(f"{name} must be a number >= 0, but was {value!r}.")


def finite(**arguments: Any) -> None:
    """Each argument is a finite number; raises as `positive` does."""
    for name, value in arguments.items():
        if not is_traced(value):
            _scalar(name, value, "a number")


def open_unit(**arguments: Any) -> None:
    """Each argument lies strictly between 0 and 1; raises as `positive` does."""
    for name, value in arguments.items():
        if is_traced(value):
            continue
        low = _scalar(name, value, "a number between 0 and 1")
        if low <= 0 or float(np.max(np.asarray(value))) >= 1:
            raise BadValue(f"{name} must lie strictly between 0 and 1, but was {value!r}.")


def positive_int(at_least: int = 1, **arguments: Any) -> None:
    """Each argument is an integer that is at least `at_least`.

    Raises:
        TypeError: An argument is not an integer (1e4 is a float: write 10_000).
        ValueError: An argument is too small.
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


def draws(**arguments: Any) -> None:
    """Each argument is a number of draws, an integer in [2, 2^31); raises as `positive_int`."""
    positive_int(at_least=2, **arguments)
    for name, value in arguments.items():
        if value >= 2**31:
            raise BadValue(f"{name} must be below 2^31, but was {value}.")


def counts(*, at_most: int | None = None, **arguments: Any) -> None:
    """Each argument holds whole numbers from 0 to `at_most`, in an array of any shape.

    Raises:
        TypeError: An argument does not hold numbers.
        ValueError: An argument holds a number that is no such count, or NaN.
    """
    largest = np.iinfo(np.int64).max if at_most is None else at_most
    accepted = "whole numbers >= 0" if at_most is None else f"whole numbers from 0 to {at_most}"
    for name, value in arguments.items():
        array = _within(name, value, 0, largest, accepted)
        if array.dtype.kind == "f" and np.any(broken := array != np.floor(array)):
            raise BadValue(f"{name} must be {accepted}, but held {array[broken].flat[0]}.")


def shares(*, above_0: bool = False, **arguments: Any) -> None:
    """Each argument holds numbers from 0 to 1, in an array of any shape; raises as `counts` does.

    Args:
        above_0: Whether 0 is refused.
        arguments: To be checked.
    """
    low = np.nextafter(0, 1) if above_0 else 0
    for name, value in arguments.items():
        _within(name, value, low, 1, "in (0, 1]" if above_0 else "in [0, 1]")


def _within(name: str, value: Any, low: float, high: float, accepted: str) -> np.ndarray:
    """The array, all of which lies in [low, high]: two passes, and no array besides."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise BadType(f"{name} must be {accepted}, but held {array.dtype}.")
    if array.size:
        least, most = array.min(), array.max()
        # Both are NaN where any entry is.
        if not (least >= low and most <= high):
            worst = most if least >= low else least
            raise BadValue(f"{name} must be {accepted}, but held {worst}.")
    return array


def one_of(accepted: Collection[str], **arguments: Any) -> None:
    """Each argument is one of the accepted names; the message offers the nearest.

    Raises:
        ValueError: An argument is not among them.
    """
    for name, value in arguments.items():
        if value not in accepted:
            known = sorted(accepted)
            raise BadValue(f"{name} {value!r} is not known; {nearest(str(value), known)}")


def increasing(low: Any, high: Any, *, name: str) -> None:
    """The interval or box [low, high] is finite and not empty.

    Raises:
        ValueError: A bound is not finite, or low >= high on some axis.
    """
    low, high = np.asarray(low, float), np.asarray(high, float)
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high))):
        raise BadValue(
            f"{name} must have finite bounds, but was low {low.tolist()}, high {high.tolist()}."
        )
    if np.any(low >= high):
        raise BadValue(
            f"{name} must have low < high on every axis, but was low {low.tolist()}, high "
            f"{high.tolist()}."
        )


def check_names(
    what: str, content: Mapping[str, Any], names: tuple[str, ...], *taken_before: str
) -> None:
    """Refuses a name that is not known, and what is no table at all.

    Args:
        what: Is checked, for the message.
        content: Its names and values.
        names: That are accepted.
        taken_before: Names that are known as well, and were read by somebody else.
    """
    if not isinstance(content, Mapping):
        raise TypeError(f"{what} must be a table, but was {content!r}.")
    for name in content:
        if name not in names:
            raise ValueError(
                f"{what} has no {name!r}; {nearest(str(name), (*names, *taken_before))}"
            )
