"""Python functions that serve as mechanisms, called by this process or by worker processes."""

import inspect
import pickle
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self

from dpjax.core import validate
from dpjax.core.errors import name_of_function, text_of
from dpjax.core.options import option, suggests_names
from dpjax.core.types import JsonObject
from dpjax.core.wording import NO_RESTART, NO_WORKERS, ONE_BY_ONE, BadType, BadValue, term
from dpjax.mechanisms.host_form import size_arguments
from dpjax.mechanisms.named import imported, path_of
from dpjax.partitions.low_bits import check_bits
from dpjax.partitions.outputs import Encoder
from dpjax.sources._calls import draw_batch, seed_argument
from dpjax.sources._deadline import Deadline
from dpjax.sources._generators import (
    Drawn,
    draw_noting_generators,
    pickled_generators,
    shared_generator,
)
from dpjax.sources._on_host import OnHost
from dpjax.sources._plain import known_options, stated_options
from dpjax.sources._schedule import Draw, Raw, Restarted, Span, in_order, seeds_of_calls
from dpjax.sources._source import Trust
from dpjax.sources._workers import WorkerLost, new_pool, pickled_result, worker_pool


@suggests_names
@dataclass(frozen=True)
class HostMechanism(OnHost):
    """A Python function that serves as a mechanism; it may use a library or a remote service.

    Outputs may be numbers, vectors of numbers, labels, or nested dicts, lists and tuples of numbers
    and labels. The numbers in a nested output form a vector, sorted by key and position; a number
    that only some outputs have is 0 in the others. Everything else in a nested output forms a
    label, which is observed in addition to the vector. NaN, each infinity and each kind of missing
    value (None, "", a masked entry) are separate outcomes. If each call returns one output, each
    type of exception is an outcome, too; a note counts them and quotes the first message. Data
    frames of at least ten records are summarized, and so are texts, collections and other labels if
    hardly any two of them are equal; see `dpjax.summarize`.

    Attributes:
        function: Function (database, num_samples) -> outputs, where the outputs are an array, a
            list, a dict of columns, or a data frame. Another parameter may come before
            `num_samples` if the latter has this name. With `batched=False`, the form is instead
            (database) -> one output. If the function has a parameter `seed` (an integer below 2^63)
            or `rng` (a `numpy.random.Generator`), dpjax provides the argument, and the audit can be
            replayed. Without such a parameter, the function must draw fresh randomness on every
            call. Every call gets its own copy of the database, so the function may modify the copy.
        batched: Whether one call returns many outputs.
        workers: Number of worker processes that call the function, or 0 to call the function in
            this process. Workers need a picklable function, such as a function at the top level of
            a module. A function without a parameter `seed` or `rng` must not carry a random
            generator, because every batch would be drawn with a copy of the generator. An error is
            raised if such a function uses a generator of its module, and the generator had the same
            state in two workers at its first use.
        batch_size: Number of outputs per call, or per task of a worker. The batch size affects the
            seeds and therefore the outputs.
        special: "outcomes" to count NaN, infinities, missing values and exceptions as outcomes;
            "error" to raise an error if any of these occurs.
        bits: Which low bits of a float to observe in addition to its value: "lowest" for the
            position of the lowest set bit, or a number k <= 8 for the k lowest mantissa bits. If a
            mechanism adds floating-point noise, the low bits of an output can reveal the data. With
            "lowest" or a number, -0.0 differs from 0.0. For vectors, "lowest" compares the lowest
            set bit of each entry, and numbers are refused.
        time_limit: Maximum time, in seconds, that an audit spends on drawing, or None for no limit.
            The audit first measures the time per output, with draws that are discarded. If the time
            limit is too short for all draws, the audit draws fewer outputs.
        timeout: Maximum duration of one call, in seconds, or None for no limit. A call is
            terminated once it has taken `timeout` seconds. If each call returns one output, a
            timeout counts as an outcome of its own. Without a timeout, an error is raised if a call
            is still running when the time limit expires. A call to C code that never returns to
            Python cannot be terminated.
        restart: Whether to draw outputs for the chosen pair in two new processes, and to compare
            the outputs of the two processes. If both processes draw the same noise, for example
            because a module sets a fixed seed on import, the verdict is "not random". Comparing two
            processes requires a picklable function. For a function that has a parameter `seed` or
            `rng`, processes are not compared.

    Raises:
        TypeError: If the function is not callable, requires other arguments, or cannot be sent to
            workers.
        ValueError: If an option is out of range, or if workers would draw with copies of a
            generator.
    """

    function: Callable[..., object]
    batched: bool = option(
        "The function has the form (database) -> one output; an exception counts as an outcome.",
        default=True,
        flag="/--one-by-one",
    )
    workers: int = option("Number of processes that draw at the same time.", default=0)
    batch_size: int = 10_000
    special: str = option(
        "Whether NaN, infinities, missing values and exceptions are outcomes or an error.",
        default="outcomes",
        choices=("outcomes", "error"),
    )
    bits: int | str | None = option(
        "Also observe the lowest set bit of each real, or its K lowest mantissa bits.",
        default=None,
        metavar="lowest|K",
        only=("events",),
    )
    time_limit: float | None = option(
        "Maximum total drawing time, in seconds; the number of draws is reduced if necessary.",
        default=None,
    )
    timeout: float | None = option(
        "Maximum duration of a call or of a program's run, in seconds; a timeout is an outcome.",
        default=None,
    )
    restart: bool = option(
        "Also draw in two new processes; if both draw the same noise, the verdict is not random.",
        default=False,
        flag="--restart",
    )
    kind: ClassVar[str] = "host"
    asked: ClassVar[tuple[str, str]] = (
        "Any Python function (database, num_samples) -> outputs, as FILE.py:NAME or MODULE:NAME.",
        "FILE.py:NAME",
    )

    def __post_init__(self):
        if not callable(self.function):
            raise BadType(
                f"{term('function', '--host')} must be callable, but was {self.function!r}."
            )
        validate.positive_int(batch_size=self.batch_size)
        validate.positive_int(at_least=0, workers=self.workers)
        validate.one_of(("outcomes", "error"), special=self.special)
        check_bits(self.bits)
        validate.positive(time_limit=self.time_limit, timeout=self.timeout)
        _check_arguments(self.function, self.name, self.batched)
        if self.workers or self.restart:
            _check_picklable(self.function, self.name, self.workers > 0)

    @property
    def name(self) -> str:
        """Name of the function."""
        return name_of_function(self.function)

    @property
    def replayable(self) -> bool:
        """Whether dpjax provides the function's seed."""
        return seed_argument(self.function) is not None

    def to_plain(self) -> JsonObject | None:
        """Return the function as MODULE:NAME, and the options; see `Source`."""
        path = path_of(self.function)
        return None if path is None else {"name": path, **stated_options(self)}

    @classmethod
    def from_plain(cls, content: JsonObject, database: object, trust: Trust) -> Self:
        """Create the source if the caller allows importing the function's module; see `Source`."""
        function = imported(str(content.pop("name", "")), trust.imports)
        return cls(function, **known_options(cls, content))

    def encoder(self) -> Encoder:
        """Return a new encoder of the outputs."""
        return Encoder(f"the function {self.name}", special=self.special, bits=self.bits)

    def restarted(self, sides: tuple[object, object], count: int) -> Restarted | None:
        """Draw outputs in two new processes if `restart` is True; see `OnHost`."""
        if not self.restart:
            return None
        call = self._call(Deadline.of_workers(self.timeout, None))
        draw = partial(pickled_result, call, None)
        seed = 0 if self.batched else range(count)
        with _refusing_gradients(NO_RESTART), ExitStack() as stack:
            # New processes, even if the audit keeps its workers.
            pools = [stack.enter_context(new_pool(1)) for _ in range(2)]
            tasks = [[pool.submit(draw, side, count, seed) for side in sides] for pool in pools]
            try:
                return "processes", [
                    [[*pickle.loads(task.result())] for task in run] for run in tasks
                ]
            except futures.BrokenExecutor:
                raise self._ended(NO_RESTART) from None

    @contextmanager
    def drawing(self) -> Iterator[Draw]:
        """Return a context manager that provides a function for drawing batches of raw outputs."""
        if not self.workers:
            deadline = Deadline.of(self.timeout, self.time_limit)
            yield partial(self._batches, self._call(deadline), None, None)
            return
        with _refusing_gradients(NO_WORKERS), worker_pool(self.workers) as pool:
            # Pass a deadline to the workers: alarms work in their main threads, and all processes
            # share a clock.
            call = self._call(Deadline.of_workers(self.timeout, self.time_limit))
            yield partial(self._batches, call, pool, None if self.replayable else {})

    def _call(self, deadline: Deadline | None) -> Callable[..., Raw]:
        """Return a function (saw, database, number of outputs, seeds) -> batch of raw outputs."""
        return partial(draw_batch, self.function, self.special == "outcomes", deadline)

    def _batches(
        self,
        call: Callable[..., Raw],
        pool: futures.Executor | None,
        seen: dict[tuple[str, bytes], int] | None,
        database: object,
        span: Span,
    ) -> Iterator[Raw]:
        seeds = seeds_of_calls(span, self.batch_size, self.batched)
        tasks = ((database, size, seed) for size, seed in seeds)
        # Report progress after each output only if this process draws; workers report whole
        # batches.
        each = pool is None and not self.batched
        drawing: Callable[..., Raw | Drawn | bytes] = partial(call, span.saw if each else None)
        if seen is not None:
            drawing = partial(draw_noting_generators, drawing, self.function)
        if pool is not None:
            drawing = partial(pickled_result, drawing)
        try:
            for drawn in in_order(drawing, tasks, pool, 2 * max(self.workers, 1), span.over):
                batch = pickle.loads(drawn) if isinstance(drawn, bytes) else drawn
                if isinstance(batch, Drawn):
                    assert seen is not None
                    batch = self._refuse_shared(seen, batch)
                if not each:
                    span.saw(len(batch))
                yield batch
        except futures.BrokenExecutor:
            raise self._ended(NO_WORKERS) from None
        except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
            # Other errors of the function in a worker were replaced by errors of dpjax.
            if pool is None or isinstance(error, BadType):
                raise
            raise BadType(
                f"workers need outputs that can be pickled, but those of the function {self.name} "
                f"cannot be ({text_of(error)}): return numbers, vectors or labels, or use "
                f"{NO_WORKERS}."
            ) from None

    def _refuse_shared(self, seen: dict[tuple[str, bytes], int], drawn: Drawn) -> Raw:
        """Return a worker's batch, or raise an error if another worker draws the same noise."""
        shared = shared_generator(seen, drawn)
        if shared is None:
            return drawn.batch
        raise BadValue(
            f"the function {self.name} must not draw the same noise in all workers, but the "
            f"generator {shared} has the same state in every new process: create it without a "
            f"seed, give the function a parameter seed or rng, or use {NO_WORKERS}."
        )

    def _ended(self, without: str) -> WorkerLost:
        """Return the error that is raised if a worker process ended without an answer."""
        return WorkerLost(
            f"a worker process of the function {self.name} ended without an answer. Either the "
            "function terminated it, or the system did, for instance because memory ran out, or "
            "the function cannot be imported in a worker: it must be at the top level of an "
            'importable module, and a script must start the audit under `if __name__ == "__main__":'
            f"`; or use {without}."
        )


def _check_arguments(function: Callable[..., object], name: str, batched: bool) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # C code may have no signature; then only a call can check the arguments.
    seed = seed_argument(function)
    size, named = size_arguments(function, 1) if batched else ([], {})
    try:
        signature.bind(None, *size, **named, **({} if seed is None else {seed: 0}))
    except TypeError:
        wanted = "(database, num_samples)" if batched else "(database)"
        said = (
            f"the function {name} must have the arguments {wanted}, and no others except seed or "
            f"rng, but has {signature}"
        )
        if batched:
            raise BadType(f"{said}. If each call returns one output, use {ONE_BY_ONE}.") from None
        raise BadType(f"{said}.") from None


@contextmanager
def _refusing_gradients(without: str) -> Iterator[None]:
    """Return a context manager that replaces PyTorch's error about tensors with a history.

    Args:
        without: Option with which no other process draws, for the message.

    Raises:
        ValueError: If a database contains a tensor that is the result of a differentiable function.
    """
    try:
        yield
    except RuntimeError as error:
        if "non-leaf tensor" not in str(error):
            raise
        raise BadValue(
            "pairs must not contain a tensor that is the result of a differentiable function, "
            "because PyTorch does not send such tensors to other processes: pass tensor.detach(), "
            f"or use {without}."
        ) from None


def _check_picklable(function: Callable[..., object], name: str, by_workers: bool) -> None:
    what, need, without = ("workers", "need", NO_WORKERS)
    if not by_workers:
        what, need, without = ("restart", "needs", NO_RESTART)
    try:
        found = pickled_generators(function)
    except Exception as error:
        raise BadType(
            f"{what} {need} a function that can be pickled, but {name} cannot be ({error}): define "
            f"it at the top level of a module, or use {without}."
        ) from None
    if found and seed_argument(function) is None:
        runs = "batch" if by_workers else "process"
        raise BadValue(
            f"{what} {need} a function that carries no random generator, but {name} carries one "
            f"({found[0]}). Each {runs} would use a copy of the generator, and all copies draw the "
            "same noise: create the generator within the function, give the function a parameter "
            f"seed or rng, or use {without}."
        )
