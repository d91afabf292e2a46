"""What every mechanism states about itself, and how a user's function becomes one."""

from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Protocol, TypeVar, dataclass_transform, runtime_checkable

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import random, validate
from dpjax.core.errors import name_of_function
from dpjax.core.types import FiniteSpace, IntegerSpace, OutputSpace, RealSpace, VectorSpace
from dpjax.core.wording import BadType, term
from dpjax.databases import Pairs, all_pairs, query_patterns
from dpjax.databases.trees import as_tree
from dpjax.mechanisms._checks import refuse_impure, trace

_Class = TypeVar("_Class", bound=type)


@runtime_checkable
class Mechanism(Protocol):
    """A pure JAX sampler that states its outputs. Parameters are pytree leaves.

    A class of your own is a frozen dataclass under `jax.tree_util.register_dataclass` with these
    two members. `dpjax.audit` looks at it once (`check_mechanism`): the type and shape of its
    draws, and that they follow from the key alone. A function of one draw is simpler
    (`from_function`); a class draws a block at once, and its parameters can change without a new
    compilation.
    """

    @property
    def output_space(self) -> OutputSpace:
        """The space of the outputs."""
        ...

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Draws `num_samples` independent outputs at one database, first axis [num_samples]."""
        ...


class BuiltIn:
    """A mechanism of the catalogue: a dataclass of its parameters, which it checks.

    Attributes:
        name: On the command line.
        source: Where the definition comes from.
        output_space: The space of the outputs.
        level: The true epsilon for pure differential privacy at sensitivity 1, infinity where
            there is none; the parameter epsilon unless a class says otherwise.
        standard_region: Ends of the region of outputs that is compared (numbers, or one number an
            axis); for mixed outputs, of the real part; None for a finite space.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    name: ClassVar[str]
    source: ClassVar[str]
    # A constant in some classes, a property in others: a narrower type allows only one of them.
    output_space: Any
    level: Any = property(lambda self: float(self.epsilon))
    standard_region: Any = None

    def __post_init__(self):
        for each in fields(self):
            check = each.metadata.get("check", validate.positive)
            check(**{each.name: getattr(self, each.name)})

    def standard_pairs(self) -> Pairs:
        """The pairs of the experiments, or the natural ones."""
        raise NotImplementedError

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """As `Mechanism.sample`; int32 for integers, else floats."""
        raise NotImplementedError


class OfQueries(BuiltIn):
    """One whose database is query answers, floats of shape [num_queries]."""

    num_queries: int

    def standard_pairs(self) -> Pairs:
        """The ten query patterns."""
        return query_patterns(self.num_queries)


class OfCategory(BuiltIn):
    """One whose database is a true category, an integer in 0..num_categories - 1."""

    num_categories: int

    def standard_pairs(self) -> Pairs:
        """Every pair of categories."""
        return all_pairs(range(self.num_categories))


@dataclass_transform(frozen_default=True)
def pytree(cls: _Class) -> _Class:
    """Makes a built-in class a frozen dataclass whose numbers are leaves, as `static` ones are not.

    A number must be positive where no other `check` is said.
    """
    return jax.tree_util.register_dataclass(dataclass(frozen=True)(cls))


def static(default: int, at_least: int = 1) -> Any:
    """A positive integer that sets a shape: part of the pytree's structure, not a leaf."""

    def check(**argument: Any) -> None:
        validate.positive_int(at_least, **argument)
        for name, value in argument.items():
            validate.within_limit("sizes", value, f"{name} is too large")

    return field(default=default, metadata={"static": True, "check": check})


def leaf(default: float, check: Callable[..., None]) -> Any:
    """A number that need not be positive, with its own check of `dpjax.core.validate`."""
    return field(default=default, metadata={"check": check})


def draw_dtype(*parameters: Any) -> Any:
    """The float type of draws: that of the parameters, at least jax's default."""
    return jnp.result_type(*parameters, float)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FromFunction:
    """A user's one-draw function (key, database) -> output, batched.

    An output of several parts (a dict, a tuple, an array) is a vector of all its numbers, in the
    order of `jax.tree.leaves`.

    Attributes:
        function: Pure and traceable by JAX; the key is a scalar typed key.
        output_space: What it returns; see `from_function`, which finds it out.
        parts: Where the parts of an output are, and their shapes; none of a number or vector.
    """

    function: Callable[[Array, Array], Array] = field(metadata={"static": True})
    output_space: OutputSpace = field(metadata={"static": True})
    parts: tuple[str, ...] = field(default=(), metadata={"static": True})

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """One key a draw, vmapped; shape [num_samples] or [num_samples, dimension]."""
        draws = jax.vmap(lambda key: _flat(self.function(key, database)))(
            random.sample_keys(key, num_samples)
        )
        if isinstance(self.output_space, FiniteSpace | IntegerSpace):
            return draws.astype(jnp.int32)
        # Narrow floats are counted and smoothed as float32, which holds each of their values.
        return draws.astype(jnp.promote_types(draws.dtype, jnp.float32))


def from_function(
    function: Callable[[Array, Array], Array],
    database: Any,
    *,
    num_outcomes: int | None = None,
) -> FromFunction:
    """Wraps a one-draw function after looking at it, on the host, at one database.

    Args:
        function: (key, database) -> a number, an array, or a pytree of them; pure, traceable by
            JAX.
        database: A database of the structure that will be used: numbers, or a pytree of them.
        num_outcomes: Where the outputs are categories 0..num_outcomes - 1, without an order.
            Otherwise integer outputs are taken as integers without bound, floats as reals.

    Returns:
        The mechanism.

    Raises:
        TypeError: `function` is not callable, cannot be traced, or returns something else than
            numbers.
        ValueError: It gives different answers to the same key.
    """
    if not callable(function):
        raise TypeError(f"mechanism must be a mechanism or a function, but was {function!r}.")
    label = f"the function {name_of_function(function)}"
    database = as_tree(database)
    _, returned = trace(function, label, database)
    if not all(map(_is_number, jax.tree.leaves(returned))):
        raise TypeError(f"{label} must return numbers, but returned {_first(returned)}.")
    shape = jax.eval_shape(_flat, returned)
    if shape is None:
        raise TypeError(f"{label} must return a number, an array or a pytree of them.")
    mechanism = FromFunction(function, _space(shape, num_outcomes, label), _parts(returned))
    refuse_impure(mechanism.sample, label, database)
    return mechanism


def _is_number(leaf: Any) -> bool:
    kinds = (jnp.floating, jnp.integer, jnp.bool)
    return any(jnp.issubdtype(leaf.dtype, kind) for kind in kinds)


def _first(returned: Any) -> Any:
    """The first type that is none of numbers."""
    return next(leaf.dtype for leaf in jax.tree.leaves(returned) if not _is_number(leaf))


def _parts(returned: Any) -> tuple[str, ...]:
    """Places and shapes of the parts of an output, in their order."""
    if hasattr(returned, "shape") and len(returned.shape) < 2:
        return ()
    named = jax.tree_util.tree_flatten_with_path(returned)[0]
    return tuple(f"{jax.tree_util.keystr(path)} {list(leaf.shape)}" for path, leaf in named)


def _flat(output: Any) -> Any:
    """One number or vector: all parts of an output one after the other, in the order of jax.

    That is the order of keys in dicts, of places elsewhere, and row by row in arrays. None where
    there is no number.
    """
    leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(output)]
    if len(leaves) == 1 and leaves[0].ndim < 2:
        return leaves[0]
    if not sum(leaf.size for leaf in leaves):
        return None
    dtype = draw_dtype(*leaves)
    whole = jnp.concatenate([leaf.ravel().astype(dtype) for leaf in leaves])
    return whole[0] if len(whole) == 1 else whole


def _space(shape: Any, num_outcomes: int | None, label: str) -> OutputSpace:
    if num_outcomes is not None:
        validate.positive_int(at_least=2, num_outcomes=num_outcomes)
        if shape.dtype.kind not in "biu" or shape.shape:
            raise BadType(
                f"num_outcomes is for functions that return one integer, but {label} returned "
                f"{shape.dtype}{list(shape.shape)}."
            )
        return FiniteSpace(num_outcomes)
    real = jnp.issubdtype(shape.dtype, jnp.floating)
    if shape.shape:
        if not real:
            raise BadType(
                f"{label} returned a vector of {shape.dtype}; encode it as one "
                f"integer below {term('num_outcomes')}, or return floats."
            )
        if shape.shape[0] == 1:
            raise TypeError(f"{label} returned a vector of length 1: return its one entry.")
        return VectorSpace(shape.shape[0])
    return RealSpace() if real else IntegerSpace()
