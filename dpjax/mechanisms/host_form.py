"""Recognition of Python functions that draw their own random numbers, by their parameters.

A JAX function has the form (key, database) -> output. A Python function that dpjax audits as
`dpjax.HostMechanism` has the form (database) -> output or (database, num_samples) -> outputs, with
an optional parameter `seed` or `rng`. The database comes first; the others may be in any order. If
`seed` or `rng` is required, the number of outputs may also have a name such as `n` or `size`,
because a JAX function has only two required parameters.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import NamedTuple

from dpjax.core.errors import name_of_function
from dpjax.core.wording import ON_HOST, term

SEEDS = ("seed", "rng")
"""Names of parameters for randomness, which `dpjax.HostMechanism` passes by keyword."""

_SIZES = ("num_samples", "n_samples", "num_draws")
"""Names that only a parameter for the number of outputs has."""

_OTHER_SIZES = ("samples", "size", "num", "n", "count")
"""Names of the number of outputs that a parameter for a database may have, too."""

_NO_DATABASES = (*_SIZES, "n", "size")
"""Names that a parameter for a database rarely has."""

_OTHER_SEEDS = ("random_state", "generator", "random", "random_generator")
"""Names of parameters for randomness whose type is not clear."""

_SETTINGS = ("epsilon", "eps", "delta", "scale", "sigma", "sensitivity", "noise_multiplier", "rho")
"""Names of parameters that set the amount of noise."""

ANY_FUNCTION = "otherwise wrap a function of (database, num_samples) as " + ON_HOST
"""Suggestion for a function whose parameters have none of the common names."""

FORMS = (
    "a JAX function has the form (key, database) -> one output, and a Python function has the form "
    "(database) -> one output or (database, num_samples) -> outputs, each with an optional "
    "parameter seed or rng"
)
"""The accepted forms of functions."""


class _Form(NamedTuple):
    """The parameters of a function, whose first one is the database.

    Attributes:
        size: Name of the parameter for the number of outputs, or None if there is none.
        is_second: Whether this parameter is the second one that is passed by position.
        others: Names of further parameters that are required, other than `seed` and `rng`.
    """

    size: str | None
    is_second: bool
    others: list[str]


def is_batched(function: object) -> bool | None:
    """Return whether each call of a Python function returns many outputs.

    Returns:
        False for the form (database), True for the form (database, num_samples), each with optional
        further parameters; None if the parameters may be those of a JAX function, are not
        recognized, or cannot be read.
    """
    found = _form(function) if callable(function) else None
    return None if found is None or found.others else found.size is not None


def size_arguments(function: Callable[..., object], number: int) -> tuple[list[int], dict]:
    """Return the number of outputs as positional arguments and as keyword arguments.

    The number is passed by position if it is the second parameter, whose name may be arbitrary, and
    otherwise by its name.
    """
    found = _form(function)
    if found is None or found.size is None or found.is_second:
        return [number], {}
    return [], {found.size: number}


def host_form(function: Callable[..., object]) -> str | None:
    """Suggest how to audit a Python function that is not a JAX function.

    Returns:
        A clause for an error message, with words marked by `core.wording.term`. The result is None
        if the parameters look like those of a JAX function, are not recognized, or cannot be read.
    """
    found, first = _form(function), next(iter(signature_of(function).values()), None)
    if order := order_hint(function):
        return order
    if first is not None and first.name == "self":
        return "pass the method of an object instead of its class"
    gathers = first is not None and first.kind is first.VAR_POSITIONAL
    if found is None and not gathers:
        return None
    name, (size, _, others) = name_of_function(function), found or _Form(None, False, [])
    inside = name if name.isidentifier() else "function"
    if size is None and not others:
        call = term(f"dpjax.HostMechanism({inside}, batched=False)", "--host with --one-by-one")
        return f"audit a function of the form (database) -> one output as {call}"
    seeds = [other for other in others if other in _OTHER_SEEDS]
    if seeds:
        return (
            f"rename the parameter {seeds[0]} to rng to get a numpy.random.Generator, or to seed "
            "to get an integer below 2^63"
        )
    if not others or (size is None and len(others) == 1 and others[0] in _OTHER_SIZES):
        call = term(f"dpjax.HostMechanism({inside})", "--host")
        return f"audit a function of the form (database, num_samples) -> outputs as {call}"
    if len(others) > 1 or others[0] in _SETTINGS:
        bound = ", ".join(f"{each}=..." for each in others)
        return f"bind all parameters but the database, as in functools.partial({inside}, {bound})"
    return None


def order_hint(function: Callable[..., object]) -> str | None:
    """Return how to order the parameters of a function whose first one is not the database.

    Args:
        function: Any function. The result is None if its first parameter may be a database.
    """
    names = [p.name for p in signature_of(function).values() if p.kind != p.VAR_POSITIONAL]
    if not names or names[0] not in SEEDS + _NO_DATABASES:
        return None
    # In (n, num_samples) and in (n, rng), n may be the database.
    others = SEEDS + _SIZES + _OTHER_SIZES + _OTHER_SEEDS + _SETTINGS
    if names[0] in _OTHER_SIZES and all(n in others or _is_key(n) for n in names[1:]):
        return None
    return f"put the database first, as in (database, {names[0]})"


def advice_on_form(function: Callable[..., object]) -> str | None:
    """Return advice for a function that failed when it was called as a JAX function.

    Args:
        function: Any function. The result is None if it has the parameters of a JAX function.
    """
    found = _form(function)
    if found is not None and len(found.others) == 1 and _is_key(found.others[0]):
        return f"put the key first, as in ({found.others[0]}, database)"
    if form := host_form(function):
        return f"if it uses its own random numbers, {form}"
    parameters = signature_of(function)
    required = sum(map(_is_required, parameters.values()))
    return FORMS if not parameters or required > 2 else None


def _form(function: Callable[..., object]) -> _Form | None:
    """Return what a function's parameters are for.

    Returns:
        None if the first parameter may be a key of JAX, if it is not required, or if the parameters
        cannot be read.
    """
    parameters = signature_of(function)
    positional = [
        p for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if not positional or not _is_required(positional[0]):
        return None
    database = positional[0].name
    if _is_key(database) or database in SEEDS:
        return None
    second = [p.name for p in positional[1:2]]
    required = [p.name for p in parameters.values() if _is_required(p) and p.name not in SEEDS]
    # Only the second parameter may be a number of outputs that has a default.
    size = next((name for name in [*second, *required[1:]] if name in _SIZES), None)
    if size is None and len(required) == 2 and required[1] in _OTHER_SIZES:
        size = required[1] if _needs_seed(parameters) else None
    return _Form(size, second == [size], [name for name in required[1:] if name != size])


def signature_of(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function, or an empty mapping if they cannot be read."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _needs_seed(parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Return whether a parameter `seed` or `rng` is required, which no JAX function has."""
    return any(name in parameters and _is_required(parameters[name]) for name in SEEDS)


def _is_required(parameter: inspect.Parameter) -> bool:
    gathers = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and not gathers


def _is_key(name: str) -> bool:
    """Return whether a parameter is named like a key of JAX, such as `key` or `prng_key`."""
    return any(word.endswith("key") for word in name.split("_"))
