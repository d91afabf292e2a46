"""Audit ten pairs with a fixed number of draws; compare with the paper's MPL and an oracle.

The oracle knows the distributions and uses all of its draws for the best pair and the best event.
The script prints a Markdown table.
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
"""Number of draws per side for mechanisms that are not part of the paper's experiments."""

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
"""Map from a name to a mechanism and ten pairs."""


def oracle(
    mechanism: Any, pairs: Pairs, sizes: Sequence[int | Shared], points: int = 200_000
) -> list[float]:
    """Return the largest bound of any pair and event, computed from expected counts.

    An event consists of all outputs whose privacy loss is above a threshold. For finitely many
    outcomes, the probabilities of events are exact. Otherwise, the probability on the side where
    the event is more likely is estimated from drawn points, and the probability on the other side
    from the same points with weights exp(-loss), where the loss is exact. The confidence is 0.95.

    Args:
        mechanism: Mechanism whose log density is available in `reference`.
        pairs: Pairs of databases.
        sizes: Sample sizes N per side. A `Shared` size is divided between both sides in the ratio
            that is best for each event.
        points: Number of points to draw for each pair and side.

    Returns:
        Largest bound for each of the sizes.
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
            # Leave out the event that contains all outputs, because its bound is always 0.
            p = np.cumsum(share[order])[:-1]
            q = np.cumsum(share[order] * np.exp(-loss[order]))[:-1]
            found = [_best_order(p, q, size) for size in sizes]
            best = np.maximum(best, found)
    return best.tolist()


def _best_order(p: np.ndarray, q: np.ndarray, size: int | Shared) -> float:
    """Return the largest bound of events with these probabilities, from expected counts."""
    trials: Any = size, size
    if isinstance(size, Shared):
        trials = divided(tried_ratios(size_ratio(p, q, Ratio())), size.mean)
    return float(Ratio().order(p * trials[0], q * trials[1], trials, 1.6449).max())


def main() -> None:
    """Run the command line."""
    arguments, say = asked(__doc__.splitlines()[0], "+abcdef", 2025)
    runs = arguments.runs

    def row(name: str, mechanism: Any, pairs: Pairs, level: float, total: int, mpl: float | None):
        """Print a row; `mpl` is the median bound of the paper's algorithm with `total` draws."""
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
        "| mechanism | draws per side | exact level | coverage | median | oracle, equal sizes, "
        "56% of the draws | best sizes, 56% | best sizes, all draws | MPL | "
        "distance to the level, divided by MPL's |"
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
