"""Samples of query results, with all individuals present and without each individual in turn.

A query may be a built-in query, a function in JAX or plain Python, or a tuple of queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue
from dpjax.empirical._panel import Panel
from dpjax.empirical._queries import Count, ExactQuery, RegressionCoefficient, parse_query
from dpjax.empirical._user_queries import HostQuery, Progress

_ROUNDING = 2.0**-46
"""Two results are treated as equal if their relative difference is at most this number."""

_LARGEST = 1e140
"""Largest absolute value of a result. Results that vary must have a range of at least 1 / _LARGEST.
"""


class Query(Protocol):
    """A query that can be evaluated on the databases of a panel."""

    @property
    def name(self) -> str:
        """Description of the query."""
        ...

    def answers(self, panel: Panel, key: int, progress: Progress | None) -> np.ndarray:
        """Return answers of d numbers each, [databases, draws, 1 + individuals, d].

        On the third axis, entry 0 is the answer with all individuals, and entry i + 1 is the answer
        without individual i.
        """
        ...


@dataclass(frozen=True, eq=False)
class QuerySamples:
    """Samples of a query's results; each result consists of d numbers.

    For n databases, the number of samples is S = n * num_draws.

    Attributes:
        names: Descriptions of the d numbers.
        full: Finite results with all individuals present, [S, d].
        without: Results without each individual in turn, [individuals, S, d]. Undefined results are
            NaN.
        database: Index of the database of each sample, [S].
        notes: Sentences about the results, for a report.
    """

    names: tuple[str, ...]
    full: np.ndarray
    without: np.ndarray
    database: np.ndarray
    notes: tuple[str, ...] = ()

    def select(self, databases: np.ndarray) -> "QuerySamples":
        """Return the samples that belong to the given databases."""
        keep = np.isin(self.database, databases)
        return QuerySamples(
            self.names, self.full[keep], self.without[:, keep], self.database[keep], self.notes
        )

    def per_database(self) -> np.ndarray:
        """Return the mean result of each query over the draws of each database, [databases, d]."""
        count = np.bincount(self.database)
        columns = [np.bincount(self.database, column) / count for column in self.full.T]
        return np.stack(columns, axis=1)


def sample_query(
    query: object, panel: Panel, *, key: int = 0, progress: Progress | None = None
) -> QuerySamples:
    """Evaluate a query on every database, with all individuals and without each one in turn.

    Args:
        query: A built-in query or its short form ('mean'), a `JaxQuery`, a `HostQuery`, any Python
            function (which becomes a `HostQuery`), or a tuple of queries for a joint query.
        panel: The databases.
        key: Seed for random queries.
        progress: Callback `(databases done, total number of databases)`, called by queries that
            loop over databases.

    Returns:
        The samples.

    Raises:
        TypeError: If the query has the wrong type, or if the key is not an integer.
        ValueError: If a result with all individuals present is not finite or too large, if the
            results are too close to each other, or if a joint query contains a query twice, or
            random queries with different numbers of draws.
    """
    validate.positive_int(key=key, at_least=0)
    parts = [_as_query(part) for part in (query if isinstance(query, tuple | list) else [query])]
    if not parts:
        raise BadValue("query must hold at least one query, but was empty.")
    _refuse_repeated(parts, panel)
    tables = [part.answers(panel, key, progress) for part in parts]
    names: list[str] = []
    for part, table in zip(parts, tables, strict=True):
        size = table.shape[-1]
        names += [part.name] if size == 1 else [f"{part.name} [{k}]" for k in range(size)]
    draws = [table.shape[1] for table in tables]
    num_draws = max(draws)
    if set(draws) - {1, num_draws}:
        raise ValueError(f"num_draws must be the same in all random queries, but was {draws}.")
    table = np.concatenate([np.repeat(t, num_draws // t.shape[1], axis=1) for t in tables], axis=-1)
    # Removing an absent individual must not change the result at all, not even by rounding.
    absent = (panel.total() == 0)[:, None, :, None]
    table[:, :, 1:] = np.where(absent, table[:, :, :1], table[:, :, 1:])
    table = table.reshape(-1, *table.shape[2:])
    database = np.repeat(np.arange(panel.num_databases), num_draws)
    bad = ~np.isfinite(table[:, 0]).all(axis=1)
    if bad.any():
        where = int(np.argmax(bad))
        raise BadValue(
            f"query must be finite in every database, but {names} was {table[where, 0].tolist()} "
            f"in database {panel.databases[database[where]]!r} ({int(bad.sum())} such results)."
        )
    _refuse_extremes(table[:, 0], names)
    for column in np.moveaxis(table, 2, 0):
        _merge_rounding(column)
    without = np.where(np.isfinite(table[:, 1:]), table[:, 1:], np.nan)
    notes = ()
    undefined = np.flatnonzero(np.isnan(without).any(axis=(0, 2)))
    if len(undefined):
        notes = (
            f"For each of {len(undefined)} individuals (first: "
            f"{panel.individuals[undefined[0]]!r}), the query is undefined in some databases if "
            "the individual is removed. An undefined result reveals the removal.",
        )
    full = np.ascontiguousarray(table[:, 0])
    without = np.ascontiguousarray(np.moveaxis(without, 1, 0))
    return QuerySamples(tuple(names), full, without, database, notes)


def _refuse_repeated(parts: Sequence[Query], panel: Panel) -> None:
    """Raise ValueError if a joint query contains a built-in query twice, in any spelling."""
    seen: list[Query] = []
    only = panel.columns[0] if len(panel.columns) == 1 else None
    for part in parts:
        if isinstance(part, RegressionCoefficient):
            part = replace(part, coefficient=part.coefficient or part.on[0])
        elif isinstance(part, ExactQuery) and not isinstance(part, Count) and part.column is None:
            part = replace(cast(Any, part), column=only)
        if isinstance(part, ExactQuery) and part in seen:
            raise BadValue(f"query must be different each time, but was {part.name!r} twice.")
        seen.append(part)


def _merge_rounding(results: np.ndarray) -> None:
    """Replace results that differ only by rounding errors with one number, in place.

    The sum without an individual is computed from other partial sums than the sum with the
    individual, so equal results may differ in the last bits. Such a difference reveals nothing.

    Args:
        results: Results of one query, [S, 1 + individuals]; those in column 0 are finite.
    """
    kept = _distinct(np.unique(results[:, 0]))
    results[:, 0] = kept[np.searchsorted(kept, results[:, 0], side="right") - 1]
    for row in results:
        changed = row[1:] != row[0]
        found = row[1:][changed]
        place = np.searchsorted(kept, found)
        for nearest in (kept[np.maximum(place - 1, 0)], kept[np.minimum(place, len(kept) - 1)]):
            equal = np.abs(found - nearest) <= _ROUNDING * np.abs(nearest)
            found = np.where(equal, nearest, found)
        row[1:][changed] = found


def _distinct(values: np.ndarray) -> np.ndarray:
    """Return a subset of increasing values whose differences all exceed rounding errors.

    A value is left out if it exceeds the last returned value by a rounding error at most. If many
    values are close together, the differences between adjacent values therefore do not add up.
    """
    if (np.diff(values) > _ROUNDING * np.abs(values[1:])).all():
        return values
    kept = [values[0]]
    for value in values[1:]:
        if value - kept[-1] > _ROUNDING * abs(value):
            kept.append(value)
    return np.array(kept)


def _refuse_extremes(results: np.ndarray, names: list[str]) -> None:
    """Raise an error if squares of the results would overflow, or squares of differences vanish."""
    for name, column in zip(names, results.T, strict=True):
        low, high = column.min(), column.max()
        if max(-low, high) > _LARGEST or (low < high and high - low < 1 / _LARGEST):
            raise BadValue(
                f"query {name!r} had results from {low:g} to {high:g}, which are too large or too "
                "close to each other: multiply the data by a constant."
            )


def _as_query(query: Any) -> Query:
    if isinstance(query, str):
        return parse_query(query)
    if hasattr(query, "answers"):
        return query
    if callable(query):
        return HostQuery(query, name=getattr(query, "__name__", "host query"))
    raise BadType(
        "query must be a built-in query, its name, a JaxQuery, a function or a tuple of these, but "
        f"was {query!r} ({type(query).__name__})."
    )
