"""Evidence from histograms. Under an assumption, the evidence implies an interval for the level."""

from dataclasses import dataclass
from typing import ClassVar, Self

from dpjax.core import validate
from dpjax.core.types import JsonObject
from dpjax.notions._epsilon import Epsilon
from dpjax.notions._levels import Renyi
from dpjax.notions._notion import Notion
from dpjax.notions._statement import Statement
from dpjax.notions.evidence._evidence import Evidence, Part, Rows, register
from dpjax.notions.evidence._local import no_events

_REFUTED = 0.05
"""Largest p-value of the safety check at which the counts contradict the assumption.

For the test of the smallest count, it is 1 minus the confidence of the plan.
"""

SAFETY_CHECK, RAREST = "safety check", "rarest count"
"""Names of the tests of an assumption: Theorem 3, and the binomial test of the smallest count."""


@register
@dataclass(frozen=True)
class HistogramLevel(Evidence):
    """Estimate of the largest level among all pairs of inputs, computed from a histogram.

    Attributes:
        estimate: Estimated level, or None if no pair has sufficient counts for an estimate.
        assumed: Assumption in words.
        p_value: P-value of the test of the assumption with the run's counts, or None if an earlier
            version of dpjax did not test it.
        status: Name of the run's `Status`.
        plan: Fields of the plan, as `Plan.to_dict` returns them.
        num_pairs: Number of compared pairs of inputs.
        num_failed: Number of pairs whose level could not be estimated.
        tested_by: Name of the test, `SAFETY_CHECK` or `RAREST`.
    """

    estimate: float | None
    assumed: str
    p_value: float | None
    status: str
    plan: JsonObject
    num_pairs: int
    num_failed: int
    tested_by: str = SAFETY_CHECK
    kind: ClassVar[str] = "histogram"
    more: ClassVar[str] = "Ask for a finer precision to obtain a narrower interval."

    @property
    def level(self) -> str:
        """Name of the estimated quantity."""
        order = self.plan["order"]
        return "LDP epsilon" if order is None else f"Renyi level of order {order:g}"

    @property
    def refuted(self) -> bool:
        """Whether the counts contradict the assumption."""
        limit = _REFUTED if self.tested_by == SAFETY_CHECK else 1 - self.plan["confidence"]
        return self.p_value is not None and self.p_value <= limit

    def answer(
        self, notion: Notion, confidence: float, distance: int, named: Notion | None
    ) -> Statement:
        """See `Evidence`.

        The argument `confidence` is ignored because the interval's confidence was planned in
        advance.
        """
        order = self.plan["order"]
        if notion != (Epsilon() if order is None else Renyi(order)):
            raise no_events(notion)
        return self.interval()

    def interval(self) -> Statement:
        """Return the statement; the interval is the estimate plus or minus the planned precision.

        If there is no estimate, the lower bound is 0.
        """
        found, precision = self.estimate, self.plan["precision"]
        if found is None:
            # Every pair has an interval without draws, so the counts imply no bound.
            return Statement(0.0, None, "histogram")
        low, high = max(0.0, found - precision), found + precision
        return Statement(low, found, "histogram", upper_bound=high)

    def rows(self, found: Statement, sure: str) -> Rows:
        """See `Evidence`."""
        plan, shown = self.plan, "none"
        if found.estimate is not None:
            shown = f"{found.estimate:.4f} in [{found.lower_bound:.4f}, {found.upper_bound:.4f}]"
        draws = (
            f"{plan['num_samples']} for each of {plan['num_inputs']} inputs, "
            f"{plan['num_intervals']} intervals; {self.num_failed} of {self.num_pairs} pairs failed"
        )
        lines = [
            ("estimate", f"{shown}, {sure} ({found.basis})"),
            ("assumed", self.assumed),
            ("draws", draws),
        ]
        if self.p_value is not None:
            lines.append((self.tested_by, f"p = {self.p_value:.3g} for the assumption"))
        return lines

    def table(self, found: Statement, sure: str) -> Rows:
        """See `Evidence`."""
        name, rows = f"{self.level}, estimate", []
        if found.estimate is None:
            rows.append((name, "none: the run failed"))
        else:
            ends = f"{found.lower_bound:.4f} to {found.upper_bound:.4f}"
            rows += [(name, f"{found.estimate:.4f}"), (f"Interval, {sure}", ends)]
        return [*rows, ("Precision", f"{self.plan['precision']:.6g}")]

    def parts(self) -> list[Part]:
        """See `Evidence`."""
        plan = self.plan
        check = "none"
        if self.p_value is not None:
            says = "contradict" if self.refuted else "do not contradict"
            check = f"p = {self.p_value:.3g}: the counts {says} the assumption"
        worth = f"Assumed: {self.assumed}. The interval is valid only if this assumption holds."
        checks = [
            (f"Test of the assumption ({self.tested_by})", check),
            ("Union bound", str(plan["bound"])),
        ]
        counts = {
            "Inputs": plan["num_inputs"],
            "Pairs compared": self.num_pairs,
            "Failed pairs (an output or interval received no draw)": self.num_failed,
            "Draws for each input": plan["num_samples"],
            "Outputs or intervals counted": plan["num_intervals"],
        }
        return [
            Part("What the interval rests on", checks, worth, numbers=False),
            Part("Inputs", [(name, f"{value:,}") for name, value in counts.items()]),
        ]

    @classmethod
    def from_plain(cls, content: JsonObject) -> Self:
        """See `Evidence`."""
        found = cls(**content)
        numbers = "precision", "num_samples", "num_inputs", "num_intervals"
        validate.positive(**{name: found.plan[name] for name in numbers})
        found.interval()
        return found
