"""Cells of a partition: how they are numbered, and which interval of values each cell covers."""

import math
from ast import literal_eval
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpjax.partitions._summary import ONLY
from dpjax.partitions.previews import shortened


@dataclass(frozen=True)
class Cells:
    """The numbered cells into which a partition divides `Outputs`.

    The first cells contain outputs without numeric entries. There is one cell for each label that
    occurs in the pilot (the first outputs of the search set), and one cell for all other labels.
    The following cells contain outputs with numeric entries. For each label that had numeric
    entries in the pilot, there is one cell per box, in C order. A box is a product of bins, one bin
    per entry.

    Attributes:
        names: Names of the labels in the pilot. Other attributes represent a label by its index in
            `names`.
        edges: For each numeric entry of an output, the increasing bin edges, float64. A bin
            contains its lower edge but not its upper edge.
        atoms: For each numeric entry of an output, the atoms. An atom is a value that has a bin of
            its own.
        boxed: Labels that had numeric entries in the pilot.
        whole: Whether all numeric entries have an integer dtype.
        ordered: Whether adjacent numbers have similar probabilities. `ordered` must be False if
            numbers are category codes.
        parts: Path of each numeric entry in a nested output, such as "['count']". The tuple is
            empty for vectors.
    """

    names: tuple[str, ...]
    edges: tuple[np.ndarray, ...]
    atoms: tuple[np.ndarray, ...]
    boxed: np.ndarray
    whole: bool = False
    ordered: bool = True
    parts: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of bins of each numeric entry."""
        return tuple(len(edges) + 1 for edges in self.edges)

    @property
    def monotonic(self) -> bool:
        """Whether the loss should be monotonic along the numbers, as along a learned score."""
        return False

    @property
    def num_alone(self) -> int:
        """Number of cells for outputs without numeric entries."""
        return len(self.names) + 1

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.num_alone + len(self.boxed) * math.prod(self.shape)

    @property
    def key(self) -> Hashable:
        """Hashable key. Two partitions with equal keys assign every output to the same cell."""
        numbers = (self.edges, self.atoms, (self.boxed,))
        content = (tuple(part.tobytes() for part in parts) for parts in numbers)
        # Numbers of two pairs may have equal names although the pairs differ in other records.
        own = id(self) if any(ONLY in path for path in self.parts) else None
        return type(self), self.names, self.whole, self.ordered, self.parts, own, *content

    def labels(self) -> np.ndarray:
        """Return the index of each cell's label, int64 [size]."""
        alone = np.arange(self.num_alone)
        return np.concatenate([alone, np.repeat(self.boxed, int(np.prod(self.shape)))])

    def ends(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper ends of an entry's bins; the two ends of an atom are equal."""
        edges = self.edges[column]
        low, high = np.append(-np.inf, edges), np.append(edges, np.inf)
        return low, np.where(np.isin(low, self.atoms[column]), low, high)

    def boxes(self, cells: np.ndarray) -> np.ndarray:
        """Select the boxes from an array with one entry per cell; return [len(boxed), *shape]."""
        return cells[self.num_alone :].reshape(len(self.boxed), *self.shape)

    def entry(self, column: int) -> str:
        """Return the name of a numeric entry, such as "entry 0" or "entry 'count'"."""
        return f"entry {entry_name(column, self.parts)}"

    def kind(self, whole: bool) -> str:
        """Return the first words of a description of an output: "a number" or "a vector with"."""
        return "a number" if len(self.shape) == 1 else "a vector with"


def entry_name(column: int, parts: tuple[str, ...]) -> str:
    """Return the path of an entry if outputs are nested; otherwise, return its index."""
    if column >= len(parts):
        return str(column)
    return shortened(name_of_path(parts[column]))


def name_of_path(path: str) -> str:
    """Return the name of an entry whose path is a single key, and any other path.

    A name with quotes, such as "count of 'flu'", is not quoted again.
    """
    try:
        (name,) = literal_eval(path)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return path  # The path has several keys, such as "['mean'][0]", or none, such as "5".
    is_plain = isinstance(name, str) and name.isprintable()
    return f"[{name}]" if is_plain and ("'" in name or '"' in name) else repr(name)


def after(values: ArrayLike, *, whole: bool) -> np.ndarray:
    """Return each atom's upper edge, which is the next larger number of its dtype."""
    with np.errstate(over="ignore"):  # Infinity follows the largest float.
        return np.add(values, 1) if whole else np.asarray(np.nextafter(values, np.inf))
