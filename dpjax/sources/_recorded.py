"""Recorded outputs as a source: each belongs to the search or to the confirm part, for good."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np
from numpy.typing import NDArray

from dpjax.core import random, validate
from dpjax.core.options import option
from dpjax.core.wording import BadValue
from dpjax.partitions import PILOT, Encoder, Outputs, Partition, as_box, region_text
from dpjax.partitions._scored import fold_of
from dpjax.partitions.outputs import check_bits
from dpjax.sources._copied import notes_of_copies, refuse_copies
from dpjax.sources._held import Chunked, held
from dpjax.sources._labels_alone import refuse_labels_alone
from dpjax.sources._learned import lay_best
from dpjax.sources._serial import notes_of_order
from dpjax.sources._shared_draws import refuse_same_origin, refuse_shared_draws
from dpjax.sources._side_values import SideValues
from dpjax.sources._source import AnyPairs, Request, Search, Tally

_MIN_SIDE, _MIN_SEARCH = 40, 10
_LABEL = "recorded pair"

_ORDERED = 2**18
"""Outputs a side that confirm whose order is looked at."""


@dataclass(frozen=True)
class Recorded:
    """Outputs that were recorded at two neighbouring databases.

    They may be larger than memory: two passes over them count, the first of which lays the cells.

    Attributes:
        x: Independent outputs at the database: numbers of shape [n] or [n, d], labels, or both,
            NaN and infinities included; or a `dpjax.Recording` of files.
        y: Independent outputs at its neighbor, of the same form; none may be one of `x`.
        discrete: Whether every number is an outcome (True) or none is (False); if None, those are
            that happen often.
        bits: "lowest" or a number, to look at the bit patterns of reals besides their values; as
            in `dpjax.HostMechanism`.
        search_fraction: Share of the outputs that searches, below one half.
        blocks: Length of blocks, for outputs of a chain: they may depend on each other within a
            block, and blocks must be long enough not to depend on each other. One output of each,
            chosen at random, confirms, so the bound is that of so many independent outputs. None
            for outputs that are independent.
        name: What the outputs are called in the result.

    Raises:
        ValueError: An option is out of range, or both sides are one object or share a file.
        TypeError: An option is of the wrong kind.
    """

    x: Any
    y: Any
    discrete: bool | None = option(
        "What recorded outputs are; found out if not said.",
        default=None,
        flag="--discrete/--continuous",
    )
    bits: int | str | None = option("", default=None)
    search_fraction: float = option("Share of the outputs that searches.", default=0.3)
    blocks: int | None = option(
        "Length of blocks of outputs that depend on each other, as those of a chain do.",
        default=None,
        only=("events",),
    )
    name: str = "recorded outputs"
    takes_pairs: ClassVar[bool] = False

    def __post_init__(self):
        refuse_same_origin(self.x, self.y)
        check_bits(self.bits)
        validate.open_unit(search_fraction=self.search_fraction)
        if self.blocks is not None:
            validate.positive_int(blocks=self.blocks)
        if self.search_fraction >= 0.5:
            raise BadValue(
                f"search_fraction must be below 0.5, but was {self.search_fraction}: the confirm "
                "part must be the larger one."
            )

    @contextmanager
    def opened(self, pairs: Any, request: Request) -> Iterator["_OpenedRecorded"]:
        """The outputs for one audit; they bring their pair along.

        Raises:
            ValueError: Pairs were given, there are too few outputs, or both sides share draws.
            TypeError: Outputs are of two kinds or dimensions.
        """
        self.refuse_pairs(pairs)
        yield _OpenedRecorded(self, request)

    def refuse_pairs(self, pairs: Any) -> None:
        """Raises where databases were given."""
        if pairs is not None:
            raise BadValue(
                "pairs must be left out for recorded outputs: x was recorded at the database and y "
                "at its neighbor."
            )


class _OpenedRecorded:
    """Recorded outputs during one audit; see `dpjax.sources.Opened`."""

    def __init__(self, source: Recorded, request: Request):
        self._source, self._box = source, as_box(request.region)
        self._promise = request.promise
        sides = (held("x", source.x), held("y", source.y))
        self._parts = [
            _Split(recording, name, request.key, (side, source.blocks or 1), source.search_fraction)
            for side, (recording, name) in enumerate(zip(sides, "xy", strict=True))
        ]
        names = " and ".join(part.name for part in self._parts)
        self._encoder = Encoder(names, bits=source.bits)
        self.tally = Tally(request.execution.progress)
        self.tally.expect(0)
        self.pairs = AnyPairs((["x"], ["y"]), (_LABEL,))
        self.num_confirm = 0
        self.region = region_text(self._box)
        self.settings = {
            "discrete": source.discrete,
            "bits": source.bits,
            "search_fraction": source.search_fraction,
            **({} if source.blocks is None else {"blocks": source.blocks}),
            "generator": "philox4x64",
        }
        self.notes = [note for side in sides for note in getattr(side, "notes", ())]

    def search(self) -> list[Search]:
        """Lays cells by a pilot of the search part, and counts both parts in them."""
        parts, encoder = self._parts, self._encoder
        raw = [part.pilot(self.tally) for part in parts]
        # All of them are read once more.
        self.tally.expect(sum(part.values.total for part in parts))
        _refuse_two_kinds(parts, raw)
        pilots = [encoder.encode(outputs) for outputs in raw]
        try:
            refuse_shared_draws(parts[0].values, parts[1].values)
        except ValueError as error:
            if parts[0].name == "x":
                raise
            raise ValueError(f"{parts[0].name} and {parts[1].name}: {error}") from None
        for part in parts:
            refuse_copies(part.name, part.values)
        self.notes += notes_of_copies(parts[0].values, parts[1].values)
        names = " and ".join(part.name for part in parts)
        if pilots[0].alone.all() != pilots[1].alone.all() and (encoder.dimension or 1) > 1:
            raise TypeError(f"{names} must be of one kind, but were labels and vectors.")
        refuse_labels_alone(pilots, encoder, names, sum(part.values.total for part in parts))
        num_confirm = min(int(part.values.total * (1 - part.fraction)) for part in parts)
        cells = lay_best(
            pilots,
            [part.folds for part in parts],
            encoder.names,
            lambda cells, halves: self._promise(cells, halves, num_confirm),
            discrete=self._source.discrete,
            region=self._box,
        )
        self._counts = np.stack([part.counts(encoder, cells, self.tally) for part in parts], axis=1)
        self.num_confirm = int(self._counts[2].sum(axis=1).min())
        self.notes += [
            f"{side}: {searched} outputs searched, the other {confirmed} confirmed."
            for side, searched, confirmed in zip(
                "xy",
                self._counts[:2].sum(axis=(0, 2)),
                self._counts[2].sum(axis=1),
                strict=True,
            )
        ]
        self.notes += _notes_of_atoms(cells, pilots)
        return [Search(cells, self._counts[:2], cells.inside(self._box))]

    def search_again(self, kept: Sequence[int]) -> list[NDArray[np.int64]]:
        """Nothing more: all outputs of the search part were counted at once."""
        return [np.zeros_like(self._counts[:2]) for _ in kept]

    def confirm(
        self, pair: int, partition: Partition, marks: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Counts of the confirm part; see `dpjax.sources.Opened`."""
        counts = np.zeros((2, int(marks.max()) + 1), np.int64)
        for side in (0, 1):
            np.add.at(counts[side], marks, self._counts[2, side])
            cells = self._parts[side].confirmed
            # By the cells that are counted together, and by their halves: an event may be rare.
            splits = [v >= max(np.median(v), v.min(initial=0) + 1) for v in (marks[cells], cells)]
            self.notes += notes_of_order(self._parts[side].name, splits)
        return counts


class _Split:
    """A recording, each output of which belongs to the search or to the confirm part.

    The part of an output is decided by random words at the number of its block in a counter-based
    generator under the audit's key, so every pass sees the same split, whatever the chunks are.

    Args:
        recording: The outputs.
        name: "x" or "y".
        key: Of the audit.
        place: Number of the side, and length of a block.
        fraction: Share of the outputs that searches.

    Attributes:
        name: For people.
        fraction: Share of the outputs that searches.
        values: How often values occur.
        folds: int64 [n], those of the pilot.
        confirmed: Integers [n], cells of the first outputs that confirm, in order.

    References:
        Salmon, Moraes, Dror, Shaw (2011): Philox-4x64.
    """

    def __init__(
        self,
        recording: Chunked,
        name: str,
        key: jax.Array,
        place: tuple[int, int],
        fraction: float,
    ):
        self._recording, (side, self._block) = recording, place
        self.name = name if recording.name == name else f"{name} ({recording.name})"
        words = random.words_of(key).tolist()
        self._key = np.array([words[0] << 32 | words[1], side], np.uint64)
        self.fraction, self._limit = fraction, np.uint64(int(fraction * 2**64))
        self.folds = np.empty(0, np.int64)
        self.values, self.confirmed = SideValues(), np.empty(0, np.uint8)

    def _numbered(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Chunks with the words of their outputs; those of a block are the same."""
        for start, chunk in self._placed():
            first, last = start // self._block, (start + len(chunk) - 1) // self._block
            words = random_words(self._key, first, last - first + 1)
            yield chunk, words[(start + np.arange(len(chunk))) // self._block - first]

    def _placed(self) -> Iterator[tuple[int, np.ndarray]]:
        start = 0
        for chunk in self._recording.chunks():
            yield start, chunk
            start += len(chunk)

    def pilot(self, tally: Tally) -> np.ndarray:
        """The outputs of the search part with the smallest words, which are a random choice.

        `values` then holds how often values occur.
        """
        kept: list[tuple[np.ndarray, np.ndarray]] = []
        size = total = searching = 0
        smallest = np.empty(0, np.uint64)
        for chunk, words in self._numbered():
            total += len(chunk)
            tally.saw(len(chunk))
            if searching < _MIN_SEARCH:
                smallest = np.sort(np.concatenate([smallest, words]))[: _MIN_SEARCH + 1]
            self.values.add(chunk)
            chosen = words < self._limit
            searching += int(chosen.sum())
            kept.append((chunk[chosen], words[chosen]))
            size += int(chosen.sum())
            if size > 4 * PILOT:
                kept = [_smallest(kept)]
                size = PILOT
        if total < _MIN_SIDE * self._block:
            blocks = "" if self._block == 1 else f" ({_MIN_SIDE} blocks)"
            raise ValueError(
                f"{self.name} must hold at least {_MIN_SIDE * self._block} outputs{blocks}, but "
                f"held {total}."
            )
        if int(total * self.fraction) < _MIN_SEARCH:
            raise BadValue(
                f"search_fraction must leave at least {_MIN_SEARCH} outputs of {self.name} to "
                f"search, but {self.fraction} of {total} left {int(total * self.fraction)}."
            )
        if searching < _MIN_SEARCH:
            # Of few outputs fewer than expected may have small words: some more are taken.
            self._limit = smallest[_MIN_SEARCH] + np.uint64(1)
            numbered = [(chunk, words, words < self._limit) for chunk, words in self._numbered()]
            kept = [(chunk[chosen], words[chosen]) for chunk, words, chosen in numbered]
        pilot, words = _smallest(kept)
        self.folds = _fold(words)
        return pilot

    def counts(self, encoder: Encoder, cells: Partition, tally: Tally) -> np.ndarray:
        """int64 [3, cells]: of both halves of the search part and of the confirm part."""
        counts, number, kept = np.zeros((4, cells.size), np.int64), 0, []
        for chunk, words in self._numbered():
            half = (words & np.uint64(1)).astype(np.int64)
            part = np.where(words < self._limit, half, 2)
            if self._block > 1:
                # Of a block that confirms one output counts; other bits of its word say which.
                place = (number + np.arange(len(chunk))) % self._block
                chosen = (words >> np.uint64(1)) % np.uint64(self._block)
                part[(part == 2) & (place != chosen)] = 3
            outputs = encoder.encode(chunk)
            search, cell = part < 2, np.empty(len(part), np.int64)
            seen, fresh = (Outputs(*(c[rows] for c in outputs)) for rows in (search, ~search))
            cell[search] = cells.index_held_out(seen, _fold(words[search]))
            cell[~search] = cells.index(fresh)
            counts += np.bincount(cell + cells.size * part, minlength=4 * cells.size).reshape(4, -1)
            room = max(_ORDERED - sum(map(len, kept)), 0)
            kept.append(cell[part == 2][:room].astype(np.min_scalar_type(cells.size)))
            number += len(chunk)
            tally.searched += int((part < 2).sum())
            tally.saw(len(chunk))
        self.confirmed = np.concatenate(kept)
        return counts[:3]


def _fold(words: np.ndarray) -> np.ndarray:
    """By bits that decide nothing else; those of a block are in one fold."""
    return fold_of((words >> np.uint64(32)).astype(np.int64))


def _refuse_two_kinds(parts: Sequence[_Split], raw: Sequence[np.ndarray]) -> None:
    """Refuses labels beside numbers, or beside vectors: any two would be told apart."""
    kinds = [_kind(outputs) for outputs in raw]
    # Objects in memory may be of several kinds, on either side.
    if None in kinds or kinds[0] == kinds[1]:
        return
    held = [
        f"{part.name} holds {kind}, such as {outputs[0].tolist()!r}"
        for part, kind, outputs in zip(parts, kinds, raw, strict=True)
    ]
    raise TypeError(f"x and y must be of one kind, but {' and '.join(held)}.")


def _kind(outputs: np.ndarray) -> str | None:
    if outputs.dtype.kind == "O" and not all(isinstance(output, str) for output in outputs):
        return None
    if outputs.dtype.kind in "USO":
        return "labels"
    return f"vectors of {outputs.shape[1]} numbers" if outputs.ndim == 2 else "numbers"


def _smallest(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    words = np.concatenate([words for _, words in parts])
    if len(words) > PILOT:
        # Chosen before they are joined: labels may be long.
        last = np.partition(words, PILOT - 1)[PILOT - 1]
        parts = [(outputs[few], words[few]) for outputs, words in parts for few in [words <= last]]
    outputs, words = (np.concatenate(column) for column in zip(*parts, strict=True))
    return outputs, words


def random_words(key: np.ndarray, start: int, count: int) -> np.ndarray:
    """Words start .. start + count - 1 of a stream that can be entered anywhere.

    Args:
        key: uint64 [2].
        start: Number of the first word.
        count: How many.

    Returns:
        uint64 [count].
    """
    # Philox makes four words of one value of its counter.
    generator = np.random.Philox(key=key, counter=start // 4)
    return generator.random_raw(start % 4 + count)[start % 4 :]


def _notes_of_atoms(cells: Partition, pilots: list[Outputs]) -> list[str]:
    """Says which numbers were counted one by one, where others were not."""
    notes = []
    sides = [pilot.values[~pilot.alone] for pilot in pilots]
    for column, atoms in enumerate(cells.atoms):
        shares = [np.isin(s[:, column], atoms).mean() if len(s) else 0.0 for s in sides]
        if not len(atoms) or max(shares) >= 0.999:
            continue
        if all(np.all(side[:, column] == np.rint(side[:, column])) for side in sides):
            notes.append(
                f"Whole numbers: {len(atoms)} that happen often were counted one by one, all "
                "others in intervals."
            )
            continue
        shown = ", ".join(f"{atom:g}" for atom in atoms[:3])
        notes.append(
            f"Numbers that happen often ({shown}{', ...' if len(atoms) > 3 else ''}: "
            f"{shares[0]:.1%} of x, {shares[1]:.1%} of y) were counted apart from the density "
            "around them."
        )
    return notes
