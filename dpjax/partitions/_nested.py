"""Classification of outputs, and division of nested outputs into numbers and a label."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from functools import lru_cache
from numbers import Integral, Real
from operator import itemgetter
from sys import intern
from typing import Any, NamedTuple, cast

import numpy as np

from dpjax.core.numerics import MOST_EXACT
from dpjax.core.wording import BadValue
from dpjax.partitions._arrays import ArrayForm, arrays_of, zeros_of
from dpjax.partitions._decimals import number_of_decimal, without_decimal
from dpjax.partitions._fields import fields_of, has_fields
from dpjax.partitions._graphs import are_edges
from dpjax.partitions._identity import refuse_identity
from dpjax.partitions._key_order import Order
from dpjax.partitions._metadata import Categorized, metadata, with_metadata
from dpjax.partitions._summary import Summary, Targets, numbers_of
from dpjax.partitions.missing import Raised, entries, has_entries, has_index, missing
from dpjax.partitions.summaries import summary_of_frame
from dpjax.partitions.tables import has_comparable_entries

_REAL = (Real, np.bool_)
"""Types that are treated as numbers."""

FLOATS = frozenset({float, np.float64, np.float32, np.float16})
INTEGERS = frozenset(
    {bool, int, np.bool_, np.int64, np.int32, np.int16, np.int8, np.uint32, np.uint16, np.uint8}
)
"""Types of the most frequent numbers, which need no further tests."""

_NUMBERS = FLOATS | INTEGERS

_COMPLEX = (complex, np.complexfloating)

_WRITTEN = (str, bytes, int, bool, type(None))
"""Types whose values are equal if and only if their texts are equal."""

_TABLE, SUMMARY = "a table", "a summarized output"
"""Structures of tables and other outputs that are summarized."""

UNUSED, SPREAD = "unused", "score without fold"
"""First words of the paths of columns that are no entries: unused ones, and linear scores of all
entries, which were fitted without one fold of the search set. See `dpjax.partitions._spread`.
"""

_LONGEST, _TEXT = 64, "\ue000"
"""_LONGEST is the maximum length of keys in the cache of structures, so that the cache stays small.
_TEXT is a placeholder for strings, and marks the places of labels that are compared by value.
"""


class Nested(NamedTuple):
    """A nested output, that is, an output that consists of several parts.

    Attributes:
        structure: Text of the output in which the word "number" replaces each number, such as
            "{'count': number, 'status': 'ok'}".
        numbers: Numbers in the output. They are sorted by key within a dict, and by position within
            a list or tuple.
        entries: Path of each number, such as "['count']" or "[0][1]".
        numeric: Whether every part is a number.
        key: Identity of the structure: two outputs have equal keys if and only if their labels have
            equal types and values. It differs from `structure` if there are labels whose texts may
            differ although their values are equal, such as sets.
        is_named: Whether numbers are compared with those of other outputs by path, not by order.
        order: Path of each key, in the order of the keys within a dict.
    """

    structure: str
    numbers: tuple[float, ...]
    entries: tuple[str, ...]
    numeric: bool
    key: Hashable
    is_named: bool = False
    order: Order = ()

    @classmethod
    def of(cls, item: object) -> "Nested":
        """Separate the numbers of an output from its structure.

        Raises:
            TypeError: If a part of the output is neither a number nor a label.
        """
        found = _flat(item) or _of_arrays(item)
        return cls.of_parts(item) if found is None else found

    @classmethod
    def of_parts(cls, item: object) -> "Nested":
        """Return the same as `of`, by a recursion over all parts of the output."""
        numbers: list[float] = []
        paths: list[str] = []
        labels: list[str] = []
        values: list[tuple[type, Hashable]] = []
        order: list[str] = []

        def named(label: Hashable) -> str:
            if type(label) in _WRITTEN:
                return repr(label)
            refuse_identity(label)
            values.append((type(label), label))
            return _placeholder(len(values) - 1)

        def text(part: object, path: str) -> str:
            if has_content(type(part)):
                if has_entries(type(part)):
                    more = metadata(part) if has_index(type(part)) else ""
                    inside = text(entries(part), path)
                    return with_metadata(inside, more) if more else inside
                if (fields := fields_of(part)) is not None:
                    return f"{fields.kind}{text(dict(fields), path)}"
            if isinstance(part, dict):
                found = []
                for name, inner in part.items():
                    plain = _plain(name)
                    order.append(place := f"{path}[{plain!r}]")
                    found.append((type(plain).__name__, place, plain, inner))
                found.sort(key=itemgetter(0, 1))
                parts = [f"{named(name)}: {text(inner, place)}" for _, place, name, inner in found]
                return f"{{{', '.join(parts)}}}"
            if isinstance(part, list | tuple) and are_edges(part):
                part = tuple(map(tuple, part))
            elif isinstance(part, list | tuple):
                inside = f"({', '.join(text(p, f'{path}[{i}]') for i, p in enumerate(part))})"
                is_described = isinstance(part, Categorized)
                return with_metadata(inside, part.text) if is_described else inside
            if isinstance(part, _COMPLEX):
                numbers.extend((_exact(part.real), _exact(part.imag)))
                paths.extend((f"{path}.real", f"{path}.imag"))
                return "complex number"
            duration = isinstance(part, np.timedelta64)  # NumPy treats durations as integers.
            huge = isinstance(part, Integral) and not duration and abs(int(part)) > MOST_EXACT
            if isinstance(part, _REAL) and not (huge or duration):
                numbers.append(_exact(part))
                paths.append(path)
                return "number"
            if isinstance(part, Decimal) and (number := number_of_decimal(part)) is not None:
                numbers.append(number)
                paths.append(path)
                return "number"
            labels.append(path)
            if isinstance(part, Raised):
                return str(part)
            return named(_plain(part))

        whole = structure = text(item, "")
        for number, (_, value) in enumerate(values):
            structure = structure.replace(_placeholder(number), repr(value))
        key = (whole, *values) if values else whole
        return cls(structure, tuple(numbers), tuple(paths), not labels, key, order=tuple(order))

    @classmethod
    def of_summary(cls, summary: Summary, table: object) -> "Nested":
        """Return the form of a table's summary, after the table's entries if comparable."""
        # Thousands of summaries have the same names, so each path is stored once.
        paths = tuple(intern(f"[{name!r}]") for name in summary)
        numbers = numbers_of(summary)
        if table is summary or not has_comparable_entries(table):
            return cls(_TABLE, numbers, paths, True, _TABLE, is_named=True)
        one = cls.of(entries(table))
        numbers, paths = one.numbers + numbers, one.entries + paths
        return one._replace(numbers=numbers, entries=paths, is_named=True)

    @classmethod
    def bare(cls, numbers: tuple[float, ...]) -> "Nested":
        """Return the form of a number or vector that occurs beside nested outputs."""
        size = len(numbers)
        text = f"{'a number' if size == 1 else f'{size} numbers'} without a structure"
        entries = tuple(f"[{place}]" for place in range(size))
        return cls(text, numbers, ("a number",) if size == 1 else entries, False, text)


def _plain(label: Any) -> Any:
    """Convert a label of NumPy to the equal object of Python, and a set to an immutable set."""
    if isinstance(label, set):
        return frozenset(label)
    is_numpy = isinstance(label, np.str_ | np.bytes_ | np.number | np.bool_)
    is_numpy = is_numpy and not isinstance(label, np.timedelta64)
    return label.item() if is_numpy else label


def _placeholder(number: int) -> str:
    return f"{_TEXT}{number}{_TEXT}"


class Label(NamedTuple):
    """An output that is a label. A label is neither numeric, nor nested, nor missing."""

    value: Hashable


def form_of(
    item: object, targets: Callable[[], Targets] = dict
) -> "Raised | Label | tuple[float, ...] | Nested":
    """Classify an output as missing, a label, a number, a vector, or nested.

    Args:
        item: Any output.
        targets: Function that returns the records that are looked for in tables.

    Raises:
        BadValue: If the output is or contains a number that float64 cannot represent exactly. Large
            integers are labels, unless they are entries of a vector.
        TypeError: If the output is neither a number nor a label, and does not consist of numbers
            and labels.
        Exception: If a method of the output, such as `__hash__`, raises an exception.
    """
    if (plain := _plain_number(item)) is not None:
        return (plain,)
    if type(item) not in (dict, list, tuple) or not item:
        summary = item if isinstance(item, Summary) else summary_of_frame(item, targets)
        if summary is not None:
            return Nested.of_summary(summary, item)
        if has_content(type(item)):
            is_array_like = has_entries(type(item))
            found = _of_arrays(item) if is_array_like else _of_fields(item)
            if found is not None:
                return found
            item = entries(item) if is_array_like else item
        if (text := missing(item)) is not None:
            return Raised(text)
        if isinstance(item, _COMPLEX):
            return _exact(item.real), _exact(item.imag)
        if isinstance(item, np.timedelta64):  # NumPy treats durations as integers.
            return Label(item)
        if isinstance(item, Integral) and abs(int(item)) > MOST_EXACT:
            return Label(int(item))
        if isinstance(item, _REAL):
            return (_exact(item),)
        if isinstance(item, Decimal) and (number := number_of_decimal(item)) is not None:
            return (number,)
    if isinstance(item, list):
        item = tuple(item)
    if isinstance(item, set):
        item = _plain(item)
    if isinstance(item, tuple):
        kinds = {*map(type, item)}
        if kinds == {float}:
            return item
        if Decimal in kinds:
            item = tuple(map(without_decimal, item))
            kinds = {*map(type, item)}
        # Look for strings first, because `isinstance` is slow for abstract base classes.
        if kinds in ({tuple}, {list}) and are_edges(item):
            return Label(tuple(map(tuple, item)))
        if kinds <= _NUMBERS:
            numbers = tuple([n for n in map(_plain_number, item) if n is not None])
            return numbers if len(numbers) == len(item) else _vector(item)
        if not kinds & {str, np.timedelta64} and all(isinstance(entry, _REAL) for entry in item):
            return _vector(item)
    if isinstance(item, dict | tuple):
        found = Nested.of(item)
        if found.numbers or isinstance(item, dict):
            return found
        kinds = {*map(type, item)}
        if kinds & {dict, list, tuple, set} or any(map(has_content, kinds)):
            return found
    if type(item) not in _WRITTEN:
        refuse_identity(item)
    return Label(cast(Hashable, item))


def _vector(item: tuple[Any, ...]) -> tuple[float, ...]:
    if any(isinstance(entry, Integral) and abs(int(entry)) > MOST_EXACT for entry in item):
        raise BadValue(
            "vectors of integers above 2^53, which float64 cannot represent exactly: scale the "
            "integers down, or return strings."
        )
    return tuple(map(_exact, item))


def _plain_number(item: Any) -> float | None:
    """Convert a float or a small integer to a float; return None for any other object."""
    kind = type(item)
    if kind is float:
        return item
    if kind in FLOATS or (kind in INTEGERS and -MOST_EXACT <= int(item) <= MOST_EXACT):
        return float(item)
    return None


@lru_cache
def has_content(kind: type) -> bool:
    """Return whether outputs of a type are compared like their entries or their fields."""
    return has_entries(kind) or has_fields(kind)


def _of_fields(item: Any) -> Nested | None:
    """Return the form of an output with fields, and None for any other output."""
    if (fields := fields_of(item)) is None:
        return None
    found = Nested.of(dict(fields))
    structure, key = f"{fields.kind}{found.structure}", found.key
    key = f"{fields.kind}{key}" if isinstance(key, str) else (fields.kind, key)
    return found._replace(structure=structure, key=key)


def _of_arrays(item: Any) -> Nested | None:
    """Return `Nested.of` of arrays, or of nested containers of arrays, and None otherwise."""
    if (found := arrays_of(item)) is None:
        return None
    return _of_form(found.form)._replace(numbers=found.numbers)


@lru_cache(maxsize=64)
def _of_form(form: ArrayForm) -> Nested:
    return Nested.of_parts(zeros_of(form))


def _flat(item: Any) -> Nested | None:
    """Return `Nested.of` of a dict or tuple of plain numbers and strings, and None otherwise.

    Most outputs differ only in their numbers and strings, so everything else is cached.
    """
    # Equal keys of different types, such as 1 and True, must not share an entry of the cache.
    if type(item) is dict and {*map(type, item)} == {str} and max(map(len, item)) <= _LONGEST:
        names, parts = tuple(item), tuple(item.values())
    elif type(item) is tuple:
        names, parts = None, item
    else:
        return None
    form = _form(names, tuple(map(type, parts)))
    if form is None:
        return None
    numbers: Any = tuple([_plain_number(parts[place]) for place in form.numbers])
    if None in numbers:
        return None
    structure = form.begins
    for place, segment in form.texts:
        structure += repr(parts[place]) + segment
    return Nested(structure, numbers, form.entries, not form.texts, structure, False, form.order)


class _Form(NamedTuple):
    """Structure of a dict or tuple of numbers and strings.

    Attributes:
        begins: Segment of `Nested.structure` before the first string.
        texts: Index of each string, in the order of the structure, and the segment after it.
        numbers: Indices of the numbers, in the order of the structure.
        entries, order: Paths of the numbers and of the keys, as in `Nested`.
    """

    begins: str
    texts: tuple[tuple[int, str], ...]
    numbers: tuple[int, ...]
    entries: tuple[str, ...]
    order: Order


@lru_cache(maxsize=1024)
def _form(names: tuple[str, ...] | None, kinds: tuple[type, ...]) -> _Form | None:
    """Return the structure of a dict with these keys, or of a tuple, from the types of its parts.

    The result is None if a type is unsuitable.
    """
    if not {*kinds} <= _NUMBERS | {str}:
        return None
    order = range(len(kinds))
    if names is not None:
        order = sorted(order, key=lambda place: repr(names[place]))
    example = tuple([_TEXT if kind is str else 0.0 for kind in kinds])
    nested = Nested.of_parts(example if names is None else dict(zip(names, example, strict=True)))
    begins, *segments = nested.structure.split(repr(_TEXT))
    texts = [place for place in order if kinds[place] is str]
    if len(segments) != len(texts):
        return None  # A key contains the placeholder.
    numbers = tuple([place for place in order if kinds[place] is not str])
    pairs = tuple(zip(texts, segments, strict=True))
    return _Form(begins, pairs, numbers, nested.entries, nested.order)


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
    key = Counter(one.key for one in found).most_common(1)[0][0]
    return next(one for one in found if one.key == key)
