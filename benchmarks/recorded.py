"""Recorded outputs: the bound of an event beside the one at one output, and how often each holds.

All outputs are independent; audits that note copies or a dependence are counted.

Prints a Markdown table. Every kind of output has a known level, and every run new outputs.
"""

import argparse
import time
from collections.abc import Callable
from math import log
from pathlib import Path

import numpy as np

import dpjax
from benchmarks.guarantees import allowed_from

Sides = tuple[np.ndarray, np.ndarray]

LETTERS = np.array(list("abcdefgh"))
TILT = np.exp(0.3 * np.arange(8))


def laplace(random: np.random.Generator, size: int, shift: float = 1.0) -> Sides:
    """Noise of scale 1 at 0 and at the shift."""
    return random.laplace(0, 1, size), random.laplace(shift, 1, size)


def rounded(scale: float) -> Callable[[np.random.Generator, int], Sides]:
    """The same in whole steps of 1 / scale."""

    def draw(random: np.random.Generator, size: int) -> Sides:
        x, y = laplace(random, size)
        return np.rint(scale * x).astype(int), np.rint(scale * y).astype(int)

    return draw


def clipped(random: np.random.Generator, size: int) -> Sides:
    """The same with atoms at -2 and 2."""
    x, y = laplace(random, size)
    return np.clip(x, -2, 2), np.clip(y, -2, 2)


def coin(random: np.random.Generator, size: int) -> Sides:
    """Bits that are right with a probability of 3/4."""
    return (random.random(size) < 0.75).astype(int), (random.random(size) < 0.25).astype(int)


def letters(random: np.random.Generator, size: int) -> Sides:
    """Eight labels with the probabilities of an exponential mechanism, and their reverse."""
    p = TILT / TILT.sum()
    return random.choice(LETTERS, size, p=p), random.choice(LETTERS, size, p=p[::-1])


def vectors(random: np.random.Generator, size: int) -> Sides:
    """Two numbers with a shift of 1/2 each."""
    return random.laplace(0, 1, (size, 2)), random.laplace(0.5, 1, (size, 2))


def cauchy(random: np.random.Generator, size: int) -> Sides:
    """Noise with heavy tails at 0 and 1."""
    return random.standard_cauchy(size), 1 + random.standard_cauchy(size)


def equal(
    draw: Callable[[np.random.Generator, int], np.ndarray],
) -> Callable[[np.random.Generator, int], Sides]:
    """The same law at both sides."""
    return lambda random, size: (draw(random, size), draw(random, size))


EQUAL = {
    "half precision": lambda r, n: r.laplace(size=n).astype(np.float16),
    "one decimal": lambda r, n: r.normal(size=n).round(1),
    "two decimals": lambda r, n: r.normal(size=n).round(2),
    "geometric": lambda r, n: r.geometric(0.3, n),
    "wide geometric": lambda r, n: r.geometric(0.001, n),
    "Zipf": lambda r, n: r.zipf(1.5, n),
    "rarely twice": lambda r, n: r.integers(0, 2 * n, n),
    "rare bits": lambda r, n: r.random(n) < 0.001,
    "atom and tail": lambda r, n: np.maximum(r.normal(size=n), 0),
}
"""Laws of which both sides have the same."""

KINDS = {
    "reals": (laplace, 1.0),
    "reals, epsilon 0.2": (lambda random, size: laplace(random, size, 0.2), 0.2),
    "whole numbers": (rounded(1), 1.0),
    "whole numbers of width 10": (rounded(10), 1.0),
    "whole numbers of width 100": (rounded(100), 1.0),
    "whole numbers of width 3000": (rounded(3000), 1.0),
    "reals with atoms": (clipped, 1.0),
    "bits": (coin, log(3)),
    "labels": (letters, 2.1),
    "vectors": (vectors, 1.0),
    # Of Cauchy noise, ln of the largest ratio (3 + 5^(1/2)) / 2.
    "heavy tails": (cauchy, log((3 + 5**0.5) / 2)),
    **{f"equal, {name}": (equal(draw), 0.0) for name, draw in EQUAL.items()},
}
"""Name -> draws of both sides, and the level."""

SAID = ("If outputs were copied", "outputs that are alike come in runs")
"""In notes of copies and of dependence."""


def bounds(
    kind: str, size: int, runs: int, seed: int, method: dpjax.Events | dpjax.Local
) -> tuple[np.ndarray, int, float]:
    """Lower bounds of so many audits, NaN where one is refused; how many are noted; ms of each."""
    draw, _ = KINDS[kind]
    found, noted, spent = np.full(runs, np.nan), 0, 0.0
    for run in range(runs):
        x, y = draw(np.random.default_rng([seed, size, run]), size)
        start = time.perf_counter()
        try:
            result = dpjax.audit(dpjax.Recorded(x, y), method=method, confidence=0.95, key=run)
            found[run] = result.lower_bound
            noted += any(words in note for note in result.notes for words in SAID)
        except ValueError:
            # Atoms have no density.
            assert isinstance(method, dpjax.Local)
        spent += time.perf_counter() - start
    return found, noted, 1e3 * spent / runs


def table(sizes: list[int], runs: int, few_runs: int, seed: int) -> list[str]:
    """Lines of Markdown."""
    lines = [
        f"{runs} audits a row by events, {few_runs} at one output; confidence 0.95, coverage "
        f"allowed from {allowed_from(runs):.4f}.",
        "",
        "| outputs | a side | level | coverage | noted | median by events | at one output "
        "| ms | ms |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for size in sizes:
        for kind, (_, level) in KINDS.items():
            exact, noted, exact_ms = bounds(kind, size, runs, seed, dpjax.Events())
            normal, _, normal_ms = bounds(kind, size, few_runs, seed, dpjax.Local())
            median = "refused" if np.isnan(normal).all() else f"{np.nanmedian(normal):.3f}"
            lines.append(
                f"| {kind} | {size} | {level:.4g} | {np.mean(exact <= level):.4f} | "
                f"{noted} | {np.median(exact):.3f} | {median} | {exact_ms:.0f} | {normal_ms:.0f} |"
            )
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--few-runs", type=int, default=15)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 20_000])
    parser.add_argument("--seed", type=int, default=2022)
    parser.add_argument("--out", type=Path, default=None, help="a Markdown file")
    given = parser.parse_args()
    lines = table(given.sizes, given.runs, given.few_runs, given.seed)
    if given.out is not None:
        given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
