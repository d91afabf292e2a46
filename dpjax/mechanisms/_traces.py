"""Whether two traces are one program, without running it."""

from typing import Any

import jax
import numpy as np

_DERIVATIVES = frozenset(
    ("jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd", "transpose_rule")
)
"""Parameters of an operation that say nothing of its value."""


def same_program(first: Any, second: Any) -> bool:
    """Whether two closed jaxprs are the same, operation by operation and constant by constant.

    False also where that is not known: a call back to Python may do anything.
    """
    return _same_constants(first.consts, second.consts) and _same_jaxprs(first.jaxpr, second.jaxpr)


def _same_constants(first: Any, second: Any) -> bool:
    return len(first) == len(second) and all(map(_same_values, first, second))


def _same_jaxprs(first: Any, second: Any) -> bool:
    if len(first.eqns) != len(second.eqns):
        return False
    numbers: tuple[dict[Any, int], dict[Any, int]] = {}, {}

    def same_atoms(one: Any, other: Any) -> bool:
        if len(one) != len(other):
            return False
        return all(map(same_atom, one, other))

    def same_atom(one: Any, other: Any) -> bool:
        literal = hasattr(one, "val")
        if literal != hasattr(other, "val") or one.aval != other.aval:
            return False
        if literal:
            return _same_values(one.val, other.val)
        known = (n.setdefault(atom, len(n)) for n, atom in zip(numbers, (one, other), strict=True))
        return next(known) == next(known)

    if not same_atoms(first.constvars + first.invars, second.constvars + second.invars):
        return False
    return all(
        one.primitive is other.primitive
        and "callback" not in one.primitive.name
        and same_atoms(one.invars, other.invars)
        and same_atoms(one.outvars, other.outvars)
        and _same_params(one.params, other.params)
        for one, other in zip(first.eqns, second.eqns, strict=True)
    ) and same_atoms(first.outvars, second.outvars)


def _same_params(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(
        name in _DERIVATIVES or _same_values(first[name], second[name]) for name in first
    )


def _same_values(first: Any, second: Any) -> bool:
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if hasattr(first, "jaxpr") and hasattr(first, "consts"):
        return same_program(first, second)
    if hasattr(first, "eqns"):
        return _same_jaxprs(first, second)
    if isinstance(first, list | tuple):
        return _same_constants(first, second)
    if isinstance(first, jax.Array) and jax.numpy.issubdtype(first.dtype, jax.dtypes.extended):
        first, second = jax.random.key_data(first), jax.random.key_data(second)
    if isinstance(first, jax.Array | np.ndarray | np.generic):
        return bool(np.array_equal(np.asarray(first), np.asarray(second)))
    try:
        return bool(first == second)
    except Exception:
        return False  # Of a kind that cannot be compared, so it is not known.
