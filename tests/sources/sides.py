"""Helpers for tests of values that sources remember, and of requests to sources."""

from dpjax.core import random
from dpjax.core.execution import Execution
from dpjax.sources import Request, Rounds
from dpjax.sources._side_values import SideValues


def request(search=16, confirm=9, *, told=None, **options):
    """Return a request with these draws per side for each pair; append progress to `told`."""
    progress = None if told is None else lambda *both: told.append(both)
    return Request(
        lambda number: Rounds(search, 0, 0, confirm), None, lambda *_: 0.0, random.as_key(1),
        Execution(progress=progress), **options,
    )  # fmt: skip


def values(outputs, rows=2**18):
    """Return the values that are remembered of outputs in chunks of `rows`."""
    side = SideValues()
    for start in range(0, len(outputs), rows):
        side.add(outputs[start : start + rows])
    return side
