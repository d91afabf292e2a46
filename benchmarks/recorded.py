"""Measure bounds from recorded outputs with `Events` and `Local`, and the coverage of `Events`.

Every kind of output has a known level, and every run draws new outputs. All outputs are
independent, so a note about copied or dependent outputs is a false alarm; audits with such a note
are counted. The script prints a Markdown table.
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
    """Return Laplace noise of scale 1 around 0 and around the shift."""
    return random.laplace(0, 1, size), random.laplace(shift, 1, size)


def rounded(scale: float) -> Callable[[np.random.Generator, int], Sides]:
    """Return a sampler of Laplace noise that is rounded to integers after scaling."""

    def draw(random: np.random.Generator, size: int) -> Sides:
        x, y = laplace(random, size)
        return np.rint(scale * x).astype(int), np.rint(scale * y).astype(int)

    return draw


def clipped(random: np.random.Generator, size: int) -> Sides:
    """Return Laplace noise clipped to [-2, 2], which has atoms at -2 and 2."""
    x, y = laplace(random, size)
    return np.clip(x, -2, 2), np.clip(y, -2, 2)


def coin(random: np.random.Generator, size: int) -> Sides:
    """Return bits that are correct with probability 3/4."""
    return (random.random(size) < 0.75).astype(int), (random.random(size) < 0.25).astype(int)


def letters(random: np.random.Generator, size: int) -> Sides:
    """Return eight labels of an exponential mechanism; the other side reverses probabilities."""
    p = TILT / TILT.sum()
    return random.choice(LETTERS, size, p=p), random.choice(LETTERS, size, p=p[::-1])


def vectors(random: np.random.Generator, size: int) -> Sides:
    """Return vectors of two Laplace numbers, each shifted by 1/2."""
    return random.laplace(0, 1, (size, 2)), random.laplace(0.5, 1, (size, 2))


def cauchy(random: np.random.Generator, size: int) -> Sides:
    """Return Cauchy noise, which has heavy tails, around 0 and 1."""
    return random.standard_cauchy(size), 1 + random.standard_cauchy(size)


def equal(
    draw: Callable[[np.random.Generator, int], np.ndarray],
) -> Callable[[np.random.Generator, int], Sides]:
    """Return a sampler that uses the same distribution for both sides."""
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
"""Map from a name to a distribution that is used for both sides."""

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
    # The largest density ratio of Cauchy noise is (3 + 5^(1/2)) / 2.
    "heavy tails": (cauchy, log((3 + 5**0.5) / 2)),
    **{f"equal, {name}": (equal(draw), 0.0) for name, draw in EQUAL.items()},
}
"""Map from a kind of outputs to its sampler and its level."""

SAID = ("If outputs were copied", "outputs that are alike come in runs")
"""Parts of the notes about copied and dependent outputs."""


def bounds(
    kind: str, size: int, runs: int, seed: int, method: dpjax.Events | dpjax.Local
) -> tuple[np.ndarray, int, float]:
    """Audit recorded outputs of one kind.

    Args:
        kind: Key of `KINDS`.
        size: Number of outputs per side.
        runs: Number of audits.
        seed: Seed of the outputs.
        method: Method of the audits.

    Returns:
        Lower bounds [runs], where NaN means that the method rejected the outputs; number of audits
        with a note about copied or dependent outputs; mean time per audit in milliseconds.
    """
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
            # The local approach rejects outputs with atoms, because atoms have no density.
            assert isinstance(method, dpjax.Local)
        spent += time.perf_counter() - start
    return found, noted, 1e3 * spent / runs


def table(sizes: list[int], runs: int, few_runs: int, seed: int) -> list[str]:
    """Measure all kinds; print each row as soon as it is measured, and return all lines."""
    lines = [
        f"{runs} audits per row with Events, {few_runs} with Local; confidence 0.95, required "
        f"coverage {allowed_from(runs):.4f}.",
        "",
        "| outputs | n per side | level | coverage | noted | median, Events | median, Local "
        "| Events, ms | Local, ms |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for size in sizes:
        for kind, (_, level) in KINDS.items():
            exact, noted, exact_ms = bounds(kind, size, runs, seed, dpjax.Events())
            normal, _, normal_ms = bounds(kind, size, few_runs, seed, dpjax.Local())
            median = "rejected" if np.isnan(normal).all() else f"{np.nanmedian(normal):.3f}"
            lines.append(
                f"| {kind} | {size} | {level:.4g} | {np.mean(exact <= level):.4f} | "
                f"{noted} | {np.median(exact):.3f} | {median} | {exact_ms:.0f} | {normal_ms:.0f} |"
            )
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--few-runs", type=int, default=15)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 20_000])
    parser.add_argument("--seed", type=int, default=2022)
    parser.add_argument("--out", type=Path, default=None, help="Markdown file for the table")
    given = parser.parse_args()
    lines = table(given.sizes, given.runs, given.few_runs, given.seed)
    if given.out is not None:
        given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
