"""`dpjax sweep status`: the progress of a sweep, and its bounds so far."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def show_status(folder: Path | None, allow_import: Collection[str]) -> None:
    """Print a table of the entries of a store.

    Args:
        folder: The store.
        allow_import: Modules whose mechanisms the store may name.

    Raises:
        ValueError: When there is no folder, or no store in it.
    """
    if folder is None:
        raise ValueError("dpjax sweep status needs the folder of a store.")
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from dpjax.core.errors import neutral
    from dpjax.sweeps import Store

    store = Store.open(folder, allow_import)
    finished, corrupt, strange, *_ = store.contents()
    stored = Counter[str]()
    for block in store.spec.blocks():
        if block.name in finished:
            stored[block.entry.id] += block.stop - block.first
    columns = store.columns() if finished and not corrupt else {}
    table = Table(
        *("entry", "mechanism", "runs", "stored", "lower bound"),
        title=Text(neutral(f"{store.spec.name} in {folder}")),
        caption="Lower bounds of the stored runs: median (least to largest)." if columns else None,
    )
    for entry in store.spec.entries:
        names = (Text(neutral(name)) for name in (entry.label, entry.mechanism_name))
        bounds = _summary(columns[entry.id]["lower_bound"] if entry.id in columns else ())
        table.add_row(*names, str(entry.num_runs), str(stored[entry.id]), bounds)
    Console().print(table)
    total = stored.total()
    print(f"{total} of {store.spec.num_runs} runs are stored; {len(corrupt)} corrupt blocks.")
    for path, reason in strange.items():
        print(f"{neutral(str(path))} is not used: {reason}.")


def _summary(values: "ArrayLike") -> str:
    """Return the median, the smallest and the largest number, without NaN."""
    import numpy as np

    numbers = np.asarray(values, float)
    numbers = np.sort(numbers[~np.isnan(numbers)])
    if not numbers.size:
        return "-"
    median = numbers[(len(numbers) - 1) // 2]
    return f"{median:.3f} ({numbers[0]:.3f} to {numbers[-1]:.3f})"
