"""Audit the mechanisms of DP-Sniper's evaluation with a tenth of DP-Sniper's draws.

DP-Sniper trains and evaluates a classifier for each pair, with an average of 2.7e7 outputs per
side: 1.07e7 to train it, the same number on one side for its threshold, and the same number to
estimate its event. There are 4 pairs of numbers and 16 pairs of query answers, counting both
orders. The best event is counted on 2e8 fresh draws per side, with confidence 0.9. A tenth of all
these draws is 3.1e7 per side for numbers and 6.3e7 for query answers.

Each row of this benchmark uses at most a tenth of the draws: 1e6 or 2e6 per pair for the search,
and 1e7 to 5e7 for the bound. Each row is one audit in a separate process and is written as soon as
it is done, so the table can be computed in several sessions.

References:
    Bichsel, Steffen, Bogunovic, Vechev (2021), "DP-Sniper: black-box discovery of differential
    privacy violations using classifiers", the results of the logistic classifier; numbers of draws,
    patterns of pairs and parameters from the experiments of its repository.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SEARCH, CONFIRM, CONFIDENCE, EPSILON = 1_000_000, 20_000_000, 0.9, 0.1
"""Numbers of search draws per side and pair and of confirmation draws per side.

CONFIDENCE and EPSILON are DP-Sniper's settings.
"""


class Row(NamedTuple):
    """A mechanism of the table.

    Attributes:
        title: Name in the table.
        name: Name in dpjax's catalogue, or a key of `_OF_TWO`.
        parameters: Parameters except epsilon.
        bound: DP-Sniper's bound.
        seconds: DP-Sniper's time in seconds.
        epsilon: Parameter epsilon; None for a mechanism without it.
        bits: Number of bits of the output if the bits are audited as a vector; None otherwise.
        num_pairs: Number of standard pairs to use; None for all of them.
        search: Number of search draws per side and pair.
        confirm: Number of confirmation draws per side.
        patterns: Length of the databases in DP-Sniper's pairs; None for standard pairs.
    """

    title: str
    name: str
    parameters: dict[str, Any]
    bound: float
    seconds: int
    epsilon: float | None = EPSILON
    bits: int | None = None
    num_pairs: int | None = None
    search: int = SEARCH
    confirm: int = CONFIRM
    patterns: int | None = None


_FIVE, _NOISE = {"num_queries": 5}, {"num_bits": 20, "num_hashes": 4}
ROWS = (
    Row("Laplace", "laplace", {}, 0.0968, 21),
    # DP-Sniper uses k = ceil(ln(2 / 0.1)) = 3, while dpjax uses k = ceil(log2(2 / epsilon)), which
    # is also 3 for epsilon = 0.25.
    Row("truncated geometric", "truncated-geometric", {"largest_count": 5}, 0.1156, 19, 0.25),
    Row("noisy histogram 1", "noisy-histogram-1", {}, 0.0978, 38),
    Row("noisy histogram 2", "noisy-histogram-2", {}, 4.602, 41),
    Row("report noisy max 1", "report-noisy-max", _FIVE, 0.0923, 62),
    Row("report noisy max 2", "report-noisy-max-2", _FIVE, 0.0975, 58),
    # With 2e7 draws, half of the bounds of the best event are below DP-Sniper's bound.
    Row("report noisy max 3", "report-noisy-max-3", _FIVE, 0.2478, 62, confirm=50_000_000),
    Row("report noisy max 4", "report-noisy-max-4", _FIVE, 0.3463, 63),
    Row("SVT1", "svt1", {"threshold": 0.5}, 0.0858, 126),
    Row("SVT2", "svt2", {}, 0.0859, 160),
    Row("SVT3", "svt3", {}, 0.1716, 160),
    Row("SVT4", "svt4", {}, 0.1687, 130),
    Row("SVT5", "svt5", {}, 1.761, 59),
    Row("SVT6", "svt6", {}, 0.272, 96),
    Row(
        "RAPPOR",
        "rappor",
        {"coin_chance": 0.75, "set_chance": 0.55, "clear_chance": 0.45, **_NOISE},
        0.293,
        145,
        None,
        20,
        4,
    ),
    Row(
        "one-time RAPPOR",
        "one-time-rappor",
        {"coin_chance": 0.95, **_NOISE},
        0.598,
        89,
        None,
        20,
        4,
    ),
    # There are only two pairs, and the outputs are noisy, so the search uses twice as many draws.
    Row(
        "Laplace, 20 releases",
        "parallel-laplace",
        {"num_releases": 20},
        0.035,
        104,
        0.005,
        search=2 * SEARCH,
        patterns=1,
    ),
    Row(
        "SVT3 and SVT4 in parallel",
        "svt3-svt4 of two",
        {},
        0.261,
        364,
        None,
        confirm=10_000_000,
        patterns=10,
    ),
    Row("prefix sum", "prefix-sum", {"num_queries": 10}, 0.504, 97),
    # With 1e6 draws per pair, the search chose an event without a positive bound for one of three
    # keys.
    Row(
        "numerical SVT",
        "numerical-svt of two",
        {},
        0.034,
        152,
        None,
        search=2 * SEARCH,
        confirm=30_000_000,
        patterns=10,
    ),
)


def patterns(length: int) -> Any:
    """Return DP-Sniper's pairs of databases; a database of length 1 is a scalar."""
    import dpjax

    ones, half = np.ones(length), np.arange(length) < length // 2
    first = np.arange(length) == 0
    pairs = {"One Above": (ones, ones - first), "One Below": (ones, ones + first)}
    if length == 1:
        sides = [
            np.array([float(side[0]) for side in both])
            for both in zip(*pairs.values(), strict=True)
        ]
        return dpjax.Pairs(*sides, tuple(pairs))
    pairs |= {
        "One Above Rest Below": (ones, 2.0 * first),
        "One Below Rest Above": (ones, 2.0 * ~first),
        "Half Half": (ones, 2.0 * half),
        "All Above": (ones, 2 * ones),
        "All Below": (ones, 0 * ones),
        "X Shape": (1.0 * half, 1.0 * ~half),
    }
    return dpjax.Pairs(
        *(np.stack(sides) for sides in zip(*pairs.values(), strict=True)), tuple(pairs)
    )


class _Variant(NamedTuple):
    """A sparse vector technique that stops after two positives, with an entry for each query.

    Attributes:
        threshold: Scale of the threshold's Laplace noise for epsilon 1.
        query: Scale of the noise of each answer.
        told: Scale of the fresh noise on the reported answer of a positive query. 0 reports the
            noisy answer that was compared with the threshold, and None reports the number 1.
        negative: Entry of a negative query.
        stopped: Entry of a query after the second positive.
    """

    threshold: float
    query: float
    told: float | None
    negative: float
    stopped: float


_OF_TWO = {
    "svt3-svt4 of two": (
        # The levels are 10 / 4 for the noisy answers and (1 + 6 * 2) / 4, both times epsilon.
        (_Variant(2, 4, 0, -1000, -2000), _Variant(4, 4 / 3, None, 0, -1)),
        5.75 * EPSILON,
    ),
    "numerical-svt of two": ((_Variant(3, 12, 6, 0, -1000),), EPSILON),
}
"""Variants and true levels of DP-Sniper's mechanisms that stop after two positives (c = 2)."""


def _of_two(variants: tuple[_Variant, ...], true_level: float) -> Any:
    """Return the mechanism that runs all variants on ten answers, with threshold 1."""
    import jax
    import jax.numpy as jnp

    from dpjax.core import random
    from dpjax.core.types import VectorSpace

    class OfTwo:
        output_space = VectorSpace(10 * len(variants))
        level = true_level

        def sample(self, key: Any, database: Any, num_samples: int) -> jax.Array:
            entries = []
            for number, variant in enumerate(variants):
                own, used = random.fold_in(key, number), iter(range(21))

                def noise(scale: float, own: Any = own, used: Any = used) -> jax.Array:
                    drawn = random.laplace(own, num_samples, next(used), jnp.float32)
                    return scale / EPSILON * drawn

                threshold, positives = 1 + noise(variant.threshold), jnp.zeros(num_samples)
                for i in range(10):
                    answer = database[i] + noise(variant.query)
                    positive = answer >= threshold
                    told = jnp.ones(num_samples) if variant.told is None else answer
                    if variant.told:
                        told = database[i] + noise(variant.told)
                    entry = jnp.where(positive, told, variant.negative)
                    entries.append(jnp.where(positives < 2, entry, variant.stopped))
                    positives = positives + positive
            return jnp.stack(entries, axis=-1)

    return jax.tree_util.register_static(OfTwo)()


def _as_bits(mechanism: Any, bits: int) -> Any:
    """Return the mechanism with its output as a vector of bits, for which a score is learned."""
    import jax
    import jax.numpy as jnp

    from dpjax.core.types import VectorSpace

    class Bits:
        output_space = VectorSpace(bits)

        def sample(self, key: Any, database: Any, num_samples: int) -> jax.Array:
            code = mechanism.sample(key, database, num_samples)
            return ((code[:, None] >> jnp.arange(bits)) & 1).astype(jnp.float32)

    return jax.tree_util.register_static(Bits)()


def audited(row: Row, scale: float = 1.0) -> dict[str, Any]:
    """Run the audit of a row; return its results as values that can be written as JSON.

    Args:
        row: Row of the table.
        scale: Factor that multiplies the numbers of draws.
    """
    import dpjax
    from dpjax.mechanisms import find_mechanism

    given = {} if row.epsilon is None else {"epsilon": row.epsilon}
    if row.name in _OF_TWO:
        mechanism = _of_two(*_OF_TWO[row.name])
    else:
        mechanism = find_mechanism(row.name)(**row.parameters, **given)
    pairs = mechanism.standard_pairs() if row.patterns is None else patterns(row.patterns)
    if row.num_pairs is not None:
        sides = pairs.database[: row.num_pairs], pairs.neighbor[: row.num_pairs]
        pairs = dpjax.Pairs(*sides, pairs.labels[: row.num_pairs])
    subject = mechanism if row.bits is None else _as_bits(mechanism, row.bits)
    start = time.perf_counter()
    result = dpjax.audit(
        subject,
        pairs,
        method=dpjax.Events(int(row.search * scale), int(row.confirm * scale)),
        confidence=CONFIDENCE,
    )
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "level": mechanism.level,
        "bound": result.lower_bound,
        "event": result.witness.event,
        "pair": result.witness.pair,
        "wall": time.perf_counter() - start,
        "cpu": used.ru_utime + used.ru_stime,
        "version": dpjax.__version__,
    }


def table(found: dict[str, dict[str, Any]]) -> str:
    """Return the Markdown table of all completed rows.

    Args:
        found: Map from the title of a row to the result of `audited`.
    """
    lines = [
        "| mechanism | level | DP-Sniper | DP-Sniper, s | dpjax | dpjax, CPU s | dpjax, s "
        "| dpjax at least as high |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        if row.title not in found:
            continue
        seen = found[row.title]
        level = "infinite" if seen["level"] == float("inf") else f"{seen['level']:.4g}"
        cells = [row.title, level, f"{row.bound:g}", row.seconds, f"{seen['bound']:.4f}",
                 f"{seen['cpu']:.0f}", f"{seen['wall']:.0f}",
                 "yes" if seen["bound"] >= row.bound else "no"]  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def main(out: Path, titles: list[str], *, scale: float = 1.0) -> None:
    """Audit the rows one by one, each in a separate process, and print the table.

    Args:
        out: JSON file of completed rows. It is updated after each row, and rows in it are skipped.
        titles: Titles of the rows to audit; all rows if empty.
        scale: Factor that multiplies the numbers of draws.
    """
    found = json.loads(out.read_text()) if out.exists() else {}
    # Raise the limit on the number of outcomes, because twenty bits exceed the default.
    environment = os.environ | {"DPJAX_MAX_CATEGORIES": str(2**20)}
    for number, row in enumerate(ROWS):
        if row.title in found or (titles and row.title not in titles):
            continue
        command = [sys.executable, __file__, "--row", str(number), "--scale", str(scale)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            print(f"{row.title}: {done.stderr.strip().splitlines()[-1:]}", flush=True)
            continue
        found[row.title] = json.loads(done.stdout)
        out.write_text(json.dumps(found, indent=1))
        print(f"{row.title}: {found[row.title]}", flush=True)
    print(f"{platform.machine()}, {os.cpu_count()} cores\n{table(found)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?", help="JSON file of completed rows")
    parser.add_argument("titles", nargs="*", help="rows of the table; all if none")
    parser.add_argument("--scale", type=float, default=1.0, help="factor for the numbers of draws")
    parser.add_argument("--row", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.row is not None:
        print(json.dumps(audited(ROWS[given.row], given.scale)))
    else:
        main(given.out, given.titles, scale=given.scale)
