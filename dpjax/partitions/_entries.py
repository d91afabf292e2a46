"""The numeric entries of outputs."""

from typing import NamedTuple

from dpjax.partitions._nested import SPREAD, UNUSED

_OTHERS = (SPREAD, UNUSED)
"""First words of the paths of columns that are no entries. These columns are the last ones."""

_GROWN = 2
"""Scores use all entries once there are _GROWN times as many outputs as those from which the
entries were chosen.
"""


class Entries(NamedTuple):
    """Description of the numeric entries of outputs, that is, of the columns of their numbers.

    Attributes:
        paths: Path of each number within a nested output, or () if outputs are vectors.
        candidates: Number of the entries from which some were chosen because they differ most in
            the search set, or 0 if no entries were chosen.
        reliable: Number of the first entries, which differ by more than chance or were not chosen
            by their differences; None for all entries.
        num_outputs: Number of outputs per side from which the entries were chosen.
        low_bits: Whether to compare the lowest bits of each number.
    """

    paths: tuple[str, ...] = ()
    candidates: int = 0
    reliable: int | None = None
    num_outputs: int = 0
    low_bits: bool = False

    def fitted(self, num_outputs: int) -> int | None:
        """Return the number of first entries to which scores are fitted, or None for all.

        A sequential audit chooses entries from very few outputs, and has many outputs later. Which
        entries seemed to differ by chance then does not matter, and scores use all entries.

        Args:
            num_outputs: Number of outputs per side to which a score is fitted.
        """
        if self.reliable is not None and num_outputs < _GROWN * self.num_outputs:
            return self.reliable
        return self._end

    @property
    def _end(self) -> int | None:
        """Index of the first column that is no entry, or None if all columns are entries."""
        return next((n for n, path in enumerate(self.paths) if path.startswith(_OTHERS)), None)

    @property
    def spread(self) -> int | None:
        """Index of the first column with a score of all entries, or None if there is none."""
        return next((n for n, path in enumerate(self.paths) if path.startswith(SPREAD)), None)

    def of(self, dimension: int) -> list[int]:
        """Return the indices of the columns that are entries."""
        return [*range(dimension)][: self._end]


NO_ENTRIES = Entries()
"""Entries of numbers, labels and vectors, which have no paths and were not chosen."""
