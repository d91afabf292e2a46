"""Evidence: what fresh outputs showed, in sets that were chosen before.

Each kind of evidence states which levels follow from it, shows itself as rows of text, and writes
itself as plain numbers, so that results, pages and files ask no evidence for its class.
"""

from dataclasses import replace
from typing import ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from dpjax.core import validate
from dpjax.core.types import JsonObject
from dpjax.inference import Band, Event
from dpjax.notions._claims import Claim
from dpjax.notions._notion import Notion
from dpjax.notions._statement import Crossing, Statement, smallest_error

Rows = list[tuple[str, str]]
"""Names and texts."""


class Part(NamedTuple):
    """Rows of a page under a heading of their own.

    Attributes:
        title: The heading.
        rows: Names and texts.
        text: Sentence above the rows.
        numbers: Whether the texts are numbers.
    """

    title: str
    rows: Rows
    text: str = ""
    numbers: bool = True


class History(NamedTuple):
    """The way of a sequential audit.

    Attributes:
        path: (draws a side of all pairs, bound, logarithm of the wealth at the claim) after each
            block.
        claim: The claim at the level of a pair, or None.
        refuted_from: Logarithm of the wealth that refutes it.
    """

    path: list[tuple[int, float, float]]
    claim: float | None
    refuted_from: float


class Evidence:
    """What was counted of fresh outputs: the base of all kinds.

    A kind is a frozen dataclass with `answer`, put into the registry by `register`; its fields are
    plain or arrays, which `from_plain` makes again.

    Attributes:
        kind: Name in files.
        estimated: Name of the estimate on a page.
        scored: Name of the scores of pairs on a page.
        chosen: How the witness's event came about, in a sentence.
        resumable: Whether it holds the state of an audit that can take more draws.
        more: What would show more, as an advice.
        planned: Whether the number of outputs was fixed before they were seen, so that binomial
            bounds hold for the counts of the witness.
    """

    kind: ClassVar[str]
    resumable: ClassVar[bool] = False
    estimated: ClassVar[str] = "Estimate"
    scored: ClassVar[str] = "Score in the search"
    planned: ClassVar[bool] = True
    more: ClassVar[str] = "Draw or record more outputs: rarer events are then seen."
    chosen: ClassVar[str] = (
        "It was chosen by outputs that searched, and then counted on fresh ones."
    )

    def answer(
        self, notion: Notion, confidence: float, distance: int, named: Notion | None
    ) -> Statement:
        """The statement on a level without a claim; arguments and errors as `state`."""
        raise NotImplementedError

    def to_plain(self) -> JsonObject:
        """Plain numbers and texts, the kind among them; see `evidence_from_plain`."""
        return {"kind": self.kind, **{name: _plain(value) for name, value in vars(self).items()}}

    @classmethod
    def from_plain(cls, content: JsonObject) -> Self:
        """The evidence of plain fields, which this checks.

        Raises:
            KeyError, TypeError, ValueError: It is no such evidence.
        """
        return cls(**content)

    def compare(
        self, notion: Notion, confidence: float, claim: Claim, distance: int
    ) -> tuple[float, Crossing | None]:
        """Amount by which the claim is exceeded (negative if it is not), and where a curve is."""
        assert isinstance(claim, float)
        return self.answer(notion, confidence, distance, None).lower_bound - claim, None

    def state(
        self,
        notion: Notion,
        confidence: float,
        num_claims: int = 1,
        claim: Claim | None = None,
        distance: int = 1,
        named: Notion | None = None,
    ) -> Statement:
        """The statement of one audit.

        Args:
            notion: What is asked for.
            confidence: Confidence of all statements that the evidence makes.
            num_claims: Factor of the smallest error.
            claim: Level to compare with, as `Notion.claimed` returns it, or None.
            distance: Records in which the pair differs.
            named: Notion that the evidence was collected for; `notion` itself if None.

        Raises:
            ValueError: The evidence says nothing of this notion; the message says what would.
        """
        stated = self.answer(notion, confidence, distance, named)
        if claim is None:
            return stated
        error = smallest_error(lambda own: self.compare(notion, own, claim, distance)[0], 0.0)
        return replace(
            stated,
            smallest_error=None if error is None else min(error * num_claims, 1.0),
            crossing=self.compare(notion, confidence, claim, distance)[1],
        )

    def quantile(self, error: float, draws: int) -> float:
        """Standard errors by which an estimate must exceed a level to refute it, about.

        Args:
            error: Probability with which the level may be refuted by chance.
            draws: Fresh draws a side.
        """
        return -float(scipy.special.ndtri(error))

    def simultaneous(self, confidence: float) -> Band | None:
        """The band that holds for every notion at once; None for evidence of a single question."""
        return None

    def showing(self, event: Event, inside: NDArray[np.int64]) -> Self:
        """The evidence with another event in place of the one that was counted, if there is one.

        Args:
            event: Chosen without a look at the fresh outputs, or its complement.
            inside: int64 [2], fresh outputs in it at the database and at its neighbor.
        """
        return self

    def rows(self, found: Statement, sure: str) -> Rows:
        """Lines of a printed result: bound and estimate, and what they rest on.

        Args:
            found: The statement.
            sure: Confidence in words.
        """
        estimate = "infinite" if found.estimate is None else f"{found.estimate:.4f}"
        if found.standard_error is not None:
            estimate += f" (standard error {found.standard_error:.4f})"
        bound = f"{found.lower_bound:.4f}, {sure} ({found.basis})"
        return [("lower bound", bound), ("estimate", estimate)]

    def table(self, found: Statement, sure: str) -> Rows:
        """Rows of a page in the unit of the level; arguments as `rows`."""
        return [
            (f"Lower bound ({found.basis}, {sure})", f"{found.lower_bound:.4f}"),
            (self.estimated, "infinite" if found.estimate is None else f"{found.estimate:.4f}"),
        ]

    def parts(self) -> list[Part]:
        """More parts of a page."""
        return []

    def history(self) -> "History | None":
        """The way of a sequential audit, to be drawn; None for others."""
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_plain() == other.to_plain()

    __hash__ = None  # type: ignore[assignment]


_Kind = TypeVar("_Kind", bound=Evidence)

EVIDENCE: dict[str, type[Evidence]] = {}
"""Kind in a file -> class."""


def register(cls: type[_Kind]) -> type[_Kind]:
    """Makes a kind of evidence known to files."""
    EVIDENCE[cls.kind] = cls
    return cls


def evidence_from_plain(content: JsonObject) -> Evidence:
    """The evidence that `Evidence.to_plain` wrote.

    Raises:
        KeyError, TypeError, ValueError: It is no such evidence.
    """
    fields = {**content}
    validate.one_of(EVIDENCE, kind=(kind := fields.pop("kind")))
    return EVIDENCE[kind].from_plain(fields)


def _plain(value: object) -> object:
    """A field as JSON holds it."""
    if isinstance(value, Evidence):
        return value.to_plain()
    if fields := getattr(value, "_fields", None):
        return {name: _plain(getattr(value, name)) for name in fields}
    return value.tolist() if isinstance(value, np.ndarray) else value
