"""Recognition of Python functions that draw their own random numbers, by their parameters.

A JAX function has the form (key, database) -> output. A Python function that dpjax audits as
`dpjax.HostMechanism` has the form (database) -> output or (database, num_samples) -> outputs, with
an optional parameter `seed` or `rng`.
"""

import inspect
from collections.abc import Callable

from dpjax.core.errors import name_of_function
from dpjax.core.wording import ON_HOST, term

_SEEDS = ("seed", "rng")
"""Names of parameters for randomness, which `dpjax.HostMechanism` passes by keyword."""

_SIZES = ("num_samples", "n_samples", "num_draws")
"""Names that only a parameter for the number of outputs has."""

_OTHER_SIZES = ("samples", "size", "num", "n", "count")
"""Names of the number of outputs that a parameter for a database may have, too."""

_SETTINGS = ("epsilon", "eps", "delta", "scale", "sigma", "sensitivity", "noise_multiplier", "rho")
"""Names of parameters that set the amount of noise."""

ANY_FUNCTION = "otherwise wrap a function of (database, num_samples) as " + ON_HOST
"""Suggestion for a function whose parameters have none of the common names."""


def is_batched(function: object) -> bool | None:
    """Return whether each call of a Python function returns many outputs.

    Returns:
        False for the form (database), True for the form (database, num_samples), each with optional
        further parameters; None if the parameters may be those of a JAX function, are not
        recognized, or cannot be read.
    """
    found = _names(function) if callable(function) else None
    if found is None:
        return None
    names, required = found
    takes_size = len(names) > 1 and names[1] in _SIZES
    others = [name for name in required if name not in names[: 2 if takes_size else 1]]
    return None if others else takes_size


def host_form(function: Callable[..., object]) -> str | None:
    """Suggest how to audit a Python function that is not a JAX function.

    Returns:
        A clause for an error message, with words marked by `core.wording.term`. The result is None
        if the parameters look like those of a JAX function, are not recognized, or cannot be read.
    """
    found = _names(function)
    if found is None:
        return None
    _, required = found
    name = name_of_function(function)
    inside = name if name.isidentifier() else "function"
    if len(required) == 1:
        call = term(f"dpjax.HostMechanism({inside}, batched=False)", "--host with --one-by-one")
        return f"audit a function of the form (database) -> one output as {call}"
    if len(required) == 2 and required[1] in _SIZES + _OTHER_SIZES:
        call = term(f"dpjax.HostMechanism({inside})", "--host")
        return f"audit a function of the form (database, num_samples) -> outputs as {call}"
    if len(required) > 2 or required[1] in _SETTINGS:
        bound = ", ".join(f"{each}=..." for each in required[1:])
        return f"bind all parameters but the database, as in functools.partial({inside}, {bound})"
    return None


def _names(function: Callable[..., object]) -> tuple[list[str], list[str]] | None:
    """Return the names of a function's positional parameters, beginning with the database's.

    Returns:
        The names of all positional parameters, and of those that have no default and are not `seed`
        or `rng`; None if the first parameter may be a key of JAX, if it is not required, or if the
        parameters cannot be read.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in positional]
    required = [p.name for p in positional if p.default is p.empty and p.name not in _SEEDS]
    if not required or required[0] != names[0] or _is_key(names[0]):
        return None
    return names, required


def _is_key(name: str) -> bool:
    """Return whether a parameter is named like a key of JAX, such as `key` or `prng_key`."""
    return any(word.endswith("key") for word in name.split("_"))
