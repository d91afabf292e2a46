"""Classification of outputs, and division of nested outputs into numbers and a label."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from dpjax.core.numerics import MOST_EXACT
from dpjax.core.wording import BadValue
from dpjax.partitions.missing import Raised, entries, is_array, missing

Key = TypeVar("Key")

_REAL = (Real, np.bool_)
"""Types that are treated as numbers."""


class Nested(NamedTuple):
    """A nested output, that is, an output that consists of several parts.

    Attributes:
        structure: Text of the output in which the word "number" replaces each number, such as
            "{'count': number, 'status': 'ok'}".
        numbers: Numbers in the output. They are sorted by key within a dict, and by position within
            a list or tuple.
        entries: Path of each number, such as "['count']" or "[0][1]".
        numeric: Whether every part is a number.
    """

    structure: str
    numbers: tuple[float, ...]
    entries: tuple[str, ...]
    numeric: bool

    @classmethod
    def of(cls, item: object) -> "Nested":
        """Separate the numbers of an output from its structure.

        Raises:
            TypeError: If a part of the output is neither a number nor a label.
        """
        numbers: list[float] = []
        paths: list[str] = []
        labels: list[str] = []

        def text(part: object, path: str) -> str:
            if is_array(type(part)):
                part = entries(part)
            if isinstance(part, dict):
                names = sorted(part, key=lambda name: (type(name).__name__, repr(name)))
                inside = (f"{n!r}: {text(part[n], f'{path}[{n!r}]')}" for n in names)
                return f"{{{', '.join(inside)}}}"
            if isinstance(part, list | tuple):
                return f"({', '.join(text(p, f'{path}[{i}]') for i, p in enumerate(part))})"
            huge = isinstance(part, Integral) and abs(int(part)) > MOST_EXACT
            if isinstance(part, _REAL) and not huge:
                numbers.append(_exact(part))
                paths.append(path)
                return "number"
            labels.append(path)
            if isinstance(part, Raised):
                return str(part)
            hash(part)
            return repr(part.item() if isinstance(part, np.str_ | np.bytes_) else part)

        whole = text(item, "")
        return cls(whole, tuple(numbers), tuple(paths), not labels)


class Label(NamedTuple):
    """An output that is a label. A label is neither numeric, nor nested, nor missing."""

    value: Hashable


def form_of(item: object) -> "Raised | Label | tuple[float, ...] | Nested":
    """Classify an output as missing, a label, a number, a vector, or nested.

    Raises:
        BadValue: If the output is or contains a number that float64 cannot represent exactly. Large
            integers are labels, unless they are entries of a vector.
        TypeError: If the output is neither a number nor a label, and does not consist of numbers
            and labels.
        Exception: If a method of the output, such as `__hash__`, raises an exception.
    """
    if is_array(type(item)):
        item = entries(item)
    if (text := missing(item)) is not None:
        return Raised(text)
    if isinstance(item, Integral) and abs(int(item)) > MOST_EXACT:
        return Label(int(item))
    if isinstance(item, _REAL):
        return (_exact(item),)
    if isinstance(item, list):
        item = tuple(item)
    if isinstance(item, tuple) and all(isinstance(entry, _REAL) for entry in item):
        if any(isinstance(entry, Integral) and abs(int(entry)) > MOST_EXACT for entry in item):
            raise BadValue(
                "vectors of integers above 2^53, which float64 cannot represent exactly: scale the "
                "integers down, or return strings."
            )
        return tuple(map(_exact, item))
    if isinstance(item, dict | tuple):
        found = Nested.of(item)
        if found.numbers or isinstance(item, dict):
            return found
    hash(item)
    return Label(cast(Hashable, item))


def _exact(number: Any) -> float:
    """Convert a number to a float.

    Raises:
        BadValue: If float64 cannot represent the number exactly.
    """
    found = float(number)
    if isinstance(number, float) or found == number or found != found:
        return found
    raise BadValue(
        f"{number!r} ({type(number).__name__}), which float64 cannot represent exactly: return "
        "float(value), or str(value) to compare the exact values as labels."
    )


def usual(found: Sequence[Nested]) -> Nested:
    """Return the first output whose structure is the most common structure."""
    structure = Counter(one.structure for one in found).most_common(1)[0][0]
    return next(one for one in found if one.structure == structure)


def rows_of(batch: Mapping[Key, Iterable[object]]) -> list[dict[Key, object]]:
    """Convert a dict of columns to a list of dicts, one per output.

    Raises:
        ValueError: If the columns differ in length.
    """
    columns = [rows_of(v) if isinstance(v, dict) else list(v) for v in batch.values()]
    return [dict(zip(batch, row, strict=True)) for row in zip(*columns, strict=True)]
