"""Calls to a user's function, each with its own copy of the database and a deadline."""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from typing import Any, cast

import numpy as np

from dpjax.core.errors import message_of, name_of_function, text_of
from dpjax.core.settings import callers_floats
from dpjax.core.types import JsonObject
from dpjax.core.wording import ONE_BY_ONE, OUTCOMES, BadValue
from dpjax.mechanisms.host_form import SEEDS, order_hint, signature_of, size_arguments
from dpjax.partitions._columns_of_outputs import rows_of, table_of
from dpjax.partitions.missing import Raised, as_array, as_columns
from dpjax.partitions.previews import preview, preview_database
from dpjax.sources._copies import copier, snapshot
from dpjax.sources._deadline import Deadline, TookTooLong
from dpjax.sources._schedule import Raw, Seeds
from dpjax.sources._seeded import generators

_SECONDS = 0.05
"""Seconds after which a batch of single outputs reports its progress again."""


def draw_batch(
    function: Callable[..., object],
    catch: bool,
    deadline: Deadline | None,
    saw: Callable[[int], None] | None,
    database: object,
    num_samples: int,
    seed: Seeds,
) -> Raw:
    """Draw one batch of raw outputs, and check that the batch has the requested length.

    Args:
        function: The user's function.
        catch: Whether exceptions and timeouts count as outcomes instead of raising an error.
        deadline: Deadline for each call, or None for no deadline.
        saw: Function that reports progress, or None. If outputs are drawn one by one, the argument
            of each call is the number of outputs since the last call.
        database: Database from which to draw.
        num_samples: Number of outputs.
        seed: Seed for the batch. If outputs are drawn one by one, there is one seed per output.

    Raises:
        ValueError: If the function raises an exception, takes too long, or does not return
            `num_samples` outputs.
    """
    if not isinstance(seed, int):
        return _draw_singly(function, catch, deadline, saw, database, seed)
    kind, name = seed_argument(function), name_of_function(function)
    fresh = copier(database)
    asked = f"{num_samples} outputs from the database {preview_database(database)}"
    given = fresh()
    try:
        size, named = size_arguments(function, num_samples)
        (options,) = _seeds_given(kind, [seed])
        with callers_floats():
            batch = _called(deadline, function, given, *size, **named, **options)
    except KeyboardInterrupt:
        raise
    except TookTooLong:
        raise BadValue(
            f"the function {name} took too long when asked for {asked}: request fewer with "
            f"a smaller batch_size, or allow more time; with {ONE_BY_ONE}, a call that times out "
            "counts as an outcome."
        ) from None
    except BaseException as error:  # This includes sys.exit(), which must not end the audit.
        order = order_hint(function)
        said = "" if order is None else f"If the function has another order, {order}. "
        raise BadValue(
            f"the function {name} raised {type(error).__name__} when asked for {asked}: {error}. "
            f"{said}A batch does not show which of its outputs failed; with {ONE_BY_ONE}, each "
            "exception counts as an outcome of its own."
        ) from error
    return _checked_batch(batch, num_samples, f"the function {name} was asked for {asked}")


def _checked_batch(batch: Any, num_samples: int, asked: str) -> Raw:
    """Return a batch as an array or a sequence, after checking its length.

    Messages begin with `asked`, which says what the function was asked for.

    Raises:
        ValueError: If the batch is no array or sequence of `num_samples` outputs.
    """
    columns = batch if isinstance(batch, dict) else as_columns(batch)
    if columns is not None:
        try:
            table = table_of(columns)
            batch = rows_of(columns) if table is None else table
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{asked} but returned a dict in which not every value has {num_samples} entries: "
                f"{error}."
            ) from None
    if not isinstance(batch, np.ndarray | list | tuple):
        # Convert arrays of other libraries (JAX, PyTorch, pandas) to NumPy arrays.
        if isinstance(batch, str | bytes) or not hasattr(batch, "__array__"):
            raise BadValue(
                f"{asked} but returned {preview(batch)}: it must return an array or a list, or be "
                f"used with {ONE_BY_ONE}."
            )
        try:
            batch = as_array(batch)
        except Exception as error:  # Other libraries may raise any exception.
            raise BadValue(
                f"{asked} but returned {preview(batch)}, which NumPy cannot convert to an array: "
                f"{text_of(error)}."
            ) from None
    if (isinstance(batch, np.ndarray) and batch.ndim == 0) or len(batch) != num_samples:
        raise ValueError(f"{asked} but returned {preview(batch)}.")
    return batch


def draw_several(
    several: Callable[[object, int], Raw],
    name: str,
    deadline: Deadline | None,
    saw: Callable[[int], None] | None,
    database: object,
    num_samples: int,
    seed: Seeds,
) -> Raw:
    """Draw outputs from a function that draws several at once, and whose randomness is its own.

    Args:
        several: Function (database, number of outputs) -> outputs. An exception is one of them.
        name: Name of the function that returns a single output, for messages.
        deadline: Deadline for each batch, or None for no deadline.
        saw: Function that reports progress, or None; see `draw_batch`.
        database: Database from which to draw.
        num_samples: Number of outputs.
        seed: Not used.

    Raises:
        ValueError: If the function is still running at the end of the time limit.
    """
    del seed
    try:
        with callers_floats():
            batch = _called(deadline, several, database, num_samples)
    except TookTooLong:
        raise BadValue(
            f"the function {name}, called with the database {preview_database(database)}, was "
            "still running at the end of the time limit: allow more time."
        ) from None
    if saw is not None:
        saw(num_samples)
    return cast(Raw, batch)


def _draw_singly(
    function: Callable[..., object],
    catch: bool,
    deadline: Deadline | None,
    saw: Callable[[int], None] | None,
    database: object,
    seeds: Iterable[int],
) -> list[object]:
    """Draw outputs one by one. See `draw_batch` for the arguments."""
    kind, name = seed_argument(function), name_of_function(function)
    fresh = copier(database)
    found: list[object] = []
    told, when = 0, -math.inf
    try:
        with callers_floats():
            for options in _seeds_given(kind, seeds):
                output = _draw_one(function, name, catch, deadline, fresh, options)
                found.append(snapshot(output))
                if saw is not None and (now := time.monotonic()) >= when:
                    saw(len(found) - told)
                    told, when = len(found), now + _SECONDS
    finally:
        if saw is not None and len(found) > told:
            saw(len(found) - told)
    return found


def _draw_one(
    function: Callable[..., object],
    name: str,
    catch: bool,
    deadline: Deadline | None,
    fresh: Callable[[], object],
    options: JsonObject,
) -> object:
    database = fresh()
    try:
        return _called(deadline, function, database, **options)
    except KeyboardInterrupt:
        raise
    except TookTooLong:
        assert deadline is not None
        where = f"the function {name}, called with the database {preview_database(fresh())},"
        if deadline.passed:
            raise BadValue(
                f"{where} was still running at the end of the time limit: allow more time, or set "
                "a timeout (seconds per call), so that long calls are terminated and count as an "
                "outcome."
            ) from None
        if catch:
            return Raised("error: timeout")
        raise BadValue(
            f"{where} took longer than {deadline.timeout:g} s. With {OUTCOMES}, a timeout counts "
            "as an outcome."
        ) from None
    except BaseException as error:  # This includes sys.exit(), which must not end the audit.
        if catch:
            # Only the exception's type is the outcome. A note quotes the message of the first one.
            return Raised(f"error: {type(error).__name__}", message_of(error))
        raise BadValue(
            f"the function {name}, called with the database {preview_database(fresh())}, "
            f"raised {type(error).__name__}: {error}. With {OUTCOMES}, an exception counts as an "
            "outcome."
        ) from error


def _called(
    deadline: Deadline | None,
    function: Callable[..., object],
    *arguments: object,
    **options: object,
) -> object:
    """Call a function in a context of its own.

    Settings that the function changes, such as those of NumPy's errors, do not affect later calls.
    If the function forks this process, the new process exits when the call returns.
    """
    process, call = os.getpid(), copy_context().run
    try:
        if deadline is None:
            return call(function, *arguments, **options)
        return deadline.call(call, function, *arguments, **options)
    finally:
        if os.getpid() != process:
            os._exit(1)


def _seeds_given(kind: str | None, seeds: Iterable[int]) -> Iterator[JsonObject]:
    """Yield the options of each call that provide its seed or its generator."""
    given = generators(seeds) if kind == "rng" else map(int, seeds)
    return ({} if kind is None else {kind: each} for each in given)


def seed_argument(function: Callable[..., object]) -> str | None:
    """Return the name of a function's parameter for randomness ("seed" or "rng"), or None."""
    parameters = signature_of(function)
    return next((name for name in SEEDS if name in parameters), None)
