"""Families of mechanisms: a function creates each member of a family from its parameters."""

import itertools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dpjax.core import validate
from dpjax.core.errors import name_of_function, text_of
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType, BadValue
from dpjax.mechanisms.named import imported, path_of
from dpjax.notions import Notion
from dpjax.partitions import Encoder
from dpjax.sources._host import HostMechanism
from dpjax.sources._on_host import OnHost
from dpjax.sources._recognized import recognized
from dpjax.sources._schedule import Draw, Restarted
from dpjax.sources._source import Source, Trust
from dpjax.sources.libraries import LibraryMechanism

_MOST_MEMBERS = 48
"""Maximum number of family members that are tried before parameters are varied at random."""

_KINDS: dict[str, Callable[..., OnHost]] = {"object": LibraryMechanism, "host": HostMechanism}
"""Map from the kinds of sources whose outputs a family can compare to their classes."""

_PLAIN = (bool, int, float, str, type(None))


class _Interval(NamedTuple):
    """An interval of parameter values."""

    low: float
    high: float

    @property
    def whole(self) -> bool:
        """Whether both ends are integers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def values(self) -> list[object]:
        """Return both ends and the middle of the interval."""
        return list(dict.fromkeys((self.low, self.at(0.5), self.high)))

    def at(self, share: float) -> float:
        """Return the value that lies at the fraction `share` of the way from `low` to `high`.

        The scale is logarithmic if both ends are positive. If both ends are integers, the value is
        an integer.
        """
        low, high = self
        value = low + share * (high - low)
        if low > 0:
            value = low * (high / low) ** share
        return min(max(round(value) if self.whole else value, low), high)


@dataclass(frozen=True)
class Family(Source):
    """A family of mechanisms. An audit searches for the family's least private member.

    `dpjax.audit` first draws a few outputs from many members for many pairs. The audit then draws
    more outputs from the members whose expected bounds exceed their claims the most, and finally
    audits one member with fresh draws. The confidence level of the audit remains valid, because the
    final draws are independent of the choice of the member. If the function raises an exception for
    some parameters, these parameters are skipped.

    Attributes:
        make: Function that accepts the parameters as keyword arguments, and returns an object
            of a privacy library (see `dpjax.LibraryMechanism`), a Python function that draws its
            own random numbers, a `dpjax.HostMechanism` or a `dpjax.CommandMechanism`.
        ranges: Map from the name of each parameter to a list of its values, or to an interval (low,
            high) of numbers. If both ends are integers, the interval contains only integers.
        time_limit: Maximum time, in seconds, that an audit spends on drawing, including the search.
            If `time_limit` is None, each member keeps its own time limit.

    Raises:
        TypeError: If the function is not callable, or if `ranges` is empty or not a mapping.
        ValueError: If a parameter's list of values is empty, if an interval is empty, or if
            `time_limit` is not positive.
    """

    make: Callable[..., object]
    ranges: Mapping[str, object]
    time_limit: float | None = None
    kind: ClassVar[str] = "family"

    def __post_init__(self):
        if not callable(self.make):
            raise BadType(f"make must be a function of parameters, but was {self.make!r}.")
        if not isinstance(self.ranges, Mapping) or not self.ranges:
            raise BadType(
                "ranges must map at least one parameter's name to its values, but was "
                f"{self.ranges!r}."
            )
        validate.positive(time_limit=self.time_limit)
        _ = self._ranges

    @property
    def name(self) -> str:
        """Name of the function."""
        return name_of_function(self.make)

    def refuses(self, method: str) -> str:
        """Return the reason why no method can audit a family as a whole."""
        first = {name: _values(each)[0] for name, each in self._ranges.items()}
        return (
            f"the family {self.name} cannot be audited as a whole: pass it to dpjax.audit or "
            "assert_private, which choose a member, or pass a member, such as "
            f"family.member({text_of(first)})."
        )

    def tried(self, rng: np.random.Generator) -> list[dict[str, object]]:
        """Return the combinations of parameter values that an audit tries first.

        Args:
            rng: Random generator that selects some of the combinations if there are too many.
        """
        values = [_values(each) for each in self._ranges.values()]
        every = [dict(zip(self._ranges, row, strict=True)) for row in itertools.product(*values)]
        if len(every) <= _MOST_MEMBERS:
            return every
        return [every[place] for place in sorted(rng.permutation(len(every))[:_MOST_MEMBERS])]

    def varied(self, chosen: Mapping[str, object], rng: np.random.Generator) -> dict[str, object]:
        """Copy a combination, and give one randomly chosen parameter a new random value."""
        name = list(self._ranges)[int(rng.integers(len(self._ranges)))]
        among = self._ranges[name]
        if isinstance(among, _Interval):
            value = among.at(float(rng.random()))
        else:
            value = among[int(rng.integers(len(among)))]
        return {**chosen, name: value}

    def member(self, chosen: Mapping[str, object]) -> "Member":
        """Return the member with the given parameters.

        Raises:
            TypeError: If the function does not return a host mechanism or a library object.
        """
        made: Any = self.make(**chosen)
        if not isinstance(made, OnHost):
            kind, options = recognized(made)
            if kind == "mechanism":
                raise BadType(
                    "make must return a library object, a Python function of (database) or "
                    f"(database, num_samples), or a dpjax.CommandMechanism, but {self.name} "
                    f"returned {text_of(made)[:80]}. To compare mechanisms that JAX draws, use the "
                    "grid of a sweep."
                )
            made = _KINDS[kind](made, **options)
        if self.time_limit is not None:
            made = made.with_time_limit(self.time_limit)
        return Member(made, self.make, dict(chosen))

    @cached_property
    def _ranges(self) -> dict[str, _Interval | list[object]]:
        return {name: _range_of(name, given) for name, given in self.ranges.items()}


@dataclass(frozen=True)
class Member(OnHost):
    """A member of a family, with its parameters.

    Attributes:
        source: Source that the family's function returned.
        make: The family's function.
        chosen: Parameters with which the function was called.
    """

    source: OnHost
    make: Callable[..., object]
    chosen: Mapping[str, object]
    kind: ClassVar[str] = "member"

    @property
    def name(self) -> str:
        """Name of the family's function."""
        return name_of_function(self.make)

    @property
    def parameters(self) -> JsonObject:
        """Parameters of the member; a value that JSON cannot represent is converted to a string."""
        return {
            name: value if isinstance(value, _PLAIN) else text_of(value)
            for name, value in self.chosen.items()
        }

    @property
    def stated(self) -> tuple[Notion, object] | None:
        """Privacy notion and claim that the mechanism itself states."""
        return self.source.stated

    @property
    def usual_pairs(self) -> object:
        """Standard pairs of the mechanism."""
        return self.source.usual_pairs

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the mechanism's source, such as `batched` or `time_limit`."""
        if name.startswith("__") or name == "source":
            raise AttributeError(name)
        return getattr(self.source, name)

    def with_time_used(self, seconds: float) -> Self:
        """Return the member with its time limit reduced by `seconds`; see `Source`."""
        return replace(self, source=self.source.with_time_used(seconds))

    def with_time_limit(self, limit: float | None) -> Self:
        """Return the member with another time limit; see `Source`."""
        return replace(self, source=self.source.with_time_limit(limit))

    def encoder(self) -> Encoder:
        """Return a new encoder of the outputs."""
        return self.source.encoder()

    def drawing(self) -> AbstractContextManager[Draw]:
        """Return a context manager that provides a function for drawing batches of raw outputs."""
        return self.source.drawing()

    def restarted(self, sides: tuple[object, object], count: int) -> Restarted | None:
        """Draw outputs in two new runs of the mechanism; see `OnHost.restarted`."""
        return self.source.restarted(sides, count)

    def to_plain(self) -> JsonObject | None:
        """Return the function as MODULE:NAME, and the parameters; see `Source`."""
        path = path_of(self.make)
        plain = all(isinstance(value, _PLAIN) for value in self.chosen.values())
        return {"name": path, "parameters": dict(self.chosen)} if path and plain else None

    @classmethod
    def from_plain(cls, content: JsonObject, database: object, trust: Trust) -> Self:
        """Rebuild the member if the function's module may be imported; see `Source`."""
        make = imported(str(content.pop("name", "")), trust.imports)
        chosen = dict(content.pop("parameters", {}))
        found = Family(make, {name: [value] for name, value in chosen.items()}).member(chosen)
        return cls(found.source, make, chosen)


def _range_of(name: str, given: Any) -> _Interval | list[object]:
    numbers = isinstance(given, tuple) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in given
    )
    if numbers and len(given) == 2:
        if not given[0] < given[1]:
            raise BadValue(f"ranges must have increasing intervals, but {name} had {given}.")
        return _Interval(*given)
    if isinstance(given, list | tuple | range | np.ndarray) and len(given):
        return list(given)
    raise BadValue(
        "ranges must map each name to a list of values or an interval (low, high), but "
        f"{name} had {given!r}."
    )


def _values(among: _Interval | list[object]) -> list[object]:
    return among.values() if isinstance(among, _Interval) else among
