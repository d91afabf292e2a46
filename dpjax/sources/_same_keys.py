"""A note if both databases of a pair give the same outputs for the same keys or seeds.

Perhaps the audited function ignores the records in which the databases differ, for instance because
it does not read the flag that marks a canary as present. Then the audit cannot detect any leak.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpjax.core.wording import SameOutputs
from dpjax.sources._schedule import Draw, Span

_DEVIATIONS = 4.0
"""Number of standard deviations above which two frequencies clearly differ."""

_DISTINCT, _FEW = 10, 1000
"""Fewer than `_FEW` outputs with fewer than `_DISTINCT` different values may agree by chance."""

_CHANCE = 0.01
"""Probability with which outputs agree although the records affect the stated share of outputs."""

_MOST, _FEWEST, _SHARE = 1000, 20, 0.02
"""Limits for the outputs of a function on the host to compare: the maximum and the minimum number
of outputs per side, and the maximum share of the outputs so far and of the remaining time. At most
one batch is drawn.
"""


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


def notes_of_same_seeds(
    source: Any,
    draw: Draw,
    sides: tuple[object, object],
    words: tuple[int, ...],
    label: str,
    taken: Sequence[tuple[int, float]],
    left: float | None,
) -> list[str] | None:
    """Draw a few outputs from both databases with equal seeds, and return a note if they are equal.

    The outputs are not counted. If the draws fail, there is no note. If so few outputs were drawn
    so far, or so little time is left, that no outputs may be compared, the result is None.

    Args:
        source: Source on the host; only replayable sources take seeds.
        draw: Function that draws raw outputs.
        sides: The two databases of a pair.
        words: Integers that seed the outputs of the database.
        label: Label of the pair.
        taken: For each side, the number of outputs drawn so far, and the duration in seconds.
        left: Remaining time of the audit in seconds, or None if there is no time limit.
    """
    drawn, seconds = (sum(numbers) for numbers in zip(*taken, strict=True))
    count = min(_MOST, source.batch_size, int(_SHARE * drawn / 2))
    if left is not None:
        in_time = int(_SHARE * left * drawn / (2 * seconds)) if seconds else count
        # A call for few outputs may take as long as a call for a whole batch.
        enough = source.batch_size if source.batched else 1
        count = min(count, in_time) if in_time >= enough else 0
    if not source.replayable:
        return []
    if count < _FEWEST:
        return None
    encoder, span = source.encoder(), Span(range(count), words, lambda number: None)
    with suppress(Exception):  # The audit is complete without these outputs.
        first, second = (
            np.concatenate(
                [
                    np.column_stack([outputs.labels, outputs.values])
                    for outputs in map(encoder.encode, draw(side, span))
                ]
            )
            for side in sides
        )
        return notes_of_same_keys(first, second, label, f"seeds of {count} outputs")
    return []
