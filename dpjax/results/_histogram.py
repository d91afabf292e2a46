"""The result of a histogram audit: a level with its precision, and what that rests on."""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from dpjax.results._result import parameters_text


@dataclass(frozen=True)
class HistogramAudit:
    """What a histogram audit found. Plain numbers and texts.

    Attributes:
        estimate: The LDP epsilon (or Renyi level); None where the run failed.
        lower_bound: estimate - precision, at least 0; None where the run failed.
        upper_bound: estimate + precision; None where the run failed.
        precision: Half the width of the interval between them.
        confidence: Least probability that the truth lies between them, if the assumption is true.
        order: alpha of a Renyi level, or None for LDP.
        status: "OK" or "EMPTY_INTERVAL".
        verdict: "violated", "not refuted", "no claim" or "assumption refuted".
        sentence: The verdict, or why there is none, in words.
        claim: The level that was claimed, or None.
        witness: The two inputs with the largest level, as nested lists.
        num_pairs: Pairs that were compared.
        num_failed: Pairs with an empty interval.
        assumption: What the guarantee rests on, in words.
        safety_p_value: Of the assumption, by the counts of this run (Theorem 3); None where there
            are no densities, or too few samples to say.
        plan: Samples, intervals and inputs.
        blind_spot: What no black-box audit can rule out.
        mechanism: Name, or function.
        parameters: Of the mechanism.
        seed: Integer seed, or the words of the key.
        settings: What changes the answer besides: the inputs, the ends of the output interval,
            the float type and the generator.
        versions: Of dpjax and what it stands on.
        device: Where it ran.
        seconds: Wall time, compilation included.
    """

    estimate: float | None
    lower_bound: float | None
    upper_bound: float | None
    precision: float
    confidence: float
    order: float | None
    status: str
    verdict: str
    sentence: str
    claim: float | None
    witness: Any
    num_pairs: int
    num_failed: int
    assumption: str
    safety_p_value: float | None
    plan: dict[str, Any]
    blind_spot: str
    mechanism: str
    parameters: dict[str, Any]
    seed: Any
    settings: dict[str, Any] = field(repr=False)
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
    def from_json(cls, text: str) -> "HistogramAudit":
        """The result that `to_json` wrote.

        Raises:
            ValueError: The text is not such a result.
        """
        try:
            return cls(**json.loads(text))
        except (TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"text is not a histogram audit of dpjax: {error!r}.") from error

    def row(self) -> dict[str, Any]:
        """One row of a table: the numbers without the settings."""
        names = (
            "mechanism",
            "claim",
            "lower_bound",
            "estimate",
            "upper_bound",
            "precision",
            "confidence",
            "order",
            "verdict",
            "status",
            "seconds",
        )
        return {name: getattr(self, name) for name in names}

    @property
    def level_name(self) -> str:
        """What was estimated, in words."""
        return "LDP epsilon" if self.order is None else f"Renyi level of order {self.order:g}"

    def __str__(self) -> str:
        found = "none"
        if self.estimate is not None:
            found = f"{self.estimate:.4f} in [{self.lower_bound:.4f}, {self.upper_bound:.4f}]"
        lines = [
            f"{self.mechanism}{parameters_text(self.parameters)}",
            f"  {self.verdict.upper()}: {self.sentence}",
            f"  {self.level_name:<12} {found}, confidence {self.confidence:g}",
            f"  assumed      {self.assumption}",
            f"  draws        {self.plan['num_samples']} at each of {self.plan['num_inputs']} "
            f"inputs, {self.plan['num_intervals']} intervals; {self.num_failed} of "
            f"{self.num_pairs} pairs failed",
        ]
        if self.safety_p_value is not None:
            lines.append(f"  safety check p = {self.safety_p_value:.3g} for the assumption")
        return "\n".join([*lines, "", self.blind_spot])
