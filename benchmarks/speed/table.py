"""Format a result file as Markdown: first the goals, and then all entries.

python -m benchmarks.speed.table RESULT.json
"""

import argparse
import json
from itertools import groupby
from pathlib import Path
from typing import Any


def table(result: dict[str, Any]) -> str:
    """Return the content of a result file as Markdown."""
    machine = result["machine"]
    versions = ", ".join(f"{k} {v}" for k, v in machine["versions"].items() if v)
    lines = [
        f"# Speed, {result['date']}",
        "",
        f"{machine['processor']}, {machine['cores']} cores ({machine['system']}), "
        f"{machine['device']}; load at the start {machine['load_at_start']:.1f}; "
        f"Python {machine['python']}; {versions}."
        + (" Quick version: small sizes, few rounds." if result["quick"] else ""),
        "",
        *result["notes"],
        *([""] if result["notes"] else []),
        "| quantity | measured | goal | reached |",
        "|---|---|---|---|",
    ]
    for goal in result["goals"]:
        sign = ">=" if goal["at_least"] else "<="
        held = "yes" if goal["held"] else "no"
        target = f"{sign} {goal['target']:g}"
        lines.append(
            f"| {goal['suite']}: {goal['what']} | {goal['value']:.3g} | {target} | {held} |"
        )
    for suite, entries in groupby(result["entries"], lambda e: e["suite"]):
        lines += ["", f"## {suite}", "", "| case | name | time | spread | first call | facts |"]
        lines.append("|---|---|---|---|---|---|")
        lines += [_row(entry) for entry in entries]
    return "\n".join(lines) + "\n"


def _row(entry: dict[str, Any]) -> str:
    facts = ", ".join(f"{k} {_short(v)}" for k, v in entry["facts"].items())
    spread = f"{entry['spread'] / abs(entry['seconds']):.0%}" if entry["rounds"] > 1 else ""
    return (
        f"| {entry['case']} | {entry['name']} | {_time(entry['seconds'])} per {entry['unit']} "
        f"| {spread} | {entry['first']:.2g} s | {facts} |"
    )


def _short(value: Any) -> str:
    return f"{value:.2g}" if isinstance(value, float) else str(value)


def _time(seconds: float) -> str:
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    print(table(json.loads(parser.parse_args().result.read_text())), end="")


if __name__ == "__main__":
    main()
