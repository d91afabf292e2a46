"""Ten pairs at a fixed total of draws: exact bounds beside the paper's MPL and beside an oracle.

The oracle knows the law: it spends its draws on the best pair and event. Prints a Markdown table.
"""

from typing import Any

import jax
import numpy as np

from benchmarks.guarantees import asked, audits
from benchmarks.presets.experiments import LEVELS, experiment
from dpjax import Events, Pairs, mechanisms, reference
from dpjax.inference import Ratio
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


def oracle(mechanism: Any, pairs: Pairs, num_confirm: int, points: int = 200_000) -> float:
    """The largest expected bound of an event of one pair, at confidence 0.95.

    The event holds the outputs of the largest loss. Of finitely many outcomes its probabilities are
    exact. Of others, that at the side with more of it is of drawn points, and at the other of the
    same points, weighted by the exact loss.

    Args:
        mechanism: Of which `reference` has the log density.
        pairs: To choose from.
        num_confirm: N.
        points: That are drawn for each pair and side.
    """
    best = 0.0
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
            trials = num_confirm, num_confirm
            bounds = Ratio().order(p * num_confirm, q * num_confirm, trials, 1.6449)
            best = max(best, float(bounds.max()))
    return best


def main() -> None:
    """Command line."""
    arguments, say = asked(__doc__.splitlines()[0], "+abcdef", 2025)
    runs = arguments.runs

    def row(name: str, mechanism: Any, pairs: Pairs, level: float, total: int, mpl: float | None):
        """`mpl` is the median of the paper's algorithm, of which the total is."""
        bounds, _ = audits(mechanism, Events(num_draws=total), pairs, runs, arguments.seed)
        median = np.median(bounds)
        at_most = [oracle(mechanism, pairs, part) for part in (round(0.56 * total), total)]
        paper = "| " if mpl is None else f"{mpl:.4f} | {(level - median) / (level - mpl):.2f}"
        say(
            f"| {name} | {total} | {level:.4f} | {np.mean(bounds <= level):.4f} | {median:.4f} | "
            f"{at_most[0]:.4f} | {at_most[1]:.4f} | {paper} |"
        )

    say(
        "| law | draws a side | exact level | coverage | median | oracle, 56% of the draws | "
        "oracle, all draws | MPL | distance to the level, over MPL's |"
    )
    say("|---|---|---|---|---|---|---|---|---|")
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
