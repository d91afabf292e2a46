"""The numeric entries of outputs."""

from typing import NamedTuple

from dpjax.partitions._nested import SPREAD, UNUSED


class Entries(NamedTuple):
    """Description of the numeric entries of outputs, that is, of the columns of their numbers.

    Attributes:
        paths: Path of each number within a nested output, or () if outputs are vectors.
        candidates: Number of the entries from which some were chosen because they differ most in
            the search set, or 0 if no entries were chosen.
        reliable: Number of the first entries that were not chosen because they differ by chance, or
            None for all entries.
    """

    paths: tuple[str, ...] = ()
    candidates: int = 0
    reliable: int | None = None

    @property
    def spread(self) -> int | None:
        """Index of the first column with a score of all entries, or None if there is none."""
        return next((n for n, path in enumerate(self.paths) if path.startswith(SPREAD)), None)

    def of(self, dimension: int) -> list[int]:
        """Return the indices of the columns that are entries.

        Args:
            dimension: Number of columns.
        """
        no_entries = {n for n, path in enumerate(self.paths) if path.startswith((SPREAD, UNUSED))}
        return [n for n in range(dimension) if n not in no_entries]


NO_ENTRIES = Entries()
"""Entries of numbers, labels and vectors, which have no paths and were not chosen."""
