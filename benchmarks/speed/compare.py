"""List entries of a new result file that are slower than in an old file by more than noise.

    scripts/benchmark --compare OLD.json NEW.json

An entry is slower (or faster) if its median changed by more than 10% and by more than three
standard deviations of a round, combined from both files. The standard deviation alone is too small,
because rounds of one session share the state of the machine. The exit status is 1 if an entry is
slower.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

DEVIATIONS, LEAST_CHANGE = 3.0, 0.10


class Change(NamedTuple):
    """Change of one entry.

    Attributes:
        key: Tuple (suite, case, name).
        ratio: New time divided by old time.
        noise: Largest relative change that counts as noise.
        verdict: "slower", "faster" or "same".
    """

    key: tuple[str, str, str]
    ratio: float
    noise: float
    verdict: str


def compare(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    """Return the changes of all entries that occur in both results.

    Args:
        old: Content of the old result file.
        new: Content of the new result file.

    Raises:
        ValueError: If the files have no entries in common.
    """
    before, after = _by_key(old), _by_key(new)
    shared = [key for key in after if key in before]
    if not shared:
        raise ValueError("old and new must have entries in common, but had none.")
    return [_change(key, before[key], after[key]) for key in shared]


def _change(key: tuple[str, str, str], before: dict, after: dict) -> Change:
    ratio = after["seconds"] / before["seconds"]
    deviation = math.hypot(before["spread"], after["spread"]) / before["seconds"]
    noise = max(DEVIATIONS * deviation, LEAST_CHANGE)
    verdict = "slower" if ratio > 1 + noise else "faster" if ratio < 1 / (1 + noise) else "same"
    return Change(key, ratio, noise, verdict)


def _by_key(result: dict[str, Any]) -> dict[tuple[str, str, str], dict]:
    return {(e["suite"], e["case"], e["name"]): e for e in result["entries"]}


def report(old: dict[str, Any], new: dict[str, Any]) -> tuple[str, bool]:
    """Return a text that describes the comparison, and whether an entry is slower."""
    changes = compare(old, new)
    lines = [
        f"{c.verdict:>6}  x{c.ratio:.2f} (noise {c.noise:.0%})  {' / '.join(c.key)}"
        for c in sorted(changes, key=lambda c: -c.ratio)
        if c.verdict != "same"
    ]
    kinds = [c.verdict for c in changes]
    only = len(set(_by_key(old)) ^ set(_by_key(new)))
    lines.append(
        f"{len(changes)} entries: {kinds.count('slower')} slower, {kinds.count('faster')} faster, "
        f"{kinds.count('same')} within noise; {only} in one file only."
    )
    if old["machine"]["processor"] != new["machine"]["processor"]:
        lines.append("The processors differ, so compare ratios between contenders, not times.")
    return "\n".join(lines), "slower" in kinds


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    files = parser.parse_args(arguments)
    text, slower = report(*(json.loads(path.read_text()) for path in (files.old, files.new)))
    print(text)
    sys.exit(int(slower))


if __name__ == "__main__":
    main()
