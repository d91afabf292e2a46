"""A note if a function on the host gives equal outputs for both databases and the same seeds."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from dpjax.sources._same_keys import notes_of_same_keys
from dpjax.sources._schedule import Draw, Span

_MOST, _FEWEST, _SHARE = 1000, 20, 0.02
"""Limits for the outputs to compare: the maximum and the minimum number of outputs per side, and
the maximum share of the outputs so far and of the remaining time. At most one batch is drawn.
"""


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
