"""The result of an audit: what was found, how sure it is, and how to do it again."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpjax.core.errors import neutral
from dpjax.core.files import read_document
from dpjax.core.wording import BadType
from dpjax.inference import searched_text
from dpjax.notions import Evidence, Notion, Statement, evidence_from_plain
from dpjax.results.plain import notion_from_plain

VIOLATED, NOT_REFUTED, NO_CLAIM = "violated", "not refuted", "no claim"

ASSUMPTION_REFUTED = "assumption refuted"
"""Of histograms alone: their interval says nothing then."""


@dataclass(frozen=True)
class Witness:
    """Where the loss was found largest.

    Attributes:
        pair: Label of the pair.
        database: The database, as nested lists or a text.
        neighbor: Its neighbor.
        output: An event in words, an outcome, a real, or a list of reals; None for histograms.
        densities: Confirmed densities or probabilities at the database and at the neighbor, before
            truncation; None for histograms.
        larger: "database" or "neighbor", the side where the output is likelier.
        event: The event that is counted for an exact bound, in words.
        event_counts: How often it happened at the database and at the neighbor.
        on_floor: Whether the search stage saw one of the densities at the floor.
        floor: tau of a density.
        bandwidth: h of the confirm stage; None for events and outcomes.
    """

    pair: str
    database: Any
    neighbor: Any
    output: Any = None
    densities: tuple[float, float] | None = None
    larger: str | None = None
    event: str | None = None
    event_counts: tuple[int, int] | None = None
    on_floor: bool = False
    floor: float = 0.0
    bandwidth: float | None = None


@dataclass(frozen=True, repr=False)
class AuditResult:
    """What an audit found. Plain numbers and texts: it serialises to JSON and back.

    Attributes:
        lower_bound: The level is at least this, with the stated confidence; 0 where a histogram
            had an empty interval.
        upper_bound: The level is at most this, if the assumption is true; None where nothing is
            assumed.
        estimate: The level that fresh draws show (None where it is infinite or there is none).
        standard_error: Of the estimate; None where the bound rests on none.
        basis: What the bound rests on: "exact binomial" or "simultaneous band" (at any sample
            size), "normal" (asymptotic) or "histogram".
        confidence: Of the bounds of all `num_claims` audits together.
        num_claims: Audits whose bounds hold together.
        smallest_error: The smallest error probability at which the claim would still be refuted;
            None where it is not refuted at any below 1/2, and of histograms.
        verdict: "violated", "not refuted", "no claim" or "assumption refuted".
        sentence: The verdict in words.
        claim: The level that was claimed, points of the curve that was, or None.
        level: What is bounded, in words, such as "epsilon".
        witness: Where the loss is largest.
        mechanism: Name, function or file.
        parameters: Of the mechanism.
        pair_scores: (label, score) of every pair, best first. A score is what the search expected,
            by which it chose a pair; that of the best of many is too high to be an estimate. None
            where it is infinite.
        region: Outputs that were compared, in words.
        num_samples: Outputs a side that searched at the witness's pair; of histograms those at
            each input.
        num_confirm: N at each side of the witness's pair; 0 for histograms.
        settings: All that changes the answer besides the recipe, or follows from it.
        assumption: Of a histogram: "text", "p_value" by the counts of this run (Theorem 3, or
            None), "status", "plan", "num_pairs" and "num_failed"; None for other methods.
        recipe: What was audited ("subject", or None where nothing names it), method, notion, pairs
            and key as plain words and numbers, for `dpjax.rerun`.
        notes: What a reader should know besides.
        evidence: Counts of fresh outputs: of the "event" of the named notion, of a "chain" of sets
            that answers for every notion, or of both; None for methods without events.
        curve: Points, densities on both sides and losses (None where infinite) of the witness's
            pair, or None.
        versions: Of dpjax and what it stands on.
        device: Where it ran.
        seconds: Wall time, compilation included.
    """

    lower_bound: float
    upper_bound: float | None
    estimate: float | None
    standard_error: float | None
    basis: str
    confidence: float
    num_claims: int
    smallest_error: float | None
    verdict: str
    sentence: str
    claim: float | list[list[float]] | None
    level: str
    witness: Witness
    mechanism: str
    parameters: dict[str, Any]
    pair_scores: tuple[tuple[str, float | None], ...]
    region: str
    num_samples: int
    num_confirm: int
    settings: dict[str, Any]
    assumption: dict[str, Any] | None
    recipe: dict[str, Any]
    notes: tuple[str, ...] = ()
    curve: dict[str, list] | None = field(default=None, repr=False)
    evidence: dict[str, Any] | None = field(default=None, repr=False)
    versions: dict[str, str] = field(default_factory=dict, repr=False)
    device: str = ""
    seconds: float = 0.0

    @property
    def delta(self) -> float:
        """Of (epsilon, delta)-differential privacy."""
        return float(self.recipe["notion"].get("delta", 0.0))

    def bound(self, notion: Notion) -> Statement:
        """What the evidence says of any notion, without a draw.

        All statements of one result hold together, with its confidence: as many as one likes.

        Args:
            notion: Such as `dpjax.Gdp()`, `dpjax.Renyi(8)` or `dpjax.Profile()`.

        Returns:
            Lower bound, estimate and, of a curve, its columns.

        Raises:
            ValueError: The evidence is of a single event, and the notion is not the one it was
                counted for; or the method counted no events.
            TypeError: It is no notion.
        """
        if not isinstance(notion, Notion):
            raise BadType(f"notion must be a notion of dpjax, but was {notion!r}.")
        distance = self.recipe.get("distance", 1)
        notion.refuse_distance(distance)
        sure = 1 - (1 - self.confidence) / self.num_claims
        evidence = evidence_from_plain(self.evidence or {})
        named = notion_from_plain(self.recipe["notion"])
        if notion == named and evidence.event is not None:
            return notion.state(evidence, sure, distance=distance)
        if evidence.chain is None:
            raise ValueError(
                f"the evidence of this audit is of one event, counted for {self.level}, on which "
                f"all of the error was spent, so it says nothing of {notion.symbol}: audit with "
                f"notion={notion!r}, or with method=Events(also=True)."
                if evidence.event is not None
                else f"this audit counted no events, so it says nothing of {notion.symbol}: use "
                "method=Events()."
            )
        # The confidence of the chain alone is what is left for it beside an event.
        own = evidence.confidence(sure)
        return notion.state(Evidence(chain=evidence.chain), own, distance=distance)

    def to_dict(self) -> dict[str, Any]:
        """Nested dicts and lists, as JSON holds them."""
        return dataclasses.asdict(self)

    def to_json(self, indent: int | None = 2) -> str:
        """One JSON object; `from_json` reads it back."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "AuditResult":
        """The result that `to_json` wrote.

        Raises:
            ValueError: The text is not such a result.
        """
        try:
            content = json.loads(text)
            witness = content.pop("witness")
            for name in ("densities", "event_counts"):
                witness[name] = None if witness[name] is None else tuple(witness[name])
            scores = tuple((label, value) for label, value in content.pop("pair_scores"))
            notes = tuple(content.pop("notes"))
            return cls(witness=Witness(**witness), pair_scores=scores, notes=notes, **content)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise ValueError(f"text is not an audit result of dpjax: {error!r}.") from error

    @classmethod
    def from_file(cls, path: str | Path) -> "AuditResult":
        """The result of a JSON file that `to_json` wrote, or of a page that `report` wrote.

        Nothing in the file is run.

        Args:
            path: Of the file; a page ends in .html.

        Raises:
            FileNotFoundError: There is none.
            ValueError: It is no file, too large, or holds no result.
        """
        path = Path(path)
        text = read_document("result file", path)
        try:
            if path.suffix.lower() in (".html", ".htm"):
                from dpjax.report import result_of_page

                text = result_of_page(text)
            return cls.from_json(text)
        except ValueError as error:
            raise ValueError(f"result file {path} cannot be read: {error}") from None

    def row(self) -> dict[str, Any]:
        """One row of a table: the numbers without the settings."""
        names = (
            "mechanism",
            "claim",
            "lower_bound",
            "estimate",
            "upper_bound",
            "confidence",
            "verdict",
            "seconds",
        )
        return {**{name: getattr(self, name) for name in names}, "pair": self.witness.pair}

    def plot(self, path: str | Path | None = None) -> Any:
        """Draws what was found (needs matplotlib).

        After a chain of sets that is the profile, the trade-off curve and Renyi divergences, with
        their bounds; otherwise densities and loss over the region, with the witness; and where
        there are no such, the bounds, the estimate and the claim alone.

        Args:
            path: A file to write (png, svg or pdf), or None.

        Returns:
            The matplotlib figure.
        """
        from dpjax.plotting import plot_result

        return plot_result(self, path)

    def report(self, path: str | Path) -> Path:
        """Writes a page that can be handed on (needs jinja2, and matplotlib for html).

        Args:
            path: A file to write (html or md).

        Returns:
            The path.
        """
        from dpjax.report import write_report

        return write_report(self, path)

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, the numbers and, with matplotlib, a figure."""
        from dpjax.plotting import plot_levels, svg_if_possible
        from dpjax.report import notebook_html

        svg = svg_if_possible(plot_levels, self, f"Audit of {self.mechanism}", self.sentence)
        headline = f"{self.mechanism}: {self.verdict}"
        return notebook_html(self.verdict, headline, self.sentence, self._lines(), svg)

    def __repr__(self) -> str:
        return neutral(
            f"AuditResult({self.mechanism}: {self.verdict}, {self.level} >= {self.lower_bound:.4f} "
            f"with confidence {self.confidence:g})"
        )

    def __str__(self) -> str:
        lines = [
            f"{self.mechanism}{parameters_text(self.parameters)}",
            f"  {self.verdict.upper()}: {self.sentence}",
            *(f"  {name:<12} {text}" for name, text in self._lines()),
        ]
        lines += [f"  note         {note}" for note in self.notes]
        # Names, labels and columns are somebody else's texts.
        return "\n".join(map(neutral, lines))

    def _lines(self) -> list[tuple[str, str]]:
        """Names and texts of the numbers."""
        witness, sure = self.witness, f"confidence {self.confidence:g} ({self.basis})"
        if self.assumption is not None:
            return self._histogram_lines(sure, self.assumption)
        lines = [("lower bound", f"{self.lower_bound:.4f}, {sure}")]
        if self.verdict == VIOLATED and self.smallest_error is not None:
            down = f"{self.smallest_error:.2g}"
            lines.append(("refuted", f"the claim, at every error probability down to {down}"))
        estimate = "infinite" if self.estimate is None else f"{self.estimate:.4f}"
        if witness.on_floor:
            estimate = "none, since a density is at the floor"
        if self.standard_error is not None:
            estimate += f" (standard error {self.standard_error:.4f})"
        first, second = witness.densities or (0.0, 0.0)
        kind = "density" if witness.bandwidth is not None else "probability"
        return [
            *lines,
            ("estimate", estimate),
            (
                "witness",
                f"{witness.pair}, output {_short(witness.output)}: {kind} {first:.4g} at the "
                f"database, {second:.4g} at the neighbor",
            ),
            (
                "draws",
                f"{searched_text(self.to_dict())}, {self.num_confirm} a side to confirm; "
                f"region {self.region}",
            ),
        ]

    def _histogram_lines(self, sure: str, assumed: dict[str, Any]) -> list[tuple[str, str]]:
        plan, found = assumed["plan"], "none"
        if self.estimate is not None:
            found = f"{self.estimate:.4f} in [{self.lower_bound:.4f}, {self.upper_bound:.4f}]"
        draws = (
            f"{plan['num_samples']} at each of {plan['num_inputs']} inputs, "
            f"{plan['num_intervals']} intervals; {assumed['num_failed']} of "
            f"{assumed['num_pairs']} pairs failed"
        )
        lines = [("estimate", f"{found}, {sure}"), ("assumed", assumed["text"]), ("draws", draws)]
        if assumed["p_value"] is not None:
            lines.append(("safety check", f"p = {assumed['p_value']:.3g} for the assumption"))
        return lines


def parameters_text(parameters: dict[str, Any]) -> str:
    """The parameters of a mechanism in parentheses, or nothing where there are none."""
    inside = ", ".join(
        f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in parameters.items()
    )
    return f"({inside})" if inside else ""


def _short(output: Any) -> str:
    if isinstance(output, float):
        return f"{output:.8g}"
    if isinstance(output, list):
        return "[" + ", ".join(f"{v:.4g}" for v in output) + "]"
    return str(output)
