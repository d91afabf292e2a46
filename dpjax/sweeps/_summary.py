"""What the stored runs of a sweep show, entry by entry: for a notebook, a page, a figure."""

import datetime
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dpjax.core.errors import neutral
from dpjax.core.files import write_whole
from dpjax.core.types import JsonObject

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
class SweepSummary:
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

    def to_json(self, indent: int | None = 2) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draws which share of the runs has at most each bound, of the first twelve entries.

        Args:
            path: A file to write (png, svg or pdf), or None.

        Returns:
            The matplotlib figure.
        """
        from dpjax.plotting import WIDTH, legend_above, literal, new_figure, save_figure

        figure, axes = new_figure(size=(WIDTH, 4.5))
        for entry in [entry for entry in self.entries if entry.bounds][:_LINES]:
            axes.ecdf(entry.bounds, label=literal(entry.label))
        axes.set(xlabel="lower bound", ylabel="share of the runs")
        legend_above(axes)
        if path is not None:
            save_figure(figure, path)
        return figure

    def report(self, path: str | Path) -> Path:
        """Writes a page that can be handed on (html or md; needs jinja2); returns the path."""
        from dpjax.plotting import svg_if_possible
        from dpjax.report import (
            Figure,
            Page,
            Section,
            Table,
            Verdict,
            check_report_path,
            render,
        )

        path, said = check_report_path(path), "Which share of the runs has at most each bound."
        drawn = svg_if_possible(SweepSummary.plot, self, self.name, said)
        rows = [
            (
                entry.label,
                f"{len(entry.bounds)} of {entry.num_runs}",
                *("-" if q is None else f"{q:.4f}" for q in entry.quantiles()),
            )
            for entry in self.entries
        ]
        figures = () if drawn is None else (Figure(said, drawn),)
        table = Table(rows, ("Entry", "Runs", *(f"Bound at {share:.0%}" for share in _SHARES)))
        page = Page(
            f"Sweep {self.name}",
            Verdict("estimate", "Bounds of many audits", self.sentence),
            (Section("Bounds", (), figures, table),),
            f"Written on {datetime.date.today().isoformat()} by dpjax.",
            self.to_dict(),
        )
        write_whole({path: render(page, path.suffix.lower())})
        return path

    def _repr_html_(self) -> str:
        """What a notebook shows: the bounds and, with matplotlib, a figure."""
        from dpjax.plotting import svg_if_possible
        from dpjax.report import notebook_html

        svg = svg_if_possible(SweepSummary.plot, self, self.name, self.sentence)
        return notebook_html("estimate", f"Sweep {self.name}", self.sentence, self.rows(), svg)

    def __repr__(self) -> str:
        return neutral(f"SweepSummary({self.name}: {self.sentence})")

    def __str__(self) -> str:
        lines = [f"Sweep {self.name}: {self.sentence}"]
        return "\n".join(map(neutral, [*lines, *(f"  {a}: {b}" for a, b in self.rows())]))
