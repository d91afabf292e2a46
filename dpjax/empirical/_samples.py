"""Samples of a query's results: with everybody, and without each individual.

This is the one place where a query of any kind (built-in, JAX, host Python, several together) meets
the data; what leaves it is arrays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpjax import _validate
from dpjax.empirical._panel import Panel
from dpjax.empirical._queries import parse_query

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class QuerySamples:
    """Results of a query of d numbers over n databases, S = n * num_draws samples.

    Attributes:
        names: The d queries in words.
        full: [S, d] results with everybody; all finite.
        without: [individuals, S, d] results without each individual; NaN where undefined.
        database: [S] index of the database of each sample.
        notes: Sentences about the results that belong in a report.
    """

    names: tuple[str, ...]
    full: np.ndarray
    without: np.ndarray
    database: np.ndarray
    notes: tuple[str, ...] = ()

    def select(self, databases: np.ndarray) -> "QuerySamples":
        """The samples of some of the databases."""
        keep = np.isin(self.database, databases)
        return QuerySamples(
            self.names, self.full[keep], self.without[:, keep], self.database[keep], self.notes
        )


@dataclass(frozen=True)
class JaxQuery:
    """A query in JAX, mapped over all individuals at once.

    Args:
        function: `(values, present) -> result` with values [individuals, records, columns], present
            [individuals, records] booleans (absent values are 0) and result a scalar or [d]; with
            `randomized`, `(key, values, present) -> result`.
        name: The query in words.
        randomized: Whether the function takes a key.
        batch_size: Individuals per launch; bounds the memory.
    """

    function: Callable[..., Any]
    name: str = "jax query"
    randomized: bool = False
    batch_size: int = 256

    def answers(
        self, panel: Panel, num_draws: int, seed: int, progress: Progress | None
    ) -> np.ndarray:
        """[databases, draws, 1 + individuals, d]; a draw has one key for all individuals."""
        keys = jax.random.split(jax.random.key(seed), (panel.num_databases, num_draws))
        query = self.function if self.randomized else lambda key, *data: self.function(*data)

        @jax.jit
        def one_database(key, values, present):
            everybody = jnp.arange(panel.num_individuals)

            def without(i):
                return query(key, *_hide(values, present, everybody == i))

            # Nobody is number -1: the answer with everybody is rounded as all others are.
            gone = jnp.arange(-1, panel.num_individuals)
            rest = jax.lax.map(without, gone, batch_size=self.batch_size)
            return rest.reshape(len(rest), -1)

        slot = _record_slots(panel)
        shape = (panel.num_individuals, int(slot.max()) + 1)
        answers = []
        for d in range(panel.num_databases):
            rows = panel.rows(d)
            place = (panel.individual[rows], slot[rows])
            values = np.zeros((*shape, len(panel.columns)))
            values[place] = panel.values[rows]
            present = np.zeros(shape, bool)
            present[place] = True
            for draw in range(num_draws):
                answers.append(np.asarray(one_database(keys[d, draw], values, present), float))
            if progress is not None:
                progress(d + 1, panel.num_databases)
        return np.stack(answers).reshape(panel.num_databases, num_draws, *answers[0].shape)


@dataclass(frozen=True)
class HostQuery:
    """A query in plain Python, called once per individual and database.

    Args:
        function: `(values) -> result` with values [records, columns] of the records at hand
            ([records] where there is one column) and result a number or [d]; with `randomized`,
            `(generator, values) -> result` with a NumPy random generator.
        name: The query in words.
        randomized: Whether the function takes a generator.
    """

    function: Callable[..., Any]
    name: str = "host query"
    randomized: bool = False

    def answers(
        self, panel: Panel, num_draws: int, seed: int, progress: Progress | None
    ) -> np.ndarray:
        """[databases, draws, 1 + individuals, d]; a draw has one seed for all individuals."""
        values = panel.values[:, 0] if len(panel.columns) == 1 else panel.values
        table = []
        for d in range(panel.num_databases):
            rows = panel.rows(d)
            own, here = panel.individual[rows], values[rows]
            for draw in range(num_draws):

                def ask(data, stream=(seed, d, draw)):
                    extra = [np.random.default_rng(stream)] if self.randomized else []
                    return np.atleast_1d(np.asarray(self.function(*extra, data), float))

                whole = ask(here)
                answers = np.tile(whole, (1 + panel.num_individuals, 1))
                for i in np.unique(own):
                    rest = here[own != i]
                    answers[1 + i] = ask(rest) if len(rest) else np.nan
                table.append(answers)
            if progress is not None:
                progress(d + 1, panel.num_databases)
        return np.stack(table).reshape(panel.num_databases, num_draws, *table[0].shape)


def sample_query(
    query: Any,
    panel: Panel,
    *,
    num_draws: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> QuerySamples:
    """Asks a query of every database, with everybody and without each individual.

    Args:
        query: A built-in query or its short form ('mean'), a `JaxQuery`, a `HostQuery` or any
            Python function (taken as a `HostQuery`), or a tuple of these for a joint query.
        panel: The databases.
        num_draws: Draws per database; more than one makes sense for randomised queries.
        seed: Seed of randomised queries.
        progress: Called with (databases done, databases) by queries that are looped.

    Returns:
        The samples.

    Raises:
        TypeError: The query is none of these.
        ValueError: A result with everybody is not finite.
    """
    _validate.positive_int(num_draws=num_draws)
    parts = list(query) if isinstance(query, tuple | list) else [query]
    if not parts:
        raise ValueError("query must hold at least one query, but was empty.")
    names: list[str] = []
    tables = []
    for part in map(_as_query, parts):
        if isinstance(part, JaxQuery | HostQuery):
            table = part.answers(panel, num_draws, seed, progress)
            size = table.shape[-1]
            names += [part.name] if size == 1 else [f"{part.name} [{k}]" for k in range(size)]
        else:
            table = np.repeat(part.answers(panel)[:, None, :, None], num_draws, axis=1)
            names.append(part.name)
        tables.append(table)
    table = np.concatenate(tables, axis=-1)
    # Who is not there changes nothing, not even by a rounding.
    absent = np.broadcast_to((panel.total() == 0)[:, None, :, None], table[:, :, 1:].shape)
    table[:, :, 1:] = np.where(absent, table[:, :, :1], table[:, :, 1:])
    table = table.reshape(-1, *table.shape[2:])
    database = np.repeat(np.arange(panel.num_databases), num_draws)
    bad = ~np.isfinite(table[:, 0]).all(axis=1)
    if bad.any():
        where = int(np.argmax(bad))
        raise ValueError(
            f"query must be finite in every database, but {names} was {table[where, 0].tolist()} "
            f"in database {panel.databases[database[where]]!r} ({int(bad.sum())} such results)."
        )
    without = np.where(np.isfinite(table[:, 1:]), table[:, 1:], np.nan)
    return QuerySamples(
        names=tuple(names),
        full=table[:, 0],
        without=np.ascontiguousarray(np.moveaxis(without, 1, 0)),
        database=database,
        notes=_undefined_note(without, panel),
    )


def _as_query(query: Any) -> Any:
    if isinstance(query, str):
        return parse_query(query)
    if hasattr(query, "answers"):
        return query
    if callable(query):
        return HostQuery(query, name=getattr(query, "__name__", "host query"))
    raise TypeError(
        "query must be a built-in query, its name, a JaxQuery, a function or a tuple of these, but "
        f"was {query!r} ({type(query).__name__})."
    )


def _hide(values: jax.Array, present: jax.Array, gone: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jnp.where(gone[:, None, None], 0, values), present & ~gone[:, None]


def _record_slots(panel: Panel) -> np.ndarray:
    """[records] the how-manieth record of its individual in its database each record is."""
    cell = panel.database * panel.num_individuals + panel.individual
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], cell[order])
    slots = np.empty(len(cell), int)
    slots[order] = np.arange(len(cell)) - first
    return slots


def _undefined_note(without: np.ndarray, panel: Panel) -> tuple[str, ...]:
    undefined = np.isnan(without).any(axis=(0, 2))
    if not undefined.any():
        return ()
    first: Sequence[Any] = [panel.individuals[i] for i in np.flatnonzero(undefined)[:1]]
    return (
        f"The query is undefined in some database without {int(undefined.sum())} of the "
        f"individuals (first: {first[0]!r}); those databases are left out of their sample.",
    )
