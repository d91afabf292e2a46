"""Cells for outputs of any kind: labels, atoms and intervals of the numbers, and all the rest.

The cells are laid by a pilot, a part of the draws that search. A value that the pilot saw often is
an atom with a cell of its own; between atoms lie intervals at quantiles of both sides, finer in
the tails. Labels that the pilot did not see share one cell: no output is dropped.

As post-processing of the outputs to finitely many cells, an event made of them has a probability
ratio of at most e^epsilon.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpjax.partitions._outputs import Outputs

PILOT = 2**16
"""Outputs a side that lay the cells, at most."""

_MAX_LABELS = 2**16
_MAX_CELLS = 2**18
_MAX_ATOMS = {1: 512, 2: 12, 3: 4}
"""Atoms of one number of an output, by how many numbers there are."""

_QUANTILES = {1: 96, 2: 20, 3: 8}
_TAILS = {1: 12, 2: 5, 3: 2}
"""Steps of even probability, and of halved ones at both ends."""

_ATOM_COUNT, _ATOM_SHARE = 5, 0.005
_FEW_VALUES = 256
_SHOWN = 4
_LONGER = 10
"""Letters by which a text must be longer than what is said of its complement to be given up."""


@dataclass(frozen=True)
class OutputCells:
    """A partition of `Outputs`.

    Cells are numbered: each label of the pilot standing alone; labels that it did not see; then,
    for each label that came with numbers, the boxes of the numbers in C order.

    Attributes:
        names: Of the labels that the pilot saw, by number.
        edges: For each number of an output, increasing float64 edges. A bin holds its lower edge
            and not its upper one.
        atoms: For each number, the values whose bins hold nothing else.
        boxed: Numbers of the labels that came with numbers in the pilot.
    """

    names: tuple[str, ...]
    edges: tuple[np.ndarray, ...]
    atoms: tuple[np.ndarray, ...]
    boxed: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """Bins of each number."""
        return tuple(len(edges) + 1 for edges in self.edges)

    @property
    def num_alone(self) -> int:
        """Cells without numbers."""
        return len(self.names) + 1

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.num_alone + len(self.boxed) * int(np.prod(self.shape))

    def index(self, outputs: Outputs) -> np.ndarray:
        """int64 [n], the cell of each output."""
        labels, values, alone = outputs
        rank = np.full(len(self.names) + 1, -1)
        rank[self.boxed] = np.arange(len(self.boxed))
        known = np.minimum(labels, len(self.names))
        cell = known.astype(np.int64)
        boxes = ~alone & (rank[known] >= 0)
        # Numbers beside a label that had none in the pilot: with the labels that it did not see.
        cell[~alone & (rank[known] < 0)] = len(self.names)
        place = rank[known[boxes]]
        for column, edges in enumerate(self.edges):
            bins = np.searchsorted(edges, values[boxes, column], side="right")
            place = place * (len(edges) + 1) + bins
        cell[boxes] = self.num_alone + place
        return cell

    def count(self, outputs: Outputs, part: np.ndarray, num_parts: int) -> np.ndarray:
        """How often each cell happened in each part.

        Args:
            outputs: n of them.
            part: [n], the number of the part of each.
            num_parts: How many parts there are.

        Returns:
            int64 [num_parts, size].
        """
        place = self.index(outputs) + self.size * part
        return np.bincount(place, minlength=num_parts * self.size).reshape(num_parts, self.size)

    def groups(self, width: int) -> np.ndarray:
        """Coarser cells: so many neighbouring bins as one, but each atom and label for itself.

        Args:
            width: How many bins.

        Returns:
            int64 [size], from 0 without gaps: the coarser cell of each cell.
        """
        box = np.zeros(1, np.int64)
        for edges, atoms in zip(self.edges, self.atoms, strict=True):
            alone = np.concatenate([[False], np.isin(edges, atoms)])
            # A bin starts a group where it or its left neighbour is an atom, or the group is full.
            starts = alone | np.concatenate([[True], alone[:-1]])
            starts |= np.arange(len(starts)) % width == 0
            bins = np.cumsum(starts) - 1
            box = (box[:, None] * (bins[-1] + 1) + bins).ravel()
        rank = np.arange(len(self.boxed))[:, None] * (box.max() + 1)
        return np.concatenate([np.arange(self.num_alone), self.num_alone + (rank + box).ravel()])

    def positions(self) -> list[np.ndarray]:
        """Lines along which the boxes lie: the bins of each number, and of vectors their sum.

        Returns:
            Arrays [size], NaN for labels that stand alone.
        """
        bins = list(np.indices(self.shape).reshape(len(self.shape), -1))
        lines = bins if len(bins) == 1 else [*bins, sum(bins)]
        alone = np.full(self.num_alone, np.nan)
        return [np.concatenate([alone, np.tile(line, len(self.boxed))]) for line in lines]

    def labels(self) -> np.ndarray:
        """int64 [size], the number of each cell's label."""
        alone = np.arange(self.num_alone)
        return np.concatenate([alone, np.repeat(self.boxed, int(np.prod(self.shape)))])

    def bounds(self) -> np.ndarray:
        """[size, 2], where the numbers of each cell begin and end, the same twice for an atom.

        NaN for all cells that are not all outputs in an interval: labels, also beside numbers, and
        vectors.
        """
        found = np.full((self.size, 2), np.nan)
        if len(self.edges) == 1 and self.boxed.tolist() == [0]:
            low, high = np.append(-np.inf, self.edges[0]), np.append(self.edges[0], np.inf)
            high = np.where(np.isin(low, self.atoms[0]), low, high)
            found[self.num_alone :] = np.stack([low, high], axis=1)
        return found

    def settled(self, mask: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """The event with what never happened where it is simplest, in or out.

        An interval between two cells that happened goes with them if they agree, and a label is
        left out, unless with all of those that never happened there is less to say.

        Args:
            mask: bool [size], the event.
            seen: bool [size], the cells that happened in the search.

        Returns:
            bool [size], an event with the same outputs of the search.
        """
        if mask[seen].all():
            return mask
        if len(self.shape) == 1:
            boxes = zip(*(self._boxes(cells) for cells in (mask, seen)), strict=True)
            filled = [_filled(chosen, happened) for chosen, happened in boxes]
            mask = np.concatenate([mask[: self.num_alone], *filled])
        never = ~seen & (np.arange(self.size) < self.num_alone)
        without, together = mask & ~never, mask | never
        if not without.any() or 2 * together.sum() <= self.size:
            return without
        words = _Words(True)
        is_simpler = len(self._text(~together, words)) + _LONGER < len(self._text(without, words))
        return together if is_simpler else without

    def describe(self, mask: np.ndarray, *, whole: bool = False) -> str:
        """The event that the output lies in one of the cells of bool [size], in words.

        Args:
            mask: Of the cells.
            whole: Whether to name every part with all digits, so that the event can be counted
                again, rather than the first few parts.
        """
        if not mask.any():
            return "no event: nothing exceeds delta"
        if mask.all():
            return "the output is anything"
        exact = _Words(True)
        inverted, plain = (len(self._text(m, exact)) for m in (~mask, mask))
        if 2 * mask.sum() > self.size and inverted + _LONGER < plain:
            return f"the output is not {self._text(~mask, _Words(whole), inverted=True)}"
        return f"the output is {self._text(mask, _Words(whole))}"

    def _text(self, mask: np.ndarray, words: "_Words", *, inverted: bool = False) -> str:
        """The parts of an event, which is what the output is not where that is `inverted`."""
        parts = [
            "some other label" if number == len(self.names) else self.names[number]
            for number in np.flatnonzero(mask[: self.num_alone])
        ]
        described: dict[str, list[str]] = {}
        for number, chosen in zip(self.boxed, self._boxes(mask), strict=True):
            if chosen.any():
                text = self._describe_boxes(chosen, words)
                described.setdefault(text, []).append(self.names[number])
        for text, names in described.items():
            only = names == [self.names[0]]
            kind = "a number " if len(self.shape) == 1 else "a vector with "
            if inverted and only and len(self.shape) == 1 and text != "of any size":
                kind = ""
            parts.append(f"{kind}{text}" + ("" if only else f" with {words.listed(names)}"))
        return words.listed(parts)

    def _boxes(self, cells: np.ndarray) -> np.ndarray:
        """The part of [size] with numbers, [labels that came with numbers, *shape]."""
        return cells[self.num_alone :].reshape(len(self.boxed), *self.shape)

    def _describe_boxes(self, chosen: np.ndarray, words: "_Words") -> str:
        """The numbers beside one label; of vectors one entry after the other."""
        axis = len(self.shape) - chosen.ndim
        entry = "" if len(self.shape) == 1 else f"entry {axis} "
        if chosen.ndim == 1:
            return entry + words.listed(self._runs(axis, chosen, words))
        # Bins of the first entry that go with the same boxes of the others.
        rows = chosen.reshape(len(chosen), -1)
        texts = []
        for pattern in np.unique(rows[rows.any(axis=1)], axis=0):
            same = np.all(rows == pattern, axis=1)
            first = words.listed(self._runs(axis, same, words))
            others = self._describe_boxes(pattern.reshape(chosen.shape[1:]), words)
            texts.append(f"{entry}{first} and {others}")
        return words.listed(texts, "; or ")

    def _runs(self, axis: int, chosen: np.ndarray, words: "_Words") -> list[str]:
        edges, atoms = self.edges[axis], self.atoms[axis]
        after = dict(zip(np.nextafter(atoms, np.inf).tolist(), atoms.tolist(), strict=True))
        change = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(int), [0]])))
        texts, values = [], []
        for start, stop in zip(change[::2], change[1::2], strict=True):
            low = None if start == 0 else float(edges[start - 1])
            high = None if stop == len(edges) + 1 else float(edges[stop - 1])
            # Just after an atom: in short the atom itself is the end, within or not.
            past, upto = (None if words.whole else after.get(end) for end in (low, high))
            first, last = (
                None if end is None else words.number(end if atom is None else atom, edges)
                for end, atom in ((low, past), (high, upto))
            )
            if first is None and last is None:
                texts.append("of any size")
            elif stop - start == 1 and low in atoms.tolist():
                values.append(first)
            elif first is None:
                texts.append(f"{'below' if upto is None else 'of at most'} {last}")
            elif last is None:
                texts.append(f"{'of at least' if past is None else 'above'} {first}")
            else:
                opening, closing = "[" if past is None else "(", ")" if upto is None else "]"
                texts.append(f"in {opening}{first}, {last}{closing}")
        return texts + ([f"equal to {words.listed(values, rest='values')}"] if values else [])


def _filled(chosen: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Bins of one number, those that never happened with both that did beside them, or not."""
    known = np.flatnonzero(seen)
    if not len(known):
        return chosen
    place = np.searchsorted(known, np.arange(len(seen)))
    before, after = (chosen[known[np.clip(p, 0, len(known) - 1)]] for p in (place - 1, place))
    return np.where(seen, chosen, before & after)


class _Words:
    """Lists and numbers, in short or in whole."""

    def __init__(self, whole: bool):
        self.whole = whole

    def number(self, value: float, edges: np.ndarray) -> str:
        """With all digits, or with as many of 6 to 9 as tell it from the edges beside it."""
        if self.whole:
            return f"{value:.17g}"
        place = int(np.searchsorted(edges, value))
        beside = edges[max(place - 2, 0) : place + 3]
        # Not from the end of its own cell, where it is an atom.
        beside = beside[np.abs(beside - value) > 2 * np.spacing(abs(value))]
        for digits in range(6, 9):
            text = f"{value:.{digits}g}"
            if text not in [f"{edge:.{digits}g}" for edge in beside]:
                return text
        return f"{value:.9g}"

    def listed(self, parts: Sequence[str], joint: str = " or ", *, rest: str = "such sets") -> str:
        parts = list(parts)
        if len(parts) > _SHOWN + 1 and not self.whole:
            parts = [*parts[:_SHOWN], f"{len(parts) - _SHOWN} more {rest}"]
        if len(parts) == 1 or joint != " or ":
            return joint.join(parts)
        return f"{', '.join(parts[:-1])} or {parts[-1]}"


def lay_cells(
    pilot: Sequence[Outputs], names: Sequence[str], *, discrete: bool | None = None
) -> OutputCells:
    """Cells for the outputs of a pair, from a pilot of each side.

    Args:
        pilot: Outputs at the database and at its neighbor.
        names: Of all labels in it.
        discrete: True where every number is an outcome, False where none is an atom, None to find
            out.

    Raises:
        ValueError: There are too many labels, or no number happened twice though all are outcomes.
    """
    if len(names) > _MAX_LABELS:
        raise ValueError(
            f"the outputs have more than {_MAX_LABELS} distinct labels, hardly any of them twice: "
            "return numbers, or group the labels."
        )
    labels = np.concatenate([side.labels[~side.alone] for side in pilot])
    sides = [side.values[~side.alone] for side in pilot]
    boxed = np.unique(labels)
    dimension = pilot[0].values.shape[1]
    if dimension not in _QUANTILES:
        raise ValueError(
            f"outputs must have at most {max(_QUANTILES)} numbers, but had {dimension}: audit a "
            "function of them."
        )
    edges, atoms = [], []
    if len(boxed):
        for column in range(dimension):
            numbers = [side[:, column] for side in sides]
            atoms.append(_atoms(numbers, dimension, discrete))
            edges.append(_edges(numbers, atoms[-1], dimension))
    else:
        edges, atoms = [np.empty(0)], [np.empty(0)]
    cells = OutputCells(tuple(names), tuple(edges), tuple(atoms), boxed)
    while cells.size > _MAX_CELLS:
        # Every second edge, but both edges of each atom.
        kept = [
            np.union1d(e[::2], np.concatenate([a, np.nextafter(a, np.inf)]))
            for e, a in zip(cells.edges, cells.atoms, strict=True)
        ]
        if sum(map(len, kept)) == sum(map(len, cells.edges)):
            raise ValueError(
                f"the outputs need {cells.size} cells, more than {_MAX_CELLS}: they have too many "
                "labels with numbers beside them."
            )
        cells = OutputCells(tuple(names), tuple(kept), tuple(atoms), boxed)
    return cells


def _atoms(numbers: Sequence[np.ndarray], dimension: int, discrete: bool | None) -> np.ndarray:
    """Values of their own: where few are distinct all of them, else those that are frequent."""
    if discrete is False:
        return np.empty(0)
    both = np.concatenate(numbers)
    values, counts = np.unique(both, return_counts=True)
    if discrete and counts.max() == 1 and len(values) > _FEW_VALUES:
        raise ValueError(
            f"all of {len(values)} outputs are distinct numbers, so as outcomes there is nothing "
            "to compare: leave discrete out (--discrete), they are reals."
        )
    few = len(values) <= _FEW_VALUES
    least = 1 if few else (2 if discrete else max(_ATOM_COUNT, int(_ATOM_SHARE * len(both) / 8)))
    frequent = np.flatnonzero(counts >= least)
    heaviest = frequent[np.argsort(-counts[frequent], kind="stable")]
    return np.sort(values[heaviest[: _MAX_ATOMS[dimension]]])


def _edges(numbers: Sequence[np.ndarray], atoms: np.ndarray, dimension: int) -> np.ndarray:
    steps, tails = _QUANTILES[dimension], _TAILS[dimension]
    halves = 0.5 ** np.arange(2, 2 + tails) * 2 / steps
    levels = np.concatenate([halves, np.arange(1, steps) / steps, 1 - halves])
    sides = [side for side in numbers if len(side)]
    # As values that were seen, so that an edge is never between two neighbouring floats.
    quantiles = [np.quantile(side, levels, method="nearest") for side in sides]
    return np.unique(np.concatenate([*quantiles, atoms, np.nextafter(atoms, np.inf)]))
