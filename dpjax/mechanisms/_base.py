"""The protocol that every mechanism follows, and the base classes of the built-in mechanisms."""

from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Protocol, TypeVar, dataclass_transform, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from dpjax.core import validate
from dpjax.core.types import FiniteSpace, OutputSpace
from dpjax.core.wording import BadValue
from dpjax.databases import Pairs, all_pairs, query_patterns, shifts

_Class = TypeVar("_Class", bound=type)


@runtime_checkable
class Mechanism(Protocol):
    """A pure JAX sampler with a known output space and with parameters that are pytree leaves.

    A custom class must be a frozen dataclass with `output_space` and `sample`, registered with
    `jax.tree_util.register_dataclass`. `dpjax.audit` validates a custom class once, with
    `check_mechanism`. The draws must have the right type and shape, and must be determined by the
    key alone. It is simpler to write a function that returns a single draw; `from_function`
    converts such a function to a mechanism. A class has two advantages: it draws a whole block of
    outputs at once, and its parameters can change without recompilation.
    """

    @property
    def output_space(self) -> OutputSpace:
        """Space of the outputs."""
        ...

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return independent outputs for one database, [num_samples, ...]."""
        ...


class BuiltIn:
    """A built-in mechanism: a dataclass of validated parameters.

    Attributes:
        name: Name of the mechanism on the command line.
        source: Publication that defines the mechanism.
        output_space: Space of the outputs.
        level: True epsilon of pure differential privacy for sensitivity 1, or infinity if no finite
            epsilon holds; by default, the parameter `epsilon`.
        standard_region: Lower and upper bounds of the region in which outputs are compared, or None
            for a finite output space. The bounds are two numbers, or two vectors with one number
            per axis. For mixed outputs, the bounds apply to the real part.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]
    name: ClassVar[str]
    source: ClassVar[str]
    # The type is Any because these attributes are constants in some classes, but properties in
    # others.
    output_space: Any
    level: Any = property(lambda self: float(self.epsilon), doc="True epsilon.")
    standard_region: Any = None

    def __post_init__(self):
        for each in fields(self):
            check = each.metadata.get("check", validate.positive)
            value = getattr(self, each.name)
            check(**{each.name: value})
            if not validate.is_traced(value):
                _refuse_overflow(each.name, value)

    def standard_pairs(self) -> Pairs:
        """Return the pairs from the publication's experiments, or other typical pairs."""
        raise NotImplementedError

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return independent outputs, as specified by `Mechanism.sample`."""
        raise NotImplementedError


class OfNumber(BuiltIn):
    """A mechanism whose database is a real number."""

    def standard_pairs(self) -> Pairs:
        """Return the ten pairs (0, b / 10) for b = 1..10."""
        return shifts(0.0)


class OfInteger(BuiltIn):
    """A mechanism whose database is an integer."""

    def standard_pairs(self) -> Pairs:
        """Return the pair (0, 1)."""
        return Pairs([0], [1])


class OfQueries(BuiltIn):
    """A mechanism whose database is a vector of query answers, float [num_queries]."""

    num_queries: int

    def standard_pairs(self) -> Pairs:
        """Return ten pairs of query answers, with typical patterns of changed answers."""
        return query_patterns(self.num_queries)


class OfCategory(BuiltIn):
    """A mechanism whose database is a person's true category, in 0..num_categories - 1."""

    num_categories: int

    @property
    def output_space(self) -> OutputSpace:
        """Space of the categories; subclasses with other outputs override this property."""
        return FiniteSpace(self.num_categories)

    def standard_pairs(self) -> Pairs:
        """Return every pair of categories."""
        return all_pairs(range(self.num_categories))


@dataclass_transform(frozen_default=True)
def pytree(cls: _Class) -> _Class:
    """Make a class a frozen dataclass and a pytree.

    All fields except those made by `static` are leaves of the pytree. A field's value must be
    positive unless the field has another check.
    """
    return jax.tree_util.register_dataclass(dataclass(frozen=True)(cls))


def static(default: int, at_least: int = 1) -> int:
    """Return a dataclass field for an integer that determines an array shape.

    The field is static: it is part of a pytree's structure and not a leaf.
    """

    def check(**argument: int) -> None:
        validate.positive_int(at_least, **argument)
        for name, value in argument.items():
            validate.within_limit("sizes", value, f"{name} is too large")

    return field(default=default, metadata={"static": True, "check": check})


def leaf(default: float, check: Callable[..., None]) -> float:
    """Return a dataclass field for a number; the function `check` validates its value."""
    return field(default=default, metadata={"check": check})


def _refuse_overflow(name: str, value: ArrayLike) -> None:
    """Raise ValueError if a parameter is infinite in the dtype of the draws."""
    dtype = jax.dtypes.canonicalize_dtype(float)
    largest = float(np.finfo(dtype).max)
    if float(np.max(np.abs(np.asarray(value, float)))) > largest:
        raise BadValue(
            f"{name} must be at most {largest:.2g}, the largest number of {dtype}, but was "
            f"{value!r}."
        )


def draw_dtype(*parameters: ArrayLike) -> np.dtype:
    """Return the float dtype of draws: the wider of the parameters' dtype and jax's default."""
    with jax.numpy_dtype_promotion("standard"):
        return jnp.result_type(*parameters, float)
