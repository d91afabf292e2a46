"""Use NumPy's default error settings in dpjax, and the caller's settings in user functions.

If a caller has set `numpy.seterr(all="raise")`, NumPy raises an error when a tiny probability
underflows. Therefore, dpjax computes with NumPy's default error settings.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypedDict

import numpy as np

Kind = Literal["ignore", "warn", "raise", "call", "print", "log"]


class Settings(TypedDict):
    """Map from each kind of floating-point error to NumPy's reaction."""

    divide: Kind
    over: Kind
    under: Kind
    invalid: Kind


_DEFAULT: Settings = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
_CALLERS: ContextVar[Settings | None] = ContextVar("callers", default=None)


@contextmanager
def own_floats() -> Iterator[None]:
    """Use NumPy's default error settings within a `with` block or a decorated function.

    A block inside another block keeps the caller's settings that the outer block replaced, unless
    the caller's function has changed the settings again in between.
    """
    found = np.geterr()
    outer = _CALLERS.get() if found == _DEFAULT else None
    token = _CALLERS.set(outer or found)
    try:
        with np.errstate(**_DEFAULT):
            yield
    finally:
        _CALLERS.reset(token)


def callers_floats() -> np.errstate:
    """Return a context manager that restores the error settings replaced by `own_floats`."""
    settings = _CALLERS.get()
    return np.errstate() if settings is None else np.errstate(**settings)
