"""Detection of draws that both sides share because of copies, common rows, or a common seed.

A bound on the ratio of two probabilities assumes that the outputs on the two sides are independent.
If both sides contain the same outputs, every mechanism looks private. Shared outputs are detected
in two ways.

Values: consider a value that occurs c times in total, summed over both sides, where c is even.
Whatever the two distributions are, the probability that this value occurs equally often on both
sides is at most h(c) = C(c, c/2) / 2^c. Choose a number s > h(c). Each value with an even count c
contributes the factor s / h(c) if its counts on the two sides are equal, and the factor (1 - s) /
(1 - h(c)) otherwise. If the sides are independent and the counts of different values are
independent, the expected product of all factors is at most 1. Therefore the product is rarely large
(by Markov's inequality, or at any time by Ville's inequality). In fact, the counts of different
values are dependent, because they add up to the numbers n and m of outputs on the two sides. The
dependence of the counts increases probabilities by a factor of at most n + m + 1, which is the
number of possible totals (Darroch). For example, a real that occurs once on each side has h = 1/2.
The test of values does not depend on the order of the outputs.

Order: if a long sequence of outcomes occurs on both sides, the sequence was almost certainly
shared, even if there are few distinct outcomes. If a long sequence of ranks occurs on both sides,
the outputs were almost certainly shared, too. If the same noise is added to two statistics, for
example because of a fixed seed, the outputs on both sides have equal ranks.

References:
    Darroch (1964), "On the distribution of the number of successes in independent trials".
    Ville (1939), "Etude critique de la notion de collectif".
"""

import numpy as np
import scipy

from dpjax.core.wording import BadType, Sentence, term
from dpjax.sources._held import Chunked
from dpjax.sources._side_values import (
    ORDER_NATS,
    SideValues,
    counts_on_both_sides,
    log_evidence,
    order_nats,
)
from dpjax.sources.readers._databases import shared_path
from dpjax.sources.readers._recording import Recording

_CHANCE = 1e-9
"""Maximum probability with which two independently drawn sides are refused."""

_ANEW = "Draw the outputs for the neighbor again, with independent randomness."


_FROM_FILE = term('dpjax.Recorded.from_file(file, by="database")', "--by")


def refuse_same_origin(x: object, y: object) -> None:
    """Raise an error if both sides are the same object, or recordings that share a file, or None.

    Raises:
        TypeError: If a side is None.
        ValueError: If both sides have the same origin.
    """
    if x is None or y is None:
        raise BadType(f"{'x' if x is None else 'y'} must be outputs, but was None.")
    if x is y:
        raise ValueError(f"x and y must be drawn independently, but were the same object. {_ANEW}")
    path: str | None = None
    if isinstance(x, Chunked) and isinstance(y, Chunked):
        path = next((x.origins[origin] for origin in x.origins.keys() & y.origins.keys()), None)
    if isinstance(x, Recording) and isinstance(y, Recording):
        path = shared_path(x, y)
    if path is not None:
        said = Sentence(
            f"samples file {path} is on both sides, which must be drawn independently. {_ANEW} If "
            f"a column of the file names the database, use {_FROM_FILE}."
        )
        raise ValueError(said)


def refuse_shared_draws(x: SideValues, y: SideValues) -> None:
    """Raise an error if both sides share draws.

    Raises:
        ValueError: If both sides share draws. For independent sides with any distributions, the
            probability of this error is below 1e-9.
    """
    counts = counts_on_both_sides(x, y)
    counts = counts[:, counts.sum(axis=0) % 2 == 0]
    equal = counts[0] == counts[1]
    pooled = counts.sum(axis=0)
    log_ways = scipy.special.gammaln(pooled + 1) - 2 * scipy.special.gammaln(pooled / 2 + 1)
    chance = np.exp(log_ways - pooled * np.log(2))
    if log_evidence(chance, equal) > np.log((x.total + y.total + 1) / _CHANCE):
        raise ValueError(
            f"x and y must be independent of each other, but share draws: of {len(equal)} values "
            f"that could be compared, {equal.sum()} occur equally often in both. For "
            f"independent draws, the probability of this is below {_CHANCE:g}. {_ANEW}"
        )
    size = min(len(x.first), len(y.first))
    if np.array_equal(x.first[:size], y.first[:size]) and order_nats(x.first[:size]) > ORDER_NATS:
        raise ValueError(
            "x and y must be independent of each other, but share draws: their first "
            f"{size} outputs are the same in the same order. {_ANEW}"
        )
    if ranked := _same_ranks(x.leading, y.leading):
        raise ValueError(
            "x and y must be independent of each other, but share draws: the ranks of their first "
            f"{ranked} outputs are the same in the same order, as if the same noise had been added "
            "to two values. If the mechanism itself sets its seed, its outputs are a function of "
            f"the data; otherwise, use a different seed for each side. {_ANEW}"
        )


def _same_ranks(x: np.ndarray, y: np.ndarray) -> int:
    """Return how many first outputs were compared; 0 if ranks differ or may agree by chance."""
    size = min(len(x), len(y))
    ranks = [np.unique(side[:size], return_inverse=True)[1] for side in (x, y)]
    if size < 2 or not np.array_equal(ranks[0], ranks[1]):
        return 0
    # A Markov chain fitted to a sequence without repetitions predicts the sequence exactly.
    # Therefore, if many values are distinct, only distinguish values below and above the median.
    many = ranks[0].max() >= size // 2
    states = (ranks[0] > np.median(ranks[0])).astype(np.int64) if many else ranks[0]
    return size if order_nats(states) > ORDER_NATS else 0
