"""Protocols of opened sources, which count outputs in cells or provide outputs as arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core.execution import Execution
from dpjax.core.types import JsonObject
from dpjax.partitions import Partition, Region, RegionLike, Search
from dpjax.sources._counting import Tally
from dpjax.sources._pairs import AnyPairs
from dpjax.sources._rounds import Rounds
from dpjax.sources.streams import Streams

ONE_RUN: NDArray[np.int32] = np.zeros(1, np.int32)
"""Indices of the runs of an audit that is not part of a sweep: a single run with index 0."""

Promise = Callable[[Partition, NDArray[np.int64], int, int], float]
"""Function (partition, counts, num_confirm, num_partitions) -> expected bound. The counts have
shape [2 halves, 2 sides, cells]. `num_confirm` is the number of confirmation samples per side.
`num_partitions` is the number of partitions among which the best one is chosen.
"""


@dataclass(frozen=True)
class Request:
    """Settings with which a counting method opens a source.

    Attributes:
        rounds: Function that maps the number of pairs to the numbers of draws in the search rounds
            and in the confirmation.
        region: Region of outputs that events may contain, in the caller's form, or None for all
            outputs.
        promise: Function that returns the expected lower bound for given pilot counts; see
            `Promise`.
        key: Typed key for all runs.
        execution: Execution options; these never change the counts.
        runs: Indices of the runs, int32 [runs].
        kept: Dict in which the source stores values for later batches of runs.
        block: Number of draws per block, which is a power of 2; or 0 to derive the block size from
            the numbers of draws.
        in_order: Whether the audit is sequential. If `in_order` is True, cells are determined again
            as outputs arrive, and recorded outputs are counted in order instead of being split at
            random.
        each: Whether each output is expensive to draw. If `each` is True, progress is reported
            after each output, and every output is kept.
        held: The value of `OpenedInTurn.held` (the first outputs) from the earlier audit that this
            audit continues; or None if there is no earlier audit.
        seconds: Maximum time, in seconds, that a host source spends on search draws per side of
            each pair. If `seconds` is not None, the source's own time limit is ignored.
    """

    rounds: Callable[[int], Rounds]
    region: RegionLike | None
    promise: Promise
    key: Array
    execution: Execution
    runs: NDArray[np.int32] = field(default_factory=lambda: ONE_RUN)
    kept: dict[Any, Any] = field(default_factory=dict)
    block: int = 0
    in_order: bool = False
    each: bool = False
    held: JsonObject | None = None
    seconds: float | None = None


class Marked(NamedTuple):
    """A request to count fresh outputs by the marks of their cells.

    Attributes:
        pairs: Index of the pair of each run, int64 [runs].
        marks: Mark of each cell, int64 [runs, cells]. Cells with the same mark are counted
            together.
        num_marks: Number of marks. Every mark is in [0, num_marks).
        first: Index of the first fresh output to count. In the streamed layout, this index is a
            multiple of the block size.
        size: Number of outputs to count per side. If `size` is None, all outputs from `first` up to
            `Opened.num_confirm` are counted.
        sides: Numbers of outputs to count from the database and from its neighbor, int64 [runs, 2].
            If `sides` is not None, `size` is ignored. The attribute may be set only if
            `Opened.shares` is True.
    """

    pairs: NDArray[np.int64]
    marks: NDArray[np.int64]
    num_marks: int
    first: int = 0
    size: int | None = None
    sides: NDArray[np.int64] | None = None

    def stops(self, num_confirm: int) -> NDArray[np.int64]:
        """Return the index after the last output to count on each side, int64 [runs, 2 sides]."""
        if self.sides is not None:
            return self.first + self.sides
        stop = num_confirm if self.size is None else self.first + self.size
        return np.full((len(self.pairs), 2), stop, np.int64)


class AtPairs(Protocol):
    """A source that was opened for a batch of runs with given pairs of databases.

    Attributes:
        pairs: Pairs of databases to compare.
        settings: Options of the source that affect the result.
    """

    pairs: AnyPairs
    settings: JsonObject


class Opened(AtPairs, Protocol):
    """An opened source that counts outputs in cells.

    Attributes:
        tally: Counts and progress of the audit so far.
        num_confirm: Number N of fresh samples per side. If there is a time limit, the search may
            reduce N below the requested number.
        shares: Whether the two sides may have different numbers of fresh outputs. In any case, the
            two numbers add up to 2 N.
        region: Description of the region in words.
    """

    tally: Tally
    num_confirm: int
    shares: bool
    region: str

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the result, as collected so far."""
        ...

    def search(self) -> list[Search]:
        """Determine the cells of every pair, and count the outputs of the first search round.

        Returns:
            One `Search` per pair, with counts [runs, 2 halves, 2 sides, cells].
        """
        ...

    def search_again(self, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw the outputs of the second search round for some pairs, and count these outputs.

        Args:
            kept: Indices of the pairs that each run keeps for this round, int64 [runs, kept].

        Returns:
            Counts of the second round alone, int64 [runs, kept, 2 halves, 2 sides, cells]. The
            length of the last axis is the size of the largest partition.
        """
        ...

    def count(self, marked: Marked) -> NDArray[np.int64]:
        """Count fresh outputs of one pair per run. Equal requests count the same outputs.

        Returns:
            Counts of the requested outputs alone, int64 [runs, 2 sides, marks].
        """
        ...


class OpenedInTurn(Opened, Protocol):
    """An opened source for a sequential audit. The source determines cells anew as outputs arrive.

    Attributes:
        lays_once: Whether the cells are fixed in advance instead of determined from outputs. If
            `lays_once` is True, `lay_again` is not needed.
    """

    lays_once: bool

    def lay_again(self, pair: int, size: int) -> Search:
        """Determine the cells of a pair anew, from the search set and from fresh outputs.

        Later calls to `count` use the new cells. The source must have been opened for a single run,
        with `Request.in_order` set to True.

        Args:
            pair: Index of the pair.
            size: Number of fresh outputs per side that determine the cells.

        Returns:
            The new cells, and the counts of the outputs that were used to determine these cells.
        """
        ...

    @property
    def held(self) -> JsonObject | None:
        """The first outputs as JSON values, from which a later audit can continue this audit.

        The value is None if the later audit can draw or read the first outputs again.
        """
        ...


class Arrays(AtPairs, Protocol):
    """Outputs as arrays that a compiled kernel draws or reads.

    Attributes:
        region: Region in the kernel's coordinates.
        region_text: Description of the region in words, in the caller's coordinates.
        notes: Notes for readers of the result.
    """

    region: Region
    region_text: str
    notes: list[str]

    @property
    def streams(self) -> Streams:
        """Streams of the outputs of all runs."""
        ...

    @property
    def sizes(self) -> tuple[int, int] | None:
        """Sizes (n, N) of the search and confirmation sets, or None to let the method choose."""
        ...

    def relabel(self, output: object) -> object:
        """Convert an outcome or a point from a kernel's form to the caller's form."""
        ...

    def notes_of_lost(self, shares: NDArray[np.floating]) -> list[str]:
        """Return notes on outputs outside the finite space.

        Args:
            shares: For each side of a pair, the share of its outputs that have each outcome, float
                [2, outcomes].
        """
        ...


class Smoothing(Protocol):
    """Function that returns the bandwidth for smoothing integers in the confirmation."""

    def __call__(self, pilots: Sequence[NDArray[np.float64]], num_confirm: int) -> float:
        """Return the bandwidth.

        Args:
            pilots: Search sets of both sides, [n] each.
            num_confirm: Number N of confirmation samples per side.
        """
        ...
