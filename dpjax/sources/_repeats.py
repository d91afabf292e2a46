"""Detection of repeated noise: two runs on one database that return the same output sequence.

Let a run consist of n independent draws from a distribution Q. For every Q, the probability of the
outputs x_1, ..., x_n is at most prod f(x_i), where f(x) is the share of these n outputs that equal
x. The product of all f(x_i) is an upper bound on the probability that a second run returns the same
outputs. If all outputs are equal, the bound is 1.
"""

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.core.wording import Sentence
from dpjax.notions import RepeatedRuns
from dpjax.partitions import Outputs
from dpjax.sources._pairs import AnyPairs

LEAST_NATS = 40.0
"""Surprise, in nats, above which a repetition is not attributed to chance (probability e^-40)."""

_FIRST_COLUMNS = 16
"""Number of columns that are compared first. If these differ between all outputs, others do not
matter.
"""


class Repeats(ValueError):
    """Error that is raised if two runs have equal outputs. An audit turns the error into a verdict.

    Args:
        name: Name of the source, for display.
        counted: Evidence for the repetition.
        pairs: Pair of databases on which the repetition occurred.
        side: Side on which the repetition occurred: 0 for the database, 1 for the neighbor.
        settings: Options of the source that affect the result.
    """

    def __init__(
        self, name: str, counted: RepeatedRuns, pairs: AnyPairs, side: int, settings: JsonObject
    ):
        self.counted, self.pairs, self.settings = counted, pairs, settings
        where = ("the database", "its neighbor")[side]
        self.sentence = Sentence(
            f"Two {counted.runs} of {name}, drawn from {where}, had the same first "
            f"{counted.outputs} outputs in the same order. For independent draws, the probability "
            f"is below {counted.chance}. Anyone who has run the mechanism once knows this noise, "
            "so the outputs are a function of the data."
        )
        self.advice = (
            "The mechanism must not set a fixed seed (or a seed from the time in seconds), but "
            "must draw fresh noise on every call. Alternatively, give the mechanism a seed "
            "parameter. dpjax passes seeds below 2^63: if a generator accepts only smaller seeds, "
            "use the seed modulo 2^31."
        )
        super().__init__(f"{self.sentence} {self.advice}")


def nats_of(outputs: Outputs, size: int) -> float:
    """Return the surprise of a sequence of outputs, -ln(prod f(x_i)), in nats.

    Args:
        outputs: Batch of at least `size` outputs.
        size: Number of outputs to use, counted from the first one.
    """
    counts = _counts(outputs, size, _FIRST_COLUMNS)
    if len(counts) < size and outputs.values.shape[1] > _FIRST_COLUMNS:
        counts = _counts(outputs, size, None)
    return float(-np.sum(counts * np.log(counts / counts.sum())))


def _counts(outputs: Outputs, size: int, width: int | None) -> np.ndarray:
    """Return how often each of the first outputs occurs, compared by the first `width` columns."""
    leading = np.sort(outputs.values[:size, 0])
    if np.all(leading[1:] != leading[:-1]):
        # All rows are distinct. Sorting numbers takes far less time than sorting rows.
        return np.ones(len(leading), np.int64)
    rows = np.column_stack([outputs.labels[:size], outputs.values[:size, :width]])
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.strides[0])))
    return np.unique(whole, return_counts=True)[1]


def content_of(outputs: Outputs, size: int) -> bytes:
    """Return the first outputs as bytes, so that they can be compared bit by bit."""
    return outputs.labels[:size].tobytes() + outputs.values[:size].tobytes()
