"""A stack of pairs of neighboring databases."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike

from dpjax.core import validate
from dpjax.core.types import Database
from dpjax.core.wording import ON_HOST, BadType, BadValue
from dpjax.databases.trees import as_tree, length, nth, shape_of, stack

_NO_ROWS = (str, bytes, dict, set, frozenset)
"""Iterable types that are accepted neither as a list of pairs nor as a single pair."""

_DISTANCE_ERROR = 1e-3
"""Largest accepted relative change of a pair's distance in the cast to jax's float type."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Pairs:
    """B pairs (database, neighbor), stacked along a leading axis.

    A database is the input of the mechanism: the records themselves, a statistic of the records, or
    a vector of query answers. A database may be a pytree, such as a dict of arrays. The two sides
    may differ in shape, for example if a record is added or removed.

    Attributes:
        database: The B databases, an array [B, ...] or a pytree of arrays with leading axis B.
        neighbor: The B neighbors, in the same form as `database`.
        labels: Names of the B pairs; by default, "pair 0", "pair 1" and so on. If a name occurs
            more than once, a number is added to its later occurrences.

    Raises:
        ValueError: If the sides differ in length, if there is no pair, if a value is not finite, or
            if the cast to jax's float type changes the distance between the two databases of a
            pair.
        TypeError: If the databases do not consist of numbers.
    """

    database: Any
    neighbor: Any
    labels: tuple[str, ...] = field(default=(), metadata={"static": True})

    def __post_init__(self):
        if (self.database is None) != (self.neighbor is None):
            raise BadValue("pairs must have databases and neighbors, but one of them was None.")
        if validate.is_traced(self.database) or validate.is_traced(self.neighbor):
            return
        sides = tuple(
            jax.tree.map(partial(_numbers, name), as_tree(side))
            for name, side in (("database", self.database), ("neighbor", self.neighbor))
        )
        lengths = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(sides)}
        if len(lengths) != 1 or lengths <= {(), (0,)}:
            shapes = " and ".join(shape_of(side) for side in sides)
            raise BadValue(
                "pairs must have arrays database and neighbor of shape [num_pairs, ...] with at "
                f"least one pair, but the shapes were {shapes}."
            )
        leaves, structures = zip(*map(jax.tree.flatten, sides), strict=True)
        if structures[0] == structures[1]:
            leaves = zip(*map(_cast, zip(*leaves, strict=True)), strict=True)
        else:
            leaves = [[_cast((leaf,))[0] for leaf in side] for side in leaves]
        database, neighbor = map(jax.tree.unflatten, structures, leaves)
        object.__setattr__(self, "database", database)
        object.__setattr__(self, "neighbor", neighbor)
        count = length(database)
        labels = tuple(str(x) for x in self.labels) or tuple(f"pair {i}" for i in range(count))
        if len(labels) != count:
            raise ValueError(
                f"labels must name each of the {count} pairs, but there were {len(labels)}."
            )
        object.__setattr__(self, "labels", distinct_labels(labels))

    def __len__(self) -> int:
        return length(self.database)

    def one(self, index: int) -> "Pairs":
        """Return the pair with the given index, as a stack of a single pair."""
        only = slice(index, index + 1)
        return Pairs(nth(self.database, only), nth(self.neighbor, only), (self.labels[index],))

    @classmethod
    def of(cls, pairs: "Pairs | Iterable[Iterable[Database]]") -> "Pairs":
        """Convert a list of (database, neighbor) to `Pairs`; return `Pairs` unchanged.

        Raises:
            TypeError: If `pairs` is neither `Pairs` nor a list of (database, neighbor).
            ValueError: If the databases cannot be stacked into `Pairs`.
        """
        if isinstance(pairs, Pairs):
            return pairs
        rows = rows_of(pairs)
        if not rows:
            raise BadValue("pairs must hold at least one (database, neighbor), but was empty.")
        return cls(
            stack([as_tree(row[0]) for row in rows], "database"),
            stack([as_tree(row[1]) for row in rows], "neighbor"),
        )


def distinct_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the labels, with a number added to each label that occurred before.

    Results refer to pairs by their labels, so two pairs must not have the same label.

    Args:
        labels: Name of each pair.
    """
    given = tuple(labels)
    used, numbers, found = {*given}, Counter[str](), list[str]()
    for label in given:
        numbers[label] += 1
        free = label
        while numbers[label] > 1 and free in used:
            free = f"{label} ({numbers[label]})"
            numbers[label] += free in used
        used.add(free)
        found.append(free)
    return tuple(found)


def rows_of(pairs: Iterable[Iterable[Database]]) -> list[tuple[Database, Database]]:
    """Validate a list of (database, neighbor), and return it without changing the databases.

    Raises:
        TypeError: If an entry of the list is not a pair; the message names the first such entry.
    """
    accepted = "pairs must be dpjax.Pairs or a list of (database, neighbor)"
    if isinstance(pairs, _NO_ROWS) or is_frame(pairs):
        raise BadType(f"{accepted}, but was {type(pairs).__name__}.")
    if callable(getattr(pairs, "pair", None)):  # The result of `canaries`, a tuple of arrays.
        raise BadType(f"{accepted}, but was {type(pairs).__name__}: call its method .pair().")
    try:
        items = list(pairs)
    except TypeError:
        raise BadType(f"{accepted}, but was {type(pairs).__name__}.") from None
    if isinstance(pairs, tuple) and len(items) == 2 and all(map(_is_row_of_two, items)):
        raise BadType(
            f"{accepted}, but was a tuple of two rows of two numbers, which may mean one pair or "
            "two pairs: write one pair as [(database, neighbor)], or two as a list of two tuples."
        )
    rows = []
    for number, item in enumerate(items):
        try:
            if isinstance(item, _NO_ROWS) or is_frame(item):
                raise TypeError  # A dict or a string can be unpacked, but is not a pair.
            database, neighbor = item
        except (TypeError, ValueError):
            bare = "; one pair is written as [(database, neighbor)]" if len(items) == 2 else ""
            raise BadType(f"{accepted}, but entry {number} was {_shown(item)}{bare}.") from None
        rows.append((database, neighbor))
    return rows


def is_frame(value: object) -> bool:
    """Return whether a value is a data frame; iterating over one would yield its column names."""
    return hasattr(value, "columns") and hasattr(value, "__array__")


def _is_row_of_two(value: object) -> bool:
    """Return whether a value is a vector of length 2, which may be a database or a pair."""
    if not isinstance(value, list | np.ndarray | jax.Array):
        return False
    return len(np.shape(value)) == 1 and len(value) == 2


def _shown(item: object) -> str:
    """Return a short string that shows an entry; for a data frame, return the name of its type."""
    if is_frame(item):
        return f"a {type(item).__name__}"
    text = repr(item)
    return text if len(text) <= 80 else f"{text[:80]}..."


def _cast(given: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Cast an array, or a pair of corresponding arrays of both sides, to jax's default types."""
    dtype = np.int32 if all(side.dtype.kind == "i" for side in given) else np.float32
    limit = np.iinfo(np.int32).max
    for name, side in zip(("database", "neighbor"), given, strict=False):
        if dtype is np.int32 and np.any(np.abs(side) > limit):
            raise ValueError(
                f"pairs.{name} must hold integers of absolute value at most {limit}, which fit in "
                "an int32: write larger integers as floats."
            )
    # jax's default float type is float64 if x64 is on.
    if dtype is np.float32 and jax.config.read("jax_enable_x64"):
        dtype = np.float64
    with np.errstate(over="ignore"):
        cast = tuple(side.astype(dtype) for side in given)
    for wide, narrow in zip(given, cast, strict=True):
        if not np.all(np.isfinite(narrow)):
            large = wide[~np.isfinite(narrow)][0]
            raise BadValue(
                f"pairs must hold numbers that fit in {narrow.dtype}, but held {large}: scale them "
                "down, or turn on float64 (jax_enable_x64; --x64 on the command line)."
            )
    if len(given) == 2 and given[0].shape == given[1].shape:
        _refuse_other_distances(given, cast)
    return cast


def _refuse_other_distances(given: tuple, cast: tuple) -> None:
    """Reject pairs whose distance is changed by the cast, because an audit would be wrong."""
    wanted, kept = (np.abs(np.subtract(*sides, dtype=np.float64)) for sides in (given, cast))
    # Tiny distances may lose a bit, so changes are relative to the pair's largest distance.
    entries = tuple(range(1, wanted.ndim))
    changed = np.abs(kept - wanted) > _DISTANCE_ERROR * wanted.max(
        axis=entries, keepdims=True, initial=0.0
    )
    if np.any(changed):
        at = tuple(np.argwhere(changed)[0])
        raise BadValue(
            f"pairs must keep their distances in {cast[0].dtype}, but the numbers {given[0][at]} "
            f"and {given[1][at]} (pair {at[0]}) were rounded to {cast[0][at]} and {cast[1][at]}: "
            "subtract a constant from both, or turn on float64 (jax_enable_x64; --x64 on the "
            "command line)."
        )


def _numbers(name: str, values: ArrayLike) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise BadType(
            f"pairs.{name} must hold numbers, but had dtype {array.dtype}: if databases are not "
            f"numbers, wrap the function in {ON_HOST}."
        )
    if not np.all(np.isfinite(array)):
        raise ValueError(f"pairs.{name} must be finite, but held NaN or an infinity.")
    return array.astype(np.int64) if array.dtype.kind in "biu" else array
