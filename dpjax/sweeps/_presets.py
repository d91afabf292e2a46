"""The sweeps behind the figures and tables of the papers.

References:
    Askin, Kutta, Dette (2022), Figures 4 to 6 and Table II.
"""

import itertools
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np

from dpjax import _validate, mechanisms
from dpjax._errors import nearest
from dpjax.databases import Pairs
from dpjax.densities import Scott, Silverman
from dpjax.methods.local import LocalSettings
from dpjax.sweeps._cell import Cell
from dpjax.sweeps._experiments import EXPERIMENTS, LEVELS, experiment
from dpjax.sweeps._plain import chosen_parts
from dpjax.sweeps._presets_histogram import histogram_figures, histogram_tables, practical_sizes
from dpjax.sweeps._spec import SweepSpec

SEED = 2022

DATA_CENTRIC_LEVEL = 1.5
"""eps0 of Figures 5 and 6."""

SIZES = tuple(range(5_000, 50_001, 5_000))
"""n in Figure 6."""


def figure_4(runs: int, only: Iterable[str], quick: bool, objective: str = "loss") -> list[Cell]:
    """Eight algorithms at three levels, with the paper's search or (lower-bound) dpjax's own."""
    return [
        experiment(letter, level, objective=objective, num_runs=runs)
        for letter in chosen_parts(only, EXPERIMENTS)
        for level in LEVELS
    ]


def figure_5(runs: int, only: Iterable[str], quick: bool) -> list[Cell]:
    """One database against all of its neighbourhood."""
    level = DATA_CENTRIC_LEVEL
    cases = {
        "report-noisy-max": (
            mechanisms.ReportNoisyMax(epsilon=level),
            neighborhood([0.0] * 6, (0.0, 1.0)),
        ),
        "continuous-noisy-max": (
            mechanisms.ContinuousNoisyMax(epsilon=level),
            neighborhood([0.5] * 3, (0.0, 0.5, 1.0)),
        ),
    }
    settings = experiment("b", level).settings
    return [
        Cell(mechanism, settings, pairs=pairs, num_runs=runs, label=name)
        for name, (mechanism, pairs) in cases.items()
        if name in chosen_parts(only, cases)
    ]


def neighborhood(center: list[float], values: tuple[float, ...]) -> Pairs:
    """One database against every other vector of the values."""
    others = [v for v in itertools.product(values, repeat=len(center)) if list(v) != center]
    return Pairs(np.tile(center, (len(others), 1)), np.array(others), tuple(map(str, others)))


def figure_6(runs: int, only: Iterable[str], quick: bool) -> list[Cell]:
    """DPL's estimates against n, with the paper's search and with dpjax's own."""
    cases = {
        "continuous-noisy-max": (
            mechanisms.ContinuousNoisyMax(epsilon=DATA_CENTRIC_LEVEL),
            Pairs([[0.0] * 3], [[1.0] * 3]),
        ),
        "exponential": (mechanisms.Exponential(epsilon=DATA_CENTRIC_LEVEL), Pairs([1.0], [2.0])),
    }
    searches = {"loss": Silverman(), "lower-bound": Scott()}
    return [
        Cell(
            mechanism,
            LocalSettings(
                num_samples=size,
                num_confirm=10 * size,  # DPL has no confirm stage
                floor=1e-3,
                objective=objective,
                bandwidth=bandwidth,
            ),
            pairs=pairs,
            estimator="dpl",
            num_runs=runs,
            label=f"{name} {objective} n={size}",
        )
        for name, (mechanism, pairs) in cases.items()
        if name in chosen_parts(only, cases)
        for objective, bandwidth in searches.items()
        for size in (SIZES[::9] if quick else SIZES)
    ]


def table_2(runs: int, only: Iterable[str], quick: bool) -> list[Cell]:
    """One run at a time of every algorithm, for its seconds."""
    return [experiment(letter, 1.5, num_runs=runs) for letter in chosen_parts(only, EXPERIMENTS)]


class Preset(NamedTuple):
    """A sweep by name.

    Attributes:
        cells: (runs, names of the parts or none for all, quick) -> cells.
        runs: Runs a cell, as in the paper.
        quick_runs: Enough to see the shape.
        block_runs: Runs a block.
        quick_block_runs: Runs a block of the quick variant.
        what: The figure or table.
    """

    cells: Callable[[int, Iterable[str], bool], list[Cell]]
    runs: int
    quick_runs: int
    block_runs: int
    quick_block_runs: int
    what: str


PRESETS = {
    "fig4": Preset(
        figure_4, 1000, 50, 50, 10, "Askin et al. 2022, Figure 4, with the paper's search"
    ),
    "fig4-tight": Preset(
        partial(figure_4, objective="lower-bound"),
        1000,
        50,
        50,
        10,
        "Askin et al. 2022, Figure 4, with dpjax's own search",
    ),
    "fig5": Preset(figure_5, 1000, 50, 50, 10, "Askin et al. 2022, Figure 5"),
    "fig6": Preset(figure_6, 1000, 50, 50, 10, "Askin et al. 2022, Figure 6"),
    "table2": Preset(table_2, 20, 3, 1, 1, "Askin et al. 2022, Table II: seconds of single runs"),
    "histogram-figures": Preset(
        histogram_figures, 100, 20, 20, 20, "Gorla et al., Figures 3 and 7"
    ),
    "histogram-tables": Preset(histogram_tables, 1, 1, 1, 1, "Gorla et al., Tables II and IV"),
    "histogram-practical": Preset(
        practical_sizes,
        1000,
        100,
        1000,
        100,
        "Gorla et al., Tables III and V: the n that is enough",
    ),
}
"""Name on the command line -> sweep."""


def preset(
    name: str,
    *,
    runs: int | None = None,
    only: Iterable[str] = (),
    quick: bool = False,
    seed: int = SEED,
) -> SweepSpec:
    """The sweep behind a figure or a table.

    Args:
        name: Of `PRESETS`.
        runs: Runs a cell; the paper's if None.
        only: Parts: letters of Figure 4 and Table II, mechanisms of Figures 5 and 6, figures and
            tables of the histogram paper. All if empty.
        quick: Few runs, in small blocks, at fewer sample sizes.
        seed: Of all draws.

    Raises:
        ValueError: An unknown name or part, or runs below 1.
    """
    if name not in PRESETS:
        raise ValueError(f"preset {name!r} is not known; {nearest(name, [*PRESETS])}.")
    found = PRESETS[name]
    num_runs = runs if runs is not None else found.quick_runs if quick else found.runs
    _validate.positive_int(runs=num_runs)
    cells = found.cells(num_runs, tuple(only), quick)
    block_runs = found.quick_block_runs if quick else found.block_runs
    return SweepSpec(name, tuple(cells), seed=seed, block_runs=block_runs)
