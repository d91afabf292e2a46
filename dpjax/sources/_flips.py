"""Requests for calls whose databases are chosen by fair coins, and the calls."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.core.types import JsonObject
from dpjax.sources._pairs import AnyPairs

FEWEST_CALLS = 40
"""Minimum number of calls in each of the two stages."""

_COINS = 5
"""Index of the random stream from which the coins of a run are drawn."""


class Flips(NamedTuple):
    """A request for calls with coins.

    Attributes:
        words: The key for all runs, as two words, uint32 [2].
        run: Index of the run.
        num_calls: Number of calls in both stages together. Recorded calls are all used.
        share: Fraction of the calls that belong to the first stage.
        progress: Function that is called with (number of calls so far, total number), or None.
    """

    words: Sequence[int]
    run: int
    num_calls: int
    share: float
    progress: Callable[[int, int], None] | None = None

    def generator(self) -> np.random.Generator:
        """Return a new generator of the coins, and of the order of calls with equal scores."""
        return np.random.default_rng([*self.words, _COINS, self.run])


class Flipped(NamedTuple):
    """The calls of the second stage.

    Attributes:
        scores: Score of each output, float64 [n]. A higher score means that the output is more
            likely to come from the database than from its neighbor.
        coins: Whether each call got the database, bool [n].
        pairs: All pairs of the audit.
        pair: Index of the pair that the calls used.
        revealed: Coins of the first stage for the pair, bool [m], in decreasing order of scores
            that were learned without the coin.
        event: Function (score, is_least, whole) that describes, in words, the outputs whose score
            is at least `score`, or at most `score` if `is_least` is False. If `whole` is True, the
            description is complete.
        settings: Numbers of calls, for the result.
        notes: Notes for the result.
    """

    scores: NDArray[np.float64]
    coins: NDArray[np.bool_]
    pairs: AnyPairs
    pair: int
    revealed: NDArray[np.bool_]
    event: Callable[[float, bool, bool], str]
    settings: JsonObject
    notes: list[str]


def in_order(
    scores: NDArray[np.float64], included: NDArray[np.bool_], generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Return coins in decreasing order of the score of their canary or call, and ties at random."""
    shuffled = generator.permutation(len(scores))
    return included[shuffled[np.argsort(-scores[shuffled], kind="stable")]]
