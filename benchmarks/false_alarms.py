"""Count false alarms of sequential audits whose claim equals the true level.

Each stream is a complete audit that checks the bound after every block. The largest wealth of a
stream determines for which error probabilities the claim would have been refuted at any time. Many
streams run in one process, which computes their bets together (`benchmarks.lockstep`). With
`--check`, some streams also run alone, and the results are compared. The results are appended to a
file with one line per stream, so that an interrupted run can be resumed.
"""

import argparse
import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy.stats import binom

import dpjax
from benchmarks.halving import LAWS as HALVING
from benchmarks.lockstep import in_lockstep
from dpjax import Epsilon, Pairs, Sequential, reference
from dpjax.inference import _hypotheses
from dpjax.mechanisms import Laplace, RandomizedResponse
from dpjax.methods import _sequential
from dpjax.notions import BetWealth

ERRORS = (0.05, 0.001)
"""Error probabilities for which false alarms are counted."""

FEW, MANY = 2_000, 10_001
"""Numbers of draws per side: FEW for audits with expensive draws, MANY for the others."""

TEST_ERROR = 1e-6
"""Probability that a valid method exceeds the allowed number of false alarms."""

DELTA = 0.05
"""Delta of the only mechanism whose level holds at a positive delta."""

BLOCK = 2048
"""Number of draws per block for one pair; for ten pairs, an eighth of it.

With larger blocks, most streams would consist of a single block.
"""


def with_an_atom(key: jax.Array, database: jax.Array) -> jax.Array:
    """Add Laplace noise of scale 1, or return 0 with probability 0.4."""
    first, second = jax.random.split(key)
    noisy = database + jax.random.laplace(first)
    return jax.numpy.where(jax.random.bernoulli(second, 0.4), 0.0, noisy)


def vector(key: jax.Array, database: jax.Array) -> jax.Array:
    """Add Laplace noise of scale 1 to every entry of a vector."""
    return database + jax.random.laplace(key, database.shape)


class Law(NamedTuple):
    """A mechanism and its true level, which is used as the claim.

    Attributes:
        name: Name in the table and in the file of streams.
        mechanism: Mechanism to audit.
        pairs: Pairs of databases; None for the standard pairs of the mechanism.
        level: True level at `delta`.
        draws: Number of draws per side, over all pairs.
        delta: Delta of the level.
    """

    name: str
    mechanism: Any
    pairs: Any
    level: float
    draws: int
    delta: float = 0.0


SVT2 = reference.best_level(*HALVING["SVT2 at 0.7"])
"""Largest level of ten pairs. Nine of these pairs share a database."""

ONE = Pairs(np.zeros(1), np.ones(1))

LAWS = [
    Law("randomised response, few draws", RandomizedResponse(1.0), None, 1.0, FEW),
    Law("Laplace, few draws", Laplace(1.0), ONE, 1.0, FEW),
    Law("Laplace", Laplace(1.0), ONE, 1.0, MANY),
    Law("Laplace with an atom", with_an_atom, ONE, 1.0, MANY),
    Law("vectors of 2", vector, Pairs(np.zeros((1, 2)), np.full((1, 2), 0.5)), 1.0, FEW),
    Law("vectors of 6, learned", vector, Pairs(np.zeros((1, 6)), np.full((1, 6), 1 / 6)), 1.0, FEW),
    Law("Laplace, delta 0.05", Laplace(1.0), ONE, 1 + 2 * math.log1p(-DELTA), FEW, DELTA),
    Law(
        "sparse vector 2, ten pairs",
        HALVING["SVT2 at 0.7"][0],
        HALVING["SVT2 at 0.7"][1],
        SVT2,
        MANY,
    ),
    Law("Laplace, ten shifts", Laplace(1.0), Pairs(np.zeros(10), np.arange(1, 11) / 10), 1.0, MANY),
]
"""Mechanisms whose true levels are known in closed form or computed by `dpjax.reference`."""


def largest_wealth(law: Law, key: int) -> float:
    """Run one stream; return the logarithm of its largest wealth after any block.

    The wealth is that of bets against the true level.
    """
    result = dpjax.audit(
        law.mechanism,
        law.pairs,
        method=Sequential(law.draws),
        notion=Epsilon(law.delta),
        claim=law.level,
        confidence=1 - min(ERRORS),
        key=key,
    )
    counted = result.evidence.counted
    assert isinstance(counted, BetWealth)
    return max(wealth for _, _, wealth in counted.path)


def run(law: Law, file: Path, streams: int, together: int) -> None:
    """Run streams until the file contains enough streams of a mechanism.

    Args:
        law: Mechanism and its true level.
        file: File to which the results are appended.
        streams: Required number of streams in the file.
        together: Number of streams that run in one process at the same time.
    """
    done = len(kept(file).get(law.name, []))
    for first in range(done, streams, together):
        keys = range(first, min(first + together, streams))
        found = streams_of(law, keys)
        with file.open("a") as opened:
            opened.writelines(json.dumps([law.name, wealth]) + "\n" for wealth in found)


def streams_of(law: Law, keys: Sequence[int]) -> list[float]:
    """Return the logarithm of the largest wealth of each key's stream."""
    _sequential._BLOCK = BLOCK if law.pairs is None or len(law.pairs) == 1 else BLOCK // 8
    return in_lockstep(partial(largest_wealth, law), keys)


def check(law: Law, streams: int) -> None:
    """Compare streams that run together with the same streams run alone.

    Raises:
        AssertionError: If the wealth of a stream depends on the other streams.
    """
    found = streams_of(law, range(streams))
    alone = [largest_wealth(law, key) for key in range(streams)]
    # At a positive delta, Newton's method stops when all rows have converged. The number of steps,
    # and thus the rounding error, depends on the other streams.
    assert np.allclose(found, alone, rtol=0, atol=1e-9), (law.name, found, alone)


def kept(file: Path) -> dict[str, list[float]]:
    """Read a file of streams; return each mechanism's logarithms of the largest wealth."""
    found: dict[str, list[float]] = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        name, wealth = json.loads(line)
        found.setdefault(name, []).append(wealth)
    return found


def table(files: list[Path], say: Callable[[str], None]) -> bool:
    """Print the table; return whether no mechanism exceeds the allowed number of false alarms.

    Args:
        files: Files of streams. For each mechanism, the last file that contains it is used.
        say: Function that prints one line.
    """
    say(
        "| mechanism | streams | draws per side | false alarms at alpha = 0.05 (allowed) | "
        "at 0.001 (allowed) | alpha + 3 standard errors |\n|---|---|---|---|---|---|"
    )
    fine, found = True, {}
    for file in files:
        found.update(kept(file))
    for law in LAWS:
        wealth, cells, most = np.array(found.get(law.name, [])), [], []
        if not len(wealth):
            continue
        for error in ERRORS:
            wrong = int(np.sum(wealth >= math.log(1 / error)))
            allowed = int(binom.isf(TEST_ERROR, len(wealth), error))
            fine &= wrong <= allowed
            cells.append(f"{wrong / len(wealth):.2%}, {wrong} ({allowed})")
            most.append(error + 3 * math.sqrt(error * (1 - error) / len(wealth)))
        limits = " / ".join(f"{share:.2%}" for share in most)
        say(f"| {law.name} | {len(wealth)} | {law.draws:,} | {' | '.join(cells)} | {limits} |")
    return fine


def main() -> None:
    """Run the missing streams and print the table."""
    parser = argparse.ArgumentParser(prog="scripts/benchmark false_alarms", description=__doc__)
    parser.add_argument("--streams", type=int, default=4000, help="streams per mechanism")
    parser.add_argument("--law", default="", help="substring of the names of mechanisms to run")
    parser.add_argument("--files", nargs="+", type=Path, default=[Path("false-alarms.jsonl")],
                        help="files of streams; new streams go to the first file")  # fmt: skip
    parser.add_argument("--together", type=int, default=100, help="streams that run together")
    parser.add_argument("--check", type=int, default=0,
                        help="only check that this many streams agree when run alone")  # fmt: skip
    given = parser.parse_args()
    # Save time: bets at other levels do not affect the wealth at the claim.
    _hypotheses.LEVELS = 4
    for law in LAWS:
        if given.law in law.name and given.check:
            check(law, given.check)
            print(f"{law.name}: {given.check} streams agree when run alone", flush=True)
        elif given.law in law.name:
            run(law, given.files[0], given.streams, given.together)
    if given.check:
        return
    if not table(given.files, lambda line: print(line, flush=True)):
        raise SystemExit("More false alarms than allowed.")


if __name__ == "__main__":
    main()
