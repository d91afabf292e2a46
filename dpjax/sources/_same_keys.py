"""A note if both databases of a pair give the same outputs for the same keys.

Perhaps the audited function ignores the records in which the databases differ, for instance because
it does not read the flag that marks a canary as present. Then the audit cannot detect any leak.
"""

import numpy as np
from numpy.typing import NDArray

from dpjax.core.wording import SameOutputs

_DEVIATIONS = 4.0
"""Number of standard deviations above which two frequencies clearly differ."""

_DISTINCT, _FEW = 10, 1000
"""Fewer than `_FEW` outputs with fewer than `_DISTINCT` different values may agree by chance."""


_CHANCE = 0.01
"""Probability with which outputs agree although the records affect the stated share of outputs."""


def clearly_differ(counts: NDArray[np.int64]) -> bool:
    """Return whether any frequency differs clearly between the two databases.

    Args:
        counts: int64 [2 sides, marks], numbers of draws with each mark.
    """
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    pooled = counts.sum(axis=0) / totals.sum()
    spread = np.sqrt(pooled * (1 - pooled) * (1 / totals).sum())
    first, second = counts / totals
    return bool((np.abs(first - second) > _DEVIATIONS * spread).any())


def notes_of_same_keys(first: np.ndarray, second: np.ndarray, label: str, same: str) -> list[str]:
    """Return a note if both databases of a pair give the same outputs, which vary.

    Outputs that do not vary have a note of their own.

    Args:
        first: Outputs from the database, [n, ...].
        second: Outputs from the neighbor for the same keys, [n, ...].
        label: Label of the pair.
        same: Plural noun for the keys or seeds, with their number.
    """
    constant = np.broadcast_to(first[:1], first.shape)
    is_same = [
        np.array_equal(first, other, equal_nan=first.dtype.kind == "f")
        for other in (second, constant)
    ]
    if is_same != [True, False]:
        return []
    if len(first) < _FEW and len(np.unique(first, axis=0)) < _DISTINCT:
        return []
    # If a larger share of outputs depended on the records, one of the compared outputs would have
    # differed with a probability of at least 1 - _CHANCE.
    share = 100 * (1 - _CHANCE ** (1 / len(first)))
    return [
        SameOutputs(
            f"For the same {same}, both databases of the pair {label!r} gave the same "
            "outputs. Perhaps the audited code ignores the records in which the databases differ: "
            f"then the audit cannot detect a leak. Or the records affect less than {share:.2g}% of "
            "outputs."
        )
    ]
