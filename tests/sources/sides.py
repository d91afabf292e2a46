"""Outputs of one side, as sources remember them, and what an audit asks of a source."""

from dpjax.core import random
from dpjax.core.execution import Execution
from dpjax.sources import Request, Rounds
from dpjax.sources._side_values import SideValues


def request(search=16, confirm=9, *, told=None, **options):
    """Rounds of so many draws a side for each pair; progress is appended to `told`."""
    progress = None if told is None else lambda *both: told.append(both)
    return Request(
        lambda number: Rounds(search, 0, 0, confirm), None, lambda *_: 0.0, random.as_key(1),
        Execution(progress=progress), **options,
    )  # fmt: skip


def values(outputs, rows=2**18):
    """What is remembered of outputs that come in chunks of `rows`."""
    side = SideValues()
    for start in range(0, len(outputs), rows):
        side.add(outputs[start : start + rows])
    return side
