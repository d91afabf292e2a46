"""`dpjax sweep status`: the progress of a sweep, with the bounds computed so far."""

from collections.abc import Collection
from pathlib import Path


def show_status(folder: Path | None, allow_import: Collection[str]) -> None:
    """Print a table of the entries in a store.

    Raises:
        ValueError: If no folder is given, or if the folder contains no store.
    """
    if folder is None:
        raise ValueError("dpjax sweep status needs the folder of a store.")
    from dpjax.core.errors import neutral
    from dpjax.sweeps import Store

    store = Store.open(folder, allow_import)
    finished, corrupt, strange, *_ = store.contents()
    stored = sum(b.stop - b.first for b in store.spec.blocks() if b.name in finished)
    if finished and not corrupt:
        print(store.summary())
    print(f"{stored} of {store.spec.num_runs} runs are stored; {len(corrupt)} corrupt blocks.")
    for path, reason in strange.items():
        print(f"{neutral(str(path))} is not used: {reason}.")
