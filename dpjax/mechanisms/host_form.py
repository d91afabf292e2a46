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
    required = _required(function) if callable(function) else None
    if required is None or len(required) > 2:
        return None
    if len(required) == 1:
        return False
    return True if required[1] in _SIZES else None


def host_form(function: Callable[..., object]) -> str | None:
    """Suggest how to audit a Python function that is not a JAX function.

    Returns:
        A clause for an error message, with words marked by `core.wording.term`. The result is None
        if the parameters look like those of a JAX function, are not recognized, or cannot be read.
    """
    required = _required(function)
    if required is None:
        return None
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


def _required(function: Callable[..., object]) -> list[str] | None:
    """Return the names of the positional parameters without defaults, except `seed` and `rng`.

    Returns:
        The names, beginning with the database's; None if the first parameter may be a key of JAX,
        if no parameter is required, or if the parameters cannot be read.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not positional or "key" in positional[0].name:
        return None
    required = [p.name for p in positional if p.default is p.empty and p.name not in _SEEDS]
    return required if required and required[0] == positional[0].name else None
