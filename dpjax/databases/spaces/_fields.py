"""Fields of records, and for each field the values that tend to break libraries."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import NamedTuple

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadValue
from dpjax.databases.spaces._domain import Domain, Value, of_one_kind
from dpjax.databases.spaces._exact import exact_text

_WHOLE = (0, 1, -1, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63))
_TEXTS = ("", "new", "a" * 1000, "\u00e9", "0")
_MOMENTS = (
    datetime(1970, 1, 1),
    datetime(2000, 2, 29),
    datetime(2038, 1, 19, 3, 14, 8),
    datetime(1900, 1, 1),
    datetime(2262, 4, 11),
    datetime(1, 1, 1),
    datetime(9999, 12, 31),
)
_SPANS = (timedelta(0), timedelta(microseconds=1), timedelta(-1), timedelta(days=36_500))
"""Integers, strings, times and durations that tend to break casts, sums, parsers and calendars."""

_KINDS = (bool, int, float, str, datetime, date, timedelta)
_MOST_SEEN = 20
"""Maximum number of values per field that new records take from the example database."""

_DOUBLE = np.dtype(np.float64)


def unchanged(value: Value) -> Value:
    """Return the value."""
    return value


class Column(NamedTuple):
    """Properties of one field that all records of a database share.

    Attributes:
        name: Name of the column, or None.
        kind: Type of the values, or None to infer the type from the values in the example database.
        dtype: NumPy type of the numbers, or None for Python numbers.
        categories: Categories, if the type of the column is categorical; otherwise ().
        missing: Tuple that contains the column's missing value; () if the column cannot store one.
        stored: Function that converts a value to the value that the column stores, for example by
            rounding. The function raises TypeError, ValueError or OverflowError if the column
            cannot store the value.
    """

    name: Hashable = None
    kind: type | None = None
    dtype: np.dtype | None = None
    categories: tuple[Value, ...] = ()
    missing: tuple[Value, ...] = ()
    stored: Callable[[Value], Value] = unchanged


ANY_COLUMN = Column()
"""A column that can store any value."""


@dataclass(frozen=True)
class Field:
    """A field of the records: its column, and its domain, whose `bounds` are one pair or None."""

    domain: Domain
    column: Column = ANY_COLUMN

    @classmethod
    def of(cls, domain: Domain, place: int, column: Column) -> "Field":
        """Create the field with the given index."""
        bounds = domain.bounds_of(place)
        if bounds is not None and column.kind in (datetime, timedelta):
            times = not isinstance(bounds[0], int | float | np.number)
            bounds = (column.stored(bounds[0]), column.stored(bounds[1])) if times else None
        return cls(replace(domain, bounds=bounds, size=None, member=None, columns=None), column)

    @property
    def bounds(self) -> tuple[Value, Value] | None:
        """Bounds (low, high) on the numbers, dates or times; None if there are no bounds."""
        return self.domain.bounds_of(0)

    def has(self, value: Value) -> bool:
        """Return whether the field may hold a value."""
        if self.column.missing and _is_missing(value):
            return self.domain.nan
        return self.domain.has(value)

    def values(self, seen: Sequence[Value]) -> list[Value]:
        """Return distinct values to try in this field of new records.

        Args:
            seen: Values of the field in the example database. Unless the column has a type, the
                type of these values determines which other values are tried.
        """
        domain, column = self.domain, self.column
        kind = column.kind or _kind_of(seen)
        found = [] if self._bounds_for(kind) else list(domain.categories or ())
        found += [*column.categories, *self._values_of(kind)]
        found += column.missing if domain.nan else ()
        found += seen[:_MOST_SEEN]
        distinct: dict[object, object] = {}
        for value in found:
            try:
                value = column.stored(value)
            except (TypeError, ValueError, OverflowError):
                continue  # The column cannot store the value.
            if self.has(value):
                distinct.setdefault((type(value), exact_text(value)), value)
        return list(distinct.values())

    def near(self, value: Value, rng: np.random.Generator) -> Value:
        """With probability 1/2, redraw or scale a number; otherwise, return the value unchanged."""
        if not is_number(value):
            return value
        try:
            if not math.isfinite(value) or not rng.integers(2):
                return value
            bounds = self._bounds_for(float)
            moved = rng.uniform(*bounds) if bounds else value * 2.0 ** int(rng.integers(-8, 9))
            if isinstance(value, int):
                moved = int(moved) if math.isfinite(moved) else value
            with np.errstate(over="ignore"):
                return self.column.stored(moved)
        except (TypeError, ValueError, OverflowError):
            # The integer is too large for a float, or the column cannot store the new number.
            return value

    def _bounds_for(self, kind: type | None) -> tuple[Value, Value] | None:
        """Return the bounds if they apply to values of type `kind`, and None otherwise."""
        bounds = self.bounds
        if bounds is None or kind not in (int, float, datetime, date, timedelta):
            return None
        numbers = isinstance(bounds[0], int | float | np.number)
        return bounds if numbers == (kind in (int, float)) else None

    def _values_of(self, kind: type | None) -> list[Value]:
        bounds, domain = self._bounds_for(kind), self.domain
        if kind is bool:
            return [False, True]
        if kind is float:
            wild = [math.nan] * domain.nan + [math.inf, -math.inf] * domain.infinite
            return _reals(bounds, self.column.dtype or _DOUBLE) + wild
        if kind is int:
            return _integers(bounds, self.column.dtype)
        if kind is str:
            return list(_TEXTS)
        if kind in (datetime, date):
            step = timedelta(days=1) if kind is date else timedelta(microseconds=1)
            moments = _between(bounds, step) if bounds else list(_MOMENTS)
            return moments if bounds or kind is datetime else [each.date() for each in moments]
        if kind is timedelta:
            return _between(bounds, timedelta(microseconds=1)) if bounds else list(_SPANS)
        return []


def fields_of_columns(
    columns: Sequence[Column], domain: Domain | Mapping[Hashable, Domain] | None, seen: list
) -> list[Field]:
    """Return the fields of the records.

    Args:
        columns: Columns of the database's form, or [] if the form has no information on columns.
        domain: Domain of all fields, or a map from the names of columns to their domains, or None.
            A column without a domain may hold any finite value, and missing or infinite values if
            the column has such values in the example.
        seen: Fields of each record in the example.

    Raises:
        ValueError: If `domain` names a column that the example does not have.
    """
    own = domain.columns if isinstance(domain, Domain) else domain
    names = [column.name for column in columns]
    if own and all(name is None for name in names):
        raise BadValue(
            "domain must not name columns unless the example is a data frame, a dict of columns, "
            "or a list of dicts."
        )
    for name in own or {}:
        if name not in names:
            validate.one_of(list(map(str, names)), **{"domain's column": str(name)})
            raise BadValue(f"domain's column {name!r} is not in {names}.")
    each = list(zip(*seen, strict=True)) or [()] * len(columns)
    whole = [value for values in each for value in values]
    found = []
    for place, values in enumerate(each):
        column = columns[place] if place < len(columns) else ANY_COLUMN
        named = (own or {}).get(column.name)
        if named is not None:
            found.append(Field.of(named, 0, column))
        elif isinstance(domain, Domain):
            found.append(Field.of(domain, place, column))
        else:
            like = domain_like(whole if column.name is None else values, column)
            found.append(Field(like, column))
    return found


def domain_like(values: Sequence[Value], column: Column = ANY_COLUMN) -> Domain:
    """Return a domain of finite values that also allows special values found in `values`.

    The special values are missing values and infinities.
    """
    floats = [value for value in values if isinstance(value, float)]
    missing = map(_is_missing, values if column.missing else floats)
    return Domain(nan=any(missing), infinite=any(map(math.isinf, floats)))


def is_number(value: object) -> bool:
    """Return whether a value is a number, to which numeric bounds apply."""
    return of_one_kind(0, value)


def _is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, NaT or NA."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _kind_of(seen: Sequence[object]) -> type | None:
    """Return the common type of a field's values, or None if there is no common type."""
    present = [value for value in seen if not _is_missing(value)]
    present = present or [value for value in seen if isinstance(value, float)]
    kinds = {bool if isinstance(value, np.bool_) else type(value) for value in present}
    if kinds == {int, float}:
        return float
    kind = kinds.pop() if len(kinds) == 1 else type(None)
    return next((parent for parent in _KINDS if issubclass(kind, parent)), None)


def _reals(bounds: tuple[float, float] | None, dtype: np.dtype) -> list[float]:
    number, most = dtype.type, float(np.finfo(dtype).max)
    tiny = float(np.nextafter(number(0), number(1)))
    wild = [0.0, -0.0, 1.0, -1.0, tiny, 1e-9, most, -most]
    if bounds is None:
        return wild
    with np.errstate(over="ignore"):
        low, high = map(number, bounds)
    # If the type cannot store a bound, the bound is rounded to a number inside the interval.
    low = np.nextafter(low, number(math.inf)) if float(low) < bounds[0] else low
    high = np.nextafter(high, number(-math.inf)) if float(high) > bounds[1] else high
    beside = [float(np.nextafter(low, high)), float(np.nextafter(high, low))]
    return [float(low), float(high), *beside, float(low) / 2 + float(high) / 2, *wild]


def _integers(bounds: tuple[float, float] | None, dtype: np.dtype | None) -> list[int]:
    limits = [] if dtype is None else [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
    if bounds is None:
        return [*_WHOLE, *limits]
    low, high = math.ceil(bounds[0]), math.floor(bounds[1])
    return [low, high, low + 1, high - 1, (low + high) // 2, *_WHOLE, *limits]


def _between(bounds: tuple[Value, Value], step: timedelta) -> list[Value]:
    low, high = bounds
    return [low, high, low + step, high - step, low + (high - low) / 2]
