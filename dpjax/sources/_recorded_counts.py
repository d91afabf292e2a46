"""Validation of recorded outputs, and counts of these outputs in cells."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpjax.core.wording import Doubt, Unvaried
from dpjax.partitions import Encoder, Outputs, Partition, Search, as_box, region_text
from dpjax.partitions._cells import entry_name
from dpjax.partitions._columns import notes_of_ignored
from dpjax.sources._as_written import notes_as_written
from dpjax.sources._coins_in_outputs import notes_of_coins, notes_of_run_numbers
from dpjax.sources._copied import notes_of_copies, notes_of_near_copies, refuse_copies
from dpjax.sources._counting import Tally
from dpjax.sources._held import Sides, held, names_of_entries
from dpjax.sources._labels_alone import notes_of_labels_alone
from dpjax.sources._learned import lay_best
from dpjax.sources._opened import Marked, Request
from dpjax.sources._pairs import RECORDED, RECORDED_PAIRS
from dpjax.sources._row_numbers import RowNumbers
from dpjax.sources._serial import OF_RECORDINGS, OF_TOSSED, Advice, notes_of_order
from dpjax.sources._shared_draws import refuse_shared_draws
from dpjax.sources._side_values import SideValues
from dpjax.sources._split import Split
from dpjax.sources._uneven import notes_of_uneven_ratios
from dpjax.sources.readers._databases import notes_of_other_names

_OFTEN, _LEAST_SHARE = 5, 0.0005
"""A note names the numbers that occur at least _OFTEN times among the first outputs, if they are at
least the fraction _LEAST_SHARE of one side. Smaller fractions would be shown as 0.0%.
"""


class OpenedRecorded:
    """Recorded outputs that were opened for one audit; see `dpjax.sources.Opened`."""

    def __init__(self, source: Sides, request: Request):
        self.shares = False
        self._source, self._box = source, as_box(request.region)
        self._promise = request.promise
        sides = (held("x", source.x), held("y", source.y))
        self._parts = [
            Split(recording, name, request.key, (side, source.blocks or 1), source.search_fraction)
            for side, (recording, name) in enumerate(zip(sides, "xy", strict=True))
        ]
        names = " and ".join(part.name for part in self._parts)
        entries = names_of_entries(source.x, source.y)
        self._encoder = Encoder(names, bits=source.bits, names_of_entries=entries)
        self.tally = Tally(request.execution.progress)
        self.tally.expect(0)
        self.pairs = RECORDED_PAIRS
        self.num_confirm = 0
        self.region = region_text(self._box)
        self.settings = {
            "discrete": source.discrete,
            "bits": source.bits,
            "search_fraction": source.search_fraction,
            **({} if source.blocks is None else {"blocks": source.blocks}),
            "generator": "philox4x64",
        }
        self.notes: list[str] = [note for side in sides for note in getattr(side, "notes", ())]
        self.notes += notes_of_other_names(source.x, source.y)

    def search(self) -> list[Search]:
        """Determine cells from pilot outputs, and count all outputs in these cells."""
        parts, encoder = self._parts, self._encoder
        raw = [part.pilot(self.tally) for part in parts]
        # Counting will read all outputs once more.
        self.tally.expect(sum(part.values.total for part in parts))
        refuse_two_kinds([part.name for part in parts], raw)
        self.notes += notes_as_written([part.name for part in parts], raw)
        folds = [part.folds for part in parts]
        pilots = encoder.fixed([encoder.encode(outputs) for outputs in raw], folds)
        self._doubt(
            notes_of_new_draws([part.name for part in parts], [part.values for part in parts])
        )
        names = " and ".join(part.name for part in parts)
        total = sum(part.values.total for part in parts)
        self.notes += notes_of_labels_alone(pilots, encoder, names, total)
        self.notes += notes_of_summaries([part.name for part in parts], pilots, encoder)
        if self._source.flips_coins:
            self.notes += notes_of_coins(pilots, encoder)
        else:
            self.notes += notes_of_run_numbers([part.name for part in parts], pilots, encoder)
        # Only one output of each block is counted.
        blocks = self._source.blocks or 1
        num_confirm = min(int(part.values.total * (1 - part.fraction) / blocks) for part in parts)
        cells = lay_best(
            pilots,
            folds,
            encoder.names,
            lambda cells, halves, number: self._promise(cells, halves, num_confirm, number),
            encoder.entries,
            discrete=self._source.discrete,
            region=self._box,
        )
        self._counts = np.stack([part.counts(encoder, cells, self.tally) for part in parts], axis=1)
        self.num_confirm = int(self._counts[2].sum(axis=1).min())
        self.notes += _notes_of_nan(cells, encoder.names, [part.labels for part in parts])
        self.notes += _notes_of_atoms(cells, pilots, encoder.parts)
        self.notes += notes_of_uneven_ratios(cells, self._counts[2])
        self.notes += notes_of_ignored([encoder.columns])
        return [Search(cells, self._counts[None, :2], cells.inside(self._box))]

    def search_again(self, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return zeros, because the first round counted all outputs of the search set."""
        return np.zeros((*kept.shape, *self._counts[:2].shape), np.int64)

    def count(self, marked: Marked) -> NDArray[np.int64]:
        """Count the outputs of the confirmation set; see `dpjax.sources.Opened`.

        Raises:
            ValueError: If only part of the confirmation set is requested.
        """
        if marked.first or marked.size is not None:
            raise ValueError("the confirmation set of recorded outputs must be counted as a whole.")
        counts, (of_cells,) = np.zeros((1, 2, marked.num_marks), np.int64), marked.marks
        for side in (0, 1):
            np.add.at(counts[0, side], of_cells, self._counts[2, side])
            cells = self._parts[side].in_order
            # Test whether the marks are in random order. Since an event may be rare, also test the
            # order of the cells, split at their median.
            splits = [v >= max(np.median(v), v.min() + 1) for v in (of_cells[cells], cells)]
            name, advice = self._parts[side].name, advice_on(self._source)
            self._doubt(notes_of_order(name, splits, cells, advice=advice))
        return counts

    def _doubt(self, doubts: Sequence[str]) -> None:
        self.notes += weighed(doubts, self._source)


def advice_on(source: Sides) -> Advice:
    """Return what the user can do if recorded outputs are correlated."""
    return OF_TOSSED if source.flips_coins else OF_RECORDINGS


def weighed(notes: Sequence[str], source: Sides) -> Sequence[str]:
    """Return the notes; convert doubts to notes if the caller states independence."""
    if not source.independent:
        return notes
    return [str(note) if isinstance(note, Doubt) else note for note in notes]


def notes_of_new_draws(names: Sequence[str], values: Sequence[SideValues]) -> list[str]:
    """Raise an error if draws are shared or copied; return notes on outputs that may be resampled.

    Raises:
        ValueError: If the two sides share draws, or if one side contains copies or row numbers.
    """
    try:
        refuse_shared_draws(*values)
    except ValueError as error:
        if names[0] == "x":
            raise
        raise ValueError(f"{names[0]} and {names[1]}: {error}") from None
    for name, side in zip(names, values, strict=True):
        refuse_copies(name, side)
        side.row_numbers.refuse(name)
    if all(side.is_constant for side in values):
        return [Unvaried((values[0].total, values[1].total), RECORDED)]
    return [*notes_of_copies(*values), *notes_of_near_copies(*values)]


def notes_of_summaries(
    names: Sequence[str], pilots: Sequence[Outputs], encoder: Encoder
) -> list[str]:
    """Return a note if only some numbers are compared; raise an error if these are row numbers.

    Raises:
        ValueError: If the outputs of a side contain row numbers or IDs.
    """
    if not encoder.is_reduced:
        return []
    for name, pilot in zip(names, pilots, strict=True):
        numbers = RowNumbers()
        numbers.add(pilot.values)
        places = range(len(encoder.parts))
        numbers.refuse(name, [f"its {entry_name(place, encoder.parts)}" for place in places])
    return encoder.notes()


def refuse_two_kinds(names: Sequence[str], raw: Sequence[np.ndarray]) -> None:
    """Raise an error if the two sides contain outputs of different kinds.

    Raises:
        TypeError: If the sides contain outputs of different kinds, or vectors of different
            lengths.
    """
    kinds = [kind_of(outputs) for outputs in raw]
    # Accept Python objects (kind None), which may be of multiple kinds on either side.
    if None in kinds or kinds[0] == kinds[1]:
        return
    held = [
        f"{name} holds {kind}, such as {outputs[0].tolist()!r}"
        for name, kind, outputs in zip(names, kinds, raw, strict=True)
    ]
    raise TypeError(f"x and y must be of one kind, but {', and '.join(held)}.")


def kind_of(outputs: np.ndarray) -> str | None:
    """Describe the kind of the outputs in words; return None for objects other than strings."""
    if outputs.dtype.kind == "O" and not all(isinstance(output, str) for output in outputs):
        return None
    if outputs.dtype.kind in "USO":
        return "labels"
    return f"vectors of {outputs.shape[1]} numbers" if outputs.ndim == 2 else "numbers"


def _notes_of_nan(
    cells: Partition, names: Sequence[str], counts: Sequence[NDArray[np.int64]]
) -> list[str]:
    """Return a note on the number of NaN outputs, given each side's counts of the named labels."""
    is_nan = np.array(["NaN" in name for name in names])
    gaps = [int(side[is_nan[: len(side)]].sum()) for side in counts]
    if not len(cells.boxed) or not any(gaps):
        return []
    found = [
        f"{gap:,} of {side.sum():,} outputs of {name}"
        for name, gap, side in zip("xy", gaps, counts, strict=True)
    ]
    return [f"NaN: {' and '.join(found)}, counted as an outcome of its own."]


def _notes_of_atoms(cells: Partition, pilots: list[Outputs], parts: tuple[str, ...]) -> list[str]:
    """Return notes on frequent values among the first outputs, each of which has its own cell."""
    notes = []
    values = [pilot.values[~pilot.alone] for pilot in pilots]
    for column, atoms in zip(cells.columns, cells.atoms, strict=False):
        if not len(atoms):
            continue
        sides = [side[:, column] for side in values]
        every = _share_of(atoms, sides)
        # If there are few outputs, rare values have cells of their own, too.
        found, counts = np.unique(np.concatenate(sides), return_counts=True)
        often = np.intersect1d(atoms, found[counts >= _OFTEN])
        shares = _share_of(often, sides)
        if max(every) >= 0.999 or max(shares) < _LEAST_SHARE:
            continue
        where = f" in entry {entry_name(column, parts)}" if values[0].shape[1] > 1 else ""
        if all(np.all(side == np.rint(side)) for side in sides):
            notes.append(
                f"Each integer that occurs often{where} ({len(often)} of them) was treated as a "
                "separate outcome, and all other integers were grouped into intervals."
            )
            continue
        shown = ", ".join(f"{atom:g}" for atom in often[:3])
        notes.append(
            f"Numbers that occur often{where} ({shown}{', ...' if len(often) > 3 else ''}: "
            f"{shares[0]:.1%} of x, {shares[1]:.1%} of y) were counted separately from all "
            "nearby numbers."
        )
    return notes


def _share_of(atoms: np.ndarray, sides: Sequence[np.ndarray]) -> list[float]:
    """Return the fraction of each side's numbers that are equal to one of the atoms."""
    return [float(np.isin(side, atoms).mean()) if len(side) else 0.0 for side in sides]
