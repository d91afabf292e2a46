"""Suggestions in error messages for how to audit a function that JAX cannot trace."""

import inspect
from collections.abc import Callable

from dpjax.core.errors import name_of_function
from dpjax.core.wording import ON_HOST, term

_SEEDS = ("seed", "rng")
"""Names of parameters for randomness, which `dpjax.HostMechanism` passes by keyword."""

_SIZES = ("num_samples", "n_samples", "samples", "size", "num", "n", "count", "num_draws")
"""Common names of the parameter that sets the number of outputs."""

ANY_FUNCTION = "otherwise wrap a function of (database, num_samples) as " + ON_HOST
"""Suggestion for a function whose parameters have none of the common names."""


def host_form(function: Callable[..., object]) -> str | None:
    """Suggest a call of `dpjax.HostMechanism` that suits the parameters of a function.

    Returns:
        A clause for an error message, with words marked by `core.wording.term`. The result is None
        if the parameters look like those of a JAX function, are not recognized, or cannot be read.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    required = [
        p.name
        for p in parameters
        if p.default is p.empty
        and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        and p.name not in _SEEDS
    ]
    if not required or "key" in required[0]:
        return None
    name = name_of_function(function)
    inside = name if name.isidentifier() else "function"
    if len(required) == 1:
        call = term(f"dpjax.HostMechanism({inside}, batched=False)", "--host with --one-by-one")
        return f"audit a function of the form (database) -> one output as {call}"
    if len(required) == 2 and required[1] in _SIZES:
        call = term(f"dpjax.HostMechanism({inside})", "--host")
        return f"audit a function of the form (database, num_samples) -> outputs as {call}"
    return None
