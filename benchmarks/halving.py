"""Ten pairs at a fixed total of draws: exact bounds beside the paper's MPL and beside an oracle.

The oracle knows the law: it spends its draws on the best pair and event. Prints a Markdown table.
"""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from benchmarks.guarantees import asked, audits
from benchmarks.presets.experiments import LEVELS, experiment
from dpjax import Events, Pairs, mechanisms, reference
from dpjax.inference import Ratio, Shared, divided, size_ratio
from dpjax.inference._sizes import tried_ratios
from dpjax.mechanisms import FiniteSpace
from dpjax.sweeps import compute

TOTAL = 250_000
"""Draws a side of the laws that are no experiment of the paper."""

LAWS = {
    "report noisy max, six queries": (experiment("b", 1.0).mechanism, experiment("b", 1.0).pairs),
    "SVT2 at 0.7": (experiment("e", 0.7).mechanism, experiment("e", 0.7).pairs),
    "SVT4 at 1": (experiment("f", 1.0).mechanism, experiment("f", 1.0).pairs),
    "Laplace, shifts of 0.1 to 1": (
        mechanisms.Laplace(1.0),
        Pairs(np.zeros(10), np.arange(1, 11) / 10),
    ),
    "Laplace, one pair of ten differs": (
        mechanisms.Laplace(1.0),
        Pairs(np.zeros(10), np.eye(10)[4]),
    ),
}
"""Name -> mechanism and ten pairs."""


def oracle(
    mechanism: Any, pairs: Pairs, sizes: Sequence[int | Shared], points: int = 200_000
) -> list[float]:
    """The largest bound at expected counts of an event of one pair, at confidence 0.95, by size.

    The event holds the outputs of the largest loss. Of finitely many outcomes its probabilities are
    exact. Of others, that at the side with more of it is of drawn points, and at the other of the
    same points, weighted by the exact loss.

    Args:
        mechanism: Of which `reference` has the log density.
        pairs: To choose from.
        sizes: N, draws a side; if shared, divided between both sides as serves each event best.
        points: That are drawn for each pair and side.
    """
    best = np.zeros(len(sizes))
    for number, sides in enumerate(zip(pairs.database, pairs.neighbor, strict=True)):
        for larger, smaller in (sides, sides[::-1]):
            if isinstance(mechanism.output_space, FiniteSpace):
                outputs = np.arange(mechanism.output_space.size)
                share = np.exp(reference.log_density(mechanism, larger, outputs))
            else:
                key = jax.random.fold_in(jax.random.key(7), number)
                drawn = np.asarray(mechanism.sample(key, larger, points))
                outputs, counts = np.unique(drawn, axis=0, return_counts=True)
                share = counts / points
            loss = reference.log_density(mechanism, larger, outputs) - reference.log_density(
                mechanism, smaller, outputs
            )
            order = np.argsort(-loss)
            # All outputs are no event.
            p = np.cumsum(share[order])[:-1]
            q = np.cumsum(share[order] * np.exp(-loss[order]))[:-1]
            found = [_best_order(p, q, size) for size in sizes]
            best = np.maximum(best, found)
    return best.tolist()


def _best_order(p: np.ndarray, q: np.ndarray, size: int | Shared) -> float:
    """Largest bound at expected counts of events with these probabilities."""
    trials: Any = size, size
    if isinstance(size, Shared):
        trials = divided(tried_ratios(size_ratio(p, q, Ratio())), size.mean)
    return float(Ratio().order(p * trials[0], q * trials[1], trials, 1.6449).max())


def main() -> None:
    """Command line."""
    arguments, say = asked(__doc__.splitlines()[0], "+abcdef", 2025)
    runs = arguments.runs

    def row(name: str, mechanism: Any, pairs: Pairs, level: float, total: int, mpl: float | None):
        """`mpl` is the median of the paper's algorithm, of which the total is."""
        bounds, _ = audits(mechanism, Events(num_draws=total), pairs, runs, arguments.seed)
        median = np.median(bounds)
        part = round(0.56 * total)
        at_most = oracle(mechanism, pairs, (part, Shared(part), Shared(total)))
        paper = "| " if mpl is None else f"{mpl:.4f} | {(level - median) / (level - mpl):.2f}"
        say(
            f"| {name} | {total} | {level:.4f} | {np.mean(bounds <= level):.4f} | {median:.4f} | "
            f"{' | '.join(f'{bound:.4f}' for bound in at_most)} | {paper} |"
        )

    say(
        "| law | draws a side | exact level | coverage | median | oracle, equal sizes, 56% | "
        "best sizes, 56% | best sizes, all draws | MPL | distance to the level, over MPL's |"
    )
    say("|---|---|---|---|---|---|---|---|---|---|")
    for name, (mechanism, pairs) in LAWS.items() if "+" in arguments.only else ():
        row(name, mechanism, pairs, reference.best_level(mechanism, pairs), TOTAL, None)
    for letter in arguments.only.replace("+", ""):
        for epsilon in LEVELS:
            entry = experiment(letter, epsilon)
            mechanism, pairs, local = entry.mechanism, entry.pairs, entry.method
            level = reference.best_level(mechanism, pairs, mechanism.standard_region)
            mpl = compute(entry, range(runs), arguments.seed)["lower_bound"]
            total = len(pairs) * local.num_samples + local.num_confirm
            row(f"{letter} at {epsilon:g}", mechanism, pairs, level, total, float(np.median(mpl)))


if __name__ == "__main__":
    main()
