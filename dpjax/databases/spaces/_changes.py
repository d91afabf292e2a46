"""Changes that turn a base database into a pair of neighbors."""

from collections.abc import Sequence
from dataclasses import dataclass

from dpjax.databases.spaces._bases import Base, short
from dpjax.databases.spaces._records import Record

_FIRST = 2
"""Largest sum of the indexes of a base and of its change that comes first."""


@dataclass(frozen=True)
class Change:
    """A change of a database, which is made only when its pair is proposed.

    Attributes:
        base: Database that is changed.
        kind: "added", "becomes", "removed" or "reordered".
        count: Number of records that are changed.
        records: The new record, or the first `count` records that are tried.
    """

    base: Base
    kind: str
    count: int
    records: tuple[Record, ...] = ()

    @property
    def size(self) -> int:
        """Number of records of both databases together."""
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
            kept = rows[: len(rows) - self.count]
            return rows, kept + list(self.records) * (len(rows) - len(kept))
        if self.kind == "removed":
            return rows, rows[self.count :]
        return rows, rows[::-1] + list(self.records)


def changes_of(
    bases: Sequence[Base], tried: Sequence[Record], count: int, fixed: bool
) -> list[Change]:
    """Return the changes of all bases, of which the first are closest to the example.

    Args:
        bases: Databases from which neighbors are made.
        tried: Records that are added, or that replace others.
        count: Number of records that are added, removed or replaced; 0 if none may be.
        fixed: Whether neighbors have equally many records.
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

    # First come the first changes of the first bases, then one change of every base.
    def order(entry: tuple[int, int, Change]) -> tuple[bool, int, int]:
        place, number, _ = entry
        return number > 0 and place + number > _FIRST, place + number, number

    return [change for _, _, change in sorted(found, key=order)]
