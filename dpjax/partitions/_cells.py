"""The cells of a partition: how they are numbered, and where their numbers lie."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cells:
    """Numbered cells of `Outputs`.

    The cells are, in this order: one for each label of the pilot, standing alone; one for labels
    that the pilot did not see; and, for each label that came with numbers, the boxes of the numbers
    in C order.

    Attributes:
        names: Names of the labels of the pilot, by number.
        edges: For each number of an output, increasing float64 edges. A bin contains its lower edge
            and not its upper one.
        atoms: For each number, the values that have a bin of their own.
        boxed: Numbers of the labels that came with numbers in the pilot.
        whole: Whether all numbers are integers by their type.
        ordered: Whether neighboring numbers have similar probabilities; codes do not.
        parts: Path of each number in an output of several parts, such as "['count']"; empty for
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
        """Bins of each number."""
        return tuple(len(edges) + 1 for edges in self.edges)

    @property
    def num_alone(self) -> int:
        """Cells without numbers."""
        return len(self.names) + 1

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.num_alone + len(self.boxed) * int(np.prod(self.shape))

    @property
    def key(self) -> Hashable:
        """Content to compare: partitions of equal keys put every output into the same cell."""
        numbers = (self.edges, self.atoms, (self.boxed,))
        content = (tuple(part.tobytes() for part in parts) for parts in numbers)
        return type(self), self.names, self.whole, self.ordered, self.parts, *content

    def labels(self) -> np.ndarray:
        """int64 [size], the number of each cell's label."""
        alone = np.arange(self.num_alone)
        return np.concatenate([alone, np.repeat(self.boxed, int(np.prod(self.shape)))])

    def ends(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper ends of the bins of one number, [bins] each; equal for an atom."""
        edges = self.edges[column]
        low, high = np.append(-np.inf, edges), np.append(edges, np.inf)
        return low, np.where(np.isin(low, self.atoms[column]), low, high)

    def boxes(self, cells: np.ndarray) -> np.ndarray:
        """Return the entries of [size] for cells with numbers, as [labels with numbers, *shape]."""
        return cells[self.num_alone :].reshape(len(self.boxed), *self.shape)

    def entry(self, column: int) -> str:
        """Return the name of a number of an output, such as "entry 0" or "entry 'count'"."""
        return f"entry {entry_name(column, self.parts)}"

    def kind(self, whole: bool) -> str:
        """Describe an output with numbers."""
        return "a number" if len(self.shape) == 1 else "a vector with"


def entry_name(column: int, parts: tuple[str, ...]) -> str:
    """Return the place of a number in an output: its index, or its key if it has a single one."""
    if column >= len(parts):
        return str(column)
    path = parts[column]
    return path[1:-1] if path.count("[") == path.count("]") == 1 else path
