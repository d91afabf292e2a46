"""The domain of a record: bounds, categories, and whether values may be missing or infinite."""

import math
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue

Value = Any
"""Value of a field: a number, a string, a date, or any other Python object."""

_NUMBERS = (int, float, np.number)
_TIMES = (date, timedelta, np.datetime64, np.timedelta64)


@dataclass(frozen=True)
class Domain:
    """The values that records may hold, and the databases that are allowed.

    Attributes:
        bounds: Bounds (low, high) on every number, or on every date or time; or a list with one
            entry per field, where an entry is such a pair or None. If `bounds` is None, any finite
            number is allowed.
        categories: Values that a field without bounds may hold. If `categories` is None, such a
            field may hold any value of the type that it has in the example database.
        nan: Whether floats may be NaN and, in a data frame, whether values may be missing.
        infinite: Whether a float may be infinite.
        size: Number of records in a database, or None if the number is not fixed.
        member: Function that returns whether a database is allowed. If the function raises an
            exception, the database is not allowed.
        columns: Map from the names of some columns to the domains of these columns, if the database
            is a data frame, a dict of columns, or a list of dicts. For all other columns, the
            bounds, categories, `nan` and `infinite` of this domain apply.

    Raises:
        TypeError, ValueError: If bounds are not increasing, if `categories` is empty, if `size` is
            not an integer >= 1, if `member` is not a function, or if the domain of a column has a
            size, a member function or columns.
    """

    bounds: tuple[Value, Value] | Sequence[tuple[Value, Value] | None] | None = None
    categories: Sequence[object] | None = None
    nan: bool = False
    infinite: bool = False
    size: int | None = None
    member: Callable[[object], bool] | None = None
    columns: Mapping[Hashable, "Domain"] | None = None

    def __post_init__(self):
        if self.bounds is not None:
            if not _is_bounds(self.bounds):
                raise BadType(
                    "bounds must be a pair (low, high), or a list with one pair or None per field, "
                    f"but was {self.bounds!r}."
                )
            for place in self._each_bounds():
                if place is not None:
                    _refuse_falling(*place)
        if self.categories is not None:
            if isinstance(self.categories, str) or not hasattr(self.categories, "__len__"):
                raise BadType(f"categories must be a list of values, but was {self.categories!r}.")
            if not len(self.categories):
                raise BadValue("categories must hold at least one value, but was empty.")
        if self.size is not None:
            validate.positive_int(size=self.size)
        if self.member is not None and not callable(self.member):
            raise BadType(f"member must be a function, but was {self.member!r}.")
        if self.columns is not None:
            check_columns(self.columns, "columns")

    def bounds_of(self, field: int) -> tuple[Value, Value] | None:
        """Return the bounds on the field with the given index, or None.

        Raises:
            ValueError: If the list of bounds ends before the field.
        """
        if self.bounds is None:
            return None
        places = self._each_bounds()
        if len(places) == 1:
            return places[0]
        if field >= len(places):
            raise BadValue(
                f"bounds must have one entry per field, or one for all fields, but had "
                f"{len(places)} entries for at least {field + 1} fields."
            )
        return places[field]

    def holds(self, database: object) -> bool:
        """Return whether the function `member` allows a database."""
        try:
            return self.member is None or bool(self.member(database))
        except Exception:  # A user's function may raise for databases outside its domain.
            return False

    def has(self, value: Value, field: int = 0) -> bool:
        """Return whether a field may hold a value."""
        if isinstance(value, float) and not math.isfinite(value):
            return self.nan if math.isnan(value) else self.infinite
        bounds = self.bounds_of(field)
        if bounds is None or not of_one_kind(bounds[0], value):
            return self.categories is None or value in self.categories
        try:
            return bounds[0] <= value <= bounds[1]
        except TypeError:  # Dates, times, and times with a time zone cannot be compared.
            return False

    def _each_bounds(self) -> list[tuple[Value, Value] | None]:
        given: Value = self.bounds
        if len(given) == 2 and all(isinstance(v, _NUMBERS + _TIMES) for v in given):
            return [tuple(given)]
        return [None if b is None else tuple(b) for b in given]


def _is_bounds(bounds: object) -> bool:
    """Return whether bounds are a pair, or a list of pairs and None."""
    if not isinstance(bounds, list | tuple | np.ndarray) or not len(bounds):
        return False
    if len(bounds) == 2 and all(isinstance(end, _NUMBERS + _TIMES) for end in bounds):
        return True
    return all(
        part is None or (isinstance(part, list | tuple | np.ndarray) and len(part) == 2)
        for part in bounds
    )


def check_columns(columns: object, name: str) -> None:
    """Validate a map from the names of columns to their domains.

    Raises:
        TypeError: If an entry is not a `Domain`, or if `columns` is not a dict.
        ValueError: If the domain of a column has a size, a member function or columns.
    """
    if not isinstance(columns, Mapping):
        raise BadType(f"{name} must be a dict of dpjax.Domain, but was {columns!r}.")
    for column, domain in columns.items():
        if not isinstance(domain, Domain):
            raise BadType(f"{name}[{column!r}] must be dpjax.Domain, but was {domain!r}.")
        if (domain.size, domain.member, domain.columns) != (None, None, None):
            raise BadValue(
                f"{name}[{column!r}] must have no size, member or columns, which only the domain "
                "of a whole database has."
            )


def of_one_kind(bound: object, value: object) -> bool:
    """Return whether a bound applies to a value: both are numbers, or both are dates or times."""
    if isinstance(value, bool | np.bool_):
        return False
    kinds = _NUMBERS if isinstance(bound, _NUMBERS) else _TIMES
    return isinstance(value, kinds)


def _refuse_falling(low: Value, high: Value) -> None:
    if isinstance(low, _TIMES):
        if not (isinstance(high, _TIMES) and bool(operator.lt(low, high))):
            raise BadValue(f"bounds must have low < high, but was low {low!r}, high {high!r}.")
    else:
        validate.increasing(low, high, name="bounds")
