"""Mechanisms that are Python functions: any code, in batches, with workers for slow ones."""

import inspect
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from dpjax.core import validate
from dpjax.core.errors import name_of_function
from dpjax.core.options import option
from dpjax.core.types import JsonObject
from dpjax.core.wording import NO_RESTART, NO_WORKERS, ONE_BY_ONE, BadType, BadValue, term
from dpjax.mechanisms.named import imported, path_of
from dpjax.partitions.outputs import Encoder, check_bits
from dpjax.sources._calls import draw_batch, seed_argument
from dpjax.sources._deadline import Deadline
from dpjax.sources._on_host import OnHost
from dpjax.sources._plain import known_options, stated_options
from dpjax.sources._process import end_with_parent
from dpjax.sources._schedule import in_order, seed_of_batch
from dpjax.sources._source import Trust
from dpjax.sources._watched import Draw, Restarted


@dataclass(frozen=True)
class HostMechanism(OnHost):
    """A Python function as a mechanism: NumPy, a library, a remote service.

    `dpjax.audit` takes it where it takes a mechanism. Outputs may be numbers, vectors of numbers,
    labels, or dicts, lists and tuples of such inside each other, whose numbers are taken as one
    vector, in the order of keys and places, and all else as a label beside it. NaN, infinities,
    missing values (None, "", masked entries) and, where it is called once an output, exceptions are
    outcomes of their own.

    Attributes:
        function: (database, num_samples) -> num_samples outputs: an array, a list, or a dict whose
            values hold a part of each; or, with `batched=False`, (database) -> one output. If it
            has a parameter `seed` (an integer) or `rng` (a `numpy.random.Generator`) it is given
            one, and the audit can be replayed; otherwise it must draw its own fresh randomness at
            every call. Every call is handed a database of its own, so it may change it.
        batched: Whether it returns many outputs at a call.
        workers: Processes that call it, each a fresh Python; 0 for this one. The function must
            then be picklable: at the top level of a module.
        batch_size: Outputs asked for at a call, or by one task of a worker. The seeds, and so the
            outputs, depend on it.
        special: "outcomes", or "error" to refuse NaN, infinities, missing values and exceptions.
        bits: "lowest" to look at the place of the lowest set bit of each real besides its value, a
            number k <= 8 to look at its k lowest mantissa bits: what floating-point noise leaks.
            -0.0 is then told from 0.0.
        time_limit: Seconds of drawing in one audit; the numbers of draws become smaller to keep
            it, by a pace that is measured first, on draws that are not used. None for no limit.
        timeout: Seconds of one call, after which it is ended; of single outputs that is an outcome
            of its own. Without one, a call that is still running when the time limit is over is an
            error. Code in C that never returns to Python cannot be ended. None for no limit.
        restart: Whether two new processes draw at the pair that was chosen, too: a seed that is
            set when a module is imported gives both the same noise, and that is a verdict. The
            function must then be picklable. It says nothing of a function that is given a seed.

    Raises:
        TypeError: The function is not callable, takes other arguments, or cannot be sent to
            workers.
        ValueError: An option is out of range.
    """

    function: Callable[..., Any]
    batched: bool = option(
        "The function is (database) -> one output; an exception is then an outcome.",
        default=True,
        flag="/--one-by-one",
    )
    workers: int = option("Processes that draw at the same time.", default=0)
    batch_size: int = 10_000
    special: str = option(
        "What NaN, infinities, missing values and exceptions are: outcomes or error.",
        default="outcomes",
        choices=("outcomes", "error"),
    )
    bits: int | str | None = option(
        "Look at the lowest set bit of each real too, or at its K lowest mantissa bits.",
        default=None,
        metavar="lowest|K",
        only=("events",),
    )
    time_limit: float | None = option(
        "Seconds of drawing in all; fewer draws to keep it.", default=None
    )
    timeout: float | None = option(
        "Seconds that one call, or run of a program, may take; more is an outcome.",
        default=None,
    )
    restart: bool = option(
        "Draw in two new processes too: the same noise in both is a verdict.",
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
        for name in ("time_limit", "timeout"):
            if getattr(self, name) is not None:
                validate.positive(**{name: getattr(self, name)})
        _check_arguments(self.function, self.name, self.batched)
        if self.workers or self.restart:
            _check_picklable(self.function, self.name, self.workers > 0)

    @property
    def name(self) -> str:
        """Name of the function."""
        return name_of_function(self.function)

    @property
    def replayable(self) -> bool:
        """Whether it takes its seed from dpjax."""
        return seed_argument(self.function) is not None

    def to_plain(self) -> JsonObject | None:
        """MODULE:NAME of the function, and its options; see `Source`."""
        path = path_of(self.function)
        return None if path is None else {"name": path, **stated_options(self)}

    @classmethod
    def from_plain(cls, content: JsonObject, database: object, trust: Trust) -> Self:
        """The function of a module that may be imported; see `Source`."""
        function = imported(str(content.pop("name", "")), trust.imports)
        return cls(function, **known_options(cls, content))

    def encoder(self) -> Encoder:
        """A new encoder of its outputs."""
        return Encoder(f"the function {self.name}", special=self.special, bits=self.bits)

    def restarted(self, sides: tuple[Any, Any], count: int) -> Restarted | None:
        """See `OnHost`: two new processes, if they are wanted."""
        if not self.restart:
            return None
        deadline = Deadline.of_workers(self.timeout, None)
        catch = self.special == "outcomes"
        draw = partial(draw_batch, self.function, self.batched, catch, deadline, None)
        seed = 0 if self.batched else range(count)
        context = multiprocessing.get_context("spawn")
        with ExitStack() as stack:
            pools = [
                stack.enter_context(
                    futures.ProcessPoolExecutor(1, mp_context=context, initializer=end_with_parent)
                )
                for _ in range(2)
            ]
            tasks = [[pool.submit(draw, side, count, seed) for side in sides] for pool in pools]
            return "processes", [[[*task.result()] for task in run] for run in tasks]

    @contextmanager
    def drawing(self) -> Iterator[Draw]:
        """Context in which batches of raw outputs are drawn."""
        call = partial(draw_batch, self.function, self.batched, self.special == "outcomes")
        if not self.workers:
            deadline = Deadline.of(self.timeout, self.time_limit)
            yield partial(self._batches, partial(call, deadline), None)
            return
        # Workers have main threads of their own, and the same clock.
        call = partial(call, Deadline.of_workers(self.timeout, self.time_limit))
        # Fresh interpreters: a fork would copy JAX's threads, and one state of NumPy's global
        # generator into every worker.
        context = multiprocessing.get_context("spawn")
        # Named in full, it is loaded here and not with dpjax, of whose import it was a tenth.
        with futures.ProcessPoolExecutor(
            self.workers, mp_context=context, initializer=end_with_parent
        ) as pool:
            try:
                yield partial(self._batches, call, pool)
            except BaseException:
                # The pool would wait for calls that may take for ever.
                for process in list((pool._processes or {}).values()):
                    process.kill()
                raise

    def _batches(
        self,
        call: Any,
        pool: Any,
        database: object,
        outputs: range,
        words: tuple[int, ...],
        cut: int | None,
        saw: Callable[[int], None],
        done: int = 0,
    ) -> Iterator[Any]:
        seeds = seeds_of_calls(outputs, self.batch_size, words, self.batched, cut, done)
        tasks = ((database, size, seed) for size, seed in seeds)
        # Here one by one are told of one by one; what a worker does is known when it is done.
        each = pool is None and not self.batched
        call = partial(call, saw) if each else partial(call, None)
        try:
            for batch in in_order(call, tasks, pool, 2 * max(self.workers, 1)):
                if not each:
                    saw(len(batch))
                yield batch
        except futures.BrokenExecutor:
            raise BadValue(
                f"the function {self.name} ended its worker process, or cannot be imported there: "
                f"it must be at the top level of an importable module; or use {NO_WORKERS}."
            ) from None


def seeds_of_calls(
    outputs: range,
    batch_size: int,
    words: tuple[int, ...],
    batched: bool,
    cut: int | None,
    done: int = 0,
) -> Iterator[tuple[int, Any]]:
    """How outputs are cut into batches, and the seeds of each.

    Args:
        outputs: Numbers of the outputs. From a first one that is no multiple of `batch_size` they
            have seeds of their own, for a batch has one.
        batch_size: Outputs that share the seed of a batch.
        words: Of the seeds.
        batched: Whether a batch is one call, with one seed; else each output has a seed, which
            does not depend on the cut.
        cut: Outputs of a batch at most, where each has a seed; None for `batch_size`.
        done: Outputs at the beginning that are left out, where each has a seed.

    Yields:
        (outputs, seed), or (outputs, int64 array of their seeds), below 2^63.
    """
    if outputs.start % batch_size:
        words, outputs = (*words, outputs.start), range(len(outputs))
    for first in range(outputs.start, outputs.stop, batch_size):
        size = min(batch_size, outputs.stop - first)
        seed = seed_of_batch(words, first // batch_size)
        if batched:
            yield size, seed
            continue
        seeds = np.random.SeedSequence(seed).generate_state(size, np.uint64) >> np.uint64(1)
        left_out = max(done - (first - outputs.start), 0)
        for start in range(left_out, size, cut or size):
            part = seeds[start : start + (cut or size)].astype(np.int64)
            yield len(part), part


def _check_arguments(function: Callable[..., Any], name: str, batched: bool) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # Written in C: only a call can tell.
    seed = seed_argument(function)
    given = (None, 1) if batched else (None,)
    try:
        signature.bind(*given, **({} if seed is None else {seed: 0}))
    except TypeError as error:
        wanted = "(database, num_samples)" if batched else f"(database), for {ONE_BY_ONE}"
        raise BadType(
            f"the function {name} must take the arguments {wanted}, and none but seed or rng "
            f"besides, but takes {signature}: {error}."
        ) from None


def _check_picklable(function: Callable[..., Any], name: str, by_workers: bool) -> None:
    try:
        pickle.dumps(function)
    except Exception as error:
        what, without = (
            ("workers need", NO_WORKERS) if by_workers else ("restart needs", NO_RESTART)
        )
        raise BadType(
            f"{what} a function that can be pickled, but {name} cannot be ({error}): put it "
            f"at the top level of a module, or use {without}."
        ) from None
