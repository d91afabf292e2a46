"""Outputs of several parts, dicts or lists inside each other, as numbers and a label."""

from collections import Counter
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

LARGEST = 2**53
"""Integers up to here are floats without loss."""


class Nested(NamedTuple):
    """An output of several parts.

    Attributes:
        structure: All but its numbers, in words: "{'count': number, 'status': 'ok'}".
        numbers: In the order of keys in dicts, and of places elsewhere.
        entries: Where each number is, such as "['count']" or "[0][1]".
        numeric: Whether every part is a number.
    """

    structure: str
    numbers: tuple[float, ...]
    entries: tuple[str, ...]
    numeric: bool

    @classmethod
    def of(cls, item: Any) -> "Nested":
        """Takes an output apart.

        Raises:
            TypeError: A part is neither a number nor a label.
        """
        numbers: list[float] = []
        entries: list[str] = []
        labels: list[str] = []

        def text(part: Any, path: str) -> str:
            if isinstance(part, np.ndarray):
                part = part.tolist()
            if isinstance(part, dict):
                names = sorted(part, key=lambda name: (type(name).__name__, repr(name)))
                inside = (f"{n!r}: {text(part[n], f'{path}[{n!r}]')}" for n in names)
                return f"{{{', '.join(inside)}}}"
            if isinstance(part, list | tuple):
                return f"({', '.join(text(p, f'{path}[{i}]') for i, p in enumerate(part))})"
            huge = isinstance(part, Integral) and abs(int(part)) > LARGEST
            if isinstance(part, Real) and not huge:
                numbers.append(float(part))
                entries.append(path)
                return "number"
            hash(part)
            labels.append(path)
            return repr(part)

        whole = text(item, "")
        return cls(whole, tuple(numbers), tuple(entries), not labels)


def usual(found: Sequence[Nested]) -> Nested:
    """One of the structure that most of them have, the first of them if there are several."""
    structure = Counter(one.structure for one in found).most_common(1)[0][0]
    return next(one for one in found if one.structure == structure)


def rows_of(batch: dict[Any, Any]) -> list[dict[Any, Any]]:
    """Outputs one by one, of a dict whose values hold a part of all of them each.

    Raises:
        ValueError: The values differ in length.
    """
    columns = [rows_of(v) if isinstance(v, dict) else list(v) for v in batch.values()]
    return [dict(zip(batch, row, strict=True)) for row in zip(*columns, strict=True)]
