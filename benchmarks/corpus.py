"""Measure how often the faulty and the correct mechanisms of the regression corpus are refuted.

The script prints a Markdown row for each entry. It exits with status 1 if a faulty mechanism is
refuted for fewer than 19 of 20 seeds, or a correct one for more seeds than its confidence allows.
"""

import argparse
import datetime
import platform
import sys
import time
from pathlib import Path

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from corpus import CORPUS, Entry, most_false_refutations
from corpus.entries import CONFIDENCE

COLUMNS = "| mechanism | description | claim | draws per audit | refuted | median lower bound | "
COLUMNS += "required | ms per audit |"
NEEDED_SHARE = 0.95


def row(entry: Entry, seeds: range) -> tuple[str, bool]:
    """Audit one entry with every seed.

    Args:
        entry: Entry of the corpus.
        seeds: Seeds of the audits.

    Returns:
        Row of the table, and whether the entry was refuted as often as required.
    """
    start = time.perf_counter()
    results = [entry.audit(seed) for seed in seeds]
    num_seeds = len(seeds)
    seconds = (time.perf_counter() - start) / num_seeds
    refuted = sum(result.verdict in ("violated", "not random") for result in results)
    limit = int(np.ceil(NEEDED_SHARE * num_seeds))
    if entry.wrong:
        passed, needed = refuted >= limit, f"at least {limit}"
    else:
        limit = most_false_refutations(num_seeds)
        passed, needed = refuted <= limit, f"at most {limit}"
    median = np.median([result.lower_bound for result in results])
    bounds = f"{refuted} of {num_seeds} | {median:.3f} | {needed}{'' if passed else ' (MISSED)'}"
    text = f"| {entry.name} | {'faulty: ' if entry.wrong else 'correct: '}{entry.what} | "
    text += f"{entry.claim:g} | {entry.budget:,} | {bounds} | {1e3 * seconds:.0f} |"
    return text, passed


def main() -> int:
    """Run the command line; return 1 if an entry misses its requirement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", default="", help="substring of the entries' names")
    parser.add_argument("--out", type=Path, default=None, help="Markdown file for the table")
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    device = jax.devices()[0]
    lines = [
        f"The regression corpus, seeds {seeds[0]} to {seeds[-1]}, confidence {CONFIDENCE:g}, "
        f"{datetime.date.today()}, {device.platform} ({platform.machine()}, jax {jax.__version__})",
        "",
        "Times cover whole audits. All seeds of an entry share one compilation.",
        "",
        COLUMNS,
        "|" + "---|" * COLUMNS.count(" | ") + "---|",
    ]
    print("\n".join(lines), flush=True)
    all_passed = True
    for entry in CORPUS:
        if arguments.only not in entry.name:
            continue
        text, passed = row(entry, seeds)
        all_passed &= passed
        lines.append(text)
        print(text, flush=True)
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text("\n".join(lines) + "\n")
    return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main())
