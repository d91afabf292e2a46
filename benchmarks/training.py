"""Measure trainings per second, and how often faulty and correct training loops are refuted.

There are nine faulty loops, each with a correct version. The script prints Markdown tables. It
exits with status 1 if a faulty loop is not refuted for every seed, or if a correct loop is refuted
for more seeds than can be explained by chance.
"""

import argparse
import sys
import time
from pathlib import Path

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from corpus.training import CONFIDENCE, TRAININGS, Training
from scipy import stats

from dpjax.core.threads import side_by_side
from dpjax.mechanisms.training import (
    DpSgd,
    FullBatch,
    Logistic,
    Network,
    Poisson,
    Shuffle,
    canary_pair,
)

RECORDS, FEATURES = 200, 20
BLOCK = 1024
"""Number of trainings per block."""

FALSE_ALARM = 1e-5
"""Probability that a correct loop fails the test of how often it is refuted."""

LOOPS = {
    "full batch": (FullBatch(), Logistic(), 100),
    "Poisson, rate 0.1": (Poisson(0.1), Logistic(), 100),
    "shuffled, batches of 20": (Shuffle(20), Logistic(), 100),
    "network 20-16-1, full batch": (FullBatch(), Network(16), 50),
}


def compiled(name: str, trainings: int) -> jax.stages.Compiled:
    """Return the compiled program that maps a key to the scores of many trainings of a loop."""
    sampling, model, steps = LOOPS[name]
    rng = np.random.default_rng(0)
    features = rng.normal(size=(RECORDS - 1, FEATURES - 1))
    records = canary_pair(features, rng.integers(0, 2, RECORDS - 1)).database[0]
    mechanism = DpSgd(2.0, num_steps=steps, sampling=sampling, model=model)
    sample = jax.jit(lambda key: mechanism.sample(key, records, trainings))
    return sample.lower(jax.random.key(0)).compile()


def speed(name: str, trainings: int) -> str:
    """Return a row with trainings per second of wall time, per second of CPU time, and memory.

    As in audits, blocks are drawn on all cores. The memory is the size of the temporaries of a
    block's compiled program, per training and record.
    """
    drawn = compiled(name, BLOCK)
    memory = drawn.memory_analysis().temp_size_in_bytes / (BLOCK * RECORDS)
    drawn(jax.random.key(0)).block_until_ready()
    keys = list(jax.random.split(jax.random.key(1), -(-trainings // BLOCK)))
    clock, processor = time.perf_counter(), time.process_time()
    side_by_side(drawn, keys)
    trainings = BLOCK * len(keys)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    steps = LOOPS[name][2]
    numbers = f"{trainings / clock:,.0f} | {trainings / processor:,.0f} | {memory:.1f}"
    return f"| {name} | {steps} | {numbers} |"


def refuted(entry: Training, seeds: range) -> tuple[str, bool]:
    """Audit the faulty and the correct version of a loop.

    Args:
        entry: Loop.
        seeds: Seeds of the audits.

    Returns:
        Row of the table, and whether both versions are refuted as often as required.
    """
    start, cells, passed = time.process_time(), [], True
    for wrong in (True, False):
        results = [entry.audit(wrong, seed) for seed in seeds]
        count = sum(result.verdict == "violated" for result in results)
        allowed = stats.binom.isf(FALSE_ALARM, len(seeds), 1 - CONFIDENCE)
        passed &= count == len(seeds) if wrong else bool(count <= allowed)
        median = np.median([result.lower_bound for result in results])
        cells.append(f"{count} of {len(seeds)} ({median:.2f})")
    seconds = (time.process_time() - start) / (2 * len(seeds))
    text = f"| {entry.name} | {entry.notion.symbol} | {entry.claim:.3f} | {entry.trainings:,} | "
    return f"{text}{' | '.join(cells)} | {seconds:.2f} |", passed


def main() -> int:
    """Run the command line; return 1 if an entry misses its requirement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="", help="substring of the entries' names")
    parser.add_argument("--trainings", type=int, default=8192, help="trainings to measure speed")
    arguments = parser.parse_args()
    print(f"{RECORDS} records of {FEATURES} features, {jax.devices()[0].platform}\n")
    header = ["loop", "steps", "trainings per second", "trainings per CPU second"]
    print(f"| {' | '.join(header)} | bytes per record |\n|---|---|---|---|---|")
    for name in LOOPS:
        print(speed(name, arguments.trainings), flush=True)
    print("\nHow often the faulty and the correct loop are refuted, with their median bounds:\n")
    print("| loop | notion | claim | trainings per side | faulty | correct | CPU s per audit |")
    print("|---|---|---|---|---|---|---|", flush=True)
    all_passed = True
    for entry in TRAININGS:
        if arguments.only in entry.name:
            text, passed = refuted(entry, range(arguments.seeds))
            all_passed &= passed
            print(text, flush=True)
    return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main())
