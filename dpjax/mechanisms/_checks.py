"""Checks that a user's sampler returns valid outputs and draws all randomness from its key."""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import jax
import numpy as np
from jax import Array

from dpjax.core import random
from dpjax.core.types import (
    Database,
    FiniteSpace,
    IntegerSpace,
    MixedSpace,
    OutputSpace,
    VectorSpace,
)
from dpjax.core.wording import BadType, BadValue
from dpjax.databases.trees import as_tree, shape_of
from dpjax.mechanisms._base import Mechanism
from dpjax.mechanisms.host_form import ANY_FUNCTION, advice_on_form, host_form

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr

_LOOK = 256

_CHANCE = 1e-9
"""Threshold for the probability that independent draws under two keys are all equal.

A sampler with equal outputs under two keys is rejected if this probability is below the threshold.
"""

_PASSED: WeakKeyDictionary[type, set[Hashable]] = WeakKeyDictionary()
"""Map from each mechanism class to what was validated: output spaces with forms of databases."""


def trace(
    function: Callable[..., object], label: str, database: Database
) -> tuple["ClosedJaxpr", object]:
    """Trace `function(key, database)` with JAX; return the jaxpr and the shape of the output.

    Raises:
        TypeError: If the function cannot be traced, or if it raises an error.
    """
    try:
        # As an argument, the database is traced; in a closure, it would be a concrete array.
        return jax.make_jaxpr(function, return_shape=True)(random.as_key(0), database)
    except (
        jax.errors.ConcretizationTypeError,
        jax.errors.TracerArrayConversionError,
        jax.errors.TracerIntegerConversionError,
        jax.errors.UnexpectedTracerError,
    ) as error:
        first_line = str(error).splitlines()[0]
        raise BadType(
            f"{label} cannot be traced by JAX ({type(error).__name__}: {first_line}). Write a "
            "mechanism with jax.numpy and jax.random, without Python branches on drawn values; "
            f"{host_form(function) or ANY_FUNCTION}."
        ) from error
    except Exception as error:
        advice = advice_on_form(function)
        raise BadType(
            f"{label} failed for (key, database of shape {shape_of(database)}): "
            f"{type(error).__name__}: {error}{'' if advice is None else f'; {advice}.'}"
        ) from error


def refuse_impure(sample: Callable[..., Array], label: str, database: Database) -> None:
    """Raise ValueError if a sampler does not draw all of its randomness from its key.

    Raises:
        ValueError: If two calls with the same key return different outputs.
    """
    # Import jax.extend only when needed: it imports Pallas, which no built-in mechanism needs.
    from jax.extend.core import jaxpr_as_fun

    from dpjax.mechanisms._traces import same_program

    # A trace contains, as constants, all state that the function uses besides its arguments. If two
    # traces are the same program, the function is pure and need not be compiled and run.
    traces = [trace(lambda k, d: sample(k, d, _LOOK), label, database)[0] for _ in range(2)]
    if same_program(*traces):
        return
    first, again = (
        np.asarray(jax.jit(jaxpr_as_fun(closed))(random.as_key(0), database)[0])
        for closed in traces
    )
    # Two compilations of the same function may yield results that differ in their last bits.
    if first.shape != again.shape or not np.allclose(
        first, again, rtol=1e-4, atol=1e-6, equal_nan=True
    ):
        raise BadValue(
            f"{label} gave different outputs or shapes for the same key: draw all randomness from "
            f"the key with jax.random, not with NumPy or Python; {ANY_FUNCTION}."
        )


def refuse_repeated(first: np.ndarray, second: np.ndarray, label: str) -> None:
    """Raise ValueError if a sampler returns the same outputs for two different keys.

    Args:
        first: Outputs under one key, [n, ...].
        second: Outputs under another key, [n, ...].
        label: Name of the sampler in error messages.

    Raises:
        ValueError: If the outputs are equal, although independent draws would be equal with a
            probability below 1e-9.
    """
    if not np.array_equal(first, second, equal_nan=first.dtype.kind == "f"):
        return
    counts = np.unique(first, axis=0, return_counts=True)[1]
    if np.sum((counts / len(first)) ** 2) ** len(first) < _CHANCE:
        raise ValueError(
            f"{label} gave the same outputs for two different keys: draw all randomness from the "
            "key."
        )


def check_mechanism(mechanism: Mechanism, database: Database) -> None:
    """Validate a user's mechanism, once per class, output space and form of the database.

    Raises:
        TypeError: If the mechanism is not a pytree or cannot be traced, or if the shape or dtype of
            its outputs does not match its output space.
        ValueError: If the mechanism does not draw all of its randomness from its key.
    """
    kind = type(mechanism).__name__
    if jax.tree_util.all_leaves([mechanism]):
        raise TypeError(
            f"mechanism must be a pytree, but {kind} is not registered as one: make it a frozen "
            "dataclass decorated with @jax.tree_util.register_dataclass."
        )
    label, space, database = f"{kind}.sample", mechanism.output_space, as_tree(database)
    dtypes = tuple(str(np.asarray(part).dtype) for part in jax.tree.leaves(database))
    look = (space, jax.tree.structure(database), shape_of(database), dtypes)
    passed = _PASSED.setdefault(type(mechanism), set())
    if look in passed:
        return
    _, shape = trace(lambda k, d: mechanism.sample(k, d, _LOOK), label, database)
    wanted, kinds = _wanted(space)
    returned = getattr(shape, "shape", None), getattr(shape, "dtype", None)
    plain = returned[1] is not None and returned[1].kind in kinds and returned[1].itemsize >= 4
    if returned[0] != wanted or not plain:
        words = "int32 (astype(jnp.int32))" if kinds == "i" else "float32 (or float64)"
        text = f"{returned[1]}{list(returned[0])}" if returned[0] is not None else f"{shape}"
        raise TypeError(
            f"{label} must return {words} of shape {list(wanted)} if num_samples is {_LOOK} and "
            f"the outputs are {space}, but returned {text}."
        )
    refuse_impure(mechanism.sample, label, database)
    passed.add(look)


def _wanted(space: OutputSpace) -> tuple[tuple[int, ...], str]:
    """Return the shape and dtype kind that a sample of `_LOOK` outputs must have."""
    if isinstance(space, FiniteSpace | IntegerSpace):
        return (_LOOK,), "i"
    if isinstance(space, VectorSpace):
        return (_LOOK, space.dimension), "f"
    return ((_LOOK, 2) if isinstance(space, MixedSpace) else (_LOOK,)), "f"
