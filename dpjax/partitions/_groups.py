"""Tables whose rows stand for groups of records, as in the answer to a query with GROUP BY."""

import math
from collections.abc import Sequence

import numpy as np

from dpjax.partitions._features import clipped
from dpjax.partitions._records import Records

_MOST_ROWS = 1000
"""Largest number of rows whose numbers are compared group by group."""

Key = tuple[str, ...]


def has_groups(records: Records) -> bool:
    """Return whether each row probably stands for a group of records, which its labels name.

    All rows of such a table have different labels. This also holds for many tables of records with
    several columns of labels. However, groups are sorted, or most combinations of labels occur.
    """
    keys = list(zip(*records.labels.values(), strict=True))
    if not keys or len({*keys}) < len(keys):
        return False
    texts = [tuple(map(str, key)) for key in keys]
    num_combinations = math.prod(len({*column}) for column in records.labels.values())
    return len(records.labels) == 1 or texts == sorted(texts) or 2 * len(keys) >= num_combinations


def of_groups(records: Records) -> dict[str, float]:
    """Return the numbers of each group by its name, such as the number "count of 'Bern'".

    If the groups are not sorted, their order may be that of confidential counts. Then, the place of
    each group is a number, too.
    """
    named = _groups_of(records)
    if named is None or records.size > _MOST_ROWS:
        return {}
    keys, rest = named
    names = [", ".join(key) for key in keys]
    found: dict[str, float] = {}
    for column, numbers in rest.items():
        pairs = zip(names, clipped(numbers).tolist(), strict=True)
        found |= {f"{column} of {name}": number for name, number in pairs if number == number}
    if records.labels and list(keys) != sorted(keys):
        found |= {f"place of {name}": place for place, name in enumerate(names)}
    return found


def _groups_of(records: Records) -> tuple[Sequence[Key], dict[str, np.ndarray]] | None:
    """Return the labels that name the groups, and the other columns, or None if there are none.

    If no column contains labels, increasing integers in the first column name the groups.
    """
    if records.labels:
        if not has_groups(records):
            return None
        columns = [[label or "nothing" for label in part] for part in records.labels.values()]
        return list(zip(*columns, strict=True)), records.numbers
    (first, column), *rest = records.numbers.items() or [("", np.empty(0))]
    if len(column) < 2 or not rest or not (column[1:] > column[:-1]).all():
        return None
    if not np.array_equal(column, np.floor(column)):
        return None
    return [(f"{first} {number:.0f}",) for number in column.tolist()], dict(rest)
