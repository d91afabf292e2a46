"""How NumPy treats overflow and its like: here by default, in functions of the caller as they say.

A caller may have set `numpy.seterr(all="raise")`. Sums of tiny probabilities underflow here as they
should, so this package computes under NumPy's defaults.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

_DEFAULT: dict[str, Any] = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
_CALLERS: ContextVar[dict[str, Any]] = ContextVar("callers", default=_DEFAULT)


@contextmanager
def own_floats() -> Iterator[None]:
    """Within it, or in a function that it decorates, NumPy has its default settings."""
    token = _CALLERS.set(dict(np.geterr()))
    try:
        with np.errstate(**_DEFAULT):
            yield
    finally:
        _CALLERS.reset(token)


def callers_floats() -> np.errstate:
    """The settings that the innermost `own_floats` replaced, for functions of the caller."""
    return np.errstate(**_CALLERS.get())
