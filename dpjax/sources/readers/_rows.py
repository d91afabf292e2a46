"""Rows of files whose columns are read separately: vectors, and rows that belong to a database."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from dpjax.core.arrays import beside, joined
from dpjax.core.wording import BadValue, term

_SHOWN = 60
"""Maximum number of characters that an error message quotes from a value."""


def beside_each_other(
    parts: Sequence[Iterator[np.ndarray]], names: Sequence[str]
) -> Iterator[np.ndarray]:
    """Join separately read columns into rows.

    Raises:
        ValueError: If a column does not contain one number per row, or if columns differ in
            length.
    """
    held: list[np.ndarray | None] = [None] * len(parts)
    while True:
        for place, part in enumerate(parts):
            if held[place] is None:
                held[place] = next((chunk for chunk in part if len(chunk)), None)
        chunks = [chunk for chunk in held if chunk is not None]
        if not chunks:
            return
        if len(chunks) < len(parts):
            raise ValueError(f"the columns {', '.join(names)} differ in length")
        for name, chunk in zip(names, chunks, strict=True):
            if chunk.ndim > 1 or chunk.dtype.kind in "USO":
                raise ValueError(
                    f"column {name!r} does not hold numbers, but several columns form a vector of "
                    "numbers; to audit numbers and labels together, pass data frames to "
                    "dpjax.Recorded"
                )
        size = min(map(len, chunks))
        try:
            yield beside([chunk[:size] for chunk in chunks])
        except ValueError as error:
            raise ValueError(f"the columns {', '.join(names)} are {error}") from None
        held = [chunk[size:] if len(chunk) > size else None for chunk in chunks]


def rows_with(
    by: str | int, value: str, outputs: Iterator[np.ndarray], named: Iterator[np.ndarray]
) -> Iterator[np.ndarray]:
    """Yield the outputs in the rows whose column has a given value.

    Args:
        by: Name or index of the column, for error messages.
        value: The value, as text.
        outputs: Chunks of the outputs in all rows.
        named: Chunks of the column that names the databases, in the same order; their sizes may
            differ from those of the outputs.

    Raises:
        ValueError: If there are not as many outputs as values, or if a value is missing.
    """
    chunk = texts = np.zeros(0)
    names = _names(by, named)
    while True:
        chunk = chunk if len(chunk) else next(outputs, None)
        texts = texts if len(texts) else next(names, None)
        if chunk is None or texts is None:
            if chunk is texts:
                return
            raise ValueError(
                "must have an output and the name of a database in every row; if the first row is "
                "a header, choose all columns by their names"
            )
        size = min(len(chunk), len(texts))
        yield chunk[:size][texts[:size] == value]
        chunk, texts = chunk[size:], texts[size:]


def two_values(by: str | int, named: Iterable[np.ndarray]) -> tuple[str, str]:
    """Return the two values of a column that names the databases, as sorted texts.

    Args:
        by: Name or index of the column.
        named: Chunks of the column.

    Raises:
        ValueError: If the column does not have exactly two values, or if a value is missing.
    """
    found: set[str] = set()
    for texts in _names(by, named):
        found |= {*texts.tolist()}
        if len(found) > 2:
            break
    shown = [repr(value[:_SHOWN]) for value in sorted(found)[:3]]
    if len(found) != 2:
        many = ("at least " if len(found) > 2 else "only ") + ", ".join(shown)
        if len(found) == 3 and str(by).isdecimal():
            many = f"{', '.join(shown)}; if the first row is a header, name the column"
        raise BadValue(
            f"{term('by')} must name a column with two values, one for each database, but column "
            f"{by!r} has {many}."
        )
    first, second = sorted(found)
    return first, second


def texts_of(chunk: np.ndarray) -> np.ndarray:
    """Return the values of a column as texts: "" if missing; integers have no decimal point.

    Raises:
        ValueError: If a row contains several values.
    """
    if chunk.ndim > 1:
        raise ValueError("must name one database in each row, but holds lists")
    values, places = np.unique(chunk, return_inverse=True)
    return np.array([_text_of(value) for value in values.tolist()], object)[places]


def _names(by: str | int, named: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield the texts of a column that names the databases.

    Raises:
        ValueError: If a value is missing.
    """
    read = 0
    for chunk in named:
        texts = texts_of(chunk)
        if len(gaps := np.flatnonzero(texts == "")):
            raise BadValue(
                f"{term('by')} must name a column with a value for each output, but column {by!r} "
                f"has none for output {read + gaps[0] + 1}."
            )
        yield texts
        read += len(texts)


def _text_of(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def add_ends(ends: dict[str, np.ndarray], chunk: np.ndarray, path: Path) -> None:
    """Update `ends`: the smallest and largest integer of each kind of dtype so far.

    Raises:
        ValueError: If no 64-bit type can represent all numbers so far.
    """
    kind = chunk.dtype.kind
    if kind == "f":
        ends[kind] = np.zeros(1)
    else:
        new = np.array([chunk.min(), chunk.max()])
        known = np.concatenate([ends.get(kind, new), new])
        ends[kind] = np.array([known.min(), known.max()])
    try:
        joined([*ends.values()])
    except ValueError as error:
        raise ValueError(
            f"samples file {path}, or the files before it, must not hold both {error} together: "
            "write reals with a point or an exponent, and outcomes as labels."
        ) from None
