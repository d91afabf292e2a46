"""The numbers that summarize one output."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from dpjax.core.wording import BadValue
from dpjax.partitions.previews import described

Targets = Mapping[str, Any]
"""Records to look for, by their names."""

ONLY = "that only the"
"""Words in the names of the records in which a pair's databases differ. Therefore, they are also in
the names of numbers that depend on these records.
"""


class Summary(dict[str, float]):
    """The numbers that summarize one output, by name; see `summarize`.

    An audit compares summaries name by name. A number that a summary lacks counts as 0.
    """

    def __or__(self, other: Mapping[str, float]) -> "Summary":  # type: ignore[override]
        """Return a summary that also contains other numbers."""
        return Summary({**self, **other})

    def copy(self) -> "Summary":
        """Return a copy."""
        return Summary(self)


def numbers_of(summary: Summary) -> tuple[float, ...]:
    """Return the numbers of a summary, to which a function may have added any object.

    Raises:
        ValueError: If a value of the summary is not a number.
    """
    for name, number in summary.items():
        if type(number) is float or type(number) is int:
            continue
        if not isinstance(number, Real | np.bool_) or isinstance(number, np.timedelta64):
            raise BadValue(
                f"a summary whose entry {name!r} was {described(number)}: add numbers to a summary."
            )
    return tuple(map(float, summary.values()))
