"""The protocol of mechanisms, and base classes of the built-in ones."""

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
from dpjax.databases import Pairs, all_pairs, query_patterns, shifts

_Class = TypeVar("_Class", bound=type)


@runtime_checkable
class Mechanism(Protocol):
    """A pure JAX sampler with a known output space. Parameters are pytree leaves.

    A custom class is a frozen dataclass under `jax.tree_util.register_dataclass` with these two
    members. `dpjax.audit` validates it once (`check_mechanism`): the type and shape of its draws,
    and that they are a function of the key. A function of one draw is simpler (`from_function`); a
    class draws a whole block, and its parameters can change without recompilation.
    """

    @property
    def output_space(self) -> OutputSpace:
        """The space of the outputs."""
        ...

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Draw `num_samples` independent outputs at one database, first axis [num_samples]."""
        ...


class BuiltIn:
    """A built-in mechanism: a dataclass of validated parameters.

    Attributes:
        name: Name on the command line.
        source: Publication that defines the mechanism.
        output_space: The space of the outputs.
        level: The true epsilon of pure differential privacy at sensitivity 1, or infinity if there
            is none; the parameter epsilon by default.
        standard_region: Bounds of the region of outputs to compare (numbers, or one number per
            axis); for mixed outputs, bounds of the real part; None for a finite space.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]
    name: ClassVar[str]
    source: ClassVar[str]
    # Constants in some classes and properties in others, which no narrower type allows.
    output_space: Any
    level: Any = property(lambda self: float(self.epsilon))
    standard_region: Any = None

    def __post_init__(self):
        for each in fields(self):
            check = each.metadata.get("check", validate.positive)
            check(**{each.name: getattr(self, each.name)})

    def standard_pairs(self) -> Pairs:
        """Return the pairs of the experiments, or natural ones."""
        raise NotImplementedError

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """See `Mechanism.sample`; int32 for integers, otherwise floats."""
        raise NotImplementedError


class OfNumber(BuiltIn):
    """A mechanism whose database is a real number."""

    def standard_pairs(self) -> Pairs:
        """Return the pairs (0, b / 10), b = 1..10."""
        return shifts(0.0)


class OfInteger(BuiltIn):
    """A mechanism whose database is an integer."""

    def standard_pairs(self) -> Pairs:
        """Return the pair (0, 1)."""
        return Pairs([0], [1])


class OfQueries(BuiltIn):
    """A mechanism whose database is a vector of query answers, floats of shape [num_queries]."""

    num_queries: int

    def standard_pairs(self) -> Pairs:
        """Return the ten query patterns."""
        return query_patterns(self.num_queries)


class OfCategory(BuiltIn):
    """A mechanism whose database is a true category, an integer in 0..num_categories - 1."""

    num_categories: int

    @property
    def output_space(self) -> OutputSpace:
        """The categories, unless a class says otherwise."""
        return FiniteSpace(self.num_categories)

    def standard_pairs(self) -> Pairs:
        """Return every pair of categories."""
        return all_pairs(range(self.num_categories))


@dataclass_transform(frozen_default=True)
def pytree(cls: _Class) -> _Class:
    """Make a built-in class a frozen dataclass whose numbers are leaves, except `static` ones.

    Numbers must be positive unless their field has another check.
    """
    return jax.tree_util.register_dataclass(dataclass(frozen=True)(cls))


def static(default: int, at_least: int = 1) -> int:
    """Return a field for an integer that sets a shape: static in the pytree, not a leaf."""

    def check(**argument: int) -> None:
        validate.positive_int(at_least, **argument)
        for name, value in argument.items():
            validate.within_limit("sizes", value, f"{name} is too large")

    return field(default=default, metadata={"static": True, "check": check})


def leaf(default: float, check: Callable[..., None]) -> float:
    """Return a field for a number with a check of `dpjax.core.validate` other than `positive`."""
    return field(default=default, metadata={"check": check})


def draw_dtype(*parameters: ArrayLike) -> np.dtype:
    """Return the float type of draws: that of the parameters, at least jax's default."""
    return jnp.result_type(*parameters, float)
