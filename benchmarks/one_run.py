"""One-run audits of Gaussian canaries: median bounds, and how many are above the truth.

Prints a Markdown table. Scores are N(mu, 1) where a canary was included, and N(0, 1) else; mu is
that of each epsilon at delta = 1e-5. Epsilon is bounded at that delta, and mu by itself; what a
bound on mu would be as an epsilon holds for Gaussian mechanisms alone.
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
from scipy import optimize, stats

import dpjax

DELTA, CONFIDENCE = 1e-5, 0.95
COLUMNS = "| epsilon | canaries | epsilon bound | mu bound | as epsilon, if Gaussian | "
COLUMNS += "above the truth | s a run |"


def delta_of(mu: float, epsilon: float) -> float:
    """Delta of a Gaussian mechanism.

    References:
        Dong, Roth, Su (2022), Corollary 2.13.
    """
    first, second = (stats.norm.cdf(sign * mu / 2 - epsilon / mu) for sign in (1, -1))
    return float(first - math.exp(epsilon) * second)


def mu_of(epsilon: float) -> float:
    """Mu of a Gaussian mechanism of this epsilon."""
    return optimize.brentq(lambda mu: delta_of(mu, epsilon) - DELTA, 1e-3, 20)


def epsilon_of(mu: float) -> float:
    """Epsilon of a Gaussian mechanism of this mu."""
    if mu <= 0 or delta_of(mu, 0.0) <= DELTA:
        return 0.0
    return optimize.brentq(lambda epsilon: delta_of(mu, epsilon) - DELTA, 0, 60)


def row(epsilon: float, number: int, runs: int) -> str:
    """Medians of some runs, as a row of the table."""
    mu, start = mu_of(epsilon), time.perf_counter()
    found = np.empty((runs, 2))
    for run in range(runs):
        rng = np.random.default_rng((run, number))
        included = rng.random(number) < 0.5
        scores = rng.normal(size=number) + mu * included
        one_run = dpjax.OneRun(scores, included, fair_coins=True)
        for column, notion in enumerate((dpjax.Epsilon(DELTA), dpjax.Gdp())):
            result = dpjax.audit(one_run, notion=notion, confidence=CONFIDENCE, key=run)
            found[run, column] = result.lower_bound
    seconds = (time.perf_counter() - start) / (2 * runs)
    above = (found > (epsilon, mu)).sum(axis=0).tolist()
    bound, shown = np.median(found, axis=0)
    return (
        f"| {epsilon:g} | {number:,} | {bound:.2f} | {shown:.2f} of {mu:.2f} | "
        f"{epsilon_of(shown):.2f} | {above[0]}, {above[1]} of {runs} | {seconds:.2f} |"
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--most", type=int, default=1_000_000, help="largest number of canaries")
    parser.add_argument("--out", type=Path, default=None, help="a Markdown file")
    arguments = parser.parse_args()
    lines = [COLUMNS, "|" + "---|" * (COLUMNS.count("|") - 1)]
    print("\n".join(lines), flush=True)
    for epsilon in (1.0, 2.0, 4.0, 8.0):
        for number in (1_000, 10_000, 100_000, 1_000_000):
            if number <= arguments.most:
                lines.append(row(epsilon, number, arguments.runs))
                print(lines[-1], flush=True)
    if arguments.out is not None:
        arguments.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
