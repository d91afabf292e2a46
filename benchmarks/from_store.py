"""What the figures that are made of sweeps share: the filled store, and rows of Markdown."""

import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jax

from dpjax._files import write_whole
from dpjax.cli._sweep_progress import showing
from dpjax.plotting import save_figure
from dpjax.sweeps import Store, preset, run_sweep


def filled(
    out_dir: str | Path,
    name: str,
    *,
    quick: bool,
    runs: int | None = None,
    only: Iterable[str] = (),
    folder: str = "store",
) -> Store:
    """The store of a preset in a folder of OUT_DIR, with every run that was missing."""
    store = Store.create(Path(out_dir) / folder, preset(name, runs=runs, only=only, quick=quick))
    with showing(store.spec) as progress:
        run_sweep(store, progress=progress, report=lambda text: print(text, file=sys.stderr))
    return store


def markdown(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; numbers to four digits."""
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(_cell(value) for value in row)} |" for row in rows]
    return "\n".join(lines)


def machine() -> str:
    """Where this runs, for the caption of a table."""
    device = jax.local_devices()[0]
    kind = platform.machine() if device.platform == "cpu" else device.device_kind
    return f"{len(jax.local_devices())} x {device.platform} ({kind}), jax {jax.__version__}"


def save(out_dir: str | Path, name: str, figure: Any | None, text: str) -> None:
    """Writes NAME.md, and NAME.png and NAME.svg where there is a figure; prints the text."""
    folder = Path(out_dir)
    if figure is not None:
        for ending in (".png", ".svg"):
            save_figure(figure, folder / f"{name}{ending}")
    write_whole({folder / f"{name}.md": text + "\n"})
    print(text)


def _cell(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
