"""Sources whose outputs were recorded in arrays, or in files that are read in chunks."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from jax import Array

from dpjax.core import validate
from dpjax.core.notebook import html_titled
from dpjax.core.options import option
from dpjax.core.types import JsonObject
from dpjax.core.wording import EVENTS, BadValue, term
from dpjax.partitions import RegionLike
from dpjax.partitions.low_bits import check_bits
from dpjax.partitions.previews import preview
from dpjax.sources._fair_coins import coins_from
from dpjax.sources._flips import Flipped, Flips
from dpjax.sources._held import as_outputs, refuse_other_columns
from dpjax.sources._opened import Request, Smoothing
from dpjax.sources._plain import files_of, known_options, place_of, stated_options
from dpjax.sources._recorded_arrays import RecordedArrays, recorded_arrays
from dpjax.sources._recorded_calls import flip_recorded
from dpjax.sources._recorded_counts import OpenedRecorded
from dpjax.sources._recorded_in_order import OpenedInOrder
from dpjax.sources._shared_draws import refuse_same_origin
from dpjax.sources._source import Source, Trust
from dpjax.sources.readers._databases import are_of_one_file, recordings_by
from dpjax.sources.readers._recording import Recording


@dataclass(frozen=True)
class Recorded(Source):
    """Outputs that were recorded for two neighboring databases.

    The outputs may be larger than memory, because they are read in chunks. One pass determines the
    cells, and another pass counts the outputs in each cell.

    Attributes:
        x: Independent outputs from the database: numbers [n] or [n, d] (which may include NaN and
            infinities), labels [n], a mixture of numbers and labels [n], or a `dpjax.Recording` of
            files.
        y: Independent outputs from the neighbor, in the same form as `x`. The outputs on the two
            sides must have been drawn independently of each other.
        discrete: Whether to treat every number as an outcome of its own. If `discrete` is None,
            only frequent numbers are outcomes.
        bits: "lowest" or a number k of bits, to observe low bits of floats in addition to their
            values, as in `dpjax.HostMechanism`.
        search_fraction: Fraction of the outputs to use as the search set; must be below one half.
            `dpjax.Guesses` has `reveal_fraction` in its place, and refuses `discrete` and `blocks`.
        blocks: Length of a block of successive outputs of a Markov chain, or None for independent
            outputs. Outputs within a block may depend on each other. Blocks must be long enough
            that outputs chosen at random from different blocks are independent. The audit counts
            one random output from each block of the confirmation set.
        independent: Set to True to state that the outputs are independent draws, even if the
            outputs look dependent; or, for `dpjax.Guesses`, that each call had its own coin. If
            `independent` is True, doubts about independence become notes, which do not change the
            verdict.
        name: Name of the outputs in the result.
        coins: For each output, in the order of the calls, whether it belongs to `x`, bool [n]; or
            None if the order is unknown. Only `dpjax.Guesses` needs it; see `of_calls`.

    Raises:
        ValueError: If an option is out of range, or if `x` and `y` are the same object or share a
            file.
        TypeError: If an option has the wrong type.
    """

    x: object
    y: object
    discrete: bool | None = option(
        "Kind of recorded outputs; detected by default.",
        default=None,
        flag="--discrete/--continuous",
    )
    bits: int | str | None = option("", default=None)
    search_fraction: float = option("Share of the outputs to use as the search set.", default=0.3)
    blocks: int | None = option(
        "Length of the blocks within which outputs are dependent, as in a Markov chain.",
        default=None,
        only=("events",),
    )
    independent: bool = option(
        "State that the outputs are independent draws, even if they do not look independent.",
        default=False,
        flag="--independent",
    )
    name: str = "recorded outputs"  # pyright: ignore[reportIncompatibleMethodOverride]
    # A factory marks a field that is not an option of recipes.
    coins: object = field(default_factory=type(None), repr=False)
    kind: ClassVar[str] = "samples"
    asked: ClassVar[tuple[str, str]] = (
        "Recorded outputs for both databases (npy, npz, parquet, feather, csv, tsv, txt, jsonl, "
        "and the last four also as gz, bz2, xz or zst): one file each, multiple files as a "
        "pattern or separated by commas, or - for standard input.",
        "X Y",
    )
    takes_pairs: ClassVar[bool] = False
    has_arrays: ClassVar[bool] = True
    counts_again: ClassVar[bool] = True

    def __post_init__(self):
        if self.coins is not None:
            # Classes state their default methods, so this one applies to the instance alone.
            object.__setattr__(self, "usual_method", "guesses")
        refuse_same_origin(self.x, self.y)
        check_bits(self.bits)
        validate.open_unit(search_fraction=self.search_fraction)
        if self.blocks is not None:
            validate.positive_int(blocks=self.blocks)
        if self.search_fraction >= 0.5:
            raise BadValue(
                f"search_fraction must be below 0.5, but was {self.search_fraction}: the "
                "confirmation set must be larger than the search set."
            )

    @classmethod
    def from_file(
        cls,
        where: str | Path | Sequence[str | Path],
        by: str | int,
        column: str | int | Sequence[str | int] | None = None,
        **options: Any,
    ) -> Self:
        """Create the source from a file, or files, with the outputs of both databases.

        Args:
            where: Files, as in `dpjax.Recording`.
            by: Column with two values, which name the database of each row. The first of the sorted
                values belongs to `x`.
            column: Column of the outputs, as in `dpjax.Recording`; or None if there is only one
                column besides `by`.
            **options: Options of this class, such as `independent`.

        Returns:
            The source, whose name contains the two values.

        Raises:
            ValueError: If the column `by` does not have two values, or lacks a value in a row; or
                if `column` is None although there are several other columns.
        """
        x, y = recordings_by(where, by, column)
        return cls(x, y, **{"name": f"{x.name}: {by} {x.value} / {y.value}", **options})

    @classmethod
    def of_calls(cls, outputs: Any, coins: Any, **options: Any) -> Self:
        """Create the source from outputs in the order of the calls; the default method is guesses.

        A fair coin must have decided before each call whether the call got the database or its
        neighbor. Outputs may depend on earlier outputs; see `dpjax.Guesses`. For files, see
        `from_file`.

        Args:
            outputs: Outputs in the order of the calls, in the same form as `x`.
            coins: Whether each call got the database, bool [n].
            **options: Options of this class, such as `name`.

        Raises:
            TypeError: If `coins` is not boolean.
            ValueError: If there is not one coin per output.
        """
        tossed, whole = coins_from("coins", coins, "calls"), as_outputs("outputs", outputs)
        if len(whole) != len(tossed):
            raise BadValue(
                f"coins must have one entry per output, but had {len(tossed)} entries for "
                f"{len(whole)} outputs."
            )
        return cls(whole[tossed], whole[~tossed], **{"coins": tossed, **options})

    @property
    def flips_coins(self) -> bool:
        """Whether the coin of each output and the order of the outputs are known; see `Source`."""
        return self.coins is not None or are_of_one_file(self.x, self.y)

    def flipped(self, pairs: object, flips: Flips) -> Flipped:
        """Return the recorded calls; see `Source`.

        Raises:
            ValueError: If pairs or options for counted outcomes were passed, or if there are too
                few calls, or if the coins do not look fair.
            TypeError: If the sides contain outputs of different kinds, or if `coins` is not
                boolean.
        """
        self.refuse_pairs(pairs)
        self._refuse_options_of_counts()
        refuse_other_columns(self.x, self.y)
        if self.coins is not None:
            return flip_recorded(self, coins_from("coins", self.coins, "calls"), flips)
        assert isinstance(self.x, Recording)
        return flip_recorded(self, np.concatenate([*self.x.marks()]), flips)

    def _refuse_options_of_counts(self) -> None:
        """Raise ValueError if options are set that do not apply to guesses."""
        if self.discrete is not None:
            raise BadValue(
                f"discrete does not apply if coins are guessed, but was {self.discrete}: leave it "
                f"out, or use {EVENTS}, which counts outcomes."
            )
        if self.blocks is not None:
            raise BadValue(
                f"blocks does not apply if coins are guessed, but was {self.blocks}: leave it out, "
                "because calls with fair coins need no blocks."
            )
        if self.search_fraction != type(self).search_fraction:
            raise BadValue(
                f"search_fraction does not apply if coins are guessed, but was "
                f"{self.search_fraction}: use "
                f"{term('Guesses(reveal_fraction=...)', '--reveal-fraction')} to choose the share "
                "of the calls from which scores are learned."
            )

    @contextmanager
    def opened(self, pairs: object, request: Request) -> Iterator["OpenedRecorded | OpenedInOrder"]:
        """Open the outputs for one audit; the argument `pairs` must be None.

        Raises:
            ValueError: If pairs were passed, if there are too few outputs, or if both sides share
                draws.
            TypeError: If the sides differ in the kind or the dimension of their outputs.
        """
        self.refuse_pairs(pairs)
        refuse_other_columns(self.x, self.y)
        yield (OpenedInOrder if request.in_order else OpenedRecorded)(self, request)

    def refuse_pairs(self, pairs: object) -> None:
        """Raise ValueError if pairs are passed, because recorded outputs have their own pair."""
        if pairs is not None:
            raise BadValue(
                "pairs must be left out for recorded outputs: x was recorded for the database and "
                "y for its neighbor."
            )

    def arrays(
        self, pairs: object, region: RegionLike | None, key: Array, smoothing: Smoothing | None
    ) -> RecordedArrays:
        """Return the outputs as arrays, split into search and confirmation sets; see `Source`.

        Raises:
            ValueError: If pairs were passed, or if the outputs have no density, are too few, or are
                copies.
            TypeError: If the outputs are in files, or if they are of multiple kinds.
        """
        self.refuse_pairs(pairs)
        refuse_other_columns(self.x, self.y)
        for name, given in (("bits", self.bits), ("blocks", self.blocks)):
            if given is not None:
                raise BadValue(
                    f"{name} must be left out if a density is estimated, but was {given!r}: use "
                    f"{EVENTS}, which counts outcomes."
                )
        return recorded_arrays(self, region, key, smoothing)

    def _repr_html_(self) -> str:
        """Return HTML that describes the recordings in a notebook, without reading files."""
        sides = [(name, _told(side)) for name, side in (("x", self.x), ("y", self.y))]
        stated = stated_options(self).items()
        options = [(name, str(value)) for name, value in stated if name != "name"]
        return html_titled(f"Recorded outputs: {self.name}", [*sides, *options])

    def to_plain(self) -> JsonObject | None:
        """Return the files and columns of both sides, and the options; see `Source`."""
        sides = {name: files_of(side) for name, side in (("x", self.x), ("y", self.y))}
        if self.coins is not None or None in sides.values():
            return None
        return {**sides, **stated_options(self)}

    @classmethod
    def from_plain(cls, content: JsonObject, database: object, trust: Trust) -> Self:
        """Open the recorded files; see `Source`."""
        x, y = (Recording(*place_of(content.pop(name, None))) for name in ("x", "y"))
        return cls(x, y, **known_options(cls, content))


def _told(side: object) -> str:
    """Describe one side's outputs in words."""
    if isinstance(side, Recording):
        column = "" if side.column is None else f", column {side.column}"
        rows = "" if side.by is None else f", rows in which {side.by} is {side.value}"
        return f"file {side.name}{column}{rows}"
    return preview(side)
