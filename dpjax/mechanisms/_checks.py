"""A first look at a user's sampler: what it returns, and whether its key decides it."""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.extend
import numpy as np

from dpjax.core import random
from dpjax.core.types import FiniteSpace, IntegerSpace, MixedSpace, OutputSpace, VectorSpace
from dpjax.core.wording import ON_HOST, BadType
from dpjax.databases.trees import as_tree, shape_of
from dpjax.mechanisms._traces import same_program

_LOOK = 256
"""Draws of one look."""

_CHANCE = 1e-9
"""That outputs under two keys are all the same by accident, where that is refused."""

_PASSED: WeakKeyDictionary[type, set[Any]] = WeakKeyDictionary()
"""Class -> (output space, shape of a database) that was looked at, since a look traces twice."""


def trace(function: Callable[..., Any], label: str, database: Any) -> Any:
    """The jaxpr of function(key, database), closed.

    Args:
        function: To be traced.
        label: What it is called in errors.
        database: An array, or a pytree of them.

    Raises:
        TypeError: It cannot be traced, or fails.
    """
    try:
        # The database is an argument: as a constant it would be a NumPy array to the function.
        return jax.make_jaxpr(function, return_shape=True)(random.as_key(0), database)
    except (
        jax.errors.ConcretizationTypeError,
        jax.errors.TracerArrayConversionError,
        jax.errors.TracerIntegerConversionError,
        jax.errors.UnexpectedTracerError,
    ) as error:
        first_line = str(error).splitlines()[0]
        raise BadType(
            f"{label} cannot be traced by JAX ({type(error).__name__}: {first_line}). "
            "It must be written with jax.numpy and jax.random, without Python branches on drawn "
            f"values; otherwise wrap a function (database, num_samples) as {ON_HOST}."
        ) from error
    except Exception as error:
        raise TypeError(
            f"{label} failed for (key, database of shape {shape_of(database)}): "
            f"{type(error).__name__}: {error}"
        ) from error


def refuse_impure(sample: Callable[..., Any], label: str, database: Any) -> None:
    """Refuses a sampler that does not draw all of its randomness from its key.

    Args:
        sample: (key, database, num_samples) -> outputs.
        label: What it is called in errors.
        database: An array.

    Raises:
        ValueError: Its outputs differ under one key.
    """

    def look(key: Any, given: Any) -> Any:
        return sample(key, given, _LOOK)

    # Two fresh traces, for an impure function bakes its outside state into each of them. Where
    # they are the same program there is nothing to run, and nothing to compile.
    traces = [trace(lambda k, d: look(k, d), label, database)[0] for _ in range(2)]
    if same_program(*traces):
        return
    first, again = (
        np.asarray(jax.jit(jax.extend.core.jaxpr_as_fun(closed))(random.as_key(0), database)[0])
        for closed in traces
    )
    # Two compilations of one function may differ in the last bits, never by more.
    if first.shape != again.shape or not np.allclose(
        first, again, rtol=1e-4, atol=1e-6, equal_nan=True
    ):
        raise ValueError(
            f"{label} gave different outputs or shapes for the same key: it must draw "
            "all of its randomness from the key (jax.random), not from NumPy or Python."
        )


def refuse_repeated(first: np.ndarray, second: np.ndarray, label: str) -> None:
    """Refuses a sampler whose outputs are the same under two keys.

    Args:
        first: Outputs under one key, [n, ...].
        second: Under another key.
        label: What drew them.

    Raises:
        ValueError: They are, which independent draws are with a probability below 1e-9.
    """
    if not np.array_equal(first, second, equal_nan=first.dtype.kind == "f"):
        return
    counts = np.unique(first, axis=0, return_counts=True)[1]
    if np.sum((counts / len(first)) ** 2) ** len(first) < _CHANCE:
        raise ValueError(
            f"{label} gave the same outputs for two different keys: it must draw its randomness "
            "from the key that it is given."
        )


def check_mechanism(mechanism: Any, database: Any) -> None:
    """Checks a user's mechanism class at one database, once, before anything of it is counted.

    Args:
        mechanism: With `sample` and `output_space`.
        database: Of the shape that will be used.

    Raises:
        TypeError: It is no pytree, cannot be traced, or returns another shape or type than its
            output space has.
        ValueError: As `refuse_impure`.
    """
    kind = type(mechanism).__name__
    if jax.tree_util.all_leaves([mechanism]):
        raise TypeError(
            f"mechanism must be a pytree, but {kind} is not registered as one: make it a frozen "
            "dataclass under @jax.tree_util.register_dataclass."
        )
    label, space, database = f"{kind}.sample", mechanism.output_space, as_tree(database)
    look = (space, jax.tree.structure(database), shape_of(database))
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
            f"{label} must return {words} of shape {list(wanted)} for num_samples = {_LOOK} and "
            f"outputs that are {space}, but returned {text}."
        )
    refuse_impure(mechanism.sample, label, database)
    passed.add(look)


def _wanted(space: OutputSpace) -> tuple[tuple[int, ...], str]:
    """Shape and NumPy's kinds of the outputs of one look."""
    if isinstance(space, FiniteSpace | IntegerSpace):
        return (_LOOK,), "i"
    if isinstance(space, VectorSpace):
        return (_LOOK, space.dimension), "f"
    return ((_LOOK, 2) if isinstance(space, MixedSpace) else (_LOOK,)), "f"
