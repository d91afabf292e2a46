"""Summary of a sweep's stored runs by entry, for a notebook, a page or a figure."""

import json
import math
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpjax.core.errors import Status, neutral
from dpjax.core.types import JsonObject
from dpjax.plotting import (
    SERIES,
    WIDTH,
    legend_above,
    literal,
    new_figure,
    svg_if_possible,
    unboxed,
)
from dpjax.report import Figure as Picture
from dpjax.report import Glance, Page, Section, Shown, Table, Verdict, written
from dpjax.results import ASSUMPTION_REFUTED, DOUBTFUL
from dpjax.sweeps._entry import Entry
from dpjax.sweeps._folder import Contents
from dpjax.sweeps._spec import SweepSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHARES = (0.05, 0.5, 0.95)
"""Levels of the quantiles that a table of bounds shows."""

_LABEL = 34

_LINES = 12
"""Maximum number of entries in a figure; the lines of more entries would look alike."""


@dataclass(frozen=True)
class EntrySummary:
    """Summary of the stored runs of one entry.

    Attributes:
        label: Label of the entry. If multiple entries have this label, the parameters that differ
            between these entries are added to the label.
        mechanism: Name of the mechanism.
        num_runs: Number of runs of the entry.
        bounds: Finite lower bounds from the stored runs, in increasing order; estimates if the
            method provides no bounds.
        claim: Claimed level to compare with every run, or None if there is no claim or the claim is
            a curve.
    """

    label: str
    mechanism: str
    num_runs: int
    bounds: tuple[float, ...]
    claim: float | None = None

    @property
    def margin(self) -> float | None:
        """Median bound minus claim, or None if there is no bound or no claim."""
        median = self.quantiles()[1]
        return None if median is None or self.claim is None else median - self.claim

    def cells(self) -> tuple[str, ...]:
        """Return a table row of strings for the columns in `SweepSummary.head`."""
        numbers = [*self.quantiles(), self.margin]
        texts = ["-" if number is None else f"{number:.4f}" for number in numbers]
        above, claim = "-", "-"
        if self.claim is not None:
            claim = f"{self.claim:g}"
            above = str(sum(bound > self.claim for bound in self.bounds))
        return (
            self.label,
            f"{len(self.bounds)} of {self.num_runs}",
            *texts[:3],
            claim,
            texts[3],
            above,
        )

    def quantiles(self) -> tuple[float | None, ...]:
        """Return the 5%, 50% and 95% quantiles of the bounds; each is None if no run is stored."""
        if not self.bounds:
            return (None,) * len(_SHARES)
        return tuple(np.quantile(self.bounds, _SHARES).tolist())


class Stored(Protocol):
    """The part of `dpjax.sweeps.Store` that a summary uses."""

    spec: SweepSpec

    def contents(self) -> Contents:
        """Return the files of the store, divided into classes."""
        ...

    def columns(self) -> dict[str, JsonObject]:
        """Return, for each entry's id, the stored runs as a dictionary of columns."""
        ...


@dataclass(frozen=True, repr=False)
class SweepSummary(Shown):
    """Summary of a sweep's stored runs, as returned by `Store.summary`.

    Attributes:
        name: Name of the sweep.
        entries: Summaries of the entries, in the order of the sweep.
    """

    name: str
    entries: tuple[EntrySummary, ...]

    @classmethod
    def of(cls, store: Stored) -> "SweepSummary":
        """Summarize the stored runs of a sweep; the sweep may be unfinished."""
        columns = store.columns() if store.contents().finished else {}
        found = []
        for label, entry in zip(_labels(store.spec), store.spec.entries, strict=True):
            bounds = np.empty(0)
            if entry.id in columns:
                rows = columns[entry.id]
                bounds = np.asarray(rows["lower_bound"], float)
                if not np.isfinite(bounds).any():
                    bounds = np.asarray(rows["estimate"], float)
                # Failed and doubtful runs, and runs whose assumption was refuted, have no bound.
                verdicts = np.asarray(rows["verdict"], object)
                bounds = bounds[
                    (np.asarray(rows["status"]) == Status.OK.name)
                    & (verdicts != ASSUMPTION_REFUTED)
                    & (verdicts != DOUBTFUL)
                ]
            bounds = tuple(np.sort(bounds[np.isfinite(bounds)]).tolist())
            claim = float(entry.claim) if isinstance(entry.claim, int | float) else None
            names = label, entry.mechanism_name
            found.append(EntrySummary(*names, entry.num_runs, bounds, claim))
        return cls(store.spec.name, tuple(found))

    @property
    def head(self) -> tuple[str, ...]:
        """Names of the columns of `table`."""
        quantiles = [f"{share:.0%}" if share != 0.5 else "median" for share in _SHARES]
        claimed = ("claim", "margin", "above") if self._is_claimed else ()
        return ("entry", "runs", *quantiles, *claimed)

    @property
    def table(self) -> list[tuple[str, ...]]:
        """Rows of the table, one per entry, in decreasing order of margin."""
        order = sorted(self.entries, key=lambda e: math.inf if e.margin is None else -e.margin)
        return [entry.cells()[: len(self.head)] for entry in order]

    @property
    def _is_claimed(self) -> bool:
        return any(entry.claim is not None for entry in self.entries)

    @property
    def sentence(self) -> str:
        """Sentence about the progress of the sweep."""
        stored = sum(len(entry.bounds) for entry in self.entries)
        return f"{stored} of {sum(entry.num_runs for entry in self.entries)} runs have a bound."

    def rows(self) -> list[tuple[str, str]]:
        """Return two strings per entry: its label, and a description of its runs and bounds."""
        return [
            (
                entry.label,
                f"{len(entry.bounds)} of {entry.num_runs} runs; quantiles of the bounds "
                "(5%, 50%, 95%): "
                + ", ".join("-" if q is None else f"{q:.4f}" for q in entry.quantiles()),
            )
            for entry in self.entries
        ]

    def to_dict(self) -> JsonObject:
        """Return the summary as nested dictionaries and lists for JSON."""
        return json.loads(json.dumps(asdict(self)))

    def _figure(self) -> "Figure":
        figure, axes = new_figure(size=(WIDTH, 3.6))
        drawable = [entry for entry in self.entries if entry.bounds][:_LINES]
        for place, entry in enumerate(drawable):
            # The second half of the entries has the same colors, with dashed lines.
            style = {"color": SERIES[place % len(SERIES)], "linestyle": "-"}
            if place >= len(SERIES):
                style["linestyle"] = "--"
            drawn = axes.ecdf(entry.bounds, label=literal(entry.label), **style)
            if entry.claim is not None:
                axes.axvline(entry.claim, color=drawn.get_color(), linestyle=":", linewidth=1)
        name = "lower bound (dotted: the claim)" if self._is_claimed else "lower bound"
        axes.set(xlabel=name, ylabel="share of the runs")
        unboxed(axes)
        legend_above(axes)
        return figure

    def _document(self, path: Path) -> tuple[Page, dict[Path, str | bytes]]:
        said = "Share of the runs with a bound at or below the value on the horizontal axis."
        drawn = svg_if_possible(self._figure, self.name, said)
        figures = () if drawn is None else (Picture(said, drawn),)
        words = [
            "Each run is a separate audit. The percentage columns and the median column show "
            "quantiles of the bounds."
        ]
        if self._is_claimed:
            words.append(
                "Entries are sorted by their margin, the median bound minus the claim. The last "
                "column is the number of runs whose bound is above the claim."
            )
        table = Table(self.table, tuple(name.capitalize() for name in self.head))
        page = Page(
            f"Sweep {self.name}",
            Verdict("estimate", "Bounds of many audits", self.sentence),
            (Section("Bounds", tuple(words), figures, table),),
            written(),
            self.to_dict(),
        )
        return page, {}

    def _glance(self) -> Glance:
        verdict = Verdict("estimate", f"Sweep {self.name}", self.sentence)
        return Glance(self.name, verdict, self.rows())

    def __repr__(self) -> str:
        return neutral(f"SweepSummary({self.name}: {self.sentence})")

    def __str__(self) -> str:
        rows = [self.head, *self.table]
        rows = [(shorten(row[0], _LABEL), *row[1:]) for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if place == 0 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        return "\n".join(map(neutral, [f"Sweep {self.name}: {self.sentence}", *lines]))


def _labels(spec: SweepSpec) -> list[str]:
    """Return the label of each entry; if labels are equal, add the parameters that differ."""
    same = defaultdict(list)
    for entry in spec.entries:
        same[entry.label].append(entry)
    labels = {}
    for label, entries in same.items():
        values = [_values(entry) for entry in entries] if len(entries) > 1 else [{}]
        for entry, own in zip(entries, values, strict=True):
            labels[entry.id] = " ".join([label, *_differing(own, values)])
    return [labels[entry.id] for entry in spec.entries]


def _values(entry: Entry) -> JsonObject:
    claim = {"claim": entry.claim} if isinstance(entry.claim, int | float) else {}
    return {**entry.to_dict()["parameters"], **claim}


def _differing(own: JsonObject, same: list[JsonObject]) -> list[str]:
    """Return "name=value" for each value in `own` that differs from a value in `same`."""
    return [
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in own.items()
        if any(other.get(name) != value for other in same)
    ]


def shorten(text: str, most: int) -> str:
    """Truncate a text of more than `most` characters; a truncated text ends with an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
