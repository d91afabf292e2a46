"""What the stored runs of a sweep show, entry by entry: for a notebook, a page, a figure."""

import datetime
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpjax.core.errors import neutral
from dpjax.core.types import JsonObject
from dpjax.plotting import WIDTH, legend_above, literal, new_figure, svg_if_possible
from dpjax.report import Figure as Picture
from dpjax.report import Glance, Page, Section, Shown, Table, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHARES = (0.05, 0.5, 0.95)
"""Shares of the runs whose bounds are at most the shown ones."""

_LINES = 12
"""Entries of a figure; more could not be told apart."""


@dataclass(frozen=True)
class EntrySummary:
    """Stored runs of one entry.

    Attributes:
        label: Of the entry.
        mechanism: Name of the mechanism.
        num_runs: Runs of the entry.
        bounds: Lower bounds of the stored runs in increasing order, or the estimates of a method
            without bounds; values that are not finite are left out.
    """

    label: str
    mechanism: str
    num_runs: int
    bounds: tuple[float, ...]

    def quantiles(self) -> tuple[float | None, ...]:
        """The bounds at 5%, 50% and 95% of the runs; None where nothing is stored."""
        if not self.bounds:
            return (None,) * len(_SHARES)
        return tuple(np.quantile(self.bounds, _SHARES).tolist())


class Stored(Protocol):
    """Rows of a sweep; see `dpjax.sweeps.Store`."""

    spec: Any

    def contents(self) -> Any:
        """What lies among the blocks."""
        ...

    def columns(self) -> dict[str, JsonObject]:
        """Entry id -> column -> values of the stored runs."""
        ...


@dataclass(frozen=True, repr=False)
class SweepSummary(Shown):
    """What the stored runs of a sweep show; `Store.summary` makes it.

    Attributes:
        name: Of the sweep.
        entries: In their order.
    """

    name: str
    entries: tuple[EntrySummary, ...]

    @classmethod
    def of(cls, store: Stored) -> "SweepSummary":
        """The summary of a store, which may be unfinished."""
        columns = store.columns() if store.contents().finished else {}
        found = []
        for entry in store.spec.entries:
            bounds = np.empty(0)
            if entry.id in columns:
                rows = columns[entry.id]
                bounds = np.asarray(rows["lower_bound"], float)
                bounds = (
                    bounds if np.isfinite(bounds).any() else np.asarray(rows["estimate"], float)
                )
            bounds = tuple(np.sort(bounds[np.isfinite(bounds)]).tolist())
            found.append(EntrySummary(entry.label, entry.mechanism_name, entry.num_runs, bounds))
        return cls(store.spec.name, tuple(found))

    @property
    def sentence(self) -> str:
        """How far the sweep is."""
        stored = sum(len(entry.bounds) for entry in self.entries)
        return f"{stored} of {sum(entry.num_runs for entry in self.entries)} runs have a bound."

    def rows(self) -> list[tuple[str, str]]:
        """The label of each entry, and its runs and bounds in words."""
        return [
            (
                entry.label,
                f"{len(entry.bounds)} of {entry.num_runs} runs, bounds at 5%, 50% and 95% of them: "
                + ", ".join("-" if q is None else f"{q:.4f}" for q in entry.quantiles()),
            )
            for entry in self.entries
        ]

    def to_dict(self) -> JsonObject:
        """Nested dicts and lists, as JSON holds them."""
        return json.loads(json.dumps(asdict(self)))

    def _figure(self) -> "Figure":
        """The share of the runs with at most each bound, of the first twelve entries."""
        figure, axes = new_figure(size=(WIDTH, 4.5))
        for entry in [entry for entry in self.entries if entry.bounds][:_LINES]:
            axes.ecdf(entry.bounds, label=literal(entry.label))
        axes.set(xlabel="lower bound", ylabel="share of the runs")
        legend_above(axes)
        return figure

    def _document(self, path: Path) -> tuple[Page, dict[Path, str | bytes]]:
        said = "Which share of the runs has at most each bound."
        drawn = svg_if_possible(SweepSummary._figure, self, self.name, said)
        rows = [
            (
                entry.label,
                f"{len(entry.bounds)} of {entry.num_runs}",
                *("-" if q is None else f"{q:.4f}" for q in entry.quantiles()),
            )
            for entry in self.entries
        ]
        figures = () if drawn is None else (Picture(said, drawn),)
        table = Table(rows, ("Entry", "Runs", *(f"Bound at {share:.0%}" for share in _SHARES)))
        page = Page(
            f"Sweep {self.name}",
            Verdict("estimate", "Bounds of many audits", self.sentence),
            (Section("Bounds", (), figures, table),),
            f"Written on {datetime.date.today().isoformat()} by dpjax.",
            self.to_dict(),
        )
        return page, {}

    def _glance(self) -> Glance:
        verdict = Verdict("estimate", f"Sweep {self.name}", self.sentence)
        return Glance(self.name, verdict, self.rows())

    def __repr__(self) -> str:
        return neutral(f"SweepSummary({self.name}: {self.sentence})")

    def __str__(self) -> str:
        lines = [f"Sweep {self.name}: {self.sentence}"]
        return "\n".join(map(neutral, [*lines, *(f"  {a}: {b}" for a, b in self.rows())]))
