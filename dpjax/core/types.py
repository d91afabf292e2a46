"""Types for databases, JSON values, and the output spaces of mechanisms."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import Array

from dpjax.core import validate

AnyArray = Array | np.ndarray
"""An array on a device or on the host."""

Database = object
"""A number, an array, or a pytree of arrays that represents a database or a stack of databases."""

Device = Any
"""A jax device. The type is Any because type checkers do not recognize jax's device class."""

Plain = dict[str, object]
"""A dict from names to strings, numbers and lists."""

JsonObject = dict[str, Any]
"""A JSON object, with values of any type."""


@dataclass(frozen=True)
class FiniteSpace:
    """The integers 0, 1, ..., size - 1, drawn as int32 [num_samples].

    Attributes:
        size: Number of outputs.
        ordered: Whether adjacent outputs have similar probabilities, as is usual for counts.
            Outputs that are names or codes are not ordered. The privacy loss may be large at a few
            names or codes and zero at all others.
    """

    size: int
    ordered: bool = False

    def __post_init__(self):
        validate.positive_int(at_least=2, size=self.size)
        validate.within_limit("categories", self.size, "outputs have too many categories")

    def __str__(self) -> str:
        return f"finite ({self.size})"


@dataclass(frozen=True)
class IntegerSpace:
    """Unbounded integers, drawn as int32 [num_samples]."""

    def __str__(self) -> str:
        return "integers"


@dataclass(frozen=True)
class RealSpace:
    """Reals in [low, high], drawn as float [num_samples]."""

    low: float = -math.inf
    high: float = math.inf

    def __str__(self) -> str:
        if math.isinf(self.low) and math.isinf(self.high):
            return "reals"
        return f"reals in [{self.low:g}, {self.high:g}]"


@dataclass(frozen=True)
class VectorSpace:
    """Real vectors, drawn as float [num_samples, dimension]."""

    dimension: int

    def __post_init__(self):
        validate.positive_int(at_least=2, dimension=self.dimension)

    def __str__(self) -> str:
        return f"real vectors ({self.dimension})"


@dataclass(frozen=True)
class MixedSpace:
    """Outputs that consist of a label, with or without a real number.

    The outputs are drawn as float [num_samples, 2]. Column 0 contains the label, a whole number in
    [0, num_labels). Column 1 contains the real number, or 0 for a label without a number.
    """

    num_labels: int

    def __post_init__(self):
        validate.positive_int(at_least=2, num_labels=self.num_labels)

    def __str__(self) -> str:
        return f"mixed ({self.num_labels} labels, each alone or with a real)"


OutputSpace = FiniteSpace | IntegerSpace | RealSpace | VectorSpace | MixedSpace
