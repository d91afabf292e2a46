"""Data frames from csv and Parquet files.

pandas is imported only when a file is read.
"""

import csv
from collections import Counter
from collections.abc import Collection
from functools import partial
from importlib import import_module
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

from dpjax.core.errors import needs
from dpjax.core.files import PACKED, needs_of_packed, opened, refuse_wide
from dpjax.core.parquet import text_columns_of
from dpjax.core.semicolons import SEMICOLON, has_semicolons, with_points

_PACKED_CSV = tuple(f".csv{suffix}" for suffix in PACKED)

MISSING = frozenset(
    "NA|N/A|n/a|#N/A|#NA|#N/A N/A|<NA>|NaN|nan|-NaN|-nan|NULL|null|None|1.#IND|-1.#IND|1.#QNAN|"
    "-1.#QNAN".split("|")
)
"""Words that mark a missing value in a column of numbers, as in pandas; labels elsewhere."""

_BYTES = 2**20
"""Number of bytes of a csv file that are searched for NUL at a time."""

_SHOWN = 60
"""Maximum number of characters that an error message quotes from a header."""


def read_frame(path: Path, name: str, keys: Collection[str] = ()) -> Any:
    """Read a csv or Parquet file as a pandas data frame.

    Args:
        path: Path of the file.
        name: Name of the argument that holds the path, for messages.
        keys: Names of columns of labels. Labels that are numbers are converted to numbers, unless
            different labels would become equal.

    Raises:
        ModuleNotFoundError: If a package that reads the file is not installed.
        ValueError: If the name of the file has another suffix, or if the file is missing, damaged
            or a decompression bomb.
    """
    needs("tables", "io", "pandas")
    kind = _kind_of(path)
    if kind not in _READERS:
        raise ValueError(
            f"{name} must be a file whose name ends in one of "
            f"{', '.join((*_READERS, *_PACKED_CSV))}, but was {(path.name or str(path))!r}."
        )
    needs_of_packed(path)
    if kind != ".csv":
        needs("Parquet files", "io", "pyarrow")
    if not path.is_file():
        raise ValueError(f"{name} must be a file, but there is none at {str(path)!r}.")
    try:
        return _READERS[kind](path, keys)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} could not be read from {path.name!r}: it is not UTF-8 (it holds the byte "
            f"{error.object[error.start]:#04x}); save it as UTF-8"
        ) from None
    except Exception as error:
        # The libraries that read files raise arbitrary exceptions for damaged files.
        text = str(error) if isinstance(error, ValueError | OSError) else repr(error)
        raise ValueError(f"{name} could not be read from {path.name!r}: {text.strip()}") from error


def is_frame_file(path: Path) -> bool:
    """Return whether the name of a file has a suffix that `read_frame` accepts."""
    return _kind_of(path) in _READERS


def _kind_of(path: Path) -> str:
    return ".csv" if path.name.lower().endswith(_PACKED_CSV) else path.suffix.lower()


def _read_csv(path: Path, keys: Collection[str]) -> Any:
    """Read a csv file; convert the labels in the columns `keys` to numbers where possible.

    If two labels in a column, such as 01 and 1, would become the same number, all labels in that
    column remain strings.
    """
    # pandas has incomplete types.
    pd: Any = import_module("pandas")
    with opened(path) as file:
        refuse_wide(file.read(4))
        file.seek(0)
        # pandas before version 3.1 drops the rest of a label, so different labels would be equal.
        if any(b"\0" in part for part in iter(partial(file.read, _BYTES), b"")):
            raise ValueError("the file contains the character NUL, which must be removed first")
        file.seek(0)
        lines = TextIOWrapper(file, "utf-8-sig", newline="")
        semicolons = has_semicolons(lines)
        lines.detach()
        file.seek(0)
        source = _with_commas(file) if semicolons else file
        _refuse_header(source)
        source.seek(0)
        types = dict.fromkeys(keys, str)
        empty = {"keep_default_na": False, "na_values": [""]}
        frame = pd.read_csv(source, dtype=types, low_memory=False, **empty)
    for name in frame.columns:
        if name in keys or pd.api.types.infer_dtype(frame[name], skipna=True) == "string":
            frame[name] = _as_numbers(frame[name], pd, is_key=name in keys)
    return frame


def _with_commas(file: BinaryIO) -> BinaryIO:
    """Return a file with commas between fields, if semicolons separate the fields of a file.

    Raises:
        ValueError: If some numbers have decimal points and others have decimal commas.
    """
    text = TextIOWrapper(file, "utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=SEMICOLON)
    found = BytesIO()
    written = TextIOWrapper(found, "utf-8", newline="")
    writer = csv.writer(written)
    for row in reader:
        writer.writerow(with_points(row, reader.line_num))
    written.detach()
    text.detach()
    found.seek(0)
    return found


def _as_numbers(column: Any, pd: Any, *, is_key: bool) -> Any:
    """Convert a column of strings to numbers, or mark its missing values, if it contains numbers.

    In a column of labels, only empty fields are missing values: NA may be the label of Namibia.

    Args:
        column: Column of strings, in which empty fields are missing values.
        pd: The module pandas.
        is_key: Whether different strings must remain different, and all of them must be numbers. If
            False, half of the strings must be numbers.
    """
    known = column[~column.isin(MISSING)].dropna()
    numbers = pd.to_numeric(known, errors="coerce")
    if is_key:
        holds_numbers = numbers.notna().all()
        same = holds_numbers and numbers.nunique() == known.nunique()
    else:
        holds_numbers = 2 * numbers.notna().sum() >= len(known)
        same = numbers.notna().all()
    if not holds_numbers:
        return column
    return (numbers if same else known).reindex(column.index)


def _refuse_header(file: BinaryIO) -> None:
    """Raise an error if a csv file repeats a column's name, or has more fields than the header.

    pandas would append ".1" to a repeated name. If the first record has more fields than the
    header, pandas would use the first field of each record as its index, so that each other field
    would be in the column to its left. In later records, pandas refuses additional fields.

    Raises:
        ValueError: If two columns have the same name, which is not empty, or if the first record
            has more fields than the header.
    """
    text = TextIOWrapper(file, "utf-8-sig", newline="")
    reader = csv.reader(text)
    rows = (row for row in reader if len(row) > 1 or "".join(row).strip())
    header, first = next(rows, []), next(rows, [])
    line = reader.line_num
    text.detach()
    if len(header) == 1 and SEMICOLON in header[0]:
        raise ValueError(
            f"the fields of the header, {header[0][:_SHOWN]!r}, are separated by ';': separate "
            "fields by commas, or write numbers with decimal commas"
        )
    if twice := [name for name, number in Counter(header).items() if name and number > 1]:
        raise ValueError(f"the column name {twice[0]!r} is repeated: columns need different names")
    if len(first) > len(header):
        advice = (
            "remove the comma at the end of each line"
            if not first[-1]
            else "name all columns in the header, or leave out row names (in R: row.names=FALSE)"
        )
        raise ValueError(
            f"line {line} has {len(first)} fields, but the header has {len(header)}: {advice}"
        )


def _read_parquet(path: Path, keys: Collection[str]) -> Any:
    """Read a Parquet file; equal strings in a column share one object in memory."""
    pq: Any = import_module("pyarrow.parquet")
    # The file is opened here because Arrow rejects file names that are not UTF-8.
    with path.open("rb") as file:
        names = text_columns_of(file, path.stat().st_size)
        frame = pq.read_table(file, read_dictionary=names).to_pandas()
    for name in {*names} & {*frame.columns}:
        frame[name] = frame[name].astype(object)
    return frame


_READERS = {".csv": _read_csv, ".parquet": _read_parquet, ".pq": _read_parquet}
