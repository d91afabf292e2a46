"""Where a result comes from: what was audited, with which seed, versions and machine."""

import dataclasses
import platform
from importlib.metadata import version
from typing import Any

import jax
import numpy as np
import scipy

_MOST_NUMBERS = 20
"""Entries of an array that is written out."""


def name_of(mechanism: Any) -> str:
    """The name of a built-in mechanism, or of the function."""
    name = getattr(mechanism, "name", None)
    if name:
        return name
    function = getattr(mechanism, "function", mechanism)
    return getattr(function, "__name__", type(function).__name__)


def parameters_of(mechanism: Any) -> dict[str, Any]:
    """The parameters of a mechanism that is a dataclass, as plain numbers and lists.

    None of a function; what is neither a number nor an array is given by its name.
    """
    if not dataclasses.is_dataclass(mechanism) or hasattr(mechanism, "function"):
        return {}
    return {f.name: _plain(getattr(mechanism, f.name)) for f in dataclasses.fields(mechanism)}


def _plain(value: Any) -> Any:
    if isinstance(value, int):
        return value
    try:
        array = np.asarray(value, float)
        if array.size > _MOST_NUMBERS:
            return f"{array.size} numbers of the shape {list(array.shape)}"
        return array.tolist()
    except (TypeError, ValueError):
        return getattr(value, "__name__", str(value))


def seed_of(key: Any) -> Any:
    """An integer seed, or the words of a typed key."""
    if hasattr(key, "dtype") and jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key):
        return [int(word) for word in np.asarray(jax.random.key_data(key))]
    return int(key)


def numbers_of_process() -> dict[str, str]:
    """What the process draws with: its float type and its generator."""
    return {
        "dtype": str(np.dtype(jax.numpy.result_type(float))),
        "generator": "threefry2x32",
    }


def versions() -> dict[str, str]:
    """Of dpjax and what it stands on."""
    return {
        "dpjax": version("dpjax"),
        "jax": jax.__version__,
        "jaxlib": version("jaxlib"),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def device() -> str:
    """The device that computes."""
    return f"{jax.devices()[0].platform}: {jax.devices()[0].device_kind}"
