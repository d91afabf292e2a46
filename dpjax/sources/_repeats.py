"""Repeated noise: two runs at one database with the same outputs in the same order.

Let a run consist of n independent draws from a distribution Q. Whatever Q is, the probability of
the outputs x_1, ..., x_n is at most prod f(x_i), where f(x) is the share of these outputs that
equal x. So a second run has the same outputs with at most that probability. If all outputs are
equal, this bound is 1, and a repetition shows nothing.
"""

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.core.wording import Sentence
from dpjax.notions import RepeatedRuns
from dpjax.partitions import Outputs
from dpjax.sources._pairs import AnyPairs

LEAST_NATS = 40.0
"""Repeated outputs with at least this surprise, in nats, are not due to chance (e^-40)."""


class Repeats(ValueError):
    """Error that two runs had equal outputs; an audit turns it into a verdict.

    Args:
        name: Name of the source, for display.
        counted: Evidence: what the two runs are, and the number and surprise of the equal outputs.
        pairs: The pair at which the repetition occurred.
        side: 0 at the database, 1 at its neighbor.
        settings: Options of the source that affect the result.
    """

    def __init__(
        self, name: str, counted: RepeatedRuns, pairs: AnyPairs, side: int, settings: JsonObject
    ):
        self.counted, self.pairs, self.settings = counted, pairs, settings
        where = ("the database", "its neighbor")[side]
        self.sentence = Sentence(
            f"Two {counted.runs} of {name}, drawn at {where}, had the same first {counted.outputs} "
            f"outputs in the same order; the chance is below {counted.chance} for independent "
            "draws. Whoever has run the mechanism once knows such noise, so the outputs are a "
            "function of the data."
        )
        self.advice = (
            "It must not set a fixed seed (or one of the time in seconds), and must draw anew at "
            "every call; or let it take a seed."
        )
        super().__init__(f"{self.sentence} {self.advice}")


def nats_of(outputs: Outputs, size: int) -> float:
    """Return the surprise of a sequence of outputs: minus the log of prod f(x_i), in nats.

    Outputs are compared by their labels and their first numbers.

    Args:
        outputs: At least `size` outputs.
        size: Number of first outputs to use.
    """
    values = outputs.values[:size, 0] + 1j * outputs.labels[:size]
    counts = np.unique(values, return_counts=True)[1]
    return float(-np.sum(counts * np.log(counts / counts.sum())))


def content_of(outputs: Outputs, size: int) -> bytes:
    """Return bytes that are equal if and only if the first `size` outputs are equal bit for bit."""
    return outputs.labels[:size].tobytes() + outputs.values[:size].tobytes()
