"""What every mechanism states about itself, and how a user's function becomes one."""

from collections.abc import Callable
from dataclasses import Field, dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax import _random
from dpjax._types import FiniteSpace, IntegerSpace, OutputSpace, RealSpace, VectorSpace
from dpjax.databases import Pairs
from dpjax.mechanisms._checks import refuse_impure, shape_of


@runtime_checkable
class Mechanism(Protocol):
    """A pure JAX sampler that states its outputs. Parameters are pytree leaves.

    A class of your own is a frozen dataclass under `jax.tree_util.register_dataclass` with these
    two members. `dpjax.audit` looks at it once (`check_mechanism`): the type and shape of its
    draws, and that they follow from the key alone. A function of one draw is simpler
    (`from_function`); a class draws a block at once, and its parameters can change without a new
    compilation.

    Built-in mechanisms also state `name` (on the command line), `source` (where the definition
    comes from), `level` (their true pure-DP epsilon, infinity where there is none),
    `standard_pairs()` and `standard_region` (low and high end of the outputs to compare).
    """

    @property
    def output_space(self) -> OutputSpace:
        """The space of the outputs."""
        ...

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Draws `num_samples` independent outputs at one database, first axis [num_samples]."""
        ...


class BuiltIn(Mechanism, Protocol):
    """A mechanism of the catalogue: a dataclass of its parameters.

    The members that are properties here may also be plain attributes of the class (without a
    `ClassVar`, which would no longer be taken for the property).
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    name: ClassVar[str]
    source: ClassVar[str]

    @property
    def level(self) -> float:
        """The true epsilon for pure differential privacy at sensitivity 1 (may be infinite)."""
        ...

    @property
    def standard_region(self) -> tuple[Any, Any] | None:
        """Ends of the region of outputs that is compared (numbers, or one number an axis).

        For mixed outputs, of the real part; None for a finite space.
        """
        ...

    def standard_pairs(self) -> Pairs:
        """The pairs of the experiments, or the natural ones."""
        ...


def static(default: Any) -> Any:
    """A dataclass field that sets a shape: part of the pytree's structure, not a leaf."""
    return field(default=default, metadata={"static": True})


@property
def epsilon_level(self: Any) -> float:
    """The true pure-DP epsilon, which is the parameter."""
    return float(self.epsilon)


def draw_dtype(*parameters: Any) -> Any:
    """The float type of draws: that of the parameters, at least jax's default."""
    return jnp.result_type(*parameters, float)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FromFunction:
    """A user's one-draw function (key, database) -> output, batched.

    Attributes:
        function: Pure and traceable by JAX; the key is a scalar typed key.
        output_space: What it returns; see `from_function`, which finds it out.
    """

    function: Callable[[Array, Array], Array] = field(metadata={"static": True})
    output_space: OutputSpace = field(metadata={"static": True})

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """One key a draw, vmapped; shape [num_samples] or [num_samples, dimension]."""
        draws = jax.vmap(self.function, in_axes=(0, None))(
            _random.sample_keys(key, num_samples), database
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
        function: (key, database) -> scalar or vector, pure, traceable by JAX.
        database: A database of the shape that will be used.
        num_outcomes: Where the outputs are categories 0..num_outcomes - 1. Otherwise integer
            outputs are taken as integers without bound, floats as reals.

    Returns:
        The mechanism.

    Raises:
        TypeError: `function` is not callable, cannot be traced, or returns something else than one
            number or one vector.
        ValueError: It gives different answers to the same key, or the same to two.
    """
    if not callable(function):
        raise TypeError(f"mechanism must be a mechanism or a function, but was {function!r}.")
    label = f"the function {getattr(function, '__name__', repr(function))}"
    database = np.asarray(database)
    shape = shape_of(function, label, database)
    if not hasattr(shape, "shape") or len(shape.shape) > 1:
        raise TypeError(f"{label} must return one number or one vector, but returned {shape}.")
    if not any(jnp.issubdtype(shape.dtype, kind) for kind in (jnp.floating, jnp.integer, jnp.bool)):
        raise TypeError(f"{label} must return numbers, but returned {shape.dtype}.")
    mechanism = FromFunction(function, _space(shape, num_outcomes, label))
    refuse_impure(mechanism.sample, label, database)
    return mechanism


def _space(shape: Any, num_outcomes: int | None, label: str) -> OutputSpace:
    if num_outcomes is not None:
        if shape.dtype.kind not in "biu" or shape.shape:
            raise TypeError(
                f"num_outcomes is for functions that return one integer, but {label} returned "
                f"{shape.dtype}{list(shape.shape)}."
            )
        return FiniteSpace(num_outcomes)
    real = jnp.issubdtype(shape.dtype, jnp.floating)
    if shape.shape:
        if not real:
            raise TypeError(
                f"{label} returned a vector of {shape.dtype}; encode it as one "
                "integer below num_outcomes, or return floats."
            )
        if shape.shape[0] == 1:
            raise TypeError(f"{label} returned a vector of length 1: return its one entry.")
        return VectorSpace(shape.shape[0])
    return RealSpace() if real else IntegerSpace()
