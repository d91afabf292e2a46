"""Detection of noise that the outputs of a batch share, such as one noisy model for all of them.

If all outputs are independent draws, every batch from one database has the same distribution. If
the outputs of a batch share noise, two batches have different distributions. Then an event may
occur often in the search set and hardly ever in the confirmation set, and the bound does not hold.

Each later batch is compared with the first one. Let F be the distribution function of a number in
the outputs, and let F_n and F_m be the empirical ones of two batches with n and m outputs. By the
inequality of Dvoretzky, Kiefer, Wolfowitz and Massart, P(sup |F_n - F| > t) <= 2 exp(-2 n t^2).
With t = c / sqrt(n) for one batch and t = c / sqrt(m) for the other, it follows that

    P(sup |F_n - F_m| > c / sqrt(n) + c / sqrt(m)) <= 4 exp(-2 c^2)

for every distribution, also with ties. A supremum over fewer points is smaller, so it suffices to
store F_n at some quantiles of the first batch.

Reference:
    Massart (1990), "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality".
"""

import math
from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np

from dpjax.core.wording import Doubt
from dpjax.partitions import Outputs

_CHANCE = 1e-6
"""Maximum probability that independent outputs cause a `Doubt`, for all pairs together."""

_LEAST = 100
"""Minimum number of outputs in a batch that is compared. Smaller batches reveal too little."""

_NUM_POINTS, _MOST_ENTRIES = 64, 16
"""Number of quantiles at which two batches are compared, and maximum number of entries of a vector
that are compared.
"""

_SHARED = (
    "Draw fresh noise for every output, not once for each call. If one call returns one output "
    "with many parts, such as synthetic records, pass a function that takes only the database"
)
_CHANGING = "No call may depend on earlier calls, for example because a budget is used up"


class _First(NamedTuple):
    """The first batch of a side: its size, and points with the shares of numbers up to each."""

    size: int
    curves: list[tuple[np.ndarray, np.ndarray]]


class BetweenBatches:
    """Comparisons of each batch from one side of a pair with the side's first batch."""

    def __init__(self):
        self._first: _First | None = None
        self._compared = 0
        self._worst = (0.0, 0.0)

    def add(self, outputs: Outputs, names: Sequence[str]) -> None:
        """Compare a batch with the first one."""
        size = len(outputs.labels)
        if size < _LEAST:
            return
        entries = _sorted(outputs, names)
        if self._first is None:
            self._first = _First(size, [*map(_curve, entries)])
            return
        self._compared += 1
        # A batch may have further entries, which the first batch lacks.
        pairs = [*zip(self._first.curves, entries, strict=False)]
        gap = max(
            float(np.abs(_shares(entry, points) - shares).max())
            for (points, shares), entry in pairs
        )
        scaled = gap / (1 / math.sqrt(self._first.size) + 1 / math.sqrt(size))
        # The sum of 1 / (k (k + 1)) over all comparisons k is 1, however many follow. The number of
        # entries may depend on the first batch, so the maximum number is used.
        weight = (_MOST_ENTRIES + 1) * self._compared * (self._compared + 1)
        self._worst = max(self._worst, (2 * scaled**2 - math.log(4 * weight), gap))

    def begin_again(self, outputs: Outputs, names: Sequence[str]) -> None:
        """Compare later batches with these outputs, because the form of outputs has changed."""
        self._first = None
        self.add(outputs, names)

    def doubt(self, name: str, num_tests: int, batched: bool) -> Doubt | None:
        """Return a doubt if a batch has another distribution than the first one.

        Args:
            name: Name of the source and of the side, for the doubt.
            num_tests: Number of sides, of all pairs, for which a doubt is possible.
            batched: Whether one call returns many outputs.
        """
        nats, gap = self._worst
        if nats < math.log(num_tests / _CHANCE):
            return None
        return Doubt(
            f"{name}: two batches of outputs have different distributions: the frequency of an "
            f"event differs by {gap:.2g} (for independent draws, the probability of such a "
            f"difference is below {_CHANCE:g}), so the bound may exceed the true level. "
            f"{_SHARED if batched else _CHANGING}."
        )


def _sorted(outputs: Outputs, names: Sequence[str]) -> list[np.ndarray]:
    """Return the numbers of a batch that are compared, in ascending order, each [n].

    Labels get numbers that depend only on their names, because their indices depend on the order
    in which they occur.
    """
    counts = np.bincount(outputs.labels)
    kinds = np.flatnonzero(counts)
    hashes = np.array([crc32(names[int(k)].encode()) if k else -1 for k in kinds], float)
    order = np.argsort(hashes)
    labels = np.repeat(hashes[order], counts[kinds][order])
    return [labels, *np.sort(outputs.values.T[:_MOST_ENTRIES], axis=1)]


def _curve(entry: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return quantiles of an entry's sorted numbers, and the shares of the numbers up to each."""
    points = np.unique(entry[np.linspace(0, len(entry) - 1, _NUM_POINTS + 1, dtype=int)[:-1]])
    return points, _shares(entry, points)


def _shares(entry: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the shares of an entry's sorted numbers below each point, and up to each point."""
    return np.stack([np.searchsorted(entry, points, side) for side in ("left", "right")]) / len(
        entry
    )
