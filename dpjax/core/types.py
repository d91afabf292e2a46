"""Shared types: databases, JSON values, and the output spaces of mechanisms."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import Array

from dpjax.core import validate

AnyArray = Array | np.ndarray
"""An array on a device or on the host."""

Database = object
"""A database, or a stack of databases: numbers, an array, or a pytree of arrays."""

Device = Any
"""A jax device; its type is Any because type checkers do not recognize jax's device class."""

Plain = dict[str, object]
"""A dict of strings, numbers and lists, by name."""

JsonObject = dict[str, Any]
"""A JSON object, with values of any type."""


@dataclass(frozen=True)
class FiniteSpace:
    """Outputs 0, 1, ..., size - 1, drawn as int32 of shape [num_samples].

    Attributes:
        size: Number of outputs.
        ordered: Whether adjacent outputs have similar probabilities, as counts do. Outputs that are
            names or codes are not ordered: the privacy loss may be large at a few outputs and zero
            at all other outputs.
    """

    size: int
    ordered: bool = False

    def __post_init__(self):
        validate.positive_int(at_least=2, size=self.size)
        validate.within_limit("categories", self.size, "outputs of too many categories")

    def __str__(self) -> str:
        return f"finite ({self.size})"


@dataclass(frozen=True)
class IntegerSpace:
    """Unbounded integers, drawn as int32 of shape [num_samples]."""

    def __str__(self) -> str:
        return "integers"


@dataclass(frozen=True)
class RealSpace:
    """Reals in [low, high], drawn as floats of shape [num_samples]."""

    low: float = -math.inf
    high: float = math.inf

    def __str__(self) -> str:
        if math.isinf(self.low) and math.isinf(self.high):
            return "reals"
        return f"reals in [{self.low:g}, {self.high:g}]"


@dataclass(frozen=True)
class VectorSpace:
    """Real vectors, drawn as floats of shape [num_samples, dimension]."""

    dimension: int

    def __post_init__(self):
        validate.positive_int(at_least=2, dimension=self.dimension)

    def __str__(self) -> str:
        return f"real vectors ({self.dimension})"


@dataclass(frozen=True)
class MixedSpace:
    """Outputs that are either a label alone, or a label with a real number.

    The outputs are drawn as floats of shape [num_samples, 2]. Column 0 is the label, a whole number
    in [0, num_labels); column 1 is the real number, or 0 if the label stands alone.
    """

    num_labels: int

    def __post_init__(self):
        validate.positive_int(at_least=2, num_labels=self.num_labels)

    def __str__(self) -> str:
        return f"mixed ({self.num_labels} labels, each alone or with a real)"


OutputSpace = FiniteSpace | IntegerSpace | RealSpace | VectorSpace | MixedSpace
