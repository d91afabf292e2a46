"""Find the one pair in a list of hundreds that breaks the claim, with slow calls and a time limit.

`dpjax.audit` gets all pairs as a list. For one pair, chosen at random for each key, the mechanism
is randomized response at level 2. For all other pairs, the output is a fair coin. The claim is 1.
The script prints a Markdown table.
"""

import argparse
import math
import time

import numpy as np

import dpjax

SECONDS = 6e-3
"""Duration of a call, in seconds."""

LEVEL, CLAIM = 2.0, 1.0


def answer(database: tuple[bool, int]) -> int:
    """Return 0 or 1 after `SECONDS`.

    Args:
        database: Tuple (whether the database belongs to the pair that breaks the claim, record).
            The record is the true answer, 0 or 1.
    """
    start = time.perf_counter()
    breaks, record = database
    truthful = 1 / (1 + math.exp(-LEVEL)) if breaks else 0.5
    draw = int(np.random.default_rng().random() < truthful)
    time.sleep(max(SECONDS - (time.perf_counter() - start), 0.0))
    return draw if record else 1 - draw


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=10, help="number of audits")
    parser.add_argument("--pairs", type=int, default=300, help="number of pairs")
    parser.add_argument("--limit", type=float, default=110.0, help="time limit, in seconds")
    parser.add_argument("--workers", type=int, default=2, help="number of worker processes")
    given = parser.parse_args()
    source = dpjax.HostMechanism(
        answer, batched=False, workers=given.workers, time_limit=given.limit
    )
    print("| key | breaking pair | verdict | bound | pair of the witness | seconds |")
    print("|---|---|---|---|---|---|", flush=True)
    for key in range(given.keys):
        breaks = int(np.random.default_rng(key).integers(given.pairs))
        pairs = [((number == breaks, 0), (number == breaks, 1)) for number in range(given.pairs)]
        start = time.perf_counter()
        result = dpjax.audit(source, pairs, claim=CLAIM, key=key)
        seconds = time.perf_counter() - start
        pair = "" if result.witness is None else result.witness.pair
        print(
            f"| {key} | pair {breaks} | {result.verdict} | {result.lower_bound:.3f} | {pair} "
            f"| {seconds:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
