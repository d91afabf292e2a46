"""The parts of a result: statement, witness, evidence, recipe, provenance and notes.

If a method does not produce a part, the part is None or empty. For example, the audit of a single
training run has no witness, and methods without a search have no scores.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from dpjax.core.notebook import html_titled
from dpjax.core.types import JsonObject
from dpjax.notions import Evidence, Notion, Statement
from dpjax.results.recipes import notion_from_plain

VIOLATED, NOT_REFUTED, NO_CLAIM = "violated", "not refuted", "no claim"

_Value = TypeVar("_Value", covariant=True)

ASSUMPTION_REFUTED = "assumption refuted"
"""Verdict of the histogram method if the counts refute the method's assumption."""

DOUBTFUL = "doubtful"
"""Verdict if the draws do not look independent, in which case the bound may be wrong."""


NOT_RANDOM = "not random"
"""Verdict if the outputs are a function of the data, without random noise."""

REFUTING = (VIOLATED, NOT_RANDOM)
"""Verdicts that refute a claim."""


@dataclass(frozen=True, kw_only=True)
class Conclusion(Statement):
    """A statement with its verdict on the claim.

    Attributes:
        level: Name of the bounded quantity, such as "epsilon".
        claim: Claimed level, points of the claimed curve, or None if there is no claim.
        confidence: Confidence with which the bounds of all `num_claims` audits hold jointly.
        num_claims: Number of audits whose bounds hold jointly.
        verdict: "violated", "not random", "not refuted", "no claim", "assumption refuted" or
            "doubtful".
        sentence: Sentence that states the verdict.
    """

    level: str
    claim: float | list[list[float]] | None
    confidence: float
    num_claims: int
    verdict: str
    sentence: str

    def _lines(self) -> list[tuple[str, str]]:
        """Return the rows for the verdict and the level, followed by the rows of `Statement`."""
        asked = [("verdict", f"{self.verdict}. {self.sentence}"), ("level", self.level)]
        return [*asked, *super()._lines(), ("confidence", f"{self.confidence:g}")]

    @property
    def own_confidence(self) -> float:
        """Confidence level of this statement alone, computed with Bonferroni's correction."""
        return 1 - (1 - self.confidence) / self.num_claims


@dataclass(frozen=True)
class Witness:
    """The pair for which an audit found the largest privacy loss, with its event or output.

    Attributes:
        pair: Label of the pair.
        database: Database of the pair, as nested lists or as text.
        neighbor: Neighbor of the database, in the same form.
        output: Output or event with the largest privacy loss: an event in words, an outcome, a
            float, a list of floats, or None for histograms.
        densities: Estimated densities or probabilities of the output for the database and for the
            neighbor, or None for histograms. The densities are estimated from the confirmation set,
            and may be below the floor.
        larger: Side on which the output is more likely, "database" or "neighbor".
        event: Description, in words, of the event whose counts give an exact bound; or None.
        event_counts: Counts of the event for the database and for the neighbor, or None.
        on_floor: Whether a density estimated from the search set was at or below the floor.
        floor: Floor tau; smaller densities are replaced by the floor.
        bandwidth: Bandwidth h with which the densities were estimated from the confirmation set, or
            None if no densities were estimated.
        difference: Description, in words, of the differences between the databases; None if the
            databases are short.
    """

    pair: str
    database: object
    neighbor: object
    output: object = None
    densities: tuple[float, float] | None = None
    larger: str | None = None
    event: str | None = None
    event_counts: tuple[int, int] | None = None
    on_floor: bool = False
    floor: float = 0.0
    bandwidth: float | None = None
    difference: str | None = None

    def _repr_html_(self) -> str:
        """Show the databases, the event and its counts in a notebook."""
        sides = [("database", str(self.database)), ("neighbor", str(self.neighbor))]
        rows = sides if self.difference is None else [("databases", self.difference)]
        if self.output is not None:
            rows.append(("output", str(self.output)))
        if self.densities is not None:
            kind = "probability" if self.bandwidth is None else "density"
            first, second = self.densities
            text = f"{first:.4g} at the database, {second:.4g} at the neighbor"
            rows.append((kind, text))
        if self.event_counts is not None:
            first, second = self.event_counts
            rows.append(("counted", f"{first:,} at the database, {second:,} at the neighbor"))
        return html_titled(f"Witness: {self.pair}", rows)


@dataclass(frozen=True)
class Observed:
    """The counts of an audit, with numbers of draws, settings and data for figures.

    Attributes:
        counted: Evidence of the audit.
        settings: Settings that the audit derived from the recipe, and other settings that affect
            the result.
        num_samples: Number of search draws per side of the witness's pair, or number of draws per
            input for histograms.
        num_confirm: Number N of confirmation draws per side, or None if there are none. If the two
            sides have different numbers of draws, N is the average, and `trials` contains both
            numbers.
        region: Description, in words, of the region in which outputs were compared; None if the
            source has no region.
        pair_scores: Label and score of each pair, in decreasing order of the score; an infinite
            score is stored as None. The largest score is the maximum of many noisy scores, so it
            usually overestimates the level.
        curve: Data for a plot of the witness's pair: points, densities on both sides, and losses;
            an infinite loss is stored as None. If there are no densities, `curve` is None.
    """

    counted: Evidence
    settings: JsonObject
    num_samples: int | None = None
    num_confirm: int | None = None
    region: str | None = None
    pair_scores: tuple[tuple[str, float | None], ...] = ()
    curve: dict[str, list] | None = field(default=None, repr=False)

    @property
    def trials(self) -> tuple[int, int]:
        """Numbers of confirmation draws for the database and for the neighbor."""
        number = self.num_confirm or 0
        first, second = self.settings.get("confirmed", (number, number))
        return first, second

    def draws(self) -> str | None:
        """Return the numbers of draws in words, or None if there is no confirmation set."""
        if self.num_confirm is None:
            return None
        num_pairs, rounds = len(self.pair_scores), self.settings.get("rounds")
        first = self.num_samples if rounds is None else rounds["num_samples"]
        text = f"{first} per side to search"
        if num_pairs > 1:
            text = f"{first} per side of {num_pairs} pairs to search"
        if rounds is not None:
            text += f", {rounds['num_again']} more of the best {rounds['num_kept']}"
        first, second = self.trials
        confirm = f"{self.num_confirm} per side"
        if first != second:
            confirm = f"{first} at the database and {second} at the neighbor"
        return f"{text}, {confirm} to confirm"


@dataclass(frozen=True)
class Provenance:
    """Origin of a result.

    Attributes:
        mechanism: Name, function or file of the mechanism.
        parameters: Parameters of the mechanism.
        versions: Versions of dpjax and of the packages that it depends on.
        device: Device of the computation.
        seconds: Wall time in seconds, including compilation.
    """

    mechanism: str
    parameters: JsonObject
    versions: dict[str, str]
    device: str
    seconds: float


class _Short(Generic[_Value]):
    """Read-only shortcut to an attribute of one part of a result."""

    def __init__(self, entry: "Callable[[Parts], _Value]"):
        self._entry = entry

    def __get__(self, result: "Parts", owner: type | None = None) -> _Value:
        return self._entry(result)


@dataclass(frozen=True, repr=False)
class Parts:
    """All parts of a result, with shortcuts to frequently used attributes.

    Attributes:
        statement: Bounds, estimate, claim and verdict.
        witness: Pair for which the audit found the largest privacy loss, with its event or output;
            None if there are no pairs.
        evidence: Counts and numbers of draws.
        recipe: Subject, method, notion, pairs and key of the audit as JSON values, for
            `dpjax.rerun`. The subject is None if it cannot be imported by name.
        provenance: Mechanism, versions and device.
        notes: Notes for readers of the result.
        doubts: Reasons to doubt that the outputs are independent draws, usually none.
    """

    statement: Conclusion
    witness: Witness | None
    evidence: Observed
    recipe: JsonObject
    provenance: Provenance
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    lower_bound = _Short(lambda result: result.statement.lower_bound)
    upper_bound = _Short(lambda result: result.statement.upper_bound)
    estimate = _Short(lambda result: result.statement.estimate)
    standard_error = _Short(lambda result: result.statement.standard_error)
    basis = _Short(lambda result: result.statement.basis)
    smallest_error = _Short(lambda result: result.statement.smallest_error)
    confidence = _Short(lambda result: result.statement.confidence)
    num_claims = _Short(lambda result: result.statement.num_claims)
    level = _Short(lambda result: result.statement.level)
    claim = _Short(lambda result: result.statement.claim)
    verdict = _Short(lambda result: result.statement.verdict)
    sentence = _Short(lambda result: result.statement.sentence)
    num_samples = _Short(lambda result: result.evidence.num_samples)
    num_confirm = _Short(lambda result: result.evidence.num_confirm)
    region = _Short(lambda result: result.evidence.region)
    pair_scores = _Short(lambda result: result.evidence.pair_scores)
    settings = _Short(lambda result: result.evidence.settings)
    curve = _Short(lambda result: result.evidence.curve)
    mechanism = _Short(lambda result: result.provenance.mechanism)
    parameters = _Short(lambda result: result.provenance.parameters)
    versions = _Short(lambda result: result.provenance.versions)
    device = _Short(lambda result: result.provenance.device)
    seconds = _Short(lambda result: result.provenance.seconds)

    @property
    def notion(self) -> Notion:
        """The privacy notion of the audit."""
        return notion_from_plain(self.recipe["notion"])

    @property
    def delta(self) -> float:
        """Delta of the notion, or 0 if the notion has no delta."""
        return self.notion.delta

    @property
    def sure(self) -> str:
        """Confidence of the bounds as text, such as "confidence 0.999"."""
        sure = f"confidence {self.confidence:g}"
        return f"{sure} if the outputs are independent" if self.doubts else sure

    @property
    def refuted_at(self) -> str | None:
        """Smallest error probability at which the counts refute the claim, as text, or None."""
        error = self.smallest_error if self.verdict in REFUTING else None
        return None if error is None else f"{error:.2g}"
