"""Progress of a sweep on standard error: a bar for people, a line now and then for log files."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dpjax._errors import neutral

_LINE_SECONDS = 10.0


@contextmanager
def showing(spec: Any) -> Iterator[Callable[[Any], None]]:
    """Shows how far a sweep is.

    Args:
        spec: The sweep.

    Yields:
        A function to be called with every `Progress`.
    """
    from rich.console import Console

    console = Console(stderr=True)
    labels = {entry.id: number for number, entry in enumerate(spec.entries, start=1)}
    start = time.perf_counter()

    def words(state: Any) -> str:
        rate = state.num_computed / (time.perf_counter() - start)
        entry = ""
        if state.block is not None:
            number = labels[state.block.entry.id]
            entry = f"entry {number}/{len(labels)} ({neutral(state.block.entry.label)}), "
        left = (state.total_runs - state.num_runs) / rate if rate > 0 else float("nan")
        return f"{entry}{rate:.1f} runs/s, {_clock(left)} left"

    if console.is_terminal:
        with _bar(console) as show:
            yield lambda state: show(state, words(state))
        return
    last = start

    def line(state: Any) -> None:
        nonlocal last
        finished = state.num_runs == state.total_runs
        if state.block is not None and (finished or time.perf_counter() - last > _LINE_SECONDS):
            last = time.perf_counter()
            console.print(
                f"{state.num_runs} of {state.total_runs} runs; {words(state)}",
                soft_wrap=True,
                markup=False,
            )

    yield line


@contextmanager
def _bar(console: Any) -> Iterator[Callable[[Any, str], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def show(state: Any, text: str) -> None:
            bar.update(task, completed=state.num_runs, total=state.total_runs, description=text)

        yield show


def _clock(seconds: float) -> str:
    if seconds != seconds:
        return "unknown time"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
