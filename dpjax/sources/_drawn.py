"""Sources whose outputs JAX draws on a device."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from jax import Array

from dpjax.core.types import JsonObject
from dpjax.core.validate import check_names
from dpjax.databases import Pairs
from dpjax.mechanisms import Mechanism
from dpjax.mechanisms.named import (
    mechanism_from_plain,
    mechanism_to_plain,
    name_of,
    parameters_of,
)
from dpjax.partitions import RegionLike
from dpjax.sources._drawn_arrays import DrawnArrays
from dpjax.sources._drawn_counts import OpenedDrawn
from dpjax.sources._opened import Request, Smoothing
from dpjax.sources._source import Source, Trust
from dpjax.sources._subject import check_shape, mechanism_at, pairs_of


@dataclass(frozen=True)
class Drawn(Source):
    """A source that draws the outputs of a mechanism with JAX.

    Attributes:
        mechanism: A mechanism, or a JAX function (key, database) -> output that draws a single
            output.
    """

    mechanism: Any
    kind: ClassVar[str] = "mechanism"
    has_arrays: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True
    side_by_side: ClassVar[bool] = True
    stacks_pairs: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Name of the mechanism or function."""
        return name_of(self.mechanism)

    @property
    def parameters(self) -> JsonObject:
        """Parameters of the mechanism, as Python numbers and lists."""
        return parameters_of(self.mechanism)

    @property
    def sampler(self) -> object:
        """The mechanism or function whose outputs JAX draws."""
        return self.mechanism

    def at(self, pairs: object) -> tuple[Mechanism, Pairs]:
        """Return the mechanism, and the pairs converted to arrays that the mechanism accepts.

        If the mechanism is not built in, its outputs for the first database are validated.

        Raises:
            TypeError, ValueError: If the mechanism does not accept the pairs, or if the subject
                is not a mechanism.
        """
        pairs = pairs_of(self.mechanism, pairs)
        mechanism = mechanism_at(self.mechanism, pairs)
        check_shape(mechanism, pairs)
        return mechanism, pairs

    @contextmanager
    def opened(self, pairs: object, request: Request) -> Iterator["OpenedDrawn"]:
        """Open the source for the given pairs, or for a built-in mechanism's standard pairs."""
        yield OpenedDrawn(*self.at(pairs), request)

    def arrays(
        self, pairs: object, region: RegionLike | None, key: Array, smoothing: Smoothing | None
    ) -> DrawnArrays:
        """Return the mechanism's draws as streams for compiled kernels; see `Source`."""
        return DrawnArrays(*self.at(pairs), region, key)

    def to_plain(self) -> JsonObject | None:
        """Return the mechanism's name and parameters; see `Source`."""
        return mechanism_to_plain(self.mechanism)

    @classmethod
    def from_plain(cls, content: JsonObject, database: object, trust: Trust) -> Self:
        """Create a mechanism that is built in or defined in a permitted module; see `Source`."""
        check_names("the recipe's subject", content, ("name", "parameters"))
        name, parameters = content.get("name"), content.get("parameters", {})
        return cls(mechanism_from_plain(name, parameters, database, trust.imports))
