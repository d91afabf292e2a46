"""`dpjax mechanisms`: the list of built-in mechanisms."""

import dataclasses
import json

from dpjax.cli._options import AS_JSON
from dpjax.cli._table import Table, Value

TABLE: Table = {"as_json": AS_JSON}
EXAMPLES = ("dpjax mechanisms", "dpjax mechanisms --json")

_WIDE = 110


def command(**given: Value) -> None:
    """List the built-in mechanisms with their parameters, true levels and sources."""
    from dpjax.mechanisms import CATALOGUE

    rows = []
    for name, cls in CATALOGUE.items():
        default = cls()
        parameters = {f.name: getattr(default, f.name) for f in dataclasses.fields(cls)}
        level = default.level
        rows.append(
            {
                "name": name,
                "parameters": parameters,
                "outputs": str(default.output_space),
                "level": None if level == float("inf") else level,
                "source": cls.source,
            }
        )
    if given["as_json"]:
        print(json.dumps({"mechanisms": rows}, indent=2))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    # Users copy the names of parameters to --param, so names must never be truncated. A pipe
    # therefore receives lines of full length, and a narrow terminal omits the column of sources.
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(console.width, _WIDE))
    headings = ("name", "parameters", "outputs", "level", "source")
    headings = headings if console.width >= _WIDE else headings[:-1]
    table = Table(box=box.SIMPLE_HEAD, caption="The level is the true epsilon at these parameters.")
    for heading in headings:
        table.add_column(heading, no_wrap=heading in ("name", "parameters", "level"))
    for row in rows:
        cells = (
            row["name"],
            "\n".join(f"{k}={v:g}" for k, v in row["parameters"].items()),
            row["outputs"],
            "infinite" if row["level"] is None else f"{row['level']:.4g}",
            row["source"],
        )
        table.add_row(*cells[: len(headings)])
    console.print(table)
