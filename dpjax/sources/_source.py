"""Base class of sources, the subjects of audits."""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core.types import JsonObject
from dpjax.core.wording import Doubt
from dpjax.notions import Notion
from dpjax.partitions import RegionLike
from dpjax.sources._flips import Flipped, Flips
from dpjax.sources._opened import Arrays, Opened, Request, Smoothing


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
    def flips_coins(self) -> bool:
        """Whether fair coins decide, or have decided, which of two databases each call gets."""
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
        """Return the scores of canaries, and whether each was included, bool [n].

        The scores are float64 [n], or float64 [n, d] if a score is to be learned from d numbers.

        Args:
            words: The key for all runs, as two words, uint32 [2]. Recorded runs ignore the key.
            run: Index of the run.

        Raises:
            ValueError, TypeError: If the scores or the coins are invalid.
        """
        raise NotImplementedError

    def flipped(self, pairs: object, flips: Flips) -> Flipped:
        """Make calls whose databases are chosen by fair coins, or return recorded calls.

        Args:
            pairs: Pairs in the caller's form.
            flips: Numbers of calls, and the key.

        Raises:
            ValueError: If there are too few calls, or if the outputs cannot be compared.
        """
        raise NotImplementedError

    def doubts_about(self, included: NDArray[np.bool_]) -> list[Doubt]:
        """Return reasons to doubt that a separate fair coin decided about each canary.

        Args:
            included: bool [n], whether each canary was included.
        """
        return []

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
