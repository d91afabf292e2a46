"""Interface of sources, which provide an audit's outputs as counts in cells or as arrays."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
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


class Trust(NamedTuple):
    """Permissions to import or run the code that a recipe names.

    Attributes:
        imports: Modules that may be imported, with their submodules.
        commands: Whether a program may be run.
    """

    imports: Collection[str]
    commands: bool = False


class Source:
    """Base class for the subjects of audits, which provide outputs for pairs of databases.

    Attributes:
        kind: Name of the class in recipes. If the class sets `asked`, `kind` is also the source's
            name on the command line.
        asked: Help text and metavar of the command-line option that names the source. The help text
            is "" if there is no option.
        takes_pairs: Whether an audit of the source accepts pairs of databases from the caller.
        has_arrays: Whether the source provides outputs as arrays, so that densities can be
            estimated.
        has_canaries: Whether the source provides scores of canaries from one run instead of
            outputs.
        repeatable: Whether another run draws new outputs. A sweep requires a repeatable source.
        side_by_side: Whether many runs are computed in parallel; if False, the runs are computed
            one after another.
        stacks_pairs: Whether the databases of all pairs are stacked into arrays.
        usual_method: Name of the default method.
        counts_again: Whether an audit that continues an earlier audit counts the outputs of the
            earlier audit again. If `counts_again` is False, only new outputs are counted, so the
            source may discard earlier outputs.
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
        """Whether each output needs a separate call, so that drawing may be slow."""
        return False

    @property
    def sampler(self) -> object:
        """Mechanism or function that JAX draws from, or None if JAX does not draw the outputs."""
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
    def files(self) -> Sequence[Path]:
        """Files with the subject's code that are not Python modules."""
        return ()

    @property
    def stated(self) -> tuple[Notion, object] | None:
        """Privacy notion and claim that the subject states, or None if it states no claim."""
        return None

    @property
    def usual_pairs(self) -> object:
        """Default pairs, or None if the source has its own pair or the caller must pass pairs."""
        return None

    def with_time_used(self, seconds: float) -> Self:
        """Return a copy of the source whose time limit, if any, is reduced by `seconds`."""
        return self

    def with_time_limit(self: Any, limit: float | None) -> Any:
        """Return a copy of the source with another time limit, if it can have one."""
        return replace(self, time_limit=limit) if hasattr(self, "time_limit") else self

    def warm(self, database: object, key: Array) -> None:
        """Draw outputs with a key of their own, and discard them, to exclude one-time costs."""

    def refuses(self, method: str) -> str | None:
        """Return the reason why a method cannot audit the source, or None if it can."""
        return None

    def opened(self, pairs: object, request: Request) -> AbstractContextManager[Opened]:
        """Open the source for a batch of runs, with pairs of databases in the caller's form."""
        raise NotImplementedError

    def arrays(
        self, pairs: object, region: RegionLike | None, key: Array, smoothing: Smoothing | None
    ) -> Arrays:
        """Return the outputs as arrays.

        Args:
            pairs: Pairs in the caller's form.
            region: Region in the caller's form, or None for the default region.
            key: Typed key for all runs.
            smoothing: None to leave integers unsmoothed, or a function that returns the bandwidth
                for integer outputs with a wide range.
        """
        raise NotImplementedError

    def canaries(
        self, words: Sequence[int], run: int
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the scores of canaries, float64 [n], and whether each was included, bool [n].

        Args:
            words: The key for all runs, as two words, uint32 [2]. Recorded runs ignore the key.
            run: Index of the run.

        Raises:
            ValueError, TypeError: If the scores or the coins are invalid.
        """
        raise NotImplementedError

    def to_plain(self) -> JsonObject | None:
        """Return the source's name and options as JSON, or None if no recipe can describe them."""
        return None

    @classmethod
    def from_plain(cls, content: JsonObject, database: object, trust: Trust) -> Self:
        """Create the source from the values that `to_plain` returned, if `trust` permits it.

        Args:
            content: The values that `to_plain` returned, without the kind of the source.
            database: Database of the first pair, or None if there is no pair.
            trust: Permissions to import code and to run programs.

        Raises:
            ValueError: If the source is unknown, is not permitted, or cannot be created.
            TypeError: If the content has an invalid form.
        """
        raise NotImplementedError
