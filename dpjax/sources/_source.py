"""What a source is: outputs for every run, pair, side and stage, counted in cells or as arrays."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core.execution import Execution
from dpjax.core.types import JsonObject
from dpjax.notions import Notion
from dpjax.partitions import Partition, Region, Search
from dpjax.sources._counting import Tally
from dpjax.sources._pairs import AnyPairs
from dpjax.sources._rounds import Rounds
from dpjax.sources.streams import Streams

ONE_RUN: NDArray[np.int32] = np.zeros(1, np.int32)
"""Number of the run of a single audit."""

Promise = Callable[[Partition, NDArray[np.int64], int], float]
"""(cells, counts of both halves at both sides, N) -> the bound to be expected of them."""


@dataclass(frozen=True)
class Request:
    """What a method that counts asks of a source.

    Attributes:
        rounds: Number of pairs -> how many outputs search and confirm.
        region: Outputs that events may hold, as a person writes it; None for all.
        promise: The bound to be expected of the counts of a pilot.
        key: Typed key of all runs.
        execution: Layout on the machine.
        runs: int32 [runs], numbers of the runs.
        kept: What later batches of the same runs take over, by pair; filled by the source.
        block: Draws of a block, a power of 2; 0 where the numbers of draws decide.
        in_order: Whether cells are laid again as outputs come, for a sequential audit, and recorded
            outputs are counted one after the other as they were recorded, rather than split at
            random.
        each: Whether every output is dear: it is told and kept by itself where each is a call.
        held: Outputs of an audit that this one continues, as `Opened.held` wrote them, or None.
        seconds: Of drawing for each side of each pair that is searched, after which a source of
            the host stops; None for no limit. It replaces the source's own limit.
    """

    rounds: Callable[[int], Rounds]
    region: Any
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
    """Which fresh outputs are counted, and how.

    Attributes:
        pairs: int64 [runs], number of the pair of each run.
        marks: int64 [runs, cells]: cells of one mark are counted together.
        num_marks: Marks are below it.
        first: Number of the first fresh output; a multiple of the source's block, where it is
            streamed.
        size: Outputs a side; all up to N if None.
        sides: int64 [runs, 2], outputs at the database and at its neighbor in place of `size`;
            only where the source shares outputs.
    """

    pairs: NDArray[np.int64]
    marks: NDArray[np.int64]
    num_marks: int
    first: int = 0
    size: int | None = None
    sides: NDArray[np.int64] | None = None

    def stops(self, num_confirm: int) -> NDArray[np.int64]:
        """int64 [runs, 2], numbers of the outputs after the last ones that are counted."""
        if self.sides is not None:
            return self.first + self.sides
        stop = num_confirm if self.size is None else self.first + self.size
        return np.full((len(self.pairs), 2), stop, np.int64)


class AtPairs(Protocol):
    """A source at pairs of databases, during a batch of runs.

    Attributes:
        pairs: The pairs that are compared.
        settings: Options of the source that change the answer.
    """

    pairs: AnyPairs
    settings: JsonObject


class Opened(AtPairs, Protocol):
    """A source that counts.

    Attributes:
        tally: What was counted so far.
        num_confirm: N, which may be smaller than asked for once the search is over.
        shares: Whether the two sides may have different numbers of fresh outputs, 2 N in all.
        region: In words.
    """

    tally: Tally
    num_confirm: int
    shares: bool
    region: str

    @property
    def notes(self) -> Sequence[str]:
        """What a reader should know besides, so far."""
        ...

    def search(self) -> list[Search]:
        """Lays the cells of every pair, and counts the first round of the search in them.

        Returns:
            A search a pair, with halves [runs, 2, 2, cells].
        """
        ...

    def search_again(self, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts the second round of some pairs, in the cells of the first.

        Args:
            kept: int64 [runs, kept], numbers of the pairs.

        Returns:
            int64 [runs, kept, 2, 2, cells], counts of these outputs alone; cells are those of the
            largest partition.
        """
        ...

    def count(self, marked: Marked) -> NDArray[np.int64]:
        """Counts fresh outputs of one pair in each run; the same outputs at each call.

        Returns:
            int64 [runs, 2, marks], counts of these outputs alone, at the database and at its
            neighbor.
        """
        ...


class OpenedInTurn(Opened, Protocol):
    """A source during a sequential audit, whose cells are laid again as outputs come."""

    def lay_again(self, pair: int, size: int) -> Search:
        """Lays the cells of a pair anew, by the outputs of the search and the first fresh ones.

        Only where outputs are counted in order, in one run. Later calls of `count` have these
        cells.

        Args:
            pair: Its number.
            size: Fresh outputs a side.

        Returns:
            The cells, with counts of all of these outputs.
        """
        ...

    @property
    def held(self) -> JsonObject | None:
        """First outputs as JSON, which are not drawn again in an audit that goes on.

        None where they are drawn or read again.
        """
        ...


class Arrays(AtPairs, Protocol):
    """Outputs as arrays that a kernel draws or reads.

    Attributes:
        region: In the kernels' coordinates.
        region_text: In the caller's words.
        notes: What a reader should know besides.
    """

    region: Region
    region_text: str
    notes: list[str]

    @property
    def streams(self) -> Streams:
        """Streams of all runs."""
        ...

    @property
    def sizes(self) -> tuple[int, int] | None:
        """(n, N) of recorded outputs; None where the method decides."""
        ...

    def relabel(self, output: object) -> object:
        """An outcome or a point of a kernel in the caller's words."""
        ...

    def notes_of_lost(self, shares: NDArray[np.floating]) -> list[str]:
        """Notes on outputs that are no outcome, from the shares [2, outcomes] of a pair."""
        ...


class Smoothing(Protocol):
    """The bandwidth that would confirm, by which integers are smoothed or not."""

    def __call__(self, pilots: Sequence[NDArray[np.float64]], num_confirm: int) -> float:
        """From the outputs of both sides [n] that search, and the number of the others."""
        ...


class Trust(NamedTuple):
    """What a recipe may do that names code.

    Attributes:
        imports: Modules that may be imported, each with those inside it.
        commands: Whether a program may be run.
    """

    imports: Collection[str] = ()
    commands: bool = False


class Source:
    """What is audited: it gives outputs at two databases, for every run, pair and stage.

    Attributes:
        kind: In a recipe.
        takes_pairs: Whether it is given pairs of databases.
        has_arrays: Whether its outputs are arrays, of which densities can be estimated.
        repeatable: Whether another run draws other outputs, so that a sweep can run it.
        side_by_side: Whether many runs are computed together; else one after the other.
        stacks_pairs: Whether databases are stacked into arrays.
        usual_method: Name of the method that audits it where none is named.
        counts_again: Whether it still holds the outputs that an earlier audit counted, which an
            audit that goes on counts once more.
    """

    kind: ClassVar[str] = ""
    takes_pairs: ClassVar[bool] = True
    has_arrays: ClassVar[bool] = False
    repeatable: ClassVar[bool] = False
    side_by_side: ClassVar[bool] = False
    stacks_pairs: ClassVar[bool] = False
    usual_method: ClassVar[str] = "events"
    counts_again: ClassVar[bool] = False

    @property
    def one_by_one(self) -> bool:
        """Whether each output is a call of its own, which may take long."""
        return False

    @property
    def sampler(self) -> object:
        """The mechanism or the function that JAX draws; None where there is none."""
        return None

    @property
    def name(self) -> str:
        """Name for people."""
        raise NotImplementedError

    @property
    def parameters(self) -> JsonObject:
        """Parameters of what is audited, as plain numbers and lists."""
        return {}

    @property
    def stated(self) -> tuple[Notion, object] | None:
        """The notion and the claim that it states of itself; None for most sources."""
        return None

    @property
    def usual_pairs(self) -> object:
        """Pairs where none are given; None where they must be, or the source has its own."""
        return None

    def with_time_used(self, seconds: float) -> Self:
        """The source with so many seconds of its time limit gone, if it has one."""
        return self

    def refuses(self, method: str) -> str | None:
        """Why a method of this name cannot audit it, whatever it asks for; None if it may."""
        return None

    def opened(self, pairs: object, request: Request) -> AbstractContextManager[Opened]:
        """The source at pairs of databases, as a person writes them, for a batch of runs."""
        raise NotImplementedError

    def arrays(
        self, pairs: object, region: object, key: Array, smoothing: Smoothing | None
    ) -> Arrays:
        """The outputs as arrays.

        Args:
            pairs: As a person writes them.
            region: As a person writes it, or None.
            key: Typed key of all runs.
            smoothing: Of integers of a wide range; None where they may not be smoothed.
        """
        raise NotImplementedError

    def to_plain(self) -> JsonObject | None:
        """Name and options in a recipe; None where nothing names it."""
        return None

    @classmethod
    def from_plain(cls, content: JsonObject, database: object, trust: Trust) -> Self:
        """The source that `to_plain` wrote, if it may be made.

        Args:
            content: Without the kind.
            database: Of the first pair, or None.
            trust: What may be imported or run.

        Raises:
            ValueError: It is not allowed, not known, or cannot be made.
            TypeError: It is of another form.
        """
        raise NotImplementedError


def parts_note(entries: Sequence[str]) -> str:
    """Says in which order the parts of an output are the entries of a vector."""
    return f"Outputs have several parts; their numbers in order: {', '.join(entries)}."
