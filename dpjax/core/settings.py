"""Protect computations of dpjax from settings of NumPy and JAX that a caller has changed.

If a caller has set `numpy.seterr(all="raise")`, NumPy raises an error when a tiny probability
underflows. Therefore, dpjax computes with NumPy's default error settings, and only user functions
run with the caller's error settings. If a caller has set `jax.transfer_guard("disallow")`, JAX
raises an error when dpjax passes counts or databases to a compiled program. Therefore, dpjax allows
transfers.
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
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

_GUARDS = (
    "jax_transfer_guard_host_to_device",
    "jax_transfer_guard_device_to_device",
    "jax_transfer_guard_device_to_host",
)


@contextmanager
def own_settings() -> Iterator[None]:
    """Use NumPy's default error settings, and allow transfers, in a block or decorated function.

    A block inside another block keeps the caller's settings that the outer block replaced, unless
    the caller's function has changed the settings again in between.
    """
    found = np.geterr()
    outer = _CALLERS.get() if found == _DEFAULT else None
    token = _CALLERS.set(outer or found)
    try:
        with np.errstate(**_DEFAULT), _transfers_allowed():
            yield
    finally:
        _CALLERS.reset(token)


def callers_floats() -> np.errstate:
    """Return a context manager that restores the error settings replaced by `own_settings`."""
    settings = _CALLERS.get()
    return np.errstate() if settings is None else np.errstate(**settings)


def _transfers_allowed() -> AbstractContextManager[object]:
    """Return a context manager that allows transfers if a setting of JAX forbids or logs them."""
    jax = sys.modules.get("jax")
    if jax is None or all(getattr(jax.config, guard) in (None, "allow") for guard in _GUARDS):
        # Threads compare all settings with those of their caller, so change none without need.
        return nullcontext()
    return jax.transfer_guard("allow")
