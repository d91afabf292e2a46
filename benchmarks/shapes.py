"""Compare mean bounds with the best event, for privacy losses of many shapes.

Along the outputs, the privacy loss rises for some pairs of distributions, rises and falls for
others, or is infinite almost everywhere. The actual search, choice and bound run on counts that are
drawn from known distributions. The script prints a Markdown table.
"""

import argparse
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.rare import LawSource, audits, best_bound
from dpjax import Events, notions
from dpjax.inference import Shared

CELLS = 128

SHAPES: dict[str, tuple[Any, Any]] = {
    "Gaussian, shift 0.2": (stats.norm(), stats.norm(0.2)),
    "Gaussian, shift 1": (stats.norm(), stats.norm(1)),
    "Gaussian, shift 4": (stats.norm(), stats.norm(4)),
    "Gaussian, shift 6": (stats.norm(), stats.norm(6)),
    "Laplace, shift 0.2": (stats.laplace(), stats.laplace(0.2)),
    "Laplace, shift 1": (stats.laplace(), stats.laplace(1)),
    "Laplace, shift 5": (stats.laplace(), stats.laplace(5)),
    "logistic, shift 3": (stats.logistic(), stats.logistic(3)),
    "uniform, shift 0.9": (stats.uniform(), stats.uniform(0.9)),
    "Student t (3), shift 1": (stats.t(3), stats.t(3, 1)),
    "Student t (3), shift 6": (stats.t(3), stats.t(3, 6)),
    "Cauchy, shift 1": (stats.cauchy(), stats.cauchy(1)),
    "Cauchy, shift 10": (stats.cauchy(), stats.cauchy(10)),
    "Gaussian, scale 1.1": (stats.norm(), stats.norm(0, 1.1)),
    "Gaussian, scale 2": (stats.norm(), stats.norm(0, 2)),
    "Gaussian, scale 1000": (stats.norm(), stats.norm(0, 1000)),
    "Laplace, scale 2": (stats.laplace(), stats.laplace(0, 2)),
}
"""Map from a name to the distributions of the outputs for both databases."""


def probabilities(first: Any, second: Any) -> NDArray[np.float64]:
    """Return the probabilities [1, 2, cells] of cells that are about equally likely on average."""
    at = (np.arange(20_000) + 0.5) / 20_000
    both = np.concatenate([first.ppf(at), second.ppf(at)])
    edges = np.unique(np.quantile(both, np.arange(1, CELLS) / CELLS))
    sides = [np.diff(side.cdf(edges), prepend=0, append=1) for side in (first, second)]
    return np.stack(sides)[None]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="audits per row")
    parser.add_argument(
        "--draws",
        type=int,
        nargs="+",
        default=[300, 1_000, 5_000, 20_000],
        help="draws per side, both for the search and for the confirmation",
    )
    given = parser.parse_args()
    print("| distributions | draws | best event | mean bound | standard error | mean / best |")
    print("|---|---|---|---|---|---|", flush=True)
    for name, sides in SHAPES.items():
        law = probabilities(*sides)
        for draws in given.draws:
            source = LawSource(law, ordered=True)
            found = audits(source, Events(draws, draws), given.runs, notions.Epsilon())
            best, error = best_bound(law, Shared(draws)), found.std() / math.sqrt(given.runs)
            print(
                f"| {name} | {draws:,} | {best:.3f} | {found.mean():.3f} | {error:.3f} "
                f"| {found.mean() / best:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
