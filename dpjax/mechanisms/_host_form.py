"""How a function that JAX cannot trace is audited instead, as the end of a message about it."""

import inspect
from collections.abc import Callable

from dpjax.core.errors import name_of_function
from dpjax.core.wording import ON_HOST, term

_SEEDS = ("seed", "rng")
"""Parameters that `dpjax.HostMechanism` fills by name."""

_SIZES = ("num_samples", "n_samples", "samples", "size", "num", "n", "count", "num_draws")
"""Usual names of the number of outputs that a function returns at one call."""

ANY_FUNCTION = "otherwise wrap a function (database, num_samples) as " + ON_HOST
"""What can be done with a function whose parameters tell nothing."""


def host_form(function: Callable[..., object]) -> str | None:
    """A call of `dpjax.HostMechanism` that suits a function, in words.

    Args:
        function: Any function; its parameters decide.

    Returns:
        The beginning of a sentence with marked words (see `core.wording`), or None where the
        parameters look like those of a JAX function or cannot be read.
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
        return f"audit a function (database) -> one output as {call}"
    if len(required) == 2 and required[1] in _SIZES:
        call = term(f"dpjax.HostMechanism({inside})", "--host")
        return f"audit a function (database, num_samples) -> outputs as {call}"
    return None
