"""`dpjax mechanisms`: the catalogue."""

import dataclasses
import json

import typer


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("mechanisms")(mechanisms)


def mechanisms(
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead."),
) -> None:
    """Lists the built-in mechanisms with their parameters, true level and source."""
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
    if as_json:
        print(json.dumps({"mechanisms": rows}, indent=2))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD, caption="Levels are the true epsilon at the parameters shown."
    )
    for heading in ("name", "parameters", "outputs", "level", "source"):
        # A name that is cut off or broken cannot be given to --param.
        whole = heading in ("name", "parameters")
        table.add_column(heading, no_wrap=whole)
    for row in rows:
        table.add_row(
            row["name"],
            "\n".join(f"{k}={v:g}" for k, v in row["parameters"].items()),
            row["outputs"],
            "infinite" if row["level"] is None else f"{row['level']:g}",
            row["source"],
        )
    Console().print(table)
