"""Base class of sources that draw outputs on the host."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, ClassVar

from jax import Array

from dpjax.core import random
from dpjax.partitions import Encoder
from dpjax.sources._flips import Flipped, Flips
from dpjax.sources._host_counts import OpenedOnHost
from dpjax.sources._opened import Request
from dpjax.sources._pairs import AnyPairs
from dpjax.sources._schedule import Draw, Restarted
from dpjax.sources._source import Source
from dpjax.sources._time_limit import fewest_draws, timed_draws

_LEAST_TIME = 1e-3
"""Minimum remaining time limit, in seconds, no matter how much time earlier steps have used."""


class OnHost(Source):
    """Base class for host mechanisms: Python functions, programs and library objects.

    Attributes:
        name: Name for display.
        replayable: Whether equal seeds produce equal outputs.
        batched: Whether one call returns many outputs. If `batched` is True, the outputs depend on
            the batch size.
        batch_size: Number of outputs per call.
        workers: Number of simultaneous calls, or 0 for calls in this process.
        time_limit: Maximum time, in seconds, that an audit spends on drawing, or None for no limit.
    """

    repeatable: ClassVar[bool] = True

    @property
    def flips_coins(self) -> bool:
        """Whether coins can be flipped before calls, which is so; see `Source`."""
        return True

    @property
    def one_by_one(self: Any) -> bool:
        """Whether each output needs its own call; see `Source`."""
        return not self.batched

    def with_time_used(self: Any, seconds: float) -> Any:
        """Return the source with its time limit reduced by `seconds`; see `Source`."""
        if self.time_limit is None:
            return self
        return replace(self, time_limit=max(self.time_limit - seconds, _LEAST_TIME))

    def encoder(self) -> Encoder:
        """Return a new encoder of the outputs."""
        raise NotImplementedError

    def warm(self: Any, database: object, key: Array) -> None:
        """Draw an output in each worker, and discard the outputs; see `Source`."""
        with self.drawing() as draw:
            words = tuple(random.words_of(key).tolist())
            timed_draws(self, draw, database, words, fewest_draws(self))

    def restarted(self, sides: tuple[object, object], count: int) -> Restarted | None:
        """Draw outputs in two new runs of a mechanism that has its own source of randomness.

        A new run is a newly created object or a new process. Each run draws outputs first from the
        database, and then from its neighbor.

        Args:
            sides: The two databases of a pair.
            count: Maximum number of outputs per database.

        Returns:
            A plural noun that messages use for the runs, and the raw outputs of both runs. The
            result is None if the mechanism cannot be started again.
        """
        return None

    def drawing(self) -> AbstractContextManager[Draw]:
        """Return a context manager that provides a `Draw`, which yields batches of raw outputs.

        If each output needs its own call and the span has a `cut`, a batch has at most `cut`
        outputs. The outputs depend only on the database, the indices of the outputs and the span's
        `words`.
        """
        raise NotImplementedError

    def flipped(self, pairs: object, flips: Flips) -> Flipped:
        """Make calls whose databases are chosen by fair coins; see `Source`."""
        from dpjax.sources._coin_flips import flip_coins

        return flip_coins(self, pairs, flips)

    @contextmanager
    def opened(self: Any, pairs: object, request: Request) -> Iterator[OpenedOnHost]:
        """Open the source for one audit, with pairs of databases of any kind."""
        stacked = AnyPairs.of(pairs)
        with self.drawing() as draw:
            yield OpenedOnHost(self, draw, stacked, request)
