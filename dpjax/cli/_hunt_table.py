"""Output of `dpjax hunt`: the outcomes of audits as text, as JSON, and as a Markdown table."""

import json
from pathlib import Path

from dpjax.cli._hunt_run import HuntRun
from dpjax.cli._table import Value
from dpjax.core.errors import neutral
from dpjax.core.files import write_whole
from dpjax.results import REFUTING


def show(run: HuntRun, table: Path | None, *, as_json: bool) -> None:
    """Print the outcomes of a hunt, and write them to a Markdown table.

    Args:
        run: The hunt.
        table: File for the Markdown table, or None.
        as_json: Whether to print JSON.
    """
    if table is not None:
        write_whole({table: markdown_table(run.rows)})
    if as_json:
        whole = {"rows": run.rows, "changes": run.changes} if run.changes else run.rows
        print(json.dumps(whole, indent=1))
        return
    print(text_table(run.rows))
    for stem, sentence in run.changes.items():
        print(neutral(f"{stem}: {sentence}"))


def text_table(rows: list[dict[str, Value]]) -> str:
    """Return the rows as lines of text; for a refuted claim, add a line that shows the pair."""
    lines = []
    for row in rows:
        bound = "" if row["bound"] is None else f"epsilon at least {row['bound']:.3f}, "
        claim = f"({row['claim']:g}, {row['delta']:g})" if row["delta"] else f"{row['claim']:g}"
        lines.append(f"{row['release']}: {row['case']}")
        if row["verdict"] in (*REFUTING, "not refuted", "doubtful"):
            seconds = f"{row['seconds']:.0f} s"
            lines.append(f"  {row['verdict'].upper()}: {bound}claimed {claim}, {seconds}")
        else:
            lines.append(f"  NOT AUDITED: {row['verdict']}")
        if row["pair"] and row["verdict"] in REFUTING:
            lines.append(f"  pair      {row['pair']}")
        if row["reported"]:
            lines.append(f"  reported  {row['reported']}")
        if row["documented"]:
            lines.append("  The library documents this behaviour.")
    return "\n".join(map(neutral, lines))


def markdown_table(rows: list[dict[str, Value]]) -> str:
    """Return the rows as a Markdown table; only refuted claims show their pairs."""
    lines = [
        "| release | case | claim | bound | verdict | pair | seconds | reported |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        bound = "" if row["bound"] is None else f"{row['bound']:.2f}"
        claim = f"{row['claim']:g}" + (f" at delta {row['delta']:.2g}" if row["delta"] else "")
        pair = row["pair"] if row["verdict"] in REFUTING else ""
        reported = row["reported"] + (" (documented)" if row["documented"] else "")
        cells = [row["release"], row["case"], claim, bound, row["verdict"], pair,
                 f"{row['seconds']:.0f}", reported]  # fmt: skip
        lines.append(
            "| " + " | ".join(neutral(str(cell)).replace("|", "\\|") for cell in cells) + " |"
        )
    return "\n".join(lines) + "\n"
