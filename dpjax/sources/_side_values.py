"""Summary of one side's values that detects repeated draws and needs constant memory."""

from hashlib import blake2b

import numpy as np

from dpjax.sources._hashes import hashes_of_kinds
from dpjax.sources._row_numbers import RowNumbers
from dpjax.sources._spacings import Spacings

ORDER_NATS = 60.0
"""Surprise, in nats, above which a sequence is assumed not to recur by mere chance. The probability
that a sequence with a larger surprise recurs is at most e^-60, or about e^-30 if batches are
sorted.
"""

_SHARES = (0.1, 0.4, 0.9, 0.999)
"""Values of s in `log_evidence`, given as fractions of the way from h to 1."""

_ONCE = 32
"""A sequence is assumed not to recur by chance if at least this number of values occur only once in
it. Independent draws agree on so many values with a probability below 2^-60.
"""

_ORDERED = 2**14
"""Maximum number of outputs from which the surprise of a sequence is computed."""

_KEPT = 2**14
"""Maximum number of distinct values to count, and maximum number of first outputs to compare in
order.
"""

_BEGINNINGS = (64, 128, 256, 512)
"""Possible lengths of a side's beginning. Later outputs are searched for a repetition of the
beginning, which has the smallest length for which a repetition by chance is ruled out.
"""

_RANKED = 512
"""Number of first outputs whose ranks are compared between the two sides."""

_SLOT_BITS = 16
"""Number of leading bits by which few distinct hashes are distinguished without sorting."""

_ROWS = 2**18


class SideValues:
    """Counts of one side's values, restricted to the smallest hashes so that memory is constant.

    Values are selected by their hashes alone, so both sides count the same values.

    Attributes:
        hashes: Hashes of the k counted values, uint64 [k], ascending.
        counts: Number of outputs with each counted value, int64 [k].
        limit: Largest hash for which values are counted.
        first: Hashes of the first outputs, uint64 [m].
        total: Number of outputs so far.
        again: If a long sequence occurs twice, the indices of the first outputs of its two
            occurrences; otherwise None.
        spacings: Spacings between values that are floats.
        row_numbers: Entries of vectors that may be row numbers.
        leading: The first number in each of the first outputs, float64 [m]. The array is empty if
            outputs are not numbers.
    """

    def __init__(self):
        self.hashes, self.counts = np.empty(0, np.uint64), np.empty(0, np.int64)
        self.first, self.limit, self.total = self.hashes, np.uint64(2**64 - 1), 0
        self.again: tuple[int, int] | None = None
        self.spacings, self.leading = Spacings(), np.empty(0)
        self.row_numbers = RowNumbers()
        self._last, self._chunks = self.hashes, dict[bytes, int]()
        self._digests = dict[str, bytes]()
        self._begins: np.ndarray | None = None

    def add(self, outputs: np.ndarray) -> None:
        """Add outputs to the summary: numbers [n] or [n, d], labels [n] or objects [n]."""
        if outputs.dtype.kind in "biuf" and len(self.leading) < _RANKED:
            first = outputs[: _RANKED - len(self.leading)].astype(np.float64)
            self.leading = np.concatenate([self.leading, first.reshape(len(first), -1)[:, 0]])
        self.row_numbers.add(outputs)
        for start in range(0, len(outputs), _ROWS):
            self.spacings.add(outputs[start : start + _ROWS])
            kinds, places = hashes_of_kinds(outputs[start : start + _ROWS], self._digests)
            hashes = kinds if places is None else kinds[places]
            self.first = np.concatenate([self.first, hashes[: _KEPT - len(self.first)]])
            self._look_back(hashes)
            self.total += len(hashes)
            new, counts = _counted(kinds, places, self.limit)
            hashes, joined = _merged((self.hashes, new), (self.counts, counts))
            self.hashes, self.counts = hashes[:_KEPT], joined.sum(axis=0)[:_KEPT]
            if len(hashes) > _KEPT:
                self.limit = self.hashes[-1]

    @property
    def is_constant(self) -> bool:
        """Whether all outputs so far are the same."""
        return self.counts.size == 1 and int(self.counts[0]) == self.total

    def _look_back(self, hashes: np.ndarray) -> None:
        """Check whether a new chunk repeats the side's first outputs or an earlier chunk."""
        begins, known = self.total - len(self._last), np.concatenate([self._last, hashes])
        if self.again is None and order_nats(hashes[:_KEPT]) > ORDER_NATS:
            # Half of each hash suffices to recognize a chunk.
            digest = blake2b(hashes.astype(np.uint32).tobytes(), digest_size=16).digest()
            before = self._chunks.setdefault(digest, self.total)
            self.again = None if before == self.total else (before, self.total)
        beginning = self._beginning() if self.again is None else self.first[:0]
        if len(beginning):
            place = np.flatnonzero(known[: len(known) - len(beginning) + 1] == beginning[0])
            place = place[begins + place > 0]
            for number, value in enumerate(beginning):
                place = place[known[place + number] == value]
                if not place.size:
                    break
            else:
                self.again = 0, begins + int(place[0])
        self._last = known[-(_BEGINNINGS[-1] - 1) :]

    def _beginning(self) -> np.ndarray:
        """Return the hashes of the shortest beginning that cannot recur by chance, if any."""
        if self._begins is None:
            sizes = (m for m in _BEGINNINGS if order_nats(self.first[:m]) > ORDER_NATS)
            beginning = self.first[: next(sizes, 0)]
            if len(self.first) < _BEGINNINGS[-1]:
                return beginning
            self._begins = beginning
        return self._begins


def counts_on_both_sides(x: SideValues, y: SideValues) -> np.ndarray:
    """Return how often each counted value occurs on each side, int64 [2 sides, n].

    Values whose hash is above the limit of either side are omitted, because they may be uncounted.
    """
    hashes, counts = _merged((x.hashes, y.hashes), (x.counts, y.counts))
    return counts[:, hashes <= min(x.limit, y.limit)]


def _counted(
    kinds: np.ndarray, places: np.ndarray | None, limit: np.uint64
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct hashes up to a limit, uint64 [k], ascending, and their counts, int64 [k].

    Args:
        kinds: Hashes, uint64 [m].
        places: Index in `kinds` of each output's hash, or None if there is one hash per output.
        limit: Largest hash to count.
    """
    few = kinds <= limit
    if places is None:
        kinds = kinds[few]
        if len(kinds) > 4 * _KEPT:
            # Hashes are uniform, so most values are dropped before sorting if most are distinct.
            part = kinds[kinds <= np.uint64(int(limit) // len(kinds) * 2 * _KEPT)]
            hashes, counts = np.unique(part, return_counts=True)
            if len(hashes) > _KEPT:
                return hashes, counts
            if (slots := _slots(kinds)) is not None:
                counts = np.bincount(slots)
                hashes = np.empty(len(counts), np.uint64)
                hashes[slots] = kinds
                return hashes[counts > 0], counts[counts > 0]
        return np.unique(kinds, return_counts=True)
    hashes, which = np.unique(kinds[few], return_inverse=True)
    counts = np.zeros(len(hashes), np.int64)
    np.add.at(counts, which, np.bincount(places, minlength=len(kinds))[few])
    return hashes, counts


def _slots(hashes: np.ndarray) -> np.ndarray | None:
    """Return the leading bits of each hash, int64 [n], or None if different hashes share them."""
    hashes = hashes.view(np.uint64)
    slots = (hashes >> np.uint64(64 - _SLOT_BITS)).astype(np.int64)
    table = np.empty(2**_SLOT_BITS, np.uint64)
    table[slots] = hashes
    return slots if np.array_equal(table[slots], hashes) else None


def _merged(
    hashes: tuple[np.ndarray, np.ndarray], counts: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Merge two ascending arrays of distinct hashes.

    Returns:
        The distinct hashes, uint64 [n], ascending, and the count of each hash in either array,
        int64 [2, n]. Hashes that do not occur in an array have count 0 there.
    """
    both = np.concatenate(hashes)
    # A stable sort merges two sorted sequences in linear time.
    order = np.argsort(both, kind="stable")
    both = both[order]
    is_first = np.ones(len(both), bool)
    np.not_equal(both[1:], both[:-1], out=is_first[1:])
    joined = np.zeros((2, int(is_first.sum())), np.int64)
    of_second = (order >= len(hashes[0])).astype(np.int64)
    joined[of_second, np.cumsum(is_first) - 1] = np.concatenate(counts)[order]
    return both[is_first], joined


def log_evidence(chance: np.ndarray, happened: np.ndarray) -> float:
    """Return the log of the evidence against assumed bounds on the probabilities of coincidences.

    For example, it is a coincidence if a value occurs equally often on both sides. The assumption
    is that each of n possible coincidences has a probability of at most h. Choose a number s > h.
    The evidence is a product of n factors. The factor for a coincidence is s / h if the coincidence
    happened, and (1 - s) / (1 - h) if it did not. Under the assumption, the expected product is at
    most 1, so the product is rarely large (Ville's inequality). The product is computed for several
    values of s. The result is the log of the largest product, minus the log of the number of values
    of s.

    Args:
        chance: float64 [n], upper bounds h on the probabilities of the coincidences, below 1.
        happened: bool [n], whether each coincidence happened.
    """
    products = []
    for share in _SHARES:
        # Since s = h + share (1 - h), the factor (1 - s) / (1 - h) is 1 - share.
        gains = np.log1p(share * (1 / chance[happened] - 1))
        products.append(gains.sum() + (~happened).sum() * np.log1p(-share))
    return max(products) - np.log(len(_SHARES))


def order_nats(hashes: np.ndarray) -> float:
    """Return the surprise of a sequence, that is, its negative log-likelihood, in nats.

    The likelihood is computed under the Markov chain that fits the sequence best. As a consequence,
    sorted and cyclic sequences have little surprise.
    """
    ordered = np.sort(hashes)
    if np.all(ordered[1:] != ordered[:-1]):
        # A chain without repeated states predicts the sequence exactly.
        return 0.0
    if (slots := _slots(hashes)) is not None:
        states = (np.cumsum(np.bincount(slots) > 0) - 1)[slots]
    else:
        _, states = np.unique(hashes, return_inverse=True)
    steps = states[:-1] * (states.max() + 1) + states[1:]
    counts = [np.unique(values, return_counts=True)[1] for values in (states[:-1], steps)]
    return float(np.sum(counts[0] * np.log(counts[0])) - np.sum(counts[1] * np.log(counts[1])))


def cannot_recur(hashes: np.ndarray) -> bool:
    """Return whether a sequence of outputs with the given hashes is too long to recur by chance."""
    if len(hashes) < 2:
        return False
    counts = np.unique(hashes, return_counts=True)[1]
    return bool(np.sum(counts == 1) >= _ONCE or order_nats(hashes[:_ORDERED]) > ORDER_NATS)
