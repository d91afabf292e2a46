"""Progress of a sweep, shown with the label of the current entry."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dpjax.cli._progress import progress_bar

if TYPE_CHECKING:
    from dpjax.sweeps import Progress, SweepSpec


@contextmanager
def showing(spec: "SweepSpec", *, quiet: bool) -> Iterator[Callable[["Progress"], None]]:
    """Show the progress of a sweep, with the label of the current entry."""
    labels = {entry.id: number for number, entry in enumerate(spec.entries, start=1)}
    with progress_bar("runs", quiet=quiet) as show:

        def progress(state: "Progress") -> None:
            text = ""
            if state.block is not None:
                number = labels[state.block.entry.id]
                text = f"entry {number}/{len(labels)} ({state.block.entry.label})"
            show(state.num_runs, state.total_runs, text)

        yield progress
