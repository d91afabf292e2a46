"""The cells of a partition: how they are numbered, and which intervals of numbers they contain."""

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cells:
    """The numbered cells into which a partition divides `Outputs`.

    The cells are numbered as follows. First comes one cell for each label of the pilot, for outputs
    without numeric entries; then one cell for all labels that the pilot did not see. Last come, for
    each label that had numeric entries in the pilot, the boxes of these entries (products of bins),
    in C order.

    Attributes:
        names: Names of the labels of the pilot. Everywhere else, a label is given by its index in
            `names`.
        edges: For each numeric entry of an output, increasing float64 edges. A bin contains its
            lower edge but not its upper edge.
        atoms: For each numeric entry, the values that have a bin of their own.
        boxed: Indices of the labels that had numeric entries in the pilot.
        whole: Whether all entries have an integer dtype.
        ordered: Whether neighboring numbers have similar probabilities; False if the numbers are
            codes of categories.
        parts: Path of each numeric entry in a nested output, such as "['count']"; empty for
            vectors.
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
    def num_alone(self) -> int:
        """Number of cells of labels without numeric entries."""
        return len(self.names) + 1

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.num_alone + len(self.boxed) * math.prod(self.shape)

    @property
    def key(self) -> Hashable:
        """Hashable content; partitions with equal keys put every output into the same cell."""
        numbers = (self.edges, self.atoms, (self.boxed,))
        content = (tuple(part.tobytes() for part in parts) for parts in numbers)
        return type(self), self.names, self.whole, self.ordered, self.parts, *content

    def labels(self) -> np.ndarray:
        """Return the index of each cell's label, int64 [size]."""
        alone = np.arange(self.num_alone)
        return np.concatenate([alone, np.repeat(self.boxed, int(np.prod(self.shape)))])

    def ends(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper ends of one entry's bins, [bins] each; equal for an atom."""
        edges = self.edges[column]
        low, high = np.append(-np.inf, edges), np.append(edges, np.inf)
        return low, np.where(np.isin(low, self.atoms[column]), low, high)

    def boxes(self, cells: np.ndarray) -> np.ndarray:
        """Return an array's entries for boxes, from an array [size], as [len(boxed), *shape]."""
        return cells[self.num_alone :].reshape(len(self.boxed), *self.shape)

    def entry(self, column: int) -> str:
        """Return the name of a numeric entry, such as "entry 0" or "entry 'count'"."""
        return f"entry {entry_name(column, self.parts)}"

    def kind(self, whole: bool) -> str:
        """Return the words before the values in a description: "a number" or "a vector with"."""
        return "a number" if len(self.shape) == 1 else "a vector with"


def entry_name(column: int, parts: tuple[str, ...]) -> str:
    """Return an entry's path in a nested output (a single key has no brackets), or its index."""
    if column >= len(parts):
        return str(column)
    path = parts[column]
    return path[1:-1] if path.count("[") == path.count("]") == 1 else path
