"""Bounds for functions that return texts, lists or sets, of which hardly any two are equal.

The first mechanisms have known levels, which a bound should approach. The others quote a record now
and then. The script prints a Markdown table.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import dpjax

Rng = np.random.Generator

WORDS = np.array("the patient has a fever and reports pain in her chest since monday".split())

LETTERS = "abcdefghijklmn"

RECORDS = [
    "ann smith of 12 mill lane has gout", "bob jones has flu", "cid baker has a cold and a cough",
]  # fmt: skip


class Case(NamedTuple):
    """A mechanism with its pair of databases and its privacy level."""

    release: Callable[[Any, Rng], object]
    pair: tuple[object, object]
    level: float


def coins(last: float, rng: Rng) -> np.ndarray:
    """Toss 30 fair coins, except for the last one, whose probability is given."""
    return rng.random(30) < np.append(np.full(29, 0.5), last)


def geometric(rng: Rng) -> int:
    """Draw two-sided geometric noise, which makes a count 1-DP."""
    return int(rng.geometric(1 - np.exp(-1)) - rng.geometric(1 - np.exp(-1)))


def quoting(share: float, words: int) -> Callable[[list[str], Rng], str]:
    """Return a generator of texts that quotes the first record with a given probability.

    Args:
        share: Probability of a quote.
        words: Number of words that are quoted.
    """

    def release(records: list[str], rng: Rng) -> str:
        text = [*rng.choice(WORDS, 40)]
        if rng.random() < share:
            place = int(rng.integers(40))
            text[place:place] = records[0].split()[:words]
        return " ".join(text)

    return release


MANY = np.array([f"word{a}{b}{c}" for a in LETTERS for b in LETTERS for c in LETTERS])
RANKS = 1 / np.arange(1, len(MANY) + 1)


def speaking(factor: float, rng: Rng) -> str:
    """Return 200 words, of which every tenth is more frequent by a factor, by Zipf's law."""
    chances = RANKS * np.where(np.arange(len(MANY)) % 10 == 3, factor, 1.0)
    return " ".join(MANY[rng.choice(len(MANY), 200, p=chances / chances.sum())])


BIASED = (0.25, 0.75)
LEAKED = (RECORDS, RECORDS[1:])
CASES = {
    "number with Laplace noise": Case(lambda c, rng: c + rng.laplace(), (0, 1), 1.0),
    "the number in a sentence": Case(
        lambda c, rng: f"About {c + rng.laplace():.4f} persons have gout.", (0, 1), 1.0
    ),
    "the number in JSON": Case(
        lambda c, rng: json.dumps({"n": c + rng.laplace(), "of": "persons"}), (0, 1), 1.0
    ),
    "list of 30 answers, one depends on the data": Case(
        lambda p, rng: np.where(coins(p, rng), "yes", "no").tolist(), BIASED, np.log(3)
    ),
    "set of 30 members, one depends on the data": Case(
        lambda p, rng: {*np.flatnonzero(coins(p, rng)).tolist()}, BIASED, np.log(3)
    ),
    "list whose length has geometric noise": Case(
        lambda c, rng: rng.normal(size=max(c + geometric(rng), 0)).tolist(), (20, 21), 1.0
    ),
    "text that quotes 3 words in 10% of calls": Case(quoting(0.1, 3), LEAKED, np.inf),
    "text that quotes 8 words in 1% of calls": Case(quoting(0.01, 8), LEAKED, np.inf),
    "text in which 275 of 2,744 words are 1.4 times as frequent": Case(speaking, (1.0, 1.4), 60.0),
    "text that quotes nothing": Case(quoting(0.0, 0), LEAKED, 0.0),
}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--search", type=int, default=2000, help="outputs per side to search")
    parser.add_argument("--confirm", type=int, default=8000, help="outputs per side to confirm")
    parser.add_argument("--only", default="", help="part of the names of mechanisms")
    given = parser.parse_args()
    method = dpjax.Events(given.search, given.confirm)
    print("| output | level | bounds of 3 audits | seconds | event |")
    print("|---|---|---|---|---|", flush=True)
    for name, case in CASES.items():
        if given.only not in name:
            continue
        start = time.perf_counter()
        results = [
            dpjax.audit(case.release, [case.pair], method=method, confidence=0.95, key=key)
            for key in range(3)
        ]
        seconds = (time.perf_counter() - start) / len(results)
        bounds = ", ".join(f"{result.lower_bound:.2f}" for result in results)
        event = results[0].witness.output.removeprefix("a vector with ")
        level = "infinite" if case.level == np.inf else f"{case.level:.3g}"
        print(f"| {name} | {level} | {bounds} | {seconds:.1f} | {event} |", flush=True)


if __name__ == "__main__":
    main()
