"""The parts of a result: statement, witness, evidence, recipe, provenance and notes.

If a method does not produce a part, the part is None or empty. For example, the audit of a single
training run has no witness, and methods without a search have no scores.
"""

from dataclasses import dataclass, field

from dpjax.core.notebook import html_titled
from dpjax.core.types import JsonObject
from dpjax.core.validate import own_confidence
from dpjax.core.wording import confidence_text
from dpjax.notions import Evidence, Statement

VIOLATED, NOT_REFUTED, NO_CLAIM = "violated", "not refuted", "no claim"

ASSUMPTION_REFUTED = "assumption refuted"
"""Verdict of the histogram method if the counts refute the method's assumption."""

DOUBTFUL = "doubtful"
"""Verdict if the draws do not look independent, in which case the bound may be wrong."""

NOT_RANDOM = "not random"
"""Verdict if the outputs are a function of the data, without random noise."""

REFUTING = (VIOLATED, NOT_RANDOM)
"""Verdicts that refute a claim."""


def is_from_calls(settings: JsonObject) -> bool:
    """Return whether the outputs of an audit come from calls of a function or a program."""
    return "batched" in settings


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
        return [*asked, *super()._lines(), ("confidence", confidence_text(self.confidence))]

    @property
    def own_confidence(self) -> float:
        """Confidence level of this statement alone, computed with Bonferroni's correction."""
        return own_confidence(self.confidence, self.num_claims)


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
        if not self.counted.planned:
            text = f"{self.num_confirm} per side"
            total = self.settings["drawn"]
            return text if num_pairs == 1 else f"{text}, {total} summed over {num_pairs} pairs"
        first = self.num_samples if rounds is None else rounds["num_samples"]
        text = f"{first} per side to search"
        if "searched" in self.settings:
            one, other = self.settings["searched"]
            text = f"{one} at the database and {other} at the neighbor to search"
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
