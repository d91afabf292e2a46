"""Panels from tables: pandas tables, pyarrow tables, and paths to csv or Parquet files.

pandas is imported only when a table is read.
"""

import os
from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from numbers import Real
from types import ModuleType
from typing import Any

import numpy as np

from dpjax.core import validate
from dpjax.core.errors import nearest, needs
from dpjax.core.files import as_path
from dpjax.core.frames import MISSING, read_frame
from dpjax.core.wording import BadType, BadValue, prefixed, term
from dpjax.empirical._panel import Panel, checked, panel_from_array
from dpjax.partitions.previews import preview_database

_DROP = term("panel_from_table(table, missing='drop')", "--missing 'drop'")

_INDEX_NAMES = ("", "Unnamed: 0", "__index_level_0__")
"""Names of the column of row numbers in a file that pandas wrote."""


def as_panel(data: object) -> Panel:
    """Convert a table or an array to a panel; return a panel unchanged.

    Raises:
        TypeError: If the data are neither a panel, nor a table, nor an array.
        ValueError: If `panel_from_table` or `panel_from_array` rejects the data.
    """
    if isinstance(data, Panel):
        return data
    if isinstance(data, str | os.PathLike) or hasattr(data, "to_pandas") or hasattr(data, "iloc"):
        return panel_from_table(data)
    if hasattr(data, "__array__") or isinstance(data, list | tuple):
        return panel_from_array(data)
    raise TypeError(
        "databases must be a table (pandas, pyarrow, or a path to csv or Parquet), an array or a "
        f"panel, but was {type(data).__name__}."
    )


def panel_from_table(
    table: Any,
    *,
    database: str = "database",
    individual: str = "individual",
    value: str | Sequence[str] | None = None,
    missing: str = "error",
    records: str = "many",
) -> Panel:
    """Make a panel from a table with one record per row.

    Args:
        table: A pandas or pyarrow table, or a path to a csv or Parquet file.
        database: Name of the column that holds each record's database. Databases labeled by numbers
            or dates are sorted; other databases keep the order in which they first appear.
        individual: Name of the column that holds each record's individual.
        value: Name or names of the value columns, or None to use all other numeric columns, except
            a column without a name in which pandas wrote row numbers. Columns of decimal numbers or
            of huge integers are numeric. If more than half of the values in a column are numbers,
            but not all, the column must be named or corrected.
        missing: Treatment of records with a missing value: 'error' raises an error, and 'drop'
            drops the record. In a csv file, an empty field is missing. In a column of numbers, so
            are NA, NaN, null and similar words, which are labels in a column of labels.
        records: Allowed number of records per individual and database: 'many' or 'one'.

    Returns:
        The panel, with notes about repeated rows, dropped records, and labels in a file such as NA.

    Raises:
        TypeError: If `table` is not a table, or if a value column is not numeric.
        ValueError: If a column is unknown, if a value is missing and `missing` is 'error', if an
            individual has multiple records in a database and `records` is 'one', or if the file has
            an unknown suffix.
    """
    validate.one_of(["error", "drop"], missing=missing)
    validate.one_of(["many", "one"], records=records)
    if isinstance(table, str | os.PathLike):
        path, keys = as_path("table", table), (database, individual)
        frame = read_frame(path, "databases", keys)
        try:
            panel = panel_from_table(
                frame,
                database=database,
                individual=individual,
                value=value,
                missing=missing,
                records=records,
            )
        except (TypeError, ValueError) as error:
            kind = BadType if isinstance(error, TypeError) else BadValue
            raise kind(prefixed(path.name, error)) from None
        labels = [(database, label) for label in panel.databases]
        labels += [(individual, label) for label in panel.individuals]
        notes = [
            f"{label!r} in column {name!r} is a label like any other: leave the field empty if the "
            "label is missing."
            for name, label in labels
            if label in MISSING
        ]
        return replace(panel, notes=(*panel.notes, *notes))
    frame = table.to_pandas() if hasattr(table, "to_pandas") else table
    if not hasattr(frame, "iloc"):
        raise TypeError(
            "table must be a pandas or pyarrow table, or a path to csv or Parquet, but was "
            f"{type(table).__name__}."
        )
    names = [str(c) for c in frame.columns]
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise ValueError(f"databases must have different column names, but {twice!r} is repeated.")
    frame = frame.set_axis(names, axis=1)
    for argument, name in (("database", database), ("individual", individual)):
        if name not in names:
            raise BadValue(
                f"{argument} column {name!r} is not in the table; {nearest(name, names)}"
            )
    if database == individual:
        raise BadValue(
            f"{term('database')} and {term('individual')} must be different columns, but were "
            f"{database!r}."
        )
    objects = [n for n in names if n not in (database, individual) and frame[n].dtype == object]
    frame = frame.assign(**{name: _as_floats(frame[name]) for name in objects})
    columns = _value_columns(frame, database, individual, value)
    notes = []
    if value is None and (index := _row_numbers(frame, columns)) is not None:
        columns.remove(index)
        notes.append(f"column {index!r} contains row numbers, so it is not a value column.")
    frame = frame[[database, individual, *columns]]
    rows = np.arange(len(frame))
    if not len(frame):
        raise BadValue("databases must have at least one record, but the table has no rows.")
    holes = frame.isna().any(axis=1).to_numpy()
    if holes.any():
        if missing == "error":
            row = int(np.argmax(holes))
            raise BadValue(
                f"databases must have no missing value, but {int(holes.sum())} of {len(frame)} "
                f"records have one (first: row {row}, {frame.iloc[row].to_dict()}); "
                f"{_DROP} leaves such records out."
            )
        notes.append(
            f"{int(holes.sum())} of {len(frame)} records had a missing value and were left out."
        )
        frame, rows = frame[~holes], rows[~holes]
    values = frame[columns].to_numpy(dtype=float).reshape(len(frame), len(columns))
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values).all(axis=1)))
        raise ValueError(
            f"databases must be finite, but row {rows[row]} was {frame.iloc[row].to_dict()}."
        )
    for name in (database, individual):
        _refuse_unhashable(name, frame[name])
    repeated = int(frame.duplicated([database, individual]).sum())
    if repeated and records == "one":
        key = frame[frame.duplicated([database, individual])].iloc[0]
        raise ValueError(
            f"databases must hold one record per database and individual, but {repeated} records "
            "repeat the database and individual of an earlier record (first: "
            f"{database}={key[database]}, {individual}={key[individual]}); records='many' accepts "
            "such records."
        )
    copies = int(frame.duplicated().sum())
    if copies:
        notes.append(
            f"{copies} of {len(frame)} records are exact copies of other records: check whether "
            "that is intended."
        )
    database_index, databases = _codes(frame[database])
    individual_index, individuals = _codes(frame[individual])
    order = np.argsort(database_index, kind="stable")
    return checked(
        Panel(
            databases,
            individuals,
            tuple(columns),
            database_index[order],
            individual_index[order],
            values[order],
            tuple(notes),
        )
    )


def _pandas() -> ModuleType:
    needs("tables", "io", "pandas")
    import pandas as pd

    return pd


def _as_floats(column: Any) -> Any:
    """Convert a column of objects to floats if all objects are numbers, such as decimals."""
    entries = column[column.notna()]
    if any(isinstance(e, bool) or not isinstance(e, Real | Decimal) for e in entries):
        return column
    try:
        return column.astype(float)
    except (TypeError, ValueError, OverflowError):  # A number that is too large, or an odd NaN.
        return column


def _refuse_unhashable(name: str, column: Any) -> None:
    """Raise TypeError if a column of labels contains a list or another unhashable object."""
    if column.dtype != object:
        return
    for entry in column:
        try:
            hash(entry)
        except TypeError:
            raise BadType(
                f"column {name!r} must hold labels, such as strings or numbers, but holds "
                f"{preview_database(entry)} ({type(entry).__name__})."
            ) from None


def _value_columns(
    frame: Any, database: str, individual: str, value: str | Sequence[str] | None
) -> list[str]:
    types = _pandas().api.types
    keys = (database, individual)
    if value is None:
        others = [c for c in frame.columns if c not in keys]
        numeric = [c for c in others if _is_real(frame[c])]
        if others and not numeric:
            raise TypeError(
                f"databases must have a value column, but {_first_text(frame, others[0])}."
            )
        for name in others:
            if name in numeric or not types.is_string_dtype(frame[name].dtype):
                continue
            numbers = _pandas().to_numeric(frame[name], errors="coerce").notna()
            if 2 * numbers.sum() > frame[name].notna().sum():
                raise BadType(
                    f"value columns must hold numbers, but {_first_text(frame, name)}. Correct the "
                    f"column, or name the value columns with {term('value', '--value')}."
                )
        return numeric
    columns = [value] if isinstance(value, str) else list(value)
    repeated = [name for name in columns if columns.count(name) > 1 or name in keys]
    if repeated:
        raise BadValue(
            "value must name different columns other than the columns of databases and "
            f"individuals, but named {repeated[0]!r}."
        )
    for name in columns:
        if name not in frame.columns:
            raise BadValue(
                f"value column {name!r} is not in the table; {nearest(name, list(frame.columns))}"
            )
        if not _is_real(frame[name]):
            raise TypeError(f"value columns must hold numbers, but {_first_text(frame, name)}.")
    return columns


def _row_numbers(frame: Any, columns: Sequence[str]) -> str | None:
    """Return the name of the value column in which pandas writes row numbers, or None.

    A table must have another value column, because a panel without values has no queries.
    """
    for name in columns if len(columns) > 1 else []:
        if name in _INDEX_NAMES and np.array_equal(frame[name].to_numpy(), np.arange(len(frame))):
            return name
    return None


def _is_real(column: Any) -> bool:
    types = _pandas().api.types
    return types.is_numeric_dtype(column) and not types.is_complex_dtype(column)


def _first_text(frame: Any, name: str) -> str:
    """Describe the first non-numeric value in a column, and state its row."""
    column = frame[name]
    try:
        wrong = _pandas().to_numeric(column, errors="coerce").isna() & column.notna()
    except OverflowError:  # An integer that is larger than all floats.
        return f"{name!r} holds {column.dtype}"
    if not wrong.any():
        return f"{name!r} holds {column.dtype}"
    row = int(np.argmax(wrong))
    return (
        f"{name!r} holds {preview_database(column.iloc[row])} in row {row} "
        f"({int(wrong.sum())} of {len(frame)} are not numbers)"
    )


def _codes(column: Any) -> tuple[np.ndarray, tuple[Hashable, ...]]:
    """Return the integer code of each record's label, and the label for each code.

    In a categorical column, categories without records get labels too. An individual whose category
    has no records is in no database.
    """
    pd = _pandas()
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy().astype(np.int64), tuple(column.cat.categories)
    ordered = pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column)
    if column.dtype == object:
        # Parquet files store dates without a time, which pandas reads as objects.
        ordered = all(type(label) is date for label in column)
    codes, labels = pd.factorize(column, sort=bool(ordered))
    plain = labels.tolist() if pd.api.types.is_numeric_dtype(column) else [str(v) for v in labels]
    return codes.astype(np.int64), tuple(plain)
