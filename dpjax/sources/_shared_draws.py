"""Draws that the two sides share: copies in any order, common rows, one seed for both.

A bound on the ratio of two probabilities takes the two sides for independent, and outputs that are
counted on both make any mechanism look private. They show in two ways.

Values: where a value occurs c times on both sides together, it occurs equally often on both with a
probability of at most h(c) = C(c, c/2) / 2^c for an even c, whatever the two distributions are. So
the product of s / h(c) for each value that does, and (1 - s) / (1 - h(c)) for each that does not,
with s > h(c), has an expectation of at most 1, and is rarely large (Markov's inequality, at any
time: Ville's). This holds for values with independent counts; that the counts add up to the size of
the side multiplies the chance by at most n + m + 1 (Darroch: the size can be made the most likely
of n + m + 1). Reals that occur twice, once on each side, have h = 1/2 each. Order plays no part.

Order: few outcomes say nothing by their counts, but a long sequence of them does not happen twice.

References:
    Darroch (1964), "On the distribution of the number of successes in independent trials".
    Ville (1939), "Etude critique de la notion de collectif".
"""

from hashlib import blake2b
from typing import Any

import numpy as np
import scipy

from dpjax.sources._held import Chunked

_CHANCE = 1e-9
"""Of a refusal by values, of two sides that were drawn independently."""

_SHARES = (0.1, 0.4, 0.9, 0.999)
"""Of the way from h(c) to 1, where s lies: from some rows among values that repeat, to copies."""

_ORDER_NATS = 60.0
"""Independent outputs repeat an order with a chance of e^-60, sorted batches of about e^-30."""

_KEPT = 2**14
"""Distinct values that are followed, and first outputs that are compared in their order."""

_ROWS = 2**18

_ANEW = "Draw the outputs at the neighbor anew, with randomness of their own."


class SideValues:
    """How often values occur on one side: of all values those with the smallest hashes.

    The other side follows the same values, so shared ones are found in flat memory.

    Attributes:
        hashes: uint64 [k], ascending; of the values.
        counts: int64 [k], how often each occurs.
        limit: All values with a hash up to here are followed.
        first: uint64 [m], hashes of the first outputs.
        total: Outputs so far.
    """

    def __init__(self):
        self.hashes, self.counts = np.empty(0, np.uint64), np.empty(0, np.int64)
        self.first, self.limit, self.total = self.hashes, np.uint64(2**64 - 1), 0

    def add(self, outputs: np.ndarray) -> None:
        """Counts outputs of the shape [n] or [n, d]: numbers, labels or objects."""
        for start in range(0, len(outputs), _ROWS):
            hashes = _hashes(outputs[start : start + _ROWS])
            self.total += len(hashes)
            self.first = np.concatenate([self.first, hashes[: _KEPT - len(self.first)]])
            new, counts = np.unique(hashes[hashes <= self.limit], return_counts=True)
            hashes, places = np.unique(np.concatenate([self.hashes, new]), return_inverse=True)
            joined = np.zeros(len(hashes), np.int64)
            np.add.at(joined, places, np.concatenate([self.counts, counts]))
            self.hashes, self.counts = hashes[:_KEPT], joined[:_KEPT]
            if len(hashes) > _KEPT:
                self.limit = self.hashes[-1]

    def counts_of(self, hashes: np.ndarray) -> np.ndarray:
        """int64 [n], how often values with these hashes occur."""
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[places] == hashes, self.counts[places], 0)


def refuse_same_origin(x: Any, y: Any) -> None:
    """Refuses one object, or recordings that have a file in common, for the two sides.

    Raises:
        ValueError: They do.
    """
    if x is y:
        raise ValueError(f"x and y must be drawn apart, but were the same object. {_ANEW}")
    if isinstance(x, Chunked) and isinstance(y, Chunked):
        for origin in x.origins.keys() & y.origins.keys():
            raise ValueError(
                f"samples file {x.origins[origin]} is on both sides, which must be drawn apart. "
                f"{_ANEW}"
            )


def refuse_shared_draws(x: SideValues, y: SideValues) -> None:
    """Refuses two sides that share draws; see the head of this file.

    Raises:
        ValueError: They do. Two sides that were drawn independently are refused with a probability
            below 1e-9, whatever their distributions are.
    """
    hashes = np.union1d(x.hashes, y.hashes)
    hashes = hashes[hashes <= min(x.limit, y.limit)]
    counts = np.stack([x.counts_of(hashes), y.counts_of(hashes)])
    counts = counts[:, counts.sum(axis=0) % 2 == 0]
    equal = counts[0] == counts[1]
    if _evidence(counts.sum(axis=0), equal) > np.log((x.total + y.total + 1) / _CHANCE):
        raise ValueError(
            f"x and y must be independent of each other, but share draws: of {len(equal)} values "
            f"that could be compared, {equal.sum()} occur equally often in both, a chance below "
            f"{_CHANCE:g}. {_ANEW}"
        )
    size = min(len(x.first), len(y.first))
    if np.array_equal(x.first[:size], y.first[:size]) and _order_nats(x.first[:size]) > _ORDER_NATS:
        raise ValueError(
            "x and y must be independent of each other, but share draws: their first "
            f"{size} outputs are the same in the same order. {_ANEW}"
        )


def _evidence(pooled: np.ndarray, equal: np.ndarray) -> float:
    """Log of the largest of the products, less what looking at several of them takes."""
    log_ways = scipy.special.gammaln(pooled + 1) - 2 * scipy.special.gammaln(pooled / 2 + 1)
    chance = np.exp(log_ways - pooled * np.log(2))
    products = []
    for share in _SHARES:
        # (1 - s) / (1 - h) is 1 - share for each value.
        gains = np.log1p(share * (1 / chance[equal] - 1))
        products.append(gains.sum() + (~equal).sum() * np.log1p(-share))
    return max(products) - np.log(len(_SHARES))


def _order_nats(hashes: np.ndarray) -> float:
    """Of a sequence, under the Markov chain that makes it most likely.

    Such chains also go from block to block of sorted outputs, and in circles.
    """
    _, states = np.unique(hashes, return_inverse=True)
    steps = states[:-1] * (states.max() + 1) + states[1:]
    counts = [np.unique(values, return_counts=True)[1] for values in (states[:-1], steps)]
    return float(np.sum(counts[0] * np.log(counts[0])) - np.sum(counts[1] * np.log(counts[1])))


def _hashes(outputs: np.ndarray) -> np.ndarray:
    """uint64 [n]; of equal outputs the same in every process and in every type of numbers."""
    if outputs.dtype.kind in "biuf":
        hashes = np.zeros(len(outputs), np.uint64)
        for column in outputs.reshape(len(outputs), -1).T:
            # -0.0 + 0.0 is 0.0: the two zeros are one number.
            hashes ^= (column.astype(np.float64) + 0.0).view(np.uint64)
            _mix(hashes)
        return hashes
    if outputs.dtype.kind == "O":
        outputs = np.array([repr(output) for output in outputs])
    kinds, places = np.unique(outputs, return_inverse=True)
    digests = [blake2b(str(kind).encode(), digest_size=8).digest() for kind in kinds]
    return np.frombuffer(b"".join(digests), np.uint64)[places]


def _mix(words: np.ndarray) -> None:
    """A bijection of uint64 [n], in place: the end of SplitMix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    words ^= words >> np.uint64(31)
