"""What the figures and tables share: the filled store of a sweep, rows of Markdown, saved files."""

import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jax

from dpjax.cli._sweep_progress import showing
from dpjax.plotting import save_figure
from dpjax.sweeps import Store, SweepSpec, run_sweep


def filled(spec: SweepSpec, folder: Path) -> Store:
    """The store of a sweep in a folder, with every run that was missing."""
    store = Store.create(folder, spec)
    with showing(spec, quiet=False) as progress:
        run_sweep(store, progress=progress, report=lambda text: print(text, file=sys.stderr))
    return store


def markdown(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; numbers to four digits."""
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(_word(value) for value in row)} |" for row in rows]
    return "\n".join(lines)


def machine() -> str:
    """Where this runs, for the caption of a table."""
    device = jax.local_devices()[0]
    kind = platform.machine() if device.platform == "cpu" else device.device_kind
    return f"{len(jax.local_devices())} x {device.platform} ({kind}), jax {jax.__version__}"


def save(folder: Path, name: str, figure: Any | None, text: str) -> None:
    """Writes NAME.md, and NAME.png and NAME.svg where there is a figure; prints the text."""
    if figure is not None:
        for ending in (".png", ".svg"):
            save_figure(figure, folder / f"{name}{ending}")
    (folder / f"{name}.md").write_text(text + "\n")
    print(text)


def _word(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
