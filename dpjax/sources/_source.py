"""What a source is: outputs for every pair, side and stage, counted in the cells of a partition."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core.execution import Execution
from dpjax.core.wording import BadValue
from dpjax.databases import Pairs
from dpjax.databases._pairs import rows_of
from dpjax.databases.trees import rows
from dpjax.inference import Rounds
from dpjax.partitions import Outputs, Partition
from dpjax.partitions._scored import fold_of
from dpjax.partitions.outputs import preview_database


class AnyPairs(NamedTuple):
    """Pairs of databases of any kind.

    Attributes:
        sides: The databases, and their neighbors.
        labels: Names for people.
    """

    sides: tuple[Any, Any]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(cls, pairs: Any) -> "AnyPairs":
        """Makes pairs of what a person writes: `Pairs`, or (database, neighbor)s of any objects.

        What are such pairs already is returned as it is.

        Raises:
            TypeError: It is neither.
            ValueError: There is none.
        """
        if pairs is None:
            raise BadValue("pairs must be given: a list of (database, neighbor).")
        if isinstance(pairs, AnyPairs):
            return pairs
        if isinstance(pairs, Pairs):
            return cls((rows(pairs.database), rows(pairs.neighbor)), pairs.labels)
        written = rows_of(pairs)
        if not written:
            raise BadValue("pairs must hold at least one (database, neighbor), but was empty.")
        names = tuple(f"pair {number}" for number in range(len(written)))
        return cls(([row[0] for row in written], [row[1] for row in written]), names)

    def refuse_equal(self) -> None:
        """Refuses pairs of which none can be told apart.

        Raises:
            ValueError: Both databases are the same, in every pair.
        """
        if all(map(_is_equal, *self.sides)):
            first = self.sides[0][0]
            shown = preview_database(first.tolist() if hasattr(first, "tolist") else first)
            raise BadValue(
                f"pairs must hold two different databases, but in {' and '.join(self.labels[:3])} "
                f"both are {shown}: no output can tell them apart."
            )

    def equal_notes(self) -> list[str]:
        """Says where both databases are the same, so that nothing can tell them apart."""
        return [
            f"database and neighbor are equal in {label}, so nothing could be found there."
            for label, database, neighbor in zip(self.labels, *self.sides, strict=True)
            if _is_equal(database, neighbor)
        ]


@dataclass(frozen=True)
class Request:
    """What a method asks of a source.

    Attributes:
        rounds: Number of pairs -> how many outputs search and confirm.
        region: Outputs that events may hold, as a person writes it; None for all.
        promise: (cells, halves, num_confirm) -> the bound to be expected of these counts.
        key: Typed key.
        execution: Layout on the machine.
    """

    rounds: Callable[[int], Rounds]
    region: Any
    promise: Callable[[Partition, NDArray[np.int64], int], float]
    key: Array
    execution: Execution


class Search(NamedTuple):
    """What the outputs that search say of one pair.

    Attributes:
        partition: Laid by the first of them.
        halves: int64 [2, 2, cells], counts of two halves of them at both sides.
        allowed: bool [cells], which cells lie in the region; None for all.
    """

    partition: Partition
    halves: NDArray[np.int64]
    allowed: NDArray[np.bool_] | None


def parts_note(entries: Sequence[str]) -> str:
    """Says in which order the parts of an output are the entries of a vector."""
    return f"Outputs have several parts; their numbers in order: {', '.join(entries)}."


def count_halves(cells: Partition, sides: Sequence[Iterable[Outputs]]) -> NDArray[np.int64]:
    """Counts of both halves of what searches, those of an even number and of an odd one.

    Args:
        cells: In which is counted.
        sides: Batches of outputs at the database and at its neighbor. How they are cut does not
            matter.

    Returns:
        int64 [2, 2, cells], halves first.
    """
    halves = np.zeros((2, 2, cells.size), np.int64)
    for side, batches in enumerate(sides):
        number = 0
        for batch in batches:
            numbers = number + np.arange(len(batch.labels))
            halves[:, side] += halves_of(cells, batch, fold_of(numbers), numbers)
            number += len(batch.labels)
    return halves


class Tally:
    """What was counted so far in one audit: all that an interrupt leaves, and its progress.

    Args:
        progress: Told (outputs so far, of how many), or None.

    Attributes:
        searched: Outputs that searched, at both sides of all pairs.
        confirmed: int64 [2, marks], counts of the fresh outputs; None before the first of them.
    """

    def __init__(self, progress: Callable[[int, int], None] | None = None):
        self.searched = 0
        self.confirmed: NDArray[np.int64] | None = None
        self._tell, self._seen, self._total = progress, 0, 0

    def confirm(self, counts: NDArray[np.int64]) -> None:
        """Adds counts of fresh outputs."""
        self.confirmed = counts if self.confirmed is None else self.confirmed + counts

    def expect(self, more: int) -> None:
        """So many outputs are still to come; 0 where that is not known."""
        self._total = self._seen + more if more else 0
        self.saw(0)

    def saw(self, count: int) -> None:
        """So many more outputs were drawn or read."""
        self._seen += count
        if self._tell is not None:
            self._tell(self._seen, self._total)


def halves_of(
    cells: Partition, outputs: Outputs, fold: NDArray[np.int64], numbers: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Counts of outputs of one side, int64 [2, cells], of even numbers and of odd ones.

    Args:
        cells: In which is counted, by what was learned without each output's fold.
        outputs: n of them.
        fold: int [n].
        numbers: int [n].
    """
    place = cells.index_held_out(outputs, fold) + cells.size * (numbers % 2)
    return np.bincount(place, minlength=2 * cells.size).reshape(2, -1)


class Opened(Protocol):
    """A source during one audit.

    Attributes:
        tally: What was counted so far.
        pairs: That are compared.
        num_confirm: N, which may be smaller than asked for once the search is over.
        region: In words.
        settings: Options of the source that change the answer.
        notes: What a reader should know besides.
    """

    tally: Tally
    pairs: AnyPairs
    num_confirm: int
    region: str
    settings: dict[str, Any]
    notes: list[str]

    def search(self) -> list[Search]:
        """Draws and counts the first round of the search, pair by pair."""
        ...

    def search_again(self, kept: Sequence[int]) -> list[NDArray[np.int64]]:
        """Draws and counts the second round of some pairs.

        Args:
            kept: Their numbers.

        Returns:
            int64 [2, 2, cells] of each: counts of these outputs alone, in the cells of the first
            round.
        """
        ...

    def confirm(
        self, pair: int, partition: Partition, marks: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Counts fresh outputs of one pair.

        Args:
            pair: Its number.
            partition: Of the search.
            marks: Integers [cells]: cells of one number are counted together.

        Returns:
            int64 [2, largest mark + 1], at the database and at its neighbor.
        """
        ...


@runtime_checkable
class Source(Protocol):
    """What is audited: it gives outputs at two databases, for every pair and stage."""

    @property
    def name(self) -> str:
        """For people."""
        ...

    def opened(self, pairs: Any, request: Request) -> AbstractContextManager[Opened]:
        """The source at pairs of databases, as a person writes them, for one audit."""
        ...


def _is_equal(database: Any, neighbor: Any) -> bool:
    if isinstance(database, np.ndarray) or isinstance(neighbor, np.ndarray):
        return type(database) is type(neighbor) and np.array_equal(database, neighbor)
    try:
        return type(database) is type(neighbor) and bool(database == neighbor)
    except Exception:
        return False  # Of other libraries, which compare entry by entry.
