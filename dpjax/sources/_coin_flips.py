"""Calls of a function or program in which fair coins decide between the database and its neighbor.

The bound of an audit with `Guesses` rests on the coins alone. It therefore holds even if the
outputs depend on each other, as running times do: the load of a computer changes, but no load can
reveal a coin that was not tossed before the call.

The calls of the first stage, whose coins are known, determine the pair and a score for every
output. The calls of the second stage are canaries, and their coins are guessed from the scores.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpjax.core.errors import Stopped
from dpjax.core.wording import BadValue, term
from dpjax.partitions import Outputs
from dpjax.partitions._batches import joined
from dpjax.sources._coin_scores import Scorer
from dpjax.sources._counting import Tally
from dpjax.sources._flips import FEWEST_CALLS, Flipped, Flips
from dpjax.sources._host_counts import NO_REPLAY
from dpjax.sources._pairs import AnyPairs
from dpjax.sources._schedule import Draw
from dpjax.sources._time_limit import Quota, TooShort
from dpjax.sources._watched import Watched, encoders_of
from dpjax.sources.streams import CONFIRM, SEARCH

_TOSSED = 2**16
"""Maximum number of coins that are tossed at the same time in the first stage."""


def flip_coins(source: Any, pairs: object, flips: Flips) -> Flipped:
    """Call a mechanism with databases that fair coins choose; see `Source.flipped`.

    Raises:
        ValueError: If there are too few calls, or if the outputs cannot be compared.
    """
    # One process makes all calls, one after another, so that the function keeps its state.
    source = replace(source, workers=min(source.workers, 1))
    every = AnyPairs.of(pairs)
    first = _to_learn(flips.num_calls, flips.share, len(every))
    second = flips.num_calls - first
    if second < FEWEST_CALLS:
        raise _too_few(flips, len(every))
    generator = flips.generator()
    with source.drawing() as draw:
        calls = _Calls(source, draw, every, flips)
        sizes = [(first + pair) // len(every) for pair in range(len(every))[::-1]]
        with calls.saying_how_many():
            learned = [calls.learn(pair, size, generator) for pair, size in enumerate(sizes)]
            pair = int(np.argmax([scorer.gain for scorer in learned]))
            scorer = learned[pair]
            second, notes = calls.in_time(second)
            coins = generator.integers(0, 2, second).astype(bool)
            outputs = joined([*calls.outputs(pair, coins, CONFIRM)])
    settings = {"calls_to_learn": calls.tally.seen - second, "calls_to_guess": second}
    watched = calls.watched
    notes += [*scorer.encoder.notes(), *watched.unvaried(pair), *watched.failures([pair])]
    if not source.replayable:
        notes.append(NO_REPLAY)
    return scorer.judged(outputs, coins, generator, (every, pair), settings, notes)


def _to_learn(num_calls: int, share: float, pairs: int) -> int:
    """Return the number of calls in the first stage."""
    return max(round(share * num_calls), FEWEST_CALLS * pairs)


def _too_few(flips: Flips, pairs: int) -> BadValue:
    """Return the error for too few calls."""
    share = flips.share
    least = next(n for n in count() if n - _to_learn(n, share, pairs) >= FEWEST_CALLS)
    return BadValue(
        f"num_calls must be at least {least} for {pairs} {'pair' if pairs == 1 else 'pairs'} and "
        f"{term('reveal_fraction', '--reveal-fraction')} {share:g}, but was {flips.num_calls}."
    )


class _Calls:
    """The calls of one run.

    Args:
        source: A host mechanism.
        draw: Function that draws raw outputs.
        pairs: Pairs of databases.
        flips: Numbers of calls, and the key.

    Attributes:
        tally: Number of calls so far, and the progress.
        watched: The outputs of the calls.
    """

    def __init__(self, source: Any, draw: Draw, pairs: AnyPairs, flips: Flips):
        self._source, self._pairs, self._flips = source, pairs, flips
        self._encoders = encoders_of(source, pairs)
        self.tally, seed = Tally(flips.progress), (tuple(flips.words), flips.run)
        self.tally.expect(flips.num_calls)
        self.watched = Watched(draw, self._encoders, pairs, seed, self.tally, {})
        self._start = time.perf_counter()

    @contextmanager
    def saying_how_many(self) -> Iterator[None]:
        """If the user interrupts the calls, say how many were made."""
        try:
            yield
        except KeyboardInterrupt:
            raise Stopped(
                f"Stopped after {self.tally.seen:,} of {self._flips.num_calls:,} calls: there is "
                "no result."
            ) from None

    def outputs(
        self, pair: int, coins: NDArray[np.bool_], stage: int, first: int = 0
    ) -> Iterator[Outputs]:
        """Make one call for each coin, in order, and yield the outputs one by one.

        Args:
            pair: Index of the pair.
            coins: Whether each call gets the database, bool [n].
            stage: Stage of the calls.
            first: Number of earlier calls in this stage.
        """
        for number, coin in enumerate(coins.tolist(), first):
            side = 0 if coin else 1
            yield from self.watched.batches(pair, side, stage, Quota(1, None, None), number)

    def learn(self, pair: int, size: int, generator: np.random.Generator) -> Scorer:
        """Make the calls of the first stage for one pair, and learn scores of its outputs.

        There are fewer than `size` calls if the time limit leaves no time for them.
        """
        limit, start, found, coins = self._source.time_limit, time.perf_counter(), [], []
        share = math.inf if limit is None else self._flips.share * limit / len(self._pairs)
        for coin, output in self._outputs_to_learn(pair, size, generator):
            found.append(output)
            coins.append(coin)
            if len(found) >= FEWEST_CALLS and time.perf_counter() - start > share:
                break
        return Scorer.learn(self._encoders[pair], joined(found), np.array(coins))

    def _outputs_to_learn(
        self, pair: int, size: int, generator: np.random.Generator
    ) -> Iterator[tuple[bool, Outputs]]:
        """Make `size` calls, and yield the coin and the output of each."""
        # The coins of this stage are not guessed, so they may be balanced. Toss some at a time,
        # since a time limit may be over long before the last call.
        for first in range(0, size, _TOSSED):
            coins = generator.permutation(min(_TOSSED, size - first)) % 2 == 0
            yield from zip(coins.tolist(), self.outputs(pair, coins, SEARCH, first), strict=True)

    def in_time(self, wanted: int) -> tuple[int, list[str]]:
        """Return how many more calls the time limit permits, at most `wanted`, and notes.

        The number is fixed before the first of these calls, so it does not depend on their outputs.
        """
        limit = self._source.time_limit
        if limit is None:
            return wanted, []
        used = time.perf_counter() - self._start
        possible = int((limit - used) / (used / self.tally.seen))
        if possible < FEWEST_CALLS:
            raise TooShort(
                f"time_limit must leave time for {FEWEST_CALLS} calls after the first "
                f"{self.tally.seen}, which took {used:.3g} s, but was {limit:g} s: make fewer "
                f"calls ({term('num_calls', '--num-calls')}), or raise the limit."
            )
        if possible >= wanted:
            return wanted, []
        said = f"The time limit left time for {possible:,} of {wanted:,} calls after the search."
        return possible, [said]
