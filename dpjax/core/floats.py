"""How NumPy treats overflow and its like: here by default, in functions of the caller as they say.

A caller may have set `numpy.seterr(all="raise")`. Sums of tiny probabilities underflow here as they
should, so this package computes under NumPy's defaults.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypedDict

import numpy as np

_Treatment = Literal["ignore", "warn", "raise", "call", "print", "log"]


class _Settings(TypedDict):
    divide: _Treatment
    over: _Treatment
    under: _Treatment
    invalid: _Treatment


_DEFAULT: _Settings = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
_CALLERS: ContextVar[_Settings] = ContextVar("callers", default=_DEFAULT)


@contextmanager
def own_floats() -> Iterator[None]:
    """Within it, or in a function that it decorates, NumPy has its default settings."""
    given = np.geterr()
    settings: _Settings = {
        "divide": given["divide"],
        "over": given["over"],
        "under": given["under"],
        "invalid": given["invalid"],
    }
    token = _CALLERS.set(settings)
    try:
        with np.errstate(**_DEFAULT):
            yield
    finally:
        _CALLERS.reset(token)


def callers_floats() -> np.errstate:
    """The settings of the caller of the outermost `own_floats`, for functions of theirs."""
    return np.errstate(**_CALLERS.get())
