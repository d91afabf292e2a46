"""Names of numbers in series and frames of pandas by the labels of their rows.

Outputs are compared place by place, so the path of a number is "[1][2]" in a series whose third
label is 'c'. If all outputs have the same labels, descriptions of events say 'c' instead.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpjax.partitions._batches import Outputs
from dpjax.partitions._fields import fields_of
from dpjax.partitions.missing import as_columns, has_index


def only_label(batches: Sequence[Outputs]) -> int | None:
    """Return the label of all outputs with numbers, or None if these have several labels."""
    found = {int(n) for batch in batches for n in np.unique(batch.labels[~batch.alone])}
    return found.pop() if len(found) == 1 else None


def row_names(output: Any, paths: Sequence[str]) -> dict[str, str]:
    """Return the names of numbers by their paths, for those that have labels.

    Args:
        output: One of the outputs, all of which have the same labels.
        paths: Paths of all numbers.
    """
    known = {*paths}
    found = {path: name for path, name in _names(output, "") if path in known}
    others = known - found.keys()
    is_unique = len({*found.values()}) == len(found) and not others & {*found.values()}
    return found if is_unique else {}


def _names(part: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the name of each entry of the series and frames in a part."""
    if has_index(type(part)):
        labels = part.index.tolist()
        if all(isinstance(label, str) for label in labels):
            columns = [""] if part.ndim == 1 else [f"[{name!r}]" for name in as_columns(part) or ()]
            for column in columns:
                for place, label in enumerate(labels):
                    yield f"{path}[1]{column}[{place}]", f"{path}{column}[{label!r}]"
        return
    part = fields_of(part) or part
    if isinstance(part, dict):
        for name, inner in part.items():
            yield from _names(inner, f"{path}[{name!r}]")
    elif isinstance(part, list | tuple):
        for place, inner in enumerate(part):
            yield from _names(inner, f"{path}[{place}]")
