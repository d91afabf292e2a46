"""A panel: the records of many individuals in a sequence of databases.

An individual may have many records in a database, or none, so records are stored in flat arrays
with one row per record. Estimators use dense arrays [databases, individuals] of totals over each
individual's records.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpjax.core import validate
from dpjax.core.errors import nearest
from dpjax.core.wording import BadValue


@dataclass(frozen=True, eq=False)
class Panel:
    """Records of individuals in a sequence of databases.

    Attributes:
        databases: Labels of the databases, in the order of the sequence.
        individuals: Labels of the individuals.
        columns: Names of the columns of values.
        database: Index of each record's database, integers [records] in non-decreasing order.
        individual: Index of each record's individual, integers [records].
        values: Values of the records, float64 [records, columns], all finite.
        notes: Sentences about the data, for a report.
    """

    databases: tuple[Hashable, ...]
    individuals: tuple[Hashable, ...]
    columns: tuple[str, ...]
    database: np.ndarray
    individual: np.ndarray
    values: np.ndarray
    notes: tuple[str, ...] = ()

    @property
    def num_databases(self) -> int:
        """Number of databases."""
        return len(self.databases)

    @property
    def num_individuals(self) -> int:
        """Number of individuals."""
        return len(self.individuals)

    def column(self, name: str | None = None) -> np.ndarray:
        """Return a column of values, [records]. If `name` is None, return the only column.

        Raises:
            ValueError: If the name is unknown, or if `name` is None and there are multiple columns.
        """
        if name is None:
            if len(self.columns) != 1:
                raise ValueError(
                    "column must be named because the data do not have exactly one value "
                    f"column: the value columns are {list(self.columns)}. The name of a query may "
                    "contain a column, as in 'mean:income'."
                )
            return self.values[:, 0]
        if name not in self.columns:
            raise ValueError(
                f"column {name!r} is not in the data; {nearest(name, [*self.columns])}"
            )
        return self.values[:, self.columns.index(name)]

    def total(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Sum the weights of each individual's records in each database, [databases, individuals].

        Args:
            weights: Weight of each record, [records], or None for weights of 1.
        """
        shape = (self.num_databases, self.num_individuals)
        owner = self.database * shape[1] + self.individual
        return np.bincount(owner, weights, minlength=shape[0] * shape[1]).reshape(shape)

    def coverage(self) -> np.ndarray:
        """Return the number of databases in which each individual has a record, [individuals]."""
        return np.count_nonzero(self.total(), axis=0)

    def rows(self, database: int) -> slice:
        """Return the slice of rows that hold the records of the given database."""
        first, last = np.searchsorted(self.database, [database, database + 1])
        return slice(int(first), int(last))


def panel_from_array(
    array: object,
    *,
    mask: object = None,
    databases: Sequence[Hashable] | None = None,
    individuals: Sequence[Hashable] | None = None,
    columns: Sequence[str] | None = None,
) -> Panel:
    """Make a panel from a dense array with at most one record per individual and database.

    Args:
        array: Values, [databases, individuals] or [databases, individuals, values]. If all values
            of a record are NaN, the individual is missing from the database. Masked entries of a
            masked array are treated like NaN.
        mask: Whether each individual is in each database, bool [databases, individuals], or None if
            NaN values mark missing individuals.
        databases: Labels of the databases, or None for 0, 1, ...
        individuals: Labels of the individuals, or None for 0, 1, ...
        columns: Names of the value columns. If `columns` is None, a single column is named 'value',
            and multiple columns are named 'value_0', 'value_1', ...

    Returns:
        The panel, with a note if some individuals are in no database.

    Raises:
        TypeError: If the array is not numeric, or if the mask is not boolean.
        ValueError: If a shape is wrong, if a value is infinite, or if a record is partly NaN.
    """
    if isinstance(array, np.ma.MaskedArray) and array.dtype.kind in "iufb":
        array = np.where(np.ma.getmaskarray(array), np.nan, array.data)
    try:
        dense = np.asarray(array)
    except ValueError:
        raise BadValue(
            "databases must be an array, in which all databases have the same number of "
            "individuals, but were lists or arrays of different shapes: mark individuals that are "
            "missing with NaN, or pass a table."
        ) from None
    if dense.dtype.kind not in "iufb":
        raise TypeError(
            f"databases must be an array of numbers, but its dtype was {dense.dtype}; "
            "labels belong in a table with columns database, individual, value."
        )
    if dense.ndim not in (2, 3):
        raise ValueError(
            "databases must have shape [databases, individuals] or "
            f"[databases, individuals, values], but its shape was {dense.shape}."
        )
    dense = dense.astype(float).reshape(*dense.shape[:2], math.prod(dense.shape[2:]))
    num_databases, num_individuals, num_columns = dense.shape
    missing = np.isnan(dense)
    present = ~missing.all(axis=2) if num_columns else np.ones(dense.shape[:2], bool)
    if mask is not None:
        mask = np.asarray(mask)
        if mask.dtype != bool:
            raise TypeError(f"mask must be an array of booleans, but its dtype was {mask.dtype}.")
        if mask.shape != dense.shape[:2]:
            raise ValueError(
                f"mask must have shape [databases, individuals] = {dense.shape[:2]}, "
                f"but its shape was {mask.shape}."
            )
        present = mask
    bad = np.expand_dims(present, 2) & ~np.isfinite(dense)
    if bad.any():
        d, i, _ = np.argwhere(bad)[0]
        raise ValueError(
            f"databases must be finite where an individual is present, but individual {i} in "
            f"database {d} was {dense[d, i].tolist()} (in total, {int(bad.sum())} values are "
            "not finite): to mark an individual as missing, use NaN for every value of the record, "
            "or mask=False."
        )
    database, individual = np.nonzero(present)
    default = ["value"] if num_columns == 1 else [f"value_{v}" for v in range(num_columns)]
    return checked(
        Panel(
            databases=_labels("databases", databases, num_databases),
            individuals=_labels("individuals", individuals, num_individuals),
            columns=tuple(map(str, _labels("columns", columns or default, num_columns))),
            database=database,
            individual=individual,
            values=dense[database, individual],
        )
    )


def checked(panel: Panel) -> Panel:
    """Validate a panel, and return it with a note if some individuals are in no database.

    Raises:
        ValueError: If there is no database or no individual, or if a database has no record.
    """
    if not panel.num_databases or not panel.num_individuals:
        raise ValueError(
            "databases must hold at least one database and one individual, but held "
            f"{panel.num_databases} and {panel.num_individuals}."
        )
    validate.within_limit(
        "panel_cells",
        panel.num_databases * panel.num_individuals,
        f"{panel.num_databases} databases of {panel.num_individuals} individuals are too many",
    )
    filled = np.bincount(panel.database, minlength=panel.num_databases)
    if not filled.all():
        empty = panel.databases[int(np.argmin(filled))]
        raise ValueError(
            f"databases must each hold at least one record, but database {empty!r} holds none: "
            "leave out this database."
        )
    absent = np.flatnonzero(panel.coverage() == 0)
    if not len(absent):
        return panel
    note = (
        f"{len(absent)} of {panel.num_individuals} individuals are in no database (first: "
        f"{panel.individuals[absent[0]]!r}), so their delta is 0 by construction, which is no "
        "evidence of their privacy."
    )
    return replace(panel, notes=(*panel.notes, note))


def _labels(name: str, labels: Sequence[object] | None, size: int) -> tuple[Hashable, ...]:
    if labels is None:
        return tuple(range(size))
    if len(labels) != size or len(set(labels)) != size:
        raise ValueError(
            f"{name} must be {size} distinct labels, but were {len(labels)} labels, "
            f"{len(set(labels))} of them distinct."
        )
    return tuple(labels)
