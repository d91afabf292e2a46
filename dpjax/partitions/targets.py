"""The records in which two databases differ, which an audit looks for in outputs."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Set
from typing import Any

from dpjax.partitions._records import Records, columns_of, without_index
from dpjax.partitions._sequences import words_of
from dpjax.partitions._summary import ONLY, Targets
from dpjax.partitions.missing import entries, is_array, is_table

_LONGEST, _MOST_TARGETS = 10_000, 4
"""Largest number of records of two databases whose differences are targets, and the largest number
of such targets.
"""


def targets_of(database: Any, neighbor: Any) -> Targets:
    """Return the records in which two databases differ, or none if these are many.

    A database is a data frame, a list or another collection of records, or a text. Of two texts,
    the words in which they differ are the targets. The labels of a data frame's rows do not count,
    because a function that removes a row may renumber the others.
    """
    try:
        sides = {"database": _records(database), "neighbor": _records(neighbor)}
    except (TypeError, ValueError):  # Only the function has to read the databases.
        return {}
    noun = "row" if is_table(type(database)) else "record"
    targets: dict[str, Any] = {}
    for name, other in (("database", "neighbor"), ("neighbor", "database")):
        counts = Counter(key for key, _ in sides[name]) - Counter(key for key, _ in sides[other])
        raw = dict(sides[name])
        if isinstance(database, str) and counts:
            targets[f"the words {ONLY} {name} has"] = " ".join(raw[key] for key in counts)
            continue
        for number, key in enumerate(counts):
            targets[f"{noun} {number} {ONLY} {name} has"] = raw[key]
    return targets if len(targets) <= _MOST_TARGETS else {}


def _records(database: Any) -> list[tuple[Hashable, Any]]:
    """Return a key and the content of each record; equal records have equal keys.

    Raises:
        TypeError, ValueError: If a database is no collection of records, or is too long.
    """
    if isinstance(database, str):
        return [(word, word) for word in words_of(database)]
    if is_table(type(database)):
        if len(database) > _LONGEST:
            raise ValueError
        table = without_index(database)
        columns = {str(name): column for name, column in columns_of(table).items()}
        names = [*columns]
        rows = zip(*columns.values(), strict=True)
        keys = Records.of(table).rows
        return [
            (key, dict(zip(names, row, strict=True))) for key, row in zip(keys, rows, strict=True)
        ]
    if is_array(type(database)):
        database = entries(database)
    if isinstance(database, Mapping) or not isinstance(database, Sequence | Set):
        raise TypeError
    if len(database) > _LONGEST:
        raise ValueError
    return [(r if isinstance(r, str) else repr(r), r) for r in database]
