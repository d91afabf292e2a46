"""The result of an empirical privacy estimate: its arrays, descriptions and JSON."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpjax.core.errors import neutral
from dpjax.empirical._bandwidth import VariableBandwidth
from dpjax.empirical._checks import CoverageCheck, IndependenceCheck
from dpjax.empirical._density import Density
from dpjax.empirical._figures import plot_empirical
from dpjax.empirical._parts import Bucket, Estimated, as_tuples
from dpjax.empirical._report import doubt_of, empirical_document, verdict_of
from dpjax.report import Glance, Page, Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class EmpiricalPrivacy(Estimated, Shown):
    """Empirical differential privacy of a query on given databases.

    Attributes:
        queries: Description of the query, or of each part of a joint query.
        individuals: Labels of the I individuals.
        epsilons: Privacy levels at which the deltas were computed, [E].
        deltas: Failure probability delta_i of each individual at each epsilon, [I, E].
        delta: Largest delta over all individuals at each epsilon, [E].
        delta_error: Float [E], the standard error of `delta` due to the choice of databases, or
            None if `uncertainty` was False.
        total_risk: Float [E], the probability at each epsilon that the privacy of at least one
            individual fails: 1 - prod_i (1 - delta_i).
        epsilon_at_zero: Smallest epsilon, possibly infinite, at which no delta_i exceeds
            `tolerance`.
        tolerance: Largest delta that is treated as 0 in `epsilon_at_zero`.
        density: The chosen density, which can be passed to another call of `empirical_privacy`, or
            None if there is an adversary, because each bucket then has its own density.
        log_likelihood: Mean log density of all results, or NaN if it was not computed. The results
            from each database are scored under a density fitted to the other databases.
        integration_error: Error of numerical integration in `deltas`; 0 if the integrals have a
            closed form.
        num_databases: Number of databases.
        independence: Tests of independence, one per query.
        coverage: Summary of the number of databases in which each individual appears.
        buckets: Buckets of the adversary's knowledge, or () if there is no adversary.
        notes: Important remarks about the data and the method, one sentence each.
        results: Results of d queries with all individuals present, one row per sample, [S, d].
        results_without_worst: Results without the individual whose delta is largest, [S, d].
        settings: Arguments on which the results depend, and versions of the software.

    References:
        Burchard, Daoud, Dotterrer 2020, Theorem 1 and Definitions 2 to 4.
    """

    def to_json(self, indent: int | None = None) -> str:
        """Return strict JSON; non-finite floats are written as strings such as 'inf' and 'nan'."""
        return super().to_json(indent)

    @classmethod
    def from_json(cls, text: str) -> "EmpiricalPrivacy":
        """Read a result from JSON written by `to_json`.

        Raises:
            ValueError: If the text was not written by `to_json`.
        """
        data: object = json.loads(text)
        names = {f.name for f in fields(cls)}
        if not isinstance(data, dict) or set(data) != names:
            raise ValueError("text must be JSON written by EmpiricalPrivacy.to_json.")
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
            data[name] = as_tuples(data[name])
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
            (f"delta at epsilon = {epsilon:.4g}", f"{delta:.4g}, total risk {risk:.4g}")
            for epsilon, delta, _, risk, _ in self.curve(5)
        ]
        return Glance(title, verdict_of(self, sentence, title), rows)

    def __repr__(self) -> str:
        return neutral(
            f"EmpiricalPrivacy({' and '.join(self.queries)}: {len(self.individuals)} individuals, "
            f"{self.num_databases} databases, delta at {self.epsilons.min():g} "
            f"{float(self.delta[int(np.argmin(self.epsilons))]):.4g})"
        )

    def __str__(self) -> str:
        lines = [
            f"Empirical privacy of {' and '.join(self.queries)}: "
            f"{len(self.individuals)} individuals, {self.num_databases} databases",
            *([] if (doubt := doubt_of(self)) is None else [f"DOUBTFUL: {doubt}"]),
            f"density: {self.density or 'one for each bucket'}",
            "",
            "   epsilon       delta  total risk"
            + ("" if self.delta_error is None else "  standard error of delta"),
        ]
        for epsilon, delta, error, risk, _ in self.curve(9):
            lines.append(
                f"{epsilon:10.4g}  {delta:10.4g}  {risk:10.4g}"
                + ("" if error is None else f"  {error:10.4g}")
            )
        lines += [
            "",
            self.vanishing_sentence(),
            "",
            f"individuals by delta at epsilon = {self.epsilons.min():g}:",
        ]
        for individual, delta in self.ranking()[:5]:
            lines.append(f"  {individual!s:<24} {delta:.4g}")
        for bucket in self.buckets:
            lines.append(
                f"given {bucket.label} ({bucket.num_databases} databases): delta from "
                f"{max(bucket.delta):.4g} to {min(bucket.delta):.4g}"
            )
        lines += ["", *(f"independence: {check}" for check in self.independence)]
        lines.append(f"coverage: {self.coverage}")
        if self.integration_error:
            lines.append(f"integrals: error about {self.integration_error:.1e} in each delta")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(map(neutral, lines))
