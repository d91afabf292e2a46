"""The result of an empirical privacy estimate: arrays, sentences, JSON."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpjax.core.errors import neutral
from dpjax.empirical._bandwidth import VariableBandwidth
from dpjax.empirical._checks import CoverageCheck, IndependenceCheck
from dpjax.empirical._density import Density
from dpjax.empirical._figures import plot_empirical
from dpjax.empirical._parts import Bucket, Estimated
from dpjax.empirical._report import empirical_document, verdict_of
from dpjax.report import Glance, Page, Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class EmpiricalPrivacy(Estimated, Shown):
    """Empirical differential privacy of a query on given databases.

    Attributes:
        queries: The query, or the queries of a joint one, in words.
        individuals: [I] labels of the individuals.
        epsilons: [E] privacy levels.
        deltas: [I, E] failure probability of each individual at each epsilon.
        delta: [E] the largest over the individuals.
        delta_error: [E] the standard error of delta over the choice of databases, or None.
        total_risk: [E] 1 - prod (1 - delta_i), the chance that somebody's privacy fails.
        epsilon_at_zero: Smallest epsilon at which no delta_i is above `tolerance`; may be infinite.
        tolerance: What counts as 0 there.
        density: As chosen, so that it can be asked for again; None with an adversary, whose
            buckets each have their own.
        log_likelihood: That of the density, mean and leave-one-database-out; NaN where not known.
        integration_error: Error of the integrals behind `deltas`: 0 where in closed form.
        num_databases: Number of databases.
        independence: Tests of independence, one per query.
        coverage: In how many databases the individuals appear.
        buckets: The adversary's buckets; without an adversary, none.
        notes: Sentences about data and method that a reader must know.
        results: [S, d] the query's results with everybody.
        results_without_worst: [S, d] the same without the individual of the largest delta.
        settings: The arguments that the numbers depend on, and the versions of what made them.

    References:
        Burchard, Daoud, Dotterrer 2020, Theorem 1 and Definitions 2 to 4.
    """

    def to_json(self, indent: int | None = None) -> str:
        """The result as strict JSON; numbers that are not finite become 'inf' and 'nan'."""
        return super().to_json(indent)

    @classmethod
    def from_json(cls, text: str) -> "EmpiricalPrivacy":
        """The result that `to_json` wrote.

        Raises:
            ValueError: The text is not such JSON.
        """
        data: Any = json.loads(text)
        names = {f.name for f in fields(cls)}
        if not isinstance(data, dict) or set(data) != names:
            raise ValueError("text must be JSON that EmpiricalPrivacy.to_json wrote.")
        arrays = ("epsilons", "deltas", "delta", "total_risk", "results", "results_without_worst")
        for name in arrays if data["delta_error"] is None else (*arrays, "delta_error"):
            data[name] = np.asarray(data[name], float)
        for name in ("epsilon_at_zero", "integration_error", "tolerance", "log_likelihood"):
            data[name] = float(data[name])
        if data["density"] is not None:
            density = data["density"]
            if isinstance(density["bandwidth"], dict):
                density["bandwidth"] = VariableBandwidth(**density["bandwidth"])
            data["density"] = Density(**density)
        data["coverage"] = CoverageCheck(**data["coverage"])
        p_values = ("runs_p_value", "autocorrelation", "autocorrelation_p_value", "p_value")
        data["independence"] = tuple(
            IndependenceCheck(**c | {p: float(c[p]) for p in p_values})
            for c in data["independence"]
        )
        data["buckets"] = tuple(Bucket(**b | {"delta": tuple(b["delta"])}) for b in data["buckets"])
        for name in ("queries", "individuals", "notes"):
            data[name] = tuple(data[name])
        return cls(**data)

    def _figure(self) -> "Figure":
        return plot_empirical(self)

    def _document(self, path: Path) -> tuple[Page, dict[Path, str | bytes]]:
        return empirical_document(self, path)

    def _glance(self) -> Glance:
        title, sentence = (
            f"Empirical privacy of {' and '.join(self.queries)}",
            self.vanishing_sentence(),
        )
        rows = [
            (f"delta at epsilon = {epsilon:.4g}", f"{delta:.3e}, total risk {risk:.3e}")
            for epsilon, delta, _, risk, _ in self.curve(5)
        ]
        return Glance(title, verdict_of(self, sentence, title), rows)

    def __repr__(self) -> str:
        return neutral(
            f"EmpiricalPrivacy({' and '.join(self.queries)}: {len(self.individuals)} individuals, "
            f"{self.num_databases} databases, delta at {self.epsilons.min():g} "
            f"{float(self.delta[int(np.argmin(self.epsilons))]):.3e})"
        )

    def __str__(self) -> str:
        """A page: the table over epsilon, the ranking, the checks and the notes."""
        lines = [
            f"Empirical privacy of {' and '.join(self.queries)}: "
            f"{len(self.individuals)} individuals, {self.num_databases} databases",
            f"density: {self.density or 'one for each bucket'}",
            "",
            "   epsilon       delta  total risk"
            + ("" if self.delta_error is None else "  standard error of delta"),
        ]
        for epsilon, delta, error, risk, _ in self.curve(9):
            lines.append(
                f"{epsilon:10.4g}  {delta:10.3e}  {risk:10.3e}"
                + ("" if error is None else f"  {error:10.3e}")
            )
        lines += ["", self.vanishing_sentence(), "", f"largest delta at {self.epsilons.min():g}:"]
        for individual, delta in self.ranking()[:5]:
            lines.append(f"  {individual!s:<24} {delta:.3e}")
        for bucket in self.buckets:
            lines.append(
                f"given {bucket.label} ({bucket.num_databases} databases): delta from "
                f"{max(bucket.delta):.3e} to {min(bucket.delta):.3e}"
            )
        lines += ["", *(f"independence: {check}" for check in self.independence)]
        lines.append(f"coverage: {self.coverage}")
        if self.integration_error:
            lines.append(f"integrals: error about {self.integration_error:.1e} in each delta")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(map(neutral, lines))
