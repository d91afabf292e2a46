"""Interface of sources: outputs for every run, pair, side and stage, as counts or arrays."""

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
from dpjax.partitions import Partition, Region, RegionLike, Search
from dpjax.sources._counting import Tally
from dpjax.sources._pairs import AnyPairs
from dpjax.sources._rounds import Rounds
from dpjax.sources.streams import Streams

ONE_RUN: NDArray[np.int32] = np.zeros(1, np.int32)
"""Run numbers of an audit outside a sweep: run 0 alone."""

Promise = Callable[[Partition, NDArray[np.int64], int], float]
"""Function of (cells, counts of both halves at both sides, N) that returns the expected bound."""


@dataclass(frozen=True)
class Request:
    """Request of a counting method to a source.

    Attributes:
        rounds: Function that maps the number of pairs to the numbers of draws in search and
            confirmation.
        region: Region of outputs that events may contain, in the caller's form; None for all
            outputs.
        promise: Function that returns the lower bound to expect from a pilot's counts.
        key: Typed key of all runs.
        execution: Layout of the computation on the machine.
        runs: Run numbers, int32 [runs].
        kept: State that the source fills, and that later batches of runs reuse.
        block: Draws per block, a power of 2; 0 to derive it from the numbers of draws.
        in_order: Whether a sequential audit lays cells again as outputs arrive, and counts recorded
            outputs in their order rather than splitting them at random.
        each: Whether every output is expensive: single calls are then reported and kept one by
            one.
        held: Outputs of an audit that this one continues, from `Opened.held`, or None.
        seconds: Seconds of drawing for each side of each searched pair, after which a host source
            stops; None for no limit. It replaces the source's own limit.
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
    """Fresh outputs to count, and the marks of their cells.

    Attributes:
        pairs: Pair number of each run, int64 [runs].
        marks: Mark of each cell, int64 [runs, cells]; cells with the same mark are counted
            together.
        num_marks: Number of marks; every mark is in [0, num_marks).
        first: Number of the first fresh output; a multiple of the source's block if the source is
            streamed.
        size: Samples per side to count; if None, all from `first` up to N.
        sides: Numbers of outputs to count at the database and at its neighbor, int64 [runs, 2].
            They replace `size`, and need a source whose `shares` is true.
    """

    pairs: NDArray[np.int64]
    marks: NDArray[np.int64]
    num_marks: int
    first: int = 0
    size: int | None = None
    sides: NDArray[np.int64] | None = None

    def stops(self, num_confirm: int) -> NDArray[np.int64]:
        """Return where the outputs to count end at both sides, int64 [runs, 2], exclusive."""
        if self.sides is not None:
            return self.first + self.sides
        stop = num_confirm if self.size is None else self.first + self.size
        return np.full((len(self.pairs), 2), stop, np.int64)


class AtPairs(Protocol):
    """A source that is open for a batch of runs at some pairs of databases.

    Attributes:
        pairs: Pairs to compare.
        settings: Options of the source that affect the result.
    """

    pairs: AnyPairs
    settings: JsonObject


class Opened(AtPairs, Protocol):
    """Source that counts outputs.

    Attributes:
        tally: Counts so far.
        num_confirm: N, which may be smaller than requested once the search is over.
        shares: Whether the two sides may have different numbers of fresh outputs, 2 N in total.
        region: Region in words.
    """

    tally: Tally
    num_confirm: int
    shares: bool
    region: str

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the reader so far."""
        ...

    def search(self) -> list[Search]:
        """Lay the cells of every pair, and count the first round of the search in them.

        Returns:
            One search per pair, with halves [runs, 2, 2, cells].
        """
        ...

    def search_again(self, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the second round of the search at some pairs, in the cells of the first round.

        Args:
            kept: Pair numbers, int64 [runs, kept].

        Returns:
            Counts of only these outputs, int64 [runs, kept, 2, 2, cells], where `cells` is the size
            of the largest partition.
        """
        ...

    def count(self, marked: Marked) -> NDArray[np.int64]:
        """Count fresh outputs of one pair per run; repeated calls count the same outputs.

        Returns:
            Counts of only these outputs, int64 [runs, 2, marks], at the database and at its
            neighbor.
        """
        ...


class OpenedInTurn(Opened, Protocol):
    """Source during a sequential audit, which lays cells again as outputs arrive."""

    def lay_again(self, pair: int, size: int) -> Search:
        """Lay the cells of a pair again, from the search set and the first fresh outputs.

        Only for a single run with outputs in order. Later calls of `count` use these cells.

        Args:
            pair: Number of the pair.
            size: Fresh samples per side.

        Returns:
            Cells, with the counts of all outputs from which they were laid.
        """
        ...

    @property
    def held(self) -> JsonObject | None:
        """First outputs as JSON, which a continued audit does not draw again.

        None if a continued audit draws or reads them again.
        """
        ...


class Arrays(AtPairs, Protocol):
    """Outputs as arrays that a kernel draws or reads.

    Attributes:
        region: Region in the kernels' coordinates.
        region_text: Region in the caller's words.
        notes: Notes for the reader.
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
        """(n, N) of recorded outputs; None if the method decides."""
        ...

    def relabel(self, output: object) -> object:
        """Return an outcome or a point of a kernel in the caller's form."""
        ...

    def notes_of_lost(self, shares: NDArray[np.floating]) -> list[str]:
        """Return notes on outputs outside the finite space, from a pair's shares [2, outcomes]."""
        ...


class Smoothing(Protocol):
    """Bandwidth of the confirmation, which decides whether integers are smoothed."""

    def __call__(self, pilots: Sequence[NDArray[np.float64]], num_confirm: int) -> float:
        """Return the bandwidth from the search sets [n] of both sides and the size N."""
        ...


class Trust(NamedTuple):
    """Permissions of a recipe that names code.

    Attributes:
        imports: Modules that may be imported, with their submodules.
        commands: Whether a program may be run.
    """

    imports: Collection[str] = ()
    commands: bool = False


class Source:
    """Subject of an audit: outputs at two databases, for every run, pair and stage.

    Attributes:
        kind: Name of this class in recipes, and on the command line if `asked` is set.
        asked: Help text and metavar of the command-line option that names the source; "" if there
            is no such option.
        takes_pairs: Whether the caller gives pairs of databases.
        has_arrays: Whether outputs are arrays whose densities can be estimated.
        has_canaries: Whether the source holds scores of canaries from one run instead of outputs.
        repeatable: Whether another run draws new outputs, so that a sweep can repeat it.
        side_by_side: Whether many runs are computed simultaneously rather than one after the other.
        stacks_pairs: Whether databases are stacked into arrays.
        usual_method: Name of the default method.
        counts_again: Whether the source still holds the outputs that an earlier audit counted; a
            continued audit then counts them again.
    """

    kind: ClassVar[str] = ""
    asked: ClassVar[tuple[str, str]] = ("", "")
    takes_pairs: ClassVar[bool] = True
    has_arrays: ClassVar[bool] = False
    has_canaries: ClassVar[bool] = False
    repeatable: ClassVar[bool] = False
    side_by_side: ClassVar[bool] = False
    stacks_pairs: ClassVar[bool] = False
    usual_method: ClassVar[str] = "events"
    counts_again: ClassVar[bool] = False

    @property
    def one_by_one(self) -> bool:
        """Whether each output needs a call of its own, which may be slow."""
        return False

    @property
    def sampler(self) -> object:
        """Mechanism or function whose outputs JAX draws; None if there is none."""
        return None

    @property
    def name(self) -> str:
        """Name for display."""
        raise NotImplementedError

    @property
    def parameters(self) -> JsonObject:
        """Parameters of the source, as plain numbers and lists."""
        return {}

    @property
    def stated(self) -> tuple[Notion, object] | None:
        """Notion and claim that the source states; None for most sources."""
        return None

    @property
    def usual_pairs(self) -> object:
        """Default pairs; None if the caller must give pairs, or the source has its own."""
        return None

    def with_time_used(self, seconds: float) -> Self:
        """Return the source with its time limit, if any, reduced by the seconds used."""
        return self

    def refuses(self, method: str) -> str | None:
        """Return why a method cannot audit the source, whatever the request; None if it can."""
        return None

    def opened(self, pairs: object, request: Request) -> AbstractContextManager[Opened]:
        """Open the source at pairs of databases in the caller's form, for a batch of runs."""
        raise NotImplementedError

    def arrays(
        self, pairs: object, region: RegionLike | None, key: Array, smoothing: Smoothing | None
    ) -> Arrays:
        """Return the outputs as arrays.

        Args:
            pairs: Pairs in the caller's form.
            region: Region in the caller's form, or None.
            key: Typed key of all runs.
            smoothing: Bandwidth that smooths integers of a wide range; None if they must not be
                smoothed.
        """
        raise NotImplementedError

    def canaries(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the scores of canaries, float64 [n], and whether each was included, bool [n].

        Raises:
            ValueError, TypeError: When the scores or the coins are invalid.
        """
        raise NotImplementedError

    def to_plain(self) -> JsonObject | None:
        """Return the source's name and options for a recipe; None if it cannot be named."""
        return None

    @classmethod
    def from_plain(cls, content: JsonObject, database: object, trust: Trust) -> Self:
        """Make the source that `to_plain` wrote, if `trust` permits it.

        Args:
            content: Plain content without the kind.
            database: Database of the first pair, or None.
            trust: Permissions to import and run.

        Raises:
            ValueError: When the source is not permitted, is unknown, or cannot be made.
            TypeError: When the content has an invalid form.
        """
        raise NotImplementedError


def parts_note(entries: Sequence[str]) -> str:
    """Return a note on the order in which the parts of an output form a vector."""
    return f"Outputs have several parts; their numbers in order: {', '.join(entries)}."
