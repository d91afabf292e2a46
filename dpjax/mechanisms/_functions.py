"""Conversion of users' JAX functions to mechanisms."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import random, validate
from dpjax.core.errors import name_of_function
from dpjax.core.types import (
    Database,
    FiniteSpace,
    IntegerSpace,
    OutputSpace,
    RealSpace,
    VectorSpace,
)
from dpjax.core.wording import BadType
from dpjax.databases.trees import as_tree
from dpjax.mechanisms._base import draw_dtype
from dpjax.mechanisms._checks import refuse_impure, trace
from dpjax.mechanisms.host_form import host_form

_NUMBERS = (jnp.floating, jnp.integer, jnp.bool)
_WIDE = (jnp.uint32, jnp.int64, jnp.uint64)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FromFunction:
    """A mechanism that vectorizes a user's function, which returns one draw per call.

    The function accepts a key and a database. If the function's output has multiple parts (a dict,
    a tuple, a matrix), all numbers in the output form a vector, in the order of `jax.tree.leaves`.
    Vectors contain floats; integers beyond 2^24 are rounded to float32 unless x64 is enabled. Call
    `from_function` to create the mechanism and infer its attributes.

    Attributes:
        function: Pure function `(key, database) -> output`, traceable by JAX; `key` is a scalar
            typed key.
        output_space: Space of the outputs.
        parts: Path and shape of each part of an output, as text, or () if an output is a number or
            a vector.
    """

    function: Callable[[Array, Array], Array] = field(metadata={"static": True})
    output_space: OutputSpace = field(metadata={"static": True})
    parts: tuple[str, ...] = field(default=(), metadata={"static": True})

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples drawn with separate keys, [num_samples] or [num_samples, dimension]."""
        draws = jax.vmap(lambda key: _flat(self.function(key, database)))(
            random.sample_keys(key, num_samples)
        )
        if isinstance(self.output_space, FiniteSpace | IntegerSpace):
            # Wider integers, and unsigned ones, would wrap around in an int32.
            return draws if draws.dtype in _WIDE else draws.astype(jnp.int32)
        # Narrower float types are converted to float32, which can represent all of their values.
        return draws if jnp.finfo(draws.dtype).bits >= 32 else draws.astype(jnp.float32)


def from_function(
    function: Callable[[Array, Array], Array],
    database: Database,
    *,
    num_outcomes: int | None = None,
) -> FromFunction:
    """Validate a function that returns one draw, and convert it to a mechanism.

    Args:
        function: Function that accepts a key and a database, and returns a number, an array, or a
            pytree of numbers and arrays. The function must be pure and traceable by JAX.
        database: An example database on which the function is validated: an array, or a pytree of
            arrays.
        num_outcomes: Number of categories if the outputs are unordered categories
            0..num_outcomes - 1. If `num_outcomes` is None, integer outputs are treated as unbounded
            integers, and float outputs as real numbers.

    Raises:
        TypeError: If `function` is not callable, cannot be traced, or does not return numbers.
        ValueError: If the function returns different outputs for the same key.
    """
    if not callable(function):
        raise TypeError(f"mechanism must be a mechanism or a function, but was {function!r}.")
    # This module imports jax.extend; see `refuse_impure`.
    from dpjax.mechanisms._traces import same_program

    label = f"the function {name_of_function(function)}"
    database = as_tree(database)
    program, returned = trace(function, label, database)
    for leaf in jax.tree.leaves(returned):
        if not any(map(partial(jnp.issubdtype, leaf.dtype), _NUMBERS)):
            form = host_form(function)
            raise BadType(
                f"{label} must return numbers, but returned {leaf.dtype}"
                f"{'' if form is None else f'; if it uses its own random numbers, {form}'}."
            )
    leaves = jax.tree.leaves(returned)
    if not any(leaf.size for leaf in leaves):
        raise TypeError(f"{label} must return a number, an array or a pytree of them.")
    space = _space(jax.eval_shape(_flat, returned), num_outcomes, label)
    parts = _parts(returned) if isinstance(space, VectorSpace) else ()
    mechanism = FromFunction(function, space, parts)
    # Compare traces of the function first, because traces of `sample` take much longer. JAX caches
    # traces, so the second trace needs a new function.
    again, _ = trace(lambda key, database: function(key, database), label, database)
    if not same_program(program, again):
        refuse_impure(mechanism.sample, label, database)
    return mechanism


def _parts(returned: object) -> tuple[str, ...]:
    """Return the path and shape of each part of an output; return () for a number or a vector."""
    if len(getattr(returned, "shape", (0, 0))) < 2:
        return ()
    named = jax.tree_util.tree_flatten_with_path(returned)[0]
    return tuple(f"{jax.tree_util.keystr(path)} {list(leaf.shape)}" for path, leaf in named)


def _flat(output: object) -> Array:
    """Concatenate all parts of an output into a float vector, in the order of `jax.tree.leaves`.

    Arrays are flattened in row-major order. A single number keeps its dtype, and so does a single
    vector of floats.
    """
    leaves = [leaf for leaf in map(jnp.asarray, jax.tree.leaves(output)) if leaf.size]
    one = leaves[0].ravel()
    if len(leaves) == 1 and one.size == 1:
        return one[0]
    if len(leaves) == 1 and jnp.issubdtype(one.dtype, jnp.floating):
        return one
    dtype = draw_dtype(*leaves)
    return jnp.concatenate([leaf.ravel().astype(dtype) for leaf in leaves])


def _space(shape: jax.ShapeDtypeStruct, num_outcomes: int | None, label: str) -> OutputSpace:
    if num_outcomes is not None:
        validate.positive_int(at_least=2, num_outcomes=num_outcomes)
        if shape.dtype.kind not in "biu" or shape.shape:
            raise BadType(
                f"num_outcomes is for functions that return one integer, but {label} returned "
                f"{shape.dtype}{list(shape.shape)}."
            )
        return FiniteSpace(num_outcomes)
    if shape.shape:
        return VectorSpace(shape.shape[0])
    return RealSpace() if jnp.issubdtype(shape.dtype, jnp.floating) else IntegerSpace()
