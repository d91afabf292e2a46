"""Partitions of vector outputs by the digits of one entry.

If one side rounds an entry, or adds only even integers to it, the digits of this entry reveal the
side, but its intervals and scores of all entries hardly do. Among a few outputs of the search set,
the digits of all entries are compared. The entry whose digits differ most is tried if the
difference is no chance.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from dpjax.core.types import Plain
from dpjax.partitions._batches import Outputs
from dpjax.partitions._lay import lay
from dpjax.partitions._one_entry import OneEntry, entry_partition
from dpjax.partitions.low_bits import lowest_set_bit

_ROWS, _NUMBERS = 1000, 2**17
"""Largest number of outputs per side by which an entry is chosen, and of their entries together."""

_SEEN = 5.0
"""An entry is tried if the shares of both sides differ by this number of standard errors."""

_FEW = 32
"""An entry with at most this many different values is not tried, since the cells of the entry show
each of these values, and describe events better.
"""

_MOST_DECIMALS, _MOST_ZEROS, _MODULUS = 6, 3, 16
"""Largest number of decimals, largest number of zeros at the end of an integer, and divisor."""

_ERROR, _ERROR_SINGLE = 2.0**-50, 1.01 * 2.0**-24
"""Relative rounding errors of products of a float64, or a float32, and a power of 10."""

_LARGE, _LARGE_SINGLE = 2.0**44, 2.0**18
"""Products above these limits would often be close to integers by chance."""

_MOST_PLACES, _MOST_BINARY_ZEROS, _BELOW = 16, 1024, -1075
"""Largest number of binary places, number of zeros at the end of 0, and exponent of the lowest bit
of 0, which is below those of all other numbers.
"""

_LONG_SINGLE, _LONG = 2**29 - 1, 2**36 - 1
"""Last bits of the mantissa of a float64. A float32 has zeros at the bits of _LONG_SINGLE, and a
number of at most 17 significant bits at those of _LONG.
"""


def _binary_places(numbers: np.ndarray) -> np.ndarray:
    """Return how many binary places a number needs, or minus the number of zeros at its end.

    All numbers that are no integers and have too many significant bits need _MOST_PLACES + 1
    places. Otherwise, the number of places could reveal the terms of a floating-point sum.
    """
    is_short = (numbers.view(np.int64) & _LONG) == 0
    (some,) = np.nonzero(is_short | (np.floor(numbers) == numbers))
    found = np.full(numbers.size, _MOST_PLACES + 1)
    found[some] = np.minimum(-lowest_set_bit(numbers[some]), _MOST_PLACES + 1)
    found[numbers == 0] = -_MOST_BINARY_ZEROS
    return found


def _decimals(numbers: np.ndarray) -> np.ndarray:
    """Return how many decimals a number needs, or minus the number of zeros at its end.

    A number needs _MOST_DECIMALS + 1 decimals if it needs more than _MOST_DECIMALS.
    """
    found = np.full(numbers.size, _MOST_DECIMALS + 1)
    is_whole = np.floor(numbers) == numbers
    is_single = ~is_whole & ((numbers.view(np.int64) & _LONG_SINGLE) == 0)
    for is_used, error, large in (
        (is_single, _ERROR_SINGLE, _LARGE_SINGLE),
        (~(is_whole | is_single), _ERROR, _LARGE),
    ):
        (left,) = np.nonzero(is_used)
        rest = numbers[left]
        for number in range(_MOST_DECIMALS if left.size else 0, 0, -1):
            with np.errstate(over="ignore", invalid="ignore"):
                scaled = rest * 10.0**number
                gap = np.abs(scaled - np.rint(scaled))
            scaled = np.abs(scaled)
            # Only these numbers may need fewer decimals.
            (kept,) = np.nonzero((gap <= error * scaled) | (scaled >= large))
            left, rest = left[kept], rest[kept]
            found[left[scaled[kept] < large]] = number
    (left,) = np.nonzero(is_whole)
    rest = numbers[left]
    for number in range(_MOST_ZEROS + 1):
        kept = np.rint(rest / 10.0**number) * 10.0**number == rest
        left, rest = left[kept], rest[kept]
        found[left] = -number
    return found


def _remainder(numbers: np.ndarray) -> np.ndarray:
    """Return the remainder of an integer, or -1 for all other numbers."""
    is_whole = np.floor(numbers) == numbers
    return np.where(is_whole, numbers - _MODULUS * np.floor(numbers / _MODULUS), -1).astype(int)


def _lowest_bit(numbers: np.ndarray) -> np.ndarray:
    """Return the exponent of the lowest bit that is 1, or _BELOW for 0."""
    is_zero = numbers == 0
    return np.where(is_zero, _BELOW, lowest_set_bit(np.where(is_zero, 1.0, numbers)))


class _Statistic(NamedTuple):
    """A statistic of single numbers.

    Attributes:
        of: Function from numbers, float64 [n] in a row, to integers [n].
        low: Smallest value that is distinguished when entries are chosen.
        high: Largest value that is distinguished.
    """

    of: Callable[[np.ndarray], np.ndarray]
    low: int
    high: int


STATISTICS = {
    "number of decimals": _Statistic(_decimals, -_MOST_ZEROS, _MOST_DECIMALS + 1),
    "number of binary places": _Statistic(_binary_places, -31, _MOST_PLACES + 1),
    f"remainder modulo {_MODULUS}": _Statistic(_remainder, -1, _MODULUS - 1),
}
"""Statistics by name, from the simplest to the most complex."""

LOW_BITS = {"lowest set bit": _Statistic(_lowest_bit, -160, 64)}
"""Statistic that reveals the terms of floating-point sums. It is used only if users ask for it."""

_ALL = STATISTICS | LOW_BITS


@dataclass(frozen=True)
class Digits(OneEntry):
    """A partition of vector outputs by the digits of one entry.

    Attributes:
        statistic: Name of the statistic of the entry; see `STATISTICS` and `LOW_BITS`.
    """

    statistic: str = field(kw_only=True)

    @property
    def key(self) -> Hashable:
        """See `Cells`."""
        return super().key, self.statistic

    @property
    def columns(self) -> Sequence[int]:
        """See `Partition`."""
        return ()

    def number(self, outputs: Outputs) -> np.ndarray:
        """Return the statistic of each output, [n]."""
        return _ALL[self.statistic].of(super().number(outputs))

    def kind(self, whole: bool) -> str:
        """See `Cells`."""
        return f"a vector with the {self.statistic} of {self.entry(self.column)}"

    def plain(self) -> Plain:
        """Return the entry and the statistic as JSON values for a recipe."""
        words = f"the {self.statistic} of {self.entry(self.column)}"
        return {"words": words, "kind": self.statistic, "entry": self.column}


def digits_partitions(
    pilot: Sequence[Outputs],
    names: Sequence[str],
    columns: Sequence[int],
    low_bits: bool = False,
) -> list[Digits]:
    """Construct a partition for each statistic that differs by more than chance in some entry.

    `LOW_BITS` are used only if `low_bits` is True.
    """
    statistics = _ALL if low_bits else STATISTICS
    rows = max(min(_ROWS, _NUMBERS // len(columns)), 1)
    some = [np.flatnonzero(~side.alone)[:rows] for side in pilot]
    sides = [side.values[at][:, columns] for side, at in zip(pilot, some, strict=True)]
    found = []
    for name, statistic in statistics.items() if all(map(len, sides)) else ():
        column = _differing(sides, columns, statistic)
        if column is not None:
            numbers = [statistic.of(side.values[:, column]) for side in pilot]
            changed = [
                side._replace(values=values[:, None].astype(float))
                for side, values in zip(pilot, numbers, strict=True)
            ]
            laid = entry_partition(changed, names, 0, partial(lay, whole=True))
            form = laid.names, laid.edges, laid.atoms, laid.boxed, laid.whole
            ordered = not name.startswith("remainder")
            more = {"column": column, "unlabeled": laid.unlabeled, "statistic": name}
            found.append(Digits(*form, ordered, **more))
    return found


def _differing(
    sides: Sequence[np.ndarray], columns: Sequence[int], statistic: _Statistic
) -> int | None:
    """Return the column whose digits differ most, or None if none differs by more than chance."""
    gaps = _gaps(sides, statistic)
    for place in np.argsort(-gaps, kind="stable").tolist():
        if gaps[place] <= _SEEN:
            return None
        if np.unique(np.concatenate([side[:, place] for side in sides])).size > _FEW:
            return columns[place]
    return None


def _gaps(sides: Sequence[np.ndarray], statistic: _Statistic) -> np.ndarray:
    """Return the largest difference of the shares of both sides, in standard errors, per entry.

    The shares are those of each value of the statistic, and of all values up to a value.
    """
    size, width = statistic.high - statistic.low + 1, sides[0].shape[1]
    shares = []
    for side in sides:
        place = np.clip(statistic.of(side.ravel()) - statistic.low, 0, size - 1)
        place += np.tile(size * np.arange(width), len(side))
        counts = np.bincount(place, minlength=size * width)
        each = counts.reshape(width, size) / len(side)
        shares.append(np.concatenate([each, np.cumsum(each, axis=1)], axis=1))
    middle = np.clip((shares[0] + shares[1]) / 2, 1e-9, 1 - 1e-9)
    scale = 1 / len(sides[0]) + 1 / len(sides[1])
    errors = np.sqrt(middle * (1 - middle) * scale)
    return (np.abs(shares[0] - shares[1]) / errors).max(axis=1)
