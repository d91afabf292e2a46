"""Outputs in memory that have no density and are no labels of one kind: NaN, atoms, mixtures."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax._outputs import RecordedSource
from dpjax._recorded_outcomes import ATOM_SHARE, few_values

_FEW_VALUES = 100
"""So few distinct numbers are outcomes, not atoms in a density."""


@dataclass(frozen=True)
class Held:
    """Outputs in memory, as a recording of one chunk.

    Attributes:
        outputs: [n, ...], objects where they are of several kinds.
        name: For people.
    """

    outputs: np.ndarray
    name: str

    @property
    def origins(self) -> dict[Any, str]:
        """None that can be known."""
        return {}

    def chunks(self) -> Iterator[np.ndarray]:
        """All outputs."""
        yield self.outputs


def held_where_mixed(x: Any, y: Any) -> tuple[Held, Held, list[str]] | None:
    """Both sides as recordings, where they have no density and are no labels of one kind.

    Args:
        x: Outputs at the database, an array or a list.
        y: At its neighbor.

    Returns:
        The recordings, and what was found; None where one method fits all outputs.
    """
    if isinstance(x, RecordedSource) or isinstance(y, RecordedSource):
        return None
    sides = [_as_objects_where_mixed(side) for side in (x, y)]
    for name, side, other in zip("xy", sides, sides[::-1], strict=True):
        found = _mixture(side, other)
        if found is not None:
            note = (
                f"{name} {found}, so there is no density for all of its outputs: all were counted "
                "in cells, with an exact bound."
            )
            return Held(sides[0], "x"), Held(sides[1], "y"), [note]
    return None


def _as_objects_where_mixed(side: Any) -> np.ndarray:
    if not isinstance(side, np.ndarray) and any(isinstance(v, str) for v in side):
        kinds = {isinstance(v, str) for v in side}
        if len(kinds) > 1:
            held = np.empty(len(side), object)
            held[:] = side
            return held
    return np.asarray(side)


def _mixture(side: np.ndarray, other: np.ndarray) -> str | None:
    if side.dtype.kind == "O":
        kinds = sorted({type(value).__name__ for value in side.ravel()})
        return None if kinds == ["str"] else f"holds outputs of several kinds ({', '.join(kinds)})"
    if side.dtype.kind != "f" or side.ndim not in (1, 2) or len(side) == 0:
        return None
    if not np.all(np.isfinite(side)):
        return "holds NaN or infinities"
    for column in side.reshape(len(side), -1).T:
        values, counts = np.unique(column, return_counts=True)
        if counts.max() <= ATOM_SHARE * len(column):
            continue
        if len(values) > _FEW_VALUES or (side.ndim == other.ndim == 1 and _too_many(side, other)):
            share, atom = counts.max() / len(column), values[counts.argmax()]
            return f"holds the value {atom:g} in {share:.0%} of its outputs"
    return None


def _too_many(side: np.ndarray, other: np.ndarray) -> bool:
    """Whether numbers are too many to be taken as outcomes, for so few outputs."""
    if other.dtype.kind not in "biuf":
        return False
    both = np.concatenate([side, other])
    return not few_values(len(np.unique(both)), len(both))
