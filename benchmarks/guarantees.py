"""Measure the coverage and the medians of exact bounds; compare with the paper's normal bound.

"Equal draws" denotes audits with the same total number of draws as the paper's settings, divided
into search and confirmation draws by `Events(num_draws=...)`. The script prints Markdown tables.
"""

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.presets.experiments import LEVELS, experiment
from dpjax import Events, Pairs, reference
from dpjax.core import random
from dpjax.core.types import MixedSpace, VectorSpace
from dpjax.sweeps import Entry, compute


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AtomOrLaplace:
    """Mechanism for a number s; the output is a label and a number.

    With probability 0.2 - 0.05 s, the output is (0, 0). Otherwise, it is (1, s + Lap(1 / 0.6)).
    """

    output_space = MixedSpace(2)
    level = math.log(0.85 / 0.8) + 0.6

    def sample(self, key: Any, database: Any, num_samples: int) -> Any:
        """Return outputs [num_samples, 2]."""
        first, second = jax.random.split(key)
        alone = jax.random.uniform(first, (num_samples,)) < 0.2 - 0.05 * database
        number = database + random.laplace(second, num_samples, dtype=jnp.float32) / 0.6
        return jnp.stack([jnp.where(alone, 0.0, 1.0), jnp.where(alone, 0.0, number)], axis=1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TwoCounts:
    """Two counts with Laplace noise of level 0.5 each; both counts change by 1."""

    output_space = VectorSpace(2)
    level = 1.0

    def sample(self, key: Any, database: Any, num_samples: int) -> Any:
        """Return outputs [num_samples, 2]."""
        noise = random.laplace(key, 2 * num_samples, dtype=jnp.float32).reshape(num_samples, 2)
        return database[None, :] + noise / 0.5


OWN = {
    "atom or laplace": (AtomOrLaplace(), Pairs([0.0], [1.0])),
    "two laplace counts": (TwoCounts(), Pairs([[0.0, 0.0]], [[1.0, 1.0]])),
}
"""Map from the name of a mechanism to the mechanism and its pairs."""


def audits(
    mechanism: Any, method: Events, pairs: Any, runs: int, seed: int
) -> tuple[np.ndarray, float]:
    """Run audits with fresh draws.

    Args:
        mechanism: Mechanism to audit.
        method: Method of the audits.
        pairs: Pairs of databases.
        runs: Number of audits.
        seed: Seed of the draws.

    Returns:
        Lower bounds [runs], and the mean time per audit in milliseconds, without compilation.
    """
    batch = min(runs, 50)
    entry = Entry(mechanism, method, pairs)
    compute(entry, range(batch), seed)
    start = time.perf_counter()
    found = [
        compute(entry, range(first, first + batch), seed)["lower_bound"]
        for first in range(0, runs, batch)
    ]
    milliseconds = 1e3 * (time.perf_counter() - start) / (batch * len(found))
    return np.concatenate(found)[:runs], milliseconds


def allowed_from(runs: int) -> float:
    """Return the smallest acceptable coverage: 0.95 minus three standard errors."""
    return 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)


def asked(
    description: str, letters: str, seed: int
) -> tuple[argparse.Namespace, Callable[[str], None]]:
    """Parse the command line and print the line above the table.

    Args:
        description: Description of the command.
        letters: Default of the option `--only`.
        seed: Default of the option `--seed`.

    Returns:
        Parsed arguments, and a function that prints a line and also writes it to the file given by
        `--out`.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default=letters, help="letters of experiments; + for others")
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--out", type=Path, default=None, help="Markdown file for the table")
    arguments, lines = parser.parse_args(), []

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)
        if arguments.out is not None:
            arguments.out.write_text("\n".join(lines) + "\n")

    runs = arguments.runs
    say(f"{runs} audits per row, confidence 0.95, required coverage {allowed_from(runs):.4f}.\n")
    return arguments, say


def main() -> None:
    """Run the command line."""
    arguments, say = asked(__doc__.splitlines()[0], "abcde+", 2022)
    runs = arguments.runs
    say(
        "| mechanism | eps0 | exact level | coverage | coverage, equal draws | median: paper's "
        "normal bound | exact, same n and N | exact, equal draws | ms per audit |"
    )
    say("|---|---|---|---|---|---|---|---|---|")
    for letter in arguments.only.replace("+", ""):
        for epsilon in LEVELS:
            entry = experiment(letter, epsilon, objective="loss")
            mechanism, pairs, local = entry.mechanism, entry.pairs, entry.method
            best = reference.best_level(mechanism, pairs, mechanism.standard_region)
            normal = np.median(compute(entry, range(runs), arguments.seed)["lower_bound"])
            method = Events(local.num_samples, local.num_confirm)
            same, milliseconds = audits(mechanism, method, pairs, runs, arguments.seed)
            total = len(pairs) * local.num_samples + local.num_confirm
            equal, _ = audits(mechanism, Events(num_draws=total), pairs, runs, arguments.seed)
            say(
                f"| {letter} ({mechanism.name}) | {epsilon:g} | {best:.4f} | "
                f"{np.mean(same <= best):.4f} | {np.mean(equal <= best):.4f} | {normal:.4f} | "
                f"{np.median(same):.4f} | {np.median(equal):.4f} | {milliseconds:.0f} |"
            )
    for name, (mechanism, pairs) in OWN.items() if "+" in arguments.only else ():
        level = mechanism.level
        bounds, milliseconds = audits(mechanism, Events(), pairs, runs, arguments.seed)
        say(
            f"| {name} | {level:.4f} | {level:.4f} | {np.mean(bounds <= level):.4f} | | | "
            f"{np.median(bounds):.4f} | | {milliseconds:.0f} |"
        )


if __name__ == "__main__":
    # Import this file by name, because a sweep identifies a mechanism by its module, which would
    # be `__main__` otherwise.
    from benchmarks import guarantees

    guarantees.main()
