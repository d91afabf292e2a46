"""The sweeps behind the figures and tables of the histogram paper.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Figures 3 and 7, Tables II to V.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dpjax.mechanisms import TruncatedLaplace
from dpjax.methods.histogram import midpoints
from dpjax.methods.histogram._estimate import all_pairs_of
from dpjax.sweeps._cell import Cell, HistogramSettings
from dpjax.sweeps._plain import chosen_parts

HISTOGRAM_CASES = {"figure3": (1.0, 91, None), "figure7": (2.0, 81, 2.0)}
"""Figure -> scale B, planned m for the precision 0.5 (Tables III and V), and order."""


class PracticalSize(NamedTuple):
    """A row of Table III or V: the n that the authors found to be enough in practice.

    Attributes:
        table: "table3" (LDP) or "table5" (Renyi).
        scale: B of the truncated Laplace.
        precision: gamma.
        num_intervals: m.
        printed: Their practical n.
    """

    table: str
    scale: float
    precision: float
    num_intervals: int
    printed: int

    @property
    def order(self) -> float | None:
        """alpha, or None for LDP."""
        return None if self.table == "table3" else 2.0

    @property
    def confidence(self) -> float:
        """Share of runs that must be within the precision."""
        return 0.8 if self.table == "table3" else 0.9

    @property
    def label(self) -> str:
        """How the labels of its cells begin."""
        return f"{self.table} B={self.scale:.4g} precision={self.precision:g}"


PRACTICAL = [
    PracticalSize("table3", 2.0, 1.0, 6, 56),
    PracticalSize("table3", 2.0, 0.5, 12, 262),
    PracticalSize("table3", 2.0, 0.1, 56, 25_600),
    PracticalSize("table3", 2.0, 0.05, 112, 208_000),
    PracticalSize("table3", 1 / 0.7, 1.0, 12, 112),
    PracticalSize("table3", 1 / 0.7, 0.5, 23, 575),
    PracticalSize("table3", 1 / 0.7, 0.1, 114, 68_000),
    PracticalSize("table3", 1 / 0.7, 0.05, 228, 500_000),
    PracticalSize("table3", 1.0, 1.0, 46, 625),
    PracticalSize("table3", 1.0, 0.5, 91, 4_000),
    PracticalSize("table3", 1.0, 0.1, 455, 460_000),
    PracticalSize("table3", 1.0, 0.05, 909, 3_300_000),
    PracticalSize("table3", 0.5, 1.0, 100, 2_600),
    PracticalSize("table3", 0.5, 0.5, 200, 15_600),
    PracticalSize("table3", 0.5, 0.1, 1_000, 1_500_000),
    PracticalSize("table3", 0.5, 0.05, 2_000, 12_000_000),
    PracticalSize("table5", 5.0, 1.0, 3, 56),
    PracticalSize("table5", 5.0, 0.5, 6, 56),
    PracticalSize("table5", 5.0, 0.1, 29, 831),
    PracticalSize("table5", 3.0, 1.0, 10, 56),
    PracticalSize("table5", 3.0, 0.5, 20, 150),
    PracticalSize("table5", 3.0, 0.1, 97, 2_556),
    PracticalSize("table5", 2.0, 1.0, 41, 293),
    PracticalSize("table5", 2.0, 0.5, 81, 650),
    PracticalSize("table5", 2.0, 0.1, 403, 9_812),
    PracticalSize("table5", 1.5, 1.0, 195, 1_800),
    PracticalSize("table5", 1.5, 0.5, 389, 3_962),
    PracticalSize("table5", 1.5, 0.1, 1_945, 45_875),
]


def histogram_figures(runs: int, only: Iterable[str], quick: bool) -> list[Cell]:
    """Estimates against n at the planned number of intervals: LDP (Figure 3), Renyi (Figure 7)."""
    cells = []
    for name in chosen_parts(only, HISTOGRAM_CASES):
        scale, m, order = HISTOGRAM_CASES[name]
        for size in np.unique(
            np.geomspace(4 * m, 100_000, 3 if quick else 12).astype(int)
        ).tolist():
            cells.append(_histogram_cell(f"{name} n={size}", scale, m, size, (0, 1), order, runs))
    return cells


def histogram_tables(runs: int, only: Iterable[str], quick: bool) -> list[Cell]:
    """All pairs of mid-points: LDP at B = 1 (Table II), Renyi of order 2 at B = 3.5 (Table IV).

    Table II also has 18 pairs one by one, as in the paper.
    """
    share = 100 if quick else 1
    cells = []
    for name in chosen_parts(only, ("table2", "table4")):
        scale, k, n, order = (1.0, 91, 1_863_132, None) if name == "table2" else (3.5, 20, 2**21, 2)
        inputs = midpoints(0, 1, k)
        cells.append(_histogram_cell(name, scale, k, n // share, inputs, order, runs))
        if name == "table2":
            pairs = all_pairs_of(k)
            for i, j in pairs[np.arange(18) * len(pairs) // 18]:
                chosen = inputs[[i, j]]
                cells.append(
                    _histogram_cell(f"{name} {i} {j}", scale, k, n // share, chosen, order, runs)
                )
    return cells


def practical_sizes(runs: int, only: Iterable[str], quick: bool) -> list[Cell]:
    """Runs on a grid of n, from which the smallest n that is enough in practice is read off.

    The grid has eight steps an octave, from an eighth of the printed n to four times that.
    """
    tables = chosen_parts(only, ("table3", "table5"))
    coarse = 4 if quick else 1
    return [
        _histogram_cell(
            f"{row.label} n={size}",
            row.scale,
            row.num_intervals,
            size,
            (0, 1),
            row.order,
            runs,
            estimator="histogram-law",
        )
        for row in PRACTICAL
        if row.table in tables and (row.precision >= 0.5 or not quick)
        for size in sorted({round(row.printed * 2 ** (k / 8)) for k in range(-24, 17, coarse)})
    ]


def _histogram_cell(
    label: str,
    scale: float,
    num_intervals: int,
    num_samples: int,
    inputs: Iterable[float],
    order: float | None,
    runs: int,
    estimator: str = "histogram",
) -> Cell:
    return Cell(
        TruncatedLaplace(scale),
        HistogramSettings(num_intervals, num_samples, tuple(inputs), order),
        estimator=estimator,
        num_runs=runs,
        label=label,
    )
