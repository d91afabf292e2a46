"""`dpjax reproduce`: the figures and tables of the papers, from the scripts of a clone."""

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from dpjax._errors import nearest
from dpjax.cli._sweep import use_all_cores


class Reproduction(NamedTuple):
    """A script of `benchmarks/` with a function (out_dir, *, quick).

    Attributes:
        module: Name of the script, without its ending.
        what: What it reproduces, in a few words.
        sweep: Whether it is made of a sweep, so that runs and parts can be chosen.
        function: Its name.
    """

    module: str
    what: str
    sweep: bool = False
    function: str = "main"


REPRODUCTIONS = {
    "figures123": Reproduction("figures123", "Askin et al. 2022, Figures 1 to 3"),
    "fig4": Reproduction("figure4", "Askin et al. 2022, Figure 4", sweep=True),
    "fig4-tight": Reproduction("figure4", "Figure 4 with dpjax's search", True, "tight"),
    "fig5": Reproduction("figure5", "Askin et al. 2022, Figure 5", sweep=True),
    "fig6": Reproduction("figure6", "Askin et al. 2022, Figure 6", sweep=True),
    "table2": Reproduction("table2", "Askin et al. 2022, Table II", sweep=True),
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
        bool, typer.Option("--quick", help="In small: the same files in minutes, other numbers.")
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(help="Runs a curve, where it is a sweep; the paper's if not given."),
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Parts of a sweep, with commas between: a,d.")
    ] = None,
) -> None:
    """Makes a figure or a table of the papers again (in a clone of the repository).

    What is made of a sweep keeps its runs in a store beside the figure, so that an interrupted
    command goes on where it stopped.
    """
    if name not in REPRODUCTIONS:
        raise ValueError(f"reproduction {name!r} is not known; {nearest(name, [*REPRODUCTIONS])}.")
    folder = Path("results") / name if out is None else out
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out must be a folder, but {folder} is a file.")
    chosen = REPRODUCTIONS[name]
    options: dict[str, Any] = {"quick": quick}
    if chosen.sweep:
        use_all_cores()
        options |= {"runs": runs, "only": [] if only is None else only.split(",")}
    elif runs is not None or only is not None:
        raise ValueError(f"--runs and --only are for sweeps, but {name} is none.")
    getattr(_script(chosen.module), chosen.function)(folder, **options)
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
