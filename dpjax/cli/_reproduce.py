"""`dpjax reproduce`: the figures and tables of the papers, from the scripts of a clone."""

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from dpjax._errors import nearest


class Reproduction(NamedTuple):
    """A script of `benchmarks/` with a function `main(out_dir, *, quick)`.

    Attributes:
        module: Name of the script, without its ending.
        what: What it reproduces, in a few words.
    """

    module: str
    what: str


REPRODUCTIONS = {
    "figures123": Reproduction("figures123", "Askin et al. 2022, Figures 1 to 3"),
    "table2": Reproduction("table2", "Askin et al. 2022, Table II"),
    "empirical": Reproduction("empirical", "Burchard et al. 2020, Figures 1 and 3 to 5"),
    "histogram-tables": Reproduction("histogram_tables", "Gorla et al., Tables I to V"),
    "histogram-figures": Reproduction("histogram_figures", "Gorla et al., Figures 2 to 4, 6 and 7"),
    "impossibility": Reproduction("impossibility", "Gorla et al., Theorems 1 and 5"),
}
"""Name on the command line -> script; `main` writes its files into the folder it is given."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(REPRODUCTIONS)}.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files. Default: results/NAME.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="In small: the same files in seconds, other numbers.")
    ] = False,
) -> None:
    """Makes a figure or a table of the papers again (in a clone of the repository)."""
    if name not in REPRODUCTIONS:
        raise ValueError(f"reproduction {name!r} is not known; {nearest(name, [*REPRODUCTIONS])}.")
    folder = Path("results") / name if out is None else out
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out must be a folder, but {folder} is a file.")
    _script(REPRODUCTIONS[name].module).main(folder, quick=quick)
    print(f"wrote {folder}", file=sys.stderr)


def _script(module: str) -> Any:
    import dpjax

    root = Path(dpjax.__file__).parents[1]
    if not (root / "benchmarks" / f"{module}.py").is_file():
        raise FileNotFoundError(
            f"the script benchmarks/{module}.py does not lie beside this installation of dpjax: "
            "the reproductions run in a clone of the repository (pip install -e .)."
        )
    # First, so that no other package of the name `benchmarks` comes before it.
    sys.path.insert(0, str(root))
    return importlib.import_module(f"benchmarks.{module}")
