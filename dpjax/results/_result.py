"""The result of an audit: what was found, how sure it is, and how to do it again."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VIOLATED, NOT_REFUTED, NO_CLAIM = "violated", "not refuted", "no claim"

ASSUMPTION_REFUTED = "assumption refuted"
"""Of histogram audits alone: their interval says nothing then."""


@dataclass(frozen=True)
class Witness:
    """Where the loss was found largest: a pair, an output, and the densities there.

    Attributes:
        pair: Label of the pair.
        database: The database, as nested lists.
        neighbor: Its neighbor.
        output: An outcome (integer or label), a real, or a list of reals.
        densities: Confirmed densities or probabilities at the database and at the neighbor, before
            truncation.
        larger: "database" or "neighbor", the side where the output is likelier.
        on_floor: Whether the search stage saw one of the densities at the floor.
        floor: tau.
        event: The event that is counted for an exact bound, in words.
        event_counts: How often it happened at the database and at the neighbor.
        bandwidth: h of the confirm stage; None for outcomes.
    """

    pair: str
    database: Any
    neighbor: Any
    output: Any
    densities: tuple[float, float]
    larger: str
    on_floor: bool
    floor: float
    event: str
    event_counts: tuple[int, int]
    bandwidth: float | None


@dataclass(frozen=True)
class AuditResult:
    """What an audit found. Plain numbers and texts: it serialises to JSON and back.

    Attributes:
        lower_bound: Epsilon is at least this, with the stated confidence.
        estimate: The loss at the witness, from the fresh draws of the confirm stage (None where it
            is infinite).
        confidence: Of the lower bound.
        verdict: "violated", "not refuted" or "no claim".
        sentence: The verdict in words.
        claim: The epsilon that was claimed, or None.
        witness: Where the loss is largest.
        bound: "normal" (asymptotic) or "exact binomial" (any sample size).
        standard_error: Of the estimate; None where the bound is exact.
        mechanism: Name, function or file.
        parameters: Of the mechanism.
        pair_estimates: (label, estimate) of every pair, largest first.
        region: The region C in words.
        num_samples: n at each side of each pair.
        num_confirm: N at each side of the witness's pair.
        seed: Integer seed, or the words of the key.
        settings: All that changes the answer.
        notes: What a reader should know besides.
        curve: Points, densities on both sides and losses of the witness's pair, or None.
        replay: Pairs and region as `dpjax.rerun` takes them; None for recorded outputs.
        versions: Of dpjax and what it stands on.
        device: Where it ran.
        seconds: Wall time, compilation included.
    """

    lower_bound: float
    estimate: float | None
    confidence: float
    verdict: str
    sentence: str
    claim: float | None
    witness: Witness
    bound: str
    standard_error: float | None
    mechanism: str
    parameters: dict[str, Any]
    pair_estimates: tuple[tuple[str, float], ...]
    region: str
    num_samples: int
    num_confirm: int
    seed: Any
    settings: dict[str, Any]
    notes: tuple[str, ...] = ()
    curve: dict[str, list] | None = field(default=None, repr=False)
    replay: dict[str, Any] | None = field(default=None, repr=False)
    versions: dict[str, str] = field(default_factory=dict, repr=False)
    device: str = ""
    seconds: float = 0.0

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
                witness[name] = tuple(witness[name])
            pairs = tuple((label, value) for label, value in content.pop("pair_estimates"))
            notes = tuple(content.pop("notes"))
            return cls(witness=Witness(**witness), pair_estimates=pairs, notes=notes, **content)
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
            raise ValueError(f"text is not an audit result of dpjax: {error!r}.") from error

    def row(self) -> dict[str, Any]:
        """One row of a table: the numbers without the settings."""
        names = (
            "mechanism",
            "claim",
            "lower_bound",
            "estimate",
            "confidence",
            "verdict",
            "seconds",
        )
        return {**{name: getattr(self, name) for name in names}, "pair": self.witness.pair}

    def plot(self, path: str | Path | None = None) -> Any:
        """Draws densities and loss over the region with the witness (needs matplotlib).

        Args:
            path: A file to write (png, svg or pdf), or None.

        Returns:
            The matplotlib figure.
        """
        from dpjax.plotting import plot_audit

        return plot_audit(self, path)

    def __str__(self) -> str:
        witness = self.witness
        estimate = "infinite" if self.estimate is None else f"{self.estimate:.4f}"
        if self.witness.on_floor:
            estimate = "none, since a density is at the floor"
        error = (
            "" if self.standard_error is None else f" (standard error {self.standard_error:.4f})"
        )
        first, second = witness.densities
        kind = "density" if witness.bandwidth is not None else "probability"
        lines = [
            f"{self.mechanism}{parameters_text(self.parameters)}",
            f"  {self.verdict.upper()}: {self.sentence}",
            f"  lower bound  {self.lower_bound:.4f}, confidence {self.confidence:g} ({self.bound})",
            f"  estimate     {estimate}{error}",
            f"  witness      {witness.pair}, output {_short(witness.output)}: {kind} {first:.4g} "
            f"at the database, {second:.4g} at the neighbor",
            f"  draws        {self.num_samples} a side and pair to search "
            f"({len(self.pair_estimates)} pairs), {self.num_confirm} a side to confirm; region "
            f"{self.region}",
        ]
        lines += [f"  note         {note}" for note in self.notes]
        return "\n".join(lines)


def judge(
    lower_bound: float, claim: float | None, confidence: float, delta: float = 0.0
) -> tuple[str, str]:
    """The verdict on a claim, and a sentence that says no more than what was shown."""
    at_delta = f" at delta = {delta:g}" if delta else ""
    sure = f"With confidence {confidence:g}, epsilon{at_delta} is at least {lower_bound:.4f}"
    if claim is None:
        return NO_CLAIM, (f"{sure}; no claim was given to compare with.")
    if lower_bound > claim:
        return VIOLATED, (f"{sure}, above the claimed {claim:g}.")
    return NOT_REFUTED, (
        f"{sure}, which does not contradict the claimed {claim:g}. This is no proof of the claim: "
        "other pairs, other outputs and events too rare for these draws were not seen."
    )


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
