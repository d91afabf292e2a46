"""Descriptions, in words, of events that consist of cells."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpjax.partitions._cells import Cells, after

_SHOWN, _BOXES_SHOWN = 4, 2
"""Maximum number of intervals (_SHOWN) or boxes (_BOXES_SHOWN) that a short description lists."""

_LONGER = 10
"""A description is simpler than another if it is shorter by more than this number of characters."""


def describe(cells: Cells, mask: np.ndarray, whole: bool) -> str:
    """Describe the event that the output lies in one of the cells.

    Args:
        cells: The cells.
        mask: Whether each cell belongs to the event, bool [size].
        whole: Whether to list every part of the event with all digits. If `whole` is False, only
            the first few parts are listed.
    """
    if not mask.any():
        return "no event: no difference in probability exceeds delta"
    if mask.all():
        return "the output is anything"
    words = _Words(cells, whole)
    if 2 * mask.sum() > cells.size and is_simpler(cells, ~mask, mask):
        return f"the output is not {words.text(~mask, inverted=True)}"
    return f"the output is {words.text(mask)}"


def is_simpler(cells: Cells, mask: np.ndarray, other: np.ndarray) -> bool:
    """Return whether `mask` has a much shorter description than `other`."""
    words = _Words(cells, True)
    return len(words.text(mask)) + _LONGER < len(words.text(other))


class _Part(NamedTuple):
    """One part of an event: its description and its number of cells."""

    text: str
    cells: int = 1


class _Words:
    """Writer that describes cells in words. The descriptions are complete if `whole` is True."""

    def __init__(self, cells: Cells, whole: bool):
        self.cells, self.whole = cells, whole

    def text(self, mask: np.ndarray, *, inverted: bool = False) -> str:
        """List the cells of `mask`. If `inverted`, the list follows "the output is not"."""
        cells = self.cells
        parts = [
            _Part("some other label" if number == len(cells.names) else cells.names[number])
            for number in np.flatnonzero(mask[: cells.num_alone])
        ]
        described: dict[_Part, list[str]] = {}
        for number, chosen in zip(cells.boxed, cells.boxes(mask), strict=True):
            if chosen.any():
                described.setdefault(self._boxes(chosen), []).append(cells.names[number])
        for (text, count), names in described.items():
            only = names == [cells.names[0]]
            kind = f"{cells.kind(self.whole)} "
            if inverted and only and kind == "a number " and text != "of any size":
                kind = ""
            beside = "" if only else f" with {self.listed([_Part(name) for name in names])}"
            parts.append(_Part(f"{kind}{text}{beside}", count * len(names)))
        return self.listed(parts)

    def _boxes(self, chosen: np.ndarray) -> "_Part":
        """Describe the chosen boxes for one label, entry by entry."""
        shape = self.cells.shape
        axis = len(shape) - chosen.ndim
        entry = "" if len(shape) == 1 else f"{self.cells.entry(axis)} "
        if chosen.ndim == 1:
            return _Part(entry + self.listed(self._runs(axis, chosen)), int(chosen.sum()))
        # Bins of the first entry are grouped if the same boxes of the other entries are chosen for
        # them.
        rows = chosen.reshape(len(chosen), -1)
        texts = []
        for pattern in np.unique(rows[rows.any(axis=1)], axis=0):
            same = np.all(rows == pattern, axis=1)
            first = self.listed(self._runs(axis, same))
            others, count = self._boxes(pattern.reshape(chosen.shape[1:]))
            texts.append(_Part(f"{entry}{first} and {others}", count * int(same.sum())))
        return _Part(self.listed(texts, "; or "), int(chosen.sum()))

    def _runs(self, axis: int, chosen: np.ndarray) -> "list[_Part]":
        """Describe one entry's bins: join adjacent bins into intervals, and list the atoms."""
        edges, atoms = self.cells.edges[axis], self.cells.atoms[axis]
        change = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(int), [0]])))
        texts: list[_Part] = []
        values: list[_Part] = []
        for start, stop in zip(change[::2], change[1::2], strict=True):
            low = None if start == 0 else float(edges[start - 1])
            high = None if stop == len(edges) + 1 else float(edges[stop - 1])
            if low is None and high is None:
                texts.append(_Part("of any size", int(stop - start)))
            elif stop - start == 1 and low is not None and low in atoms:
                values.append(_Part(self.number(low, edges)))
            else:
                texts.append(_Part(self._interval(low, high, axis), int(stop - start)))
        if values:
            equal = f"equal to {self.listed(values, rest='values')}"
            texts.append(_Part(equal, len(values)))
        return texts

    def _interval(self, low: float | None, high: float | None, axis: int) -> str:
        """Describe the interval from edge `low` (included) to edge `high` (excluded)."""
        edges, atoms = self.cells.edges[axis], self.cells.atoms[axis]
        if self.cells.whole:
            first = None if low is None else str(int(low))
            last = None if high is None else str(int(high) - 1)
            if first is None or last is None:
                return f"of at most {last}" if first is None else f"of at least {first}"
            return f"equal to {first}" if first == last else f"from {first} to {last}"
        following = after(atoms, whole=False).tolist()
        ended = dict(zip(following, atoms.tolist(), strict=True))
        # A short description names the atom instead of the next float above it.
        past, upto = (None if self.whole or end is None else ended.get(end) for end in (low, high))
        first, last = (
            None if end is None else self.number(end if atom is None else atom, edges)
            for end, atom in ((low, past), (high, upto))
        )
        if first is None:
            return f"{'below' if upto is None else 'of at most'} {last}"
        if last is None:
            return f"{'of at least' if past is None else 'above'} {first}"
        opening, closing = "[" if past is None else "(", ")" if upto is None else "]"
        return f"in {opening}{first}, {last}{closing}"

    def number(self, value: float, edges: np.ndarray) -> str:
        """Format a number with all digits, or with enough (6 to 9) to distinguish nearby edges."""
        if self.whole:
            return f"{value:.17g}"
        place = int(np.searchsorted(edges, value))
        beside = edges[max(place - 2, 0) : place + 3]
        # An atom need not be distinguished from the upper edge of its own cell.
        with np.errstate(over="ignore"):
            beside = beside[np.abs(beside - value) > 2 * np.spacing(abs(value))]
        for digits in range(6, 9):
            text = f"{value:.{digits}g}"
            if text not in [f"{edge:.{digits}g}" for edge in beside]:
                return text
        return f"{value:.9g}"

    def listed(
        self, parts: "Sequence[_Part]", joint: str = " or ", *, rest: str = "such sets"
    ) -> str:
        """Join parts with commas and "or", and state how many parts are omitted."""
        texts = [part.text for part in parts]
        shown = _SHOWN if joint == " or " else _BOXES_SHOWN
        if len(parts) > shown + 1 and not self.whole:
            left = sum(part.cells for part in parts[shown:])
            cells = f" ({left} cells)" if left > len(parts) - shown else ""
            texts = [*texts[:shown], f"{len(parts) - shown} more {rest}{cells}"]
        if len(texts) == 1 or joint != " or ":
            return joint.join(texts)
        return f"{', '.join(texts[:-1])} or {texts[-1]}"
