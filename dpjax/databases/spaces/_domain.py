"""The domain of a record (bounds, categories, NaN), and values that tend to break libraries."""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue
from dpjax.databases.spaces._forms import fields_of

_REALS = (0.0, -0.0, 1.0, -1.0, 5e-324, 1e-9, sys.float_info.max, -sys.float_info.max)
_WHOLE = (0, 1, -1, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63))
_TEXTS = ("", "new", "a" * 1000, "\u00e9", "0")
"""Values that tend to break samplers, casts, sums and parsers."""

_MOST_SEEN = 20
"""Maximum number of values of a field in the example database that are tried in new records."""


@dataclass(frozen=True)
class Domain:
    """The values that a record may hold.

    Attributes:
        bounds: Bounds (low, high) on every number, or a list with such bounds for each field; if
            None, any finite number is allowed.
        categories: Values that a field without bounds may take; if None, any value of the type that
            the field has in the example database is allowed.
        nan: Whether a float may be NaN.
        infinite: Whether a float may be infinite.
        size: Number of records of a database, or None if the number is not fixed.
        member: Function that returns whether a database is allowed. If the function raises an
            exception, the database is not allowed.

    Raises:
        TypeError, ValueError: When bounds are not increasing, `categories` is empty, `size` is
            not an integer >= 1, or `member` is not a function.
    """

    bounds: tuple[float, float] | Sequence[tuple[float, float] | None] | None = None
    categories: Sequence[object] | None = None
    nan: bool = False
    infinite: bool = False
    size: int | None = None
    member: Callable[[object], bool] | None = None

    def __post_init__(self):
        if self.bounds is not None:
            for place in self._each_bounds():
                if place is not None:
                    validate.increasing(place[0], place[1], name="bounds")
        if self.categories is not None and not len(self.categories):
            raise BadValue("categories must hold at least one value, but was empty.")
        if self.size is not None:
            validate.positive_int(size=self.size)
        if self.member is not None and not callable(self.member):
            raise BadType(f"member must be a function, but was {self.member!r}.")

    def bounds_of(self, field: int) -> tuple[float, float] | None:
        """Return the bounds of the numbers of one field."""
        if self.bounds is None:
            return None
        places = self._each_bounds()
        return places[0] if len(places) == 1 else places[min(field, len(places) - 1)]

    def holds(self, database: object) -> bool:
        """Return whether `member` allows a database."""
        try:
            return self.member is None or bool(self.member(database))
        except Exception:  # A user's function may raise for databases outside its domain.
            return False

    def has(self, value: object, field: int = 0) -> bool:
        """Return whether a field may hold a value."""
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float):
            return self.categories is None or value in self.categories or _is_nan(value)
        if isinstance(value, float) and not math.isfinite(value):
            return self.nan if math.isnan(value) else self.infinite
        bounds = self.bounds_of(field)
        if bounds is None:
            return self.categories is None or value in self.categories
        return bounds[0] <= value <= bounds[1]

    def values(self, seen: Sequence[object], field: int = 0) -> list[object]:
        """Return distinct values that are tried in a field of new records.

        Args:
            seen: Values of the field in the example database, whose type decides which other values
                are tried.
            field: Index of the field.
        """
        kind, bounds = _kind_of(seen), self.bounds_of(field)
        found: list[object] = list(self.categories or ()) if bounds is None else []
        if kind is bool:
            found += [False, True]
        elif kind is float:
            found += _reals(bounds)
            found += [math.nan] * self.nan + [math.inf, -math.inf] * self.infinite
        elif kind is int:
            found += _integers(bounds)
        elif kind is str:
            found += _TEXTS
        found += seen[:_MOST_SEEN]
        distinct = {(type(value), repr(value)): value for value in found}
        return [value for value in distinct.values() if self.has(value, field)]

    def _each_bounds(self) -> list[tuple[float, float] | None]:
        given: Any = self.bounds
        one = len(given) == 2 and all(isinstance(v, int | float | np.number) for v in given)
        return [tuple(given)] if one else [None if b is None else tuple(b) for b in given]


def domain_like(records: Sequence[object]) -> Domain:
    """Return the domain of all finite values, with NaN or infinities if a record has them."""
    reals = [v for record in records for v in fields_of(record) if isinstance(v, float)]
    return Domain(nan=any(map(math.isnan, reals)), infinite=any(map(math.isinf, reals)))


def _kind_of(seen: Sequence[object]) -> type | None:
    """Return the common type of a field's values, or None if types are mixed or none is known."""
    kinds = {bool if isinstance(v, np.bool_) else type(v) for v in seen if v is not None}
    if kinds == {int, float}:
        return float
    return kinds.pop() if len(kinds) == 1 else None


def _reals(bounds: tuple[float, float] | None) -> list[float]:
    if bounds is None:
        return list(_REALS)
    low, high = map(float, bounds)
    beside = [math.nextafter(low, high), math.nextafter(high, low), (low + high) / 2]
    return [low, high, *beside, *_REALS]


def _integers(bounds: tuple[float, float] | None) -> list[int]:
    if bounds is None:
        return list(_WHOLE)
    low, high = math.ceil(bounds[0]), math.floor(bounds[1])
    return [low, high, low + 1, high - 1, (low + high) // 2, *_WHOLE]


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)
