"""Reproduce figures and tables of the papers, and write them to results/NAME.

The runs of a sweep are kept in a store in the same folder, so that an interrupted command can be
resumed.

    scripts/reproduce [NAME ...] [--quick] [--runs N] [--only a,d] [--out FOLDER] [--toml FILE]
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.presets import (
    empirical,
    figures123,
    histogram_figures,
    histogram_tables,
    impossibility,
)
from benchmarks.presets.catalogue import PRESETS, preset
from benchmarks.presets.output import filled
from dpjax.cli._sweep import use_all_cores

OTHERS = {
    "figures123": ("Askin et al. 2022, Figures 1 to 3", figures123.main),
    "histogram-tables": ("Gorla et al., Tables I to V", histogram_tables.main),
    "histogram-figures": ("Gorla et al., Figures 2 to 4, 6 and 7", histogram_figures.main),
    "impossibility": ("Gorla et al., Theorems 1 and 5", impossibility.main),
    "empirical": ("Burchard et al. 2020, Figures 1 and 3 to 5", empirical.main),
}
"""Map from a name to a description and a function of (folder, *, quick) that writes the files."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; its help describes every name."""
    whats = {name: f"Askin et al. 2022, {found.what}" for name, found in PRESETS.items()}
    whats |= {name: what for name, (what, _) in OTHERS.items()}
    parser = argparse.ArgumentParser(
        prog="scripts/reproduce",
        description="Reproduce figures and tables of the papers; all of them if no NAME is given.",
        epilog="\n".join(f"  {name:<18} {what}" for name, what in whats.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="names from the list below")
    parser.add_argument("--out", type=Path, help="folder for the files of one NAME")
    parser.add_argument(
        "--quick", action="store_true", help="same files in minutes, from smaller experiments"
    )
    parser.add_argument("--runs", type=int, help="runs per curve; by default, as in the paper")
    parser.add_argument("--only", help="comma-separated parts of a sweep, such as a,d")
    parser.add_argument(
        "--toml", type=Path, help="only write the sweep of one NAME to a file for `dpjax sweep`"
    )
    return parser


def make(name: str, given: argparse.Namespace) -> Path:
    """Reproduce one figure or table; return the folder with its files.

    With `--toml`, only write the sweep to this file, and return the path of the file.
    """
    folder = given.out or Path("results") / name
    if name in OTHERS:
        folder.mkdir(parents=True, exist_ok=True)
        OTHERS[name][1](folder, quick=given.quick)
        return folder
    only = [] if given.only is None else [part.strip() for part in given.only.split(",")]
    spec = preset(name, runs=given.runs, only=only, quick=given.quick)
    if given.toml is not None:
        given.toml.write_text(spec.to_toml())
        return given.toml
    PRESETS[name].draw(filled(spec, folder / "store"), folder)
    return folder


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; invalid input leads to a short message and exit status 2."""
    options = parser()
    given = options.parse_args(arguments)
    names = given.names or [*PRESETS, *OTHERS]
    for name in names:
        if name not in (*PRESETS, *OTHERS):
            options.error(f"{name!r} is not known; choose from {', '.join((*PRESETS, *OTHERS))}.")
        if name in OTHERS and (given.runs, given.only, given.toml) != (None, None, None):
            options.error(f"--runs, --only and --toml are for sweeps, but {name} is none.")
    if len(names) > 1 and (given.out or given.toml):
        options.error("--out and --toml are for one NAME.")
    # This must happen before JAX is initialized.
    use_all_cores()
    for name in names:
        try:
            print(f"wrote {make(name, given)}", file=sys.stderr)
        except (ValueError, OSError) as error:
            options.error(f"{name}: {error}")


if __name__ == "__main__":
    main()
