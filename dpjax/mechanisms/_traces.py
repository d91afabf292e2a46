"""Comparison of traced JAX programs without running them."""

from collections.abc import Mapping, Sequence

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Var

_DERIVATIVES = frozenset(
    ("jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd", "transpose_rule")
)
"""Names of parameters of traced operations; these parameters define only derivatives."""


def same_program(first: ClosedJaxpr, second: ClosedJaxpr) -> bool:
    """Return whether two jaxprs are equal, operation by operation and constant by constant.

    The result is False if equality cannot be decided, for example for a callback to Python.
    """
    return _same_sequences(first.consts, second.consts) and _same_jaxprs(first.jaxpr, second.jaxpr)


def _same_sequences(first: Sequence[object], second: Sequence[object]) -> bool:
    return len(first) == len(second) and all(map(_same_values, first, second))


def _same_jaxprs(first: Jaxpr, second: Jaxpr) -> bool:
    if len(first.eqns) != len(second.eqns):
        return False
    numbers: tuple[dict[Var, int], dict[Var, int]] = {}, {}

    def same_atoms(one: Sequence[Literal | Var], other: Sequence[Literal | Var]) -> bool:
        return len(one) == len(other) and all(map(same_atom, one, other))

    def same_atom(one: Literal | Var, other: Literal | Var) -> bool:
        if one.aval != other.aval:
            return False
        if isinstance(one, Literal) and isinstance(other, Literal):
            return _same_values(one.val, other.val)
        if isinstance(one, Literal) or isinstance(other, Literal):
            return False
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


def _same_params(first: Mapping[str, object], second: Mapping[str, object]) -> bool:
    return first.keys() == second.keys() and all(
        name in _DERIVATIVES or _same_values(first[name], second[name]) for name in first
    )


def _same_values(first: object, second: object) -> bool:
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, ClosedJaxpr) and isinstance(second, ClosedJaxpr):
        return same_program(first, second)
    if isinstance(first, Jaxpr) and isinstance(second, Jaxpr):
        return _same_jaxprs(first, second)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return _same_sequences(first, second)
    if isinstance(first, jax.Array) and isinstance(second, jax.Array):
        if jax.numpy.issubdtype(first.dtype, jax.dtypes.extended):
            first, second = jax.random.key_data(first), jax.random.key_data(second)
    if isinstance(first, jax.Array | np.ndarray | np.generic):
        return bool(np.array_equal(np.asarray(first), np.asarray(second)))
    try:
        return bool(first == second)
    except Exception:
        return False  # Values of this kind cannot be compared.
