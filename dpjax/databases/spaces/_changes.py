"""Changes to base databases; a base database and its changed copy form a pair of neighbors."""

from collections.abc import Sequence
from dataclasses import dataclass

from dpjax.databases.spaces._bases import Base
from dpjax.databases.spaces._records import Record, short

_FIRST = 2
"""A change is tried early if its index plus its base database's index is at most this number."""


@dataclass(frozen=True)
class Change:
    """A change to a base database, applied only when the pair is proposed.

    Attributes:
        base: Base database that is changed.
        kind: "added", "becomes", "removed" or "reordered".
        count: Number of records that are added, replaced or removed.
        records: The new records: the record that is added or that replaces other records; for
            "reordered", the records that are appended; or () if there are no new records.
    """

    base: Base
    kind: str
    count: int
    records: tuple[Record, ...] = ()

    @property
    def size(self) -> int:
        """Total number of records in both databases."""
        more = {"added": self.count, "removed": -self.count, "reordered": len(self.records)}
        return 2 * self.base.size + more.get(self.kind, 0)

    @property
    def label(self) -> str:
        """Description of the pair."""
        what = {
            "added": f"{short(self.records[0])} is added" if self.records else "",
            "becomes": f"the last becomes {short(self.records[0])}" if self.records else "",
            "removed": "the first is removed",
            "reordered": "in another order",
        }
        return f"{self.base.name}; {what[self.kind]}"

    def sides(self) -> tuple[list[Record], list[Record]]:
        """Return the records of the base database and of its neighbor."""
        rows = self.base.records()
        if self.kind == "added":
            return rows, rows + list(self.records) * self.count
        if self.kind == "becomes":
            kept = rows[: max(len(rows) - self.count, 0)]
            return rows, kept + list(self.records) * (len(rows) - len(kept))
        if self.kind == "removed":
            return rows, rows[self.count :]
        return rows, rows[::-1] + list(self.records)


def changes_of(
    bases: Sequence[Base], tried: Sequence[Record], count: int, fixed: bool
) -> list[Change]:
    """Return the changes to all base databases; changes close to the example come first.

    Args:
        bases: Base databases, beginning with the example database.
        tried: Candidates for records that are added, or that replace other records.
        count: Number of records to add, remove or replace; 0 if records may only be reordered.
        fixed: Whether neighbors must have the same number of records.
    """
    found = []
    for place, base in enumerate(bases):
        changes = []
        if not fixed:
            changes += [Change(base, "added", count, (record,)) for record in tried]
        elif base.size and count:
            changes += [Change(base, "becomes", count, (record,)) for record in tried]
        if base.size and not fixed:
            removed = Change(base, "removed", min(count, base.size))
            changes[1:1] = [removed, Change(base, "reordered", count, tuple(tried[:count]))]
        elif base.size > 1:
            changes[1:1] = [Change(base, "reordered", count)]
        found += [(place, number, change) for number, change in enumerate(changes)]

    # The first changes to the first bases come first, then the first change to every other base,
    # and then all remaining changes.
    def order(entry: tuple[int, int, Change]) -> tuple[bool, int, int]:
        place, number, _ = entry
        return number > 0 and place + number > _FIRST, place + number, number

    return [change for _, _, change in sorted(found, key=order)]
