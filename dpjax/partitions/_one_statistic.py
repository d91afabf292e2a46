"""Partitions of vector outputs by one statistic of all entries.

If a mechanism shuffles its outputs, the entry that reveals a person has a random place, so no entry
and no linear score differs much. The smallest loss differs, or two equal entries occur. Likewise,
correlated noise of many steps changes no entry, but makes the steps smaller or larger.

References:
    von Neumann (1941), the ratio of the mean square successive difference to the variance.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpjax.core.types import Plain
from dpjax.partitions._batches import Outputs
from dpjax.partitions._features import clipped
from dpjax.partitions._lay import lay
from dpjax.partitions._partition import Partition

FEWEST_ENTRIES, MOST_ENTRIES = 4, 256
"""Smallest and largest number of entries of vectors that are compared by these statistics."""


def _gap(rows: np.ndarray) -> np.ndarray:
    return np.diff(np.sort(clipped(rows), axis=1), axis=1).min(axis=1)


def _roughness(rows: np.ndarray) -> np.ndarray:
    numbers = clipped(rows)
    variances = numbers.var(axis=1)
    squares = np.mean(np.diff(numbers, axis=1) ** 2, axis=1)
    return np.divide(squares, variances, out=np.zeros_like(squares), where=variances > 0)


STATISTICS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "smallest entry": lambda rows: rows.min(axis=1),
    "largest entry": lambda rows: rows.max(axis=1),
    "smallest difference of two entries": _gap,
    "mean square of steps divided by the variance": _roughness,
}
"""Functions from rows, [n, entries], to numbers [n]."""


@dataclass(frozen=True)
class OneStatistic(Partition):
    """A partition of vector outputs by one statistic of their entries.

    Attributes:
        statistic: Name of the statistic; see `STATISTICS`.
        entries: Number of the first columns, which are the entries.
    """

    statistic: str = field(kw_only=True)
    entries: int = field(kw_only=True)

    @property
    def key(self) -> Hashable:
        """See `Cells`."""
        return super().key, self.statistic, self.entries

    @property
    def columns(self) -> Sequence[int]:
        """See `Partition`."""
        return ()

    def index(self, outputs: Outputs) -> np.ndarray:
        """Return the cell of each output, int64 [n]."""
        return super().index(_numbers(outputs, self.statistic, self.entries))

    def kind(self, whole: bool) -> str:
        """See `Cells`."""
        return f"a vector with the {self.statistic}"

    def plain(self) -> Plain:
        """Return the statistic as JSON values for a recipe."""
        words = f"the {self.statistic}"
        return {"words": words, "kind": self.statistic, "entries": self.entries}


def _numbers(outputs: Outputs, statistic: str, entries: int) -> Outputs:
    values = STATISTICS[statistic](outputs.values[:, :entries])
    return outputs._replace(values=values[:, None])


def statistic_partitions(
    pilot: Sequence[Outputs],
    names: Sequence[str],
    entries: int,
    laid_by: Callable[..., Partition] = lay,
) -> list[OneStatistic]:
    """Construct a partition for each statistic, or none if there are too few or many entries.

    There is none either if labels stand beside numbers, such as the pattern of missing entries.

    `laid_by` constructs partitions of outputs that consist of one number.
    """
    has_labels = any(side.labels[~side.alone].any() for side in pilot)
    if has_labels or not FEWEST_ENTRIES <= entries <= MOST_ENTRIES:
        return []
    found = []
    for statistic in STATISTICS:
        laid = laid_by([_numbers(side, statistic, entries) for side in pilot], names)
        form = laid.names, laid.edges, laid.atoms, laid.boxed, laid.whole
        found.append(OneStatistic(*form, statistic=statistic, entries=entries))
    return found
