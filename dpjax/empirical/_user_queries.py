"""Queries that users define, as functions in JAX or in plain Python."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.core import random, validate
from dpjax.core.errors import name_of_function, text_of
from dpjax.core.settings import callers_floats
from dpjax.core.wording import BadType, BadValue
from dpjax.empirical._panel import Panel

Progress = Callable[[int, int], None]
"""Callback `(number of items done, total number of items)`."""


class UserQuery:
    """Base class of user-defined queries, which are evaluated on one database at a time.

    The class attribute `_ARGUMENTS` contains the names of the function's arguments: first the one
    that only a random function takes, and then all others.
    """

    function: Callable[..., object]
    num_draws: int | None = None
    _ARGUMENTS: ClassVar[tuple[str, ...]]

    def __post_init__(self):
        if self.num_draws is not None:
            validate.positive_int(num_draws=self.num_draws)
        if not callable(self.function):
            raise BadType(f"function must be callable, but was {self.function!r}.")
        accepted = self._ARGUMENTS[self.num_draws is None :]
        try:
            inspect.signature(self.function).bind(*accepted)
        except TypeError as error:
            raise BadType(
                f"function must take the arguments ({', '.join(accepted)}), but "
                f"{name_of_function(self.function)} does not: {error}. A random function also "
                f"takes {self._ARGUMENTS[0]}, and num_draws says how often it is called."
            ) from None
        except ValueError:
            pass  # C code may have no signature; then only a call can check the arguments.

    def answers(self, panel: Panel, key: int, progress: Progress | None = None) -> np.ndarray:
        """Return answers in the format of `Query.answers`; all answers in a draw share a key."""
        answer, tables = self._answering(panel, key), []
        for d in range(panel.num_databases):
            tables.append(np.stack([answer(d, draw) for draw in range(self.num_draws or 1)]))
            if progress is not None:
                progress(d + 1, panel.num_databases)
        return np.stack(tables)

    def _answering(self, panel: Panel, key: int) -> Callable[[int, int], np.ndarray]:
        """Return a function that maps a database and a draw to answers, [1 + individuals, d]."""
        raise NotImplementedError


@dataclass(frozen=True)
class JaxQuery(UserQuery):
    """A query in JAX, vectorized over all individuals.

    Attributes:
        function: `(values, present) -> result`, or `(key, values, present) -> result` if the
            function is random. The argument `values` has shape [individuals, records, columns].
            `present` has shape [individuals, records] and is True for records that exist; the
            values of other records are 0. The returned `result` is a scalar, or has shape [d].
        name: Description of the query.
        num_draws: Number of draws per database, or None if the function accepts no key.
        batch_size: Number of individuals evaluated together; a smaller number needs less memory.
    """

    function: Callable[..., object]
    name: str = "jax query"
    num_draws: int | None = None
    batch_size: int = 256
    _ARGUMENTS: ClassVar[tuple[str, ...]] = ("key", "values", "present")

    def _answering(self, panel: Panel, key: int) -> Callable[[int, int], np.ndarray]:
        keys = jax.random.split(random.as_key(key), (panel.num_databases, self.num_draws or 1))
        slot = _record_slots(panel)
        shape = (panel.num_individuals, int(slot.max()) + 1)

        @jax.jit
        def one_database(key, values, present):
            everybody = jnp.arange(panel.num_individuals)
            first = () if self.num_draws is None else (key,)

            def without(i):
                gone = everybody == i
                rest = jnp.where(gone[:, None, None], 0, values), present & ~gone[:, None]
                return self.function(*first, *rest)

            # Index -1 removes nobody. The answer with all individuals is computed by the same code
            # as the answers without an individual, so that all answers are rounded alike.
            gone = jnp.arange(-1, panel.num_individuals)
            answers = jax.lax.map(without, gone, batch_size=self.batch_size)
            return answers.reshape(len(answers), -1)

        def answer(d: int, draw: int) -> np.ndarray:
            rows = panel.rows(d)
            place = (panel.individual[rows], slot[rows])
            values = np.zeros((*shape, len(panel.columns)))
            values[place] = panel.values[rows]
            present = np.zeros(shape, bool)
            present[place] = True
            return np.asarray(one_database(keys[d, draw], values, present), float)

        return answer


@dataclass(frozen=True)
class HostQuery(UserQuery):
    """A query in plain Python, called once per individual and database.

    Attributes:
        function: `(values) -> result`, or `(generator, values) -> result` if the function is
            random; `generator` is a NumPy random generator. `values` holds the remaining records
            and has shape [records, columns], or [records] if there is only one column. The returned
            `result` is a number, or has shape [d].
        name: Description of the query.
        num_draws: Number of draws per database, or None if the function accepts no generator.
    """

    function: Callable[..., object]
    name: str = "host query"
    num_draws: int | None = None
    _ARGUMENTS: ClassVar[tuple[str, ...]] = ("generator", "values")

    def _answering(self, panel: Panel, key: int) -> Callable[[int, int], np.ndarray]:
        values = panel.values[:, 0] if len(panel.columns) == 1 else panel.values

        def answer(d: int, draw: int) -> np.ndarray:
            def ask(data: np.ndarray) -> np.ndarray:
                generator = np.random.default_rng((key, d, draw))
                first = () if self.num_draws is None else (generator,)
                with callers_floats():
                    return np.atleast_1d(_numbers(self.name, self.function(*first, data)))

            rows = panel.rows(d)
            own, here = panel.individual[rows], values[rows]
            # The function may change its argument, for instance by sorting it.
            whole = ask(here.copy())
            if whole.ndim != 1:
                raise BadValue(
                    f"the query {self.name!r} must return a number or have shape [d], but returned "
                    f"the shape {list(whole.shape)}."
                )
            table = np.tile(whole, (1 + panel.num_individuals, 1))
            for i in np.unique(own):
                rest = here[own != i]
                found = ask(rest) if len(rest) else np.full(len(whole), np.nan)
                if found.shape != whole.shape:
                    raise BadValue(
                        f"the query {self.name!r} must always return the same number of values, "
                        f"but returned the shape {list(whole.shape)} for all records and "
                        f"{list(found.shape)} without an individual."
                    )
                table[1 + i] = found
            return table

        return answer


def _numbers(name: str, result: Any) -> np.ndarray:
    """Convert the result of a query to a float array, with None as NaN.

    Raises:
        ValueError: If the result is not a number or a nonempty array of numbers.
    """
    try:
        array = np.asarray(result)
        if array.dtype.kind == "O" and all(
            value is None or isinstance(value, Real | Decimal) for value in array.flat
        ):
            array = array.astype(float)
    except (ValueError, OverflowError):
        array = np.array("not numbers")
    if array.dtype.kind not in "biuf" or not array.size:
        raise BadValue(
            f"the query {name!r} must return a number or have shape [d], but returned "
            f"{text_of(result)[:80]} ({type(result).__name__})."
        )
    return array.astype(float)


def _record_slots(panel: Panel) -> np.ndarray:
    """Return each record's index among the records of its individual and database, [records]."""
    owner = panel.database * panel.num_individuals + panel.individual
    order = np.argsort(owner, kind="stable")
    first = np.searchsorted(owner[order], owner[order])
    slots = np.empty(len(owner), int)
    slots[order] = np.arange(len(owner)) - first
    return slots
