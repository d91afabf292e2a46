"""Evidence that a mechanism repeats its noise: two runs returned the same outputs."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from dpjax.core.types import JsonObject
from dpjax.notions._claims import Claim
from dpjax.notions._notion import Notion
from dpjax.notions._statement import Crossing, Statement
from dpjax.notions.evidence._evidence import Evidence, Rows, register


@register
@dataclass(frozen=True)
class RepeatedRuns(Evidence):
    """Two runs of a mechanism, on the same database, that returned the same sequence of outputs.

    The sequence contains at least two different outputs. Repeated outputs are not independent
    draws, so they imply no bound on a level.

    Attributes:
        runs: Plural noun for the two runs in messages, such as "batches" or "processes".
        outputs: Number of compared outputs in each run.
        nats: Negative natural logarithm of a probability: the largest probability, over all output
            distributions, that a second run with independent draws returns the same sequence.
    """

    runs: str
    outputs: int
    nats: float
    kind: ClassVar[str] = "repeated runs"

    @property
    def chance(self) -> str:
        """Upper bound on the probability that independent draws repeat the sequence."""
        return f"1e-{math.floor(self.nats / math.log(10))}"

    def answer(
        self, notion: Notion, confidence: float, distance: int, named: Notion | None
    ) -> Statement:
        """See `Evidence`. The bound on every level is 0."""
        return Statement(0.0, None, "no independent draws")

    def compare(
        self, notion: Notion, confidence: float, claim: Claim, distance: int
    ) -> tuple[float, Crossing | None]:
        """See `Evidence`. The bound minus the claim is -infinity because there is no bound."""
        return -math.inf, None

    def rows(self, found: Statement, sure: str) -> Rows:
        """See `Evidence`."""
        seen = f"the first {self.outputs} outputs of two {self.runs}, in the same order"
        return [("repeated", seen), ("chance", f"below {self.chance} for independent draws")]

    def table(self, found: Statement, sure: str) -> Rows:
        """See `Evidence`."""
        return [
            (f"Outputs that two {self.runs} have in common", f"{self.outputs:,}"),
            (
                "Bound on the probability that independent draws repeat so many outputs",
                self.chance,
            ),
        ]

    @classmethod
    def from_plain(cls, content: JsonObject) -> Self:
        """See `Evidence`."""
        found = cls(**content)
        if not (isinstance(found.runs, str) and found.outputs > 0 and found.nats > 0):
            raise ValueError(
                f"repeated runs must have outputs and nats above 0, but had {content!r}."
            )
        return found
