"""Helpers for figures and tables: run a sweep, format a Markdown table, and save files."""

import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jax

from dpjax.cli._sweep import showing
from dpjax.plotting import save_figure
from dpjax.sweeps import Store, SweepSpec, run_sweep


def filled(spec: SweepSpec, folder: Path) -> Store:
    """Return the store of a sweep in a folder, after all missing runs are added."""
    store = Store.create(folder, spec)
    with showing(spec, quiet=False) as progress:
        run_sweep(store, progress=progress, report=lambda text: print(text, file=sys.stderr))
    return store


def markdown(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table; floats have four decimal places."""
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(_word(value) for value in row)} |" for row in rows]
    return "\n".join(lines)


def machine() -> str:
    """Return a description of the machine for the caption of a table."""
    device = jax.local_devices()[0]
    kind = platform.machine() if device.platform == "cpu" else device.device_kind
    return f"{len(jax.local_devices())} x {device.platform} ({kind}), jax {jax.__version__}"


def save(folder: Path, name: str, figure: Any | None, text: str) -> None:
    """Print the text, and write it to NAME.md and the figure, if any, to NAME.png and NAME.svg."""
    if figure is not None:
        for ending in (".png", ".svg"):
            save_figure(figure, folder / f"{name}{ending}")
    (folder / f"{name}.md").write_text(text + "\n")
    print(text)


def _word(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
