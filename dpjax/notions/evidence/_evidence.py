"""The base class of evidence, such as counts of confirmation draws in an event.

Each class of evidence computes levels from counts, and converts the counts to rows of text and to
JSON values.
"""

from dataclasses import replace
from functools import partial
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
"""Type of the rows of a table. Each row consists of a name and a text."""


class Part(NamedTuple):
    """A section of an HTML page: rows under a heading.

    Attributes:
        title: Heading of the section.
        rows: Names and texts of the rows.
        text: Sentence above the rows.
        numbers: Whether the row texts are numbers.
        head: Names of the columns, or () if the table has no head.
    """

    title: str
    rows: Rows
    text: str = ""
    numbers: bool = True
    head: tuple[str, ...] = ()


class History(NamedTuple):
    """The history of a sequential audit.

    Attributes:
        path: One tuple of three numbers per block of draws: the number of draws per side so far,
            summed over all pairs; the bound; and the log wealth at the claim.
        claim: Claimed level, or None.
        refuted_from: Smallest log wealth that refutes the claim.
    """

    path: list[tuple[int, float, float]]
    claim: float | None
    refuted_from: float


class Evidence:
    """The base class of all kinds of evidence from confirmation draws.

    Each kind of evidence is a frozen dataclass that defines `answer` and is registered with
    `register`. The fields are plain values or arrays, so that `from_plain` can restore them.

    Attributes:
        kind: Name of the kind in files.
        estimated: Name of the estimate on an HTML page.
        scored: Name of the pairs' scores on an HTML page.
        chosen: Sentence that explains how the displayed event was chosen.
        more: Advice on how to obtain a larger or more precise bound.
        planned: Whether the number of outputs was fixed in advance. If `planned` is False, binomial
            bounds do not hold for the counts of the displayed event.
    """

    kind: ClassVar[str]
    estimated: ClassVar[str] = "Estimate"
    scored: ClassVar[str] = "Score in the search"
    planned: ClassVar[bool] = True
    more: ClassVar[str] = "Draw or record more outputs, so that rarer events are seen."
    chosen: ClassVar[str] = "The event was chosen with the search set, and tested on fresh draws."

    def answer(
        self, notion: Notion, confidence: float, distance: int, named: Notion | None
    ) -> Statement:
        """Return the statement about a notion's level, without comparing the level with a claim.

        See `state` for the arguments.
        """
        raise NotImplementedError

    def to_plain(self) -> JsonObject:
        """Return the kind and the fields as JSON values, which `evidence_from_plain` accepts."""
        return {"kind": self.kind, **{name: _plain(value) for name, value in vars(self).items()}}

    @classmethod
    def from_plain(cls, content: JsonObject) -> Self:
        """Construct the evidence from JSON values of its fields, after checking the values.

        Raises:
            KeyError, TypeError, ValueError: If the content does not describe evidence of this
                class.
        """
        return cls(**content)

    def compare(
        self, notion: Notion, confidence: float, claim: Claim, distance: int
    ) -> tuple[float, Crossing | None]:
        """Compare a claim with the bound. See `state` for the arguments.

        Returns:
            The bound minus the claim, and a point. If the claim is a curve, the point is where the
            bound exceeds the curve by the largest margin. The point is None if the bound does not
            exceed the curve anywhere, or if the claim is a number.
        """
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
        """Return the statement that an audit makes about a notion.

        Args:
            notion: Notion of the statement.
            confidence: Joint confidence of all statements from this evidence.
            num_claims: Number of claims. The smallest error is multiplied by `num_claims`.
            claim: Claimed level or curve, as `Notion.claimed` returns it, or None.
            distance: Number of records in which the databases of the pair differ.
            named: Notion for which the evidence was collected, or None if this notion is `notion`.

        Raises:
            ValueError: If the evidence cannot bound the notion. The error message says what to use
                instead.
        """
        stated = self.answer(notion, confidence, distance, named)
        if claim is None:
            return stated
        # Compare only curves here. For a number, `stated` already contains the bound.
        known = crossing = None
        if isinstance(claim, tuple):
            crossing = self.compare(notion, confidence, claim, distance)[1]
        elif named in (None, notion):
            known = confidence, stated.lower_bound - claim
        # The smallest error requires many bounds, so it is computed only when it is read.
        error = partial(
            self._smallest_error, notion, confidence, num_claims, claim, distance, known
        )
        return replace(stated, smallest_error=error, crossing=crossing)

    def _smallest_error(
        self,
        notion: Notion,
        confidence: float,
        num_claims: int,
        claim: Claim,
        distance: int,
        known: tuple[float, float] | None,
    ) -> float | None:
        """Return `Statement.smallest_error`.

        Args:
            notion: As in `state`.
            confidence: As in `state`.
            num_claims: As in `state`.
            claim: As in `state`, but not None.
            distance: As in `state`.
            known: Pair of a confidence and the bound at this confidence minus the claim, or None if
                no bound has been computed yet.
        """

        def margin(own: float) -> float:
            return self.compare(notion, own, claim, distance)[0]

        error = smallest_error(margin, 0.0, known)
        if error is None:
            return None
        # Of many claims, each may be refuted at an error that is smaller than the search reports.
        if 1 - confidence < error and margin(confidence) > 0:
            error = 1 - confidence
        return min(error * num_claims, 1.0)

    def quantile(self, error: float, draws: int) -> float:
        """Return the approximate number of standard errors at which a claim is refuted.

        A claim is refuted if the estimate exceeds it by about this number of standard errors.

        Args:
            error: Largest probability that a true claim is refuted by chance.
            draws: Number of confirmation draws per side.
        """
        return -float(scipy.special.ndtri(error))

    def simultaneous(self, confidence: float) -> Band | None:
        """Return the band that bounds the levels of all notions, or None if there is no band."""
        return None

    def showing(self, event: Event, inside: NDArray[np.int64]) -> Self:
        """Return the evidence with its counted event replaced by another event.

        Evidence without a counted event is returned unchanged.

        Args:
            event: An event that was chosen without using the confirmation set, or the complement of
                such an event.
            inside: int64 [2], numbers of draws in the event, from the database and from its
                neighbor.
        """
        return self

    def rows(self, found: Statement, sure: str) -> Rows:
        """Return the rows for a printed result: the bound, the estimate and the basis.

        Args:
            found: Statement made from this evidence.
            sure: Text that describes the confidence of the bound.
        """
        estimate = "infinite" if found.estimate is None else f"{found.estimate:.4f}"
        if found.standard_error is not None:
            estimate += f" (standard error {found.standard_error:.4f})"
        bound = f"{found.lower_bound:.4f}, {sure} ({found.basis})"
        return [("lower bound", bound), ("estimate", estimate)]

    def table(self, found: Statement, sure: str) -> Rows:
        """Return rows of an HTML page. The values are in the unit of the level.

        See `rows` for the arguments.
        """
        return [
            (f"Lower bound ({found.basis}, {sure})", f"{found.lower_bound:.4f}"),
            (self.estimated, "infinite" if found.estimate is None else f"{found.estimate:.4f}"),
        ]

    def parts(self) -> list[Part]:
        """Return additional sections of an HTML page."""
        return []

    def history(self) -> "History | None":
        """Return the history of a sequential audit for plotting, or None for other evidence."""
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_plain() == other.to_plain()

    __hash__ = None  # type: ignore[assignment]


_Kind = TypeVar("_Kind", bound=Evidence)

EVIDENCE: dict[str, type[Evidence]] = {}
"""Map from the name in files of each kind of evidence to its class."""


def register(cls: type[_Kind]) -> type[_Kind]:
    """Register an evidence class under its `kind`, so that evidence can be read from files."""
    EVIDENCE[cls.kind] = cls
    return cls


def evidence_from_plain(content: JsonObject) -> Evidence:
    """Restore evidence from the JSON values that `Evidence.to_plain` returned.

    Raises:
        KeyError, TypeError, ValueError: If the content does not describe evidence of a registered
            kind.
    """
    fields = {**content}
    validate.one_of(EVIDENCE, kind=(kind := fields.pop("kind")))
    return EVIDENCE[kind].from_plain(fields)


def _plain(value: object) -> object:
    """Convert a field of evidence to JSON values."""
    if isinstance(value, Evidence):
        return value.to_plain()
    if fields := getattr(value, "_fields", None):
        return {name: _plain(getattr(value, name)) for name in fields}
    return value.tolist() if isinstance(value, np.ndarray) else value
