"""False alarms of sequential audits at the boundary, looked at after every block.

Each stream is a whole audit of a mechanism at the level that it has. The largest wealth on its way
tells at which errors the claim would ever have been refuted. Many streams share a process, in which
their bets are computed together (`benchmarks.lockstep`); `--check` runs some of them alone too, and
compares. Streams are kept in a file, a line a stream: a call that is interrupted goes on where it
was.
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
"""Errors at which false alarms are counted."""

FEW, MANY = 2_000, 10_001
"""Draws a side of audits whose every draw is dear, and of others."""

TEST_ERROR = 1e-6
"""Probability that a right method has more false alarms than the largest number allowed."""

DELTA = 0.05
"""Delta of the law that has one."""

BLOCK = 2048
"""Draws per block of one pair; of ten pairs, an eighth of them. Most blocks would be larger than
all draws of a stream otherwise."""


def with_an_atom(key: jax.Array, database: jax.Array) -> jax.Array:
    """Laplace noise of scale 1, or the constant 0 with probability 0.4."""
    first, second = jax.random.split(key)
    noisy = database + jax.random.laplace(first)
    return jax.numpy.where(jax.random.bernoulli(second, 0.4), 0.0, noisy)


def vector(key: jax.Array, database: jax.Array) -> jax.Array:
    """Laplace noise of scale 1 on every number of a vector."""
    return database + jax.random.laplace(key, database.shape)


class Law(NamedTuple):
    """A mechanism at the boundary.

    Attributes:
        name: In the table.
        mechanism: What is audited.
        pairs: Pairs of databases.
        level: That it has.
        draws: A side, of all pairs together.
        delta: Of the level.
    """

    name: str
    mechanism: Any
    pairs: Any
    level: float
    draws: int
    delta: float = 0.0


SVT2 = reference.best_level(*HALVING["SVT2 at 0.7"])
"""Level of the best of ten pairs, nine of which share a database."""

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
"""Laws whose level is the sum of the shifts, or follows from its definition at a delta."""


def largest_wealth(law: Law, key: int) -> float:
    """Logarithm of the largest wealth at the level after any block."""
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
    """Adds streams to a file until it has that many of a law."""
    done = len(kept(file).get(law.name, []))
    for first in range(done, streams, together):
        keys = range(first, min(first + together, streams))
        found = streams_of(law, keys)
        with file.open("a") as opened:
            opened.writelines(json.dumps([law.name, wealth]) + "\n" for wealth in found)


def streams_of(law: Law, keys: Sequence[int]) -> list[float]:
    """Largest wealth of the streams of several keys."""
    _sequential._BLOCK = BLOCK if law.pairs is None or len(law.pairs) == 1 else BLOCK // 8
    return in_lockstep(partial(largest_wealth, law), keys)


def check(law: Law, streams: int) -> None:
    """Raises AssertionError if streams that run alone have other wealths than together."""
    found = streams_of(law, range(streams))
    alone = [largest_wealth(law, key) for key in range(streams)]
    # At a delta, Newton's steps end when all rows have converged.
    assert np.allclose(found, alone, rtol=0, atol=1e-9), (law.name, found, alone)


def kept(file: Path) -> dict[str, list[float]]:
    """Name of a law -> largest wealth of its streams."""
    found: dict[str, list[float]] = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        name, wealth = json.loads(line)
        found.setdefault(name, []).append(wealth)
    return found


def table(files: list[Path], say: Callable[[str], None]) -> bool:
    """Prints the table; returns whether no law has more false alarms than allowed."""
    say(
        "| law | streams | draws | false alarms at 0.05 (allowed) | at 0.001 (allowed) | "
        "alpha and 3 s.e. |\n|---|---|---|---|---|---|"
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
    """Runs what is missing, and prints the table."""
    parser = argparse.ArgumentParser(prog="scripts/benchmark false_alarms", description=__doc__)
    parser.add_argument("--streams", type=int, default=4000, help="of each law")
    parser.add_argument("--law", default="", help="a part of the names of laws that are run")
    parser.add_argument("--files", nargs="+", type=Path, default=[Path("false-alarms.jsonl")],
                        help="where streams are kept, the first one for new ones")  # fmt: skip
    parser.add_argument("--together", type=int, default=100, help="streams that share their bets")
    parser.add_argument("--check", type=int, default=0,
                        help="compare that many streams with the same ones alone")  # fmt: skip
    given = parser.parse_args()
    # Bets at other levels than the claim change nothing at the claim.
    _hypotheses.LEVELS = 4
    for law in LAWS:
        if given.law in law.name and given.check:
            check(law, given.check)
            print(f"{law.name}: {given.check} streams alone as together", flush=True)
        elif given.law in law.name:
            run(law, given.files[0], given.streams, given.together)
    if given.check:
        return
    if not table(given.files, lambda line: print(line, flush=True)):
        raise SystemExit("More false alarms than allowed.")


if __name__ == "__main__":
    main()
