"""The mechanisms of DP-Sniper's evaluation, at a tenth of its draws.

DP-Sniper trains a classifier of outputs, and bounds the probability of the event it finds by 2e8
fresh draws a side, with confidence 0.9. Here 2e7 draws a side confirm. Each row is one audit in a
process of its own, and is written as soon as it is done, so that a table can be made row by row.

References:
    Bichsel, Steffen, Bogunovic, Vechev (2021), "DP-Sniper: black-box discovery of differential
    privacy violations using classifiers", the results of the logistic classifier.
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

SEARCH, CONFIRM, CONFIDENCE, EPSILON = 1_000_000, 20_000_000, 0.9, 0.1
"""Draws a side and pair that search, draws a side that confirm, and DP-Sniper's settings."""


class Row(NamedTuple):
    """A mechanism of the table.

    Attributes:
        title: In the table.
        name: In dpjax's catalogue.
        parameters: Besides epsilon.
        bound: DP-Sniper's.
        seconds: DP-Sniper's.
        epsilon: The parameter; None for a mechanism without one.
        bits: Bits of an output that is a code, where they are audited as a vector.
        num_pairs: Pairs, of the mechanism's standard ones; all if None.
        search: Draws a side and pair that search.
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


_FIVE, _NOISE = {"num_queries": 5}, {"num_bits": 20, "num_hashes": 4}
ROWS = (
    Row("Laplace", "laplace", {}, 0.0968, 21),
    # DP-Sniper takes ceil(ln(2 / 0.1)) = 3 for k, and dpjax ceil(log2(2 / epsilon)).
    Row("truncated geometric", "truncated-geometric", {"largest_count": 5}, 0.1156, 19, 0.25),
    Row("noisy histogram 1", "noisy-histogram-1", {}, 0.0978, 38),
    Row("noisy histogram 2", "noisy-histogram-2", {}, 4.602, 41),
    Row("report noisy max 1", "report-noisy-max", _FIVE, 0.0923, 62),
    Row("report noisy max 2", "report-noisy-max-2", _FIVE, 0.0975, 58),
    Row("report noisy max 3", "report-noisy-max-3", _FIVE, 0.2478, 62),
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
    # One pair, whose outputs have much noise: twice the draws search.
    Row(
        "Laplace, 20 releases",
        "parallel-laplace",
        {"num_releases": 20},
        0.035,
        104,
        0.005,
        search=2 * SEARCH,
    ),
    Row("SVT3 and SVT4 in parallel", "svt3-svt4", {}, 0.261, 364),
    Row("prefix sum", "prefix-sum", {"num_queries": 10}, 0.504, 97),
    Row("numerical SVT", "numerical-svt", {}, 0.034, 152),
)


def _as_bits(mechanism: Any, bits: int) -> Any:
    """The mechanism with the bits of its code as a vector, among which a score is learned."""
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
    """One audit of a row, as plain numbers.

    Args:
        row: Of the table.
        scale: Of the numbers of draws.
    """
    import dpjax
    from dpjax.mechanisms import find_mechanism

    given = {} if row.epsilon is None else {"epsilon": row.epsilon}
    mechanism = find_mechanism(row.name)(**row.parameters, **given)
    pairs = mechanism.standard_pairs()
    if row.num_pairs is not None:
        sides = pairs.database[: row.num_pairs], pairs.neighbor[: row.num_pairs]
        pairs = dpjax.Pairs(*sides, pairs.labels[: row.num_pairs])
    subject = mechanism if row.bits is None else _as_bits(mechanism, row.bits)
    start = time.perf_counter()
    result = dpjax.audit(
        subject,
        pairs,
        method=dpjax.Events(int(row.search * scale), int(CONFIRM * scale)),
        confidence=CONFIDENCE,
    )
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "level": mechanism.level,
        "bound": result.lower_bound,
        "wall": time.perf_counter() - start,
        "cpu": used.ru_utime + used.ru_stime,
        "version": dpjax.__version__,
    }


def table(found: dict[str, dict[str, Any]]) -> str:
    """The table of the rows that are done, in Markdown.

    Args:
        found: Title of a row -> numbers of `audited`.
    """
    lines = [
        "| mechanism | level | DP-Sniper | s | dpjax | CPU s | s | at least as high |",
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
    """Audits rows one by one, each in a process of its own, and writes the table after each.

    Args:
        out: JSON file of the rows that are done; rows in it are not made again.
        titles: Of rows; all if none.
        scale: Of the numbers of draws.
    """
    found = json.loads(out.read_text()) if out.exists() else {}
    # Twenty bits have more outputs than the usual limit.
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
    parser.add_argument("out", type=Path, nargs="?", help="JSON file of the rows that are done")
    parser.add_argument("titles", nargs="*", help="rows of the table; all if none")
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of draws")
    parser.add_argument("--row", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.row is not None:
        print(json.dumps(audited(ROWS[given.row], given.scale)))
    else:
        main(given.out, given.titles, scale=given.scale)
