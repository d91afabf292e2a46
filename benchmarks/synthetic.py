"""Bounds for generators of synthetic data, from summaries of tables and from single rows.

A generator gets a table of 50 people. The neighboring table differs in the last person. The four
histograms of a private generator have Laplace noise; the other generators leak in a known way. Each
generator is audited with three functions of its table: the summary, the summary with both versions
of the last person as targets, and the first row. The script prints a Markdown table.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import dpjax

SIZE = 50

LABELS = {"sex": ["f", "m"], "region": ["A", "B", "C"]}

EDGES = {"age": np.linspace(18, 80, 9), "income": np.linspace(0, 3e5, 9)}

Generator = Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]


def people(last: list[object]) -> pd.DataFrame:
    """Return the table whose last person is given."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "sex": rng.choice(LABELS["sex"], SIZE),
            "region": rng.choice(LABELS["region"], SIZE),
            "age": rng.integers(18, 80, SIZE),
            "income": rng.gamma(2.0, 2e4, SIZE).round(),
        }
    )
    table.loc[SIZE - 1] = last
    return table


def histograms(epsilon: float, rows: int, *, own_range: bool = False) -> Generator:
    """Return a generator that samples each column from a noisy histogram.

    If one person changes, two counts of each of the four histograms change by 1. Noise of scale
    8 / epsilon therefore makes the generator epsilon-DP, unless `own_range` is set.

    Args:
        epsilon: Privacy level.
        rows: Number of synthetic rows.
        own_range: Whether the first and last edges of histograms are the extremes of the data.
    """

    def generate(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        columns = {}
        for name, column in table.items():
            if name in LABELS:
                counts = np.array([(column == label).sum() for label in LABELS[name]])
            else:
                edges = EDGES[name]
                edges = np.linspace(column.min(), column.max(), len(edges)) if own_range else edges
                counts = np.histogram(column.clip(edges[0], edges[-1]), edges)[0]
            noisy = np.maximum(counts + rng.laplace(0, 8 / epsilon, len(counts)), 1e-9)
            cells = rng.choice(len(counts), rows, p=noisy / noisy.sum())
            if name in LABELS:
                columns[name] = np.array(LABELS[name])[cells]
            else:
                columns[name] = rng.uniform(edges[cells], edges[cells + 1])
        return pd.DataFrame(columns)

    return generate


def bootstrap(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Draw rows of the table itself."""
    return table.sample(SIZE, replace=True, random_state=rng).reset_index(drop=True)


def sometimes_copied(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return a private table that contains the last person with a probability of 1/20."""
    found = histograms(1.0, SIZE)(table, rng)
    if rng.random() < 0.05:
        found.loc[0] = table.iloc[-1]
    return found


def normal(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Sample numbers from a normal distribution with the exact mean and covariance."""
    numbers = table[["age", "income"]]
    drawn = rng.multivariate_normal(numbers.mean(), numbers.cov(), SIZE)
    labels = {name: rng.choice(table[name], SIZE) for name in LABELS}
    return pd.DataFrame({"age": drawn[:, 0], "income": drawn[:, 1], **labels})


GENERATORS: dict[str, tuple[str, Generator]] = {
    "histograms, epsilon 1, 50 rows": ("1", histograms(1.0, SIZE)),
    "histograms, epsilon 1, 1000 rows": ("1", histograms(1.0, 1000)),
    "histograms, epsilon 4, 50 rows": ("4", histograms(4.0, SIZE)),
    "histograms, epsilon 4, 1000 rows": ("4", histograms(4.0, 1000)),
    "histograms, range of the data": ("infinite", histograms(1.0, SIZE, own_range=True)),
    "normal distribution, exact moments": ("infinite", normal),
    "one person copied in 5% of tables": ("infinite", sometimes_copied),
    "bootstrap": ("infinite", bootstrap),
}
"""For each generator, its privacy level and the function."""


def compared(generator: Generator, how: str, targets: list[pd.Series]) -> Callable[..., object]:
    """Return the function to audit, which returns a summary or the first row of a table."""

    def release(table: pd.DataFrame, rng: np.random.Generator) -> object:
        found = generator(table, rng)
        if how == "row":
            return tuple(found.iloc[0])
        return dpjax.summarize(found, targets if how == "targets" else [])

    return release


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--search", type=int, default=1000, help="tables per side to search")
    parser.add_argument("--confirm", type=int, default=4000, help="tables per side to confirm")
    parser.add_argument("--only", default="", help="part of the names of generators")
    given = parser.parse_args()
    pair = people(["f", "A", 30, 20_000.0]), people(["m", "B", 79, 250_000.0])
    targets = [table.iloc[-1] for table in pair]
    method = dpjax.Events(given.search, given.confirm)
    print("| generator | level | summary | with targets | first row | seconds | event |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name, (level, generator) in GENERATORS.items():
        if given.only not in name:
            continue
        results, seconds = {}, {}
        for how in ("summary", "targets", "row"):
            start = time.perf_counter()
            results[how] = dpjax.audit(compared(generator, how, targets), [pair], method=method)
            seconds[how] = time.perf_counter() - start
        bounds = " | ".join(f"{result.lower_bound:.2f}" for result in results.values())
        event = results["summary"].witness.output.removeprefix("a vector with ")
        print(f"| {name} | {level} | {bounds} | {seconds['summary']:.0f} | {event} |", flush=True)


if __name__ == "__main__":
    main()
