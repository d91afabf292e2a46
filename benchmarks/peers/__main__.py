"""Audit the mechanisms of StatDP and DP-Auditorium, and print two Markdown tables.

The script also runs DP-Auditorium, with the sizes of its example and tests, if `--auditorium` names
its folder python/dp_auditorium. This requires tensorflow.
"""

import argparse
import time
from pathlib import Path

from benchmarks.peers import auditorium, statdp
from benchmarks.peers.cases import Case, audited, row_of

HEADER = (
    "| mechanism | size | claim | level | {} | dpjax, same draws | dpjax, a tenth | CPU s |\n"
    "|---|---|---|---|---|---|---|---|"
)


def print_table(peer: str, cases: list[Case], key: int) -> None:
    """Print a line for each case as soon as its audits are done.

    Args:
        peer: Header of the column with the peer's findings.
        cases: Cases of the table.
        key: Seed from which the key of each case is derived.
    """
    start = time.process_time()
    print(HEADER.format(peer))
    for number, case in enumerate(cases):
        both = (audited(case, tenth, 1000 * key + number) for tenth in (False, True))
        print(row_of(case, *both), flush=True)
    print(f"\n{time.process_time() - start:.0f} CPU seconds\n", flush=True)


def main(folder: Path | None, key: int) -> None:
    """Print both tables.

    Args:
        folder: Folder python/dp_auditorium of a checkout, or None.
        key: Seed of all audits.
    """
    print_table("StatDP", statdp.cases(), key)
    found = auditorium.cases()
    if folder is not None:
        tested = auditorium.hockey_stick(folder)
        found = [
            case._replace(peer=tested(case, key)) if case.size in auditorium.SIZES else case
            for case in found
        ]
    print_table("DP-Auditorium", found, key)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--auditorium", type=Path, help="folder python/dp_auditorium of a checkout")
    parser.add_argument("--key", type=int, default=0, help="seed of all audits")
    given = parser.parse_args()
    main(given.auditorium, given.key)
