"""Construction of a partition from the pilot, that is, the first outputs of the search set.

Each frequent value is an atom, which means that it has a cell of its own. The values between atoms
are divided into intervals at quantiles of the pilot outputs from both sides. In a small finite
space, every outcome is an atom.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from dpjax.core.wording import BadValue
from dpjax.partitions._batches import Outputs
from dpjax.partitions._cells import after
from dpjax.partitions._partition import Partition
from dpjax.partitions._region import Box, Region

PILOT = 2**16
"""Largest number of outputs per side in a pilot."""

_MAX_LABELS = 2 * PILOT
"""Maximum number of labels, which equals the maximum total number of pilot outputs."""

_MAX_CELLS = 2**18
"""Largest number of cells in a partition."""

_MAX_ATOMS = {1: 512, 2: 12, 3: 4}
"""Maximum number of atoms per numeric entry, by dimension of the outputs."""

_MAX_OUTCOMES = 4096
"""Maximum number of atoms if outputs are single integers or the output space is finite."""

_QUANTILES, _TAILS = {1: 96, 2: 20, 3: 8}, {1: 12, 2: 5, 3: 2}
"""Numbers of quantile levels, by dimension of the outputs. _QUANTILES is the number of evenly
spaced levels, and _TAILS is the number of additional levels in each tail. From one level in a tail
to the next, the probability beyond the level is halved.
"""

_ATOM_COUNT, _ATOM_SHARE = 5, 0.005
"""A value is an atom only if it occurs at least _ATOM_COUNT times and makes up at least the
fraction _ATOM_SHARE / 8 of all outputs.
"""

_FEW_VALUES = 256
"""If the outputs have at most this many distinct values, every value is an atom."""


def lay(
    pilot: Sequence[Outputs],
    names: Sequence[str],
    *,
    discrete: bool | None = None,
    outcomes: int | None = None,
    ordered: bool = True,
    whole: bool = False,
    region: Region | None = None,
) -> Partition:
    """Construct a partition of a pair's outputs from the pilot outputs of both sides.

    Args:
        pilot: Pilot outputs from the database and from its neighbor.
        names: Names of all labels that occur in the pilot.
        discrete: True to make every repeated number an atom, False to use no atoms, or None to make
            only frequent numbers atoms.
        outcomes: Number of outcomes of a finite space 0, ..., outcomes - 1, or None if the space is
            not finite.
        ordered: Whether adjacent numbers have similar probabilities; see `Cells`.
        whole: Whether all numbers have an integer dtype.
        region: Region whose ends become edges of cells, or None for all outputs.

    Raises:
        ValueError: If there are too many labels or numeric entries, if `discrete` is True but no
            value occurs twice, or if the region does not have the dimension of the outputs.
    """
    if len(names) > _MAX_LABELS:
        raise ValueError(
            f"the outputs have more than {_MAX_LABELS} distinct labels: return numbers, or group "
            "the labels."
        )
    labels = np.concatenate([side.labels[~side.alone] for side in pilot])
    sides = [side.values[~side.alone] if side.alone.any() else side.values for side in pilot]
    boxed = np.flatnonzero(np.bincount(labels))
    dimension = pilot[0].values.shape[1]
    if dimension not in _QUANTILES:
        raise ValueError(
            f"outputs may have at most {max(_QUANTILES)} numbers in a sweep or if region is set, "
            f"but had {dimension}: run a single audit without a region."
        )
    edges, atoms = [], []
    if len(boxed):
        _check_dimension(region, dimension)
        for column in range(dimension):
            numbers = [side[:, column] for side in sides]
            if outcomes is not None and is_fixed(outcomes):
                atoms.append(np.arange(outcomes, dtype=float))
                edges.append(np.arange(outcomes + 1, dtype=float))
                continue
            atoms.append(_atoms(numbers, dimension, discrete, whole))
            # Outputs outside a finite space have cells of their own.
            ends = _ends(region, column) if outcomes is None else np.array([0.0, outcomes])
            edges.append(np.union1d(_edges(numbers, atoms[-1], dimension, whole), ends))
    else:
        edges, atoms = [np.empty(0)], [np.empty(0)]
    return _thinned(Partition(tuple(names), tuple(edges), tuple(atoms), boxed, whole, ordered))


def is_fixed(outcomes: int | None) -> bool:
    """Return whether a finite space is so small that each outcome has its own cell."""
    return outcomes is not None and outcomes <= _MAX_OUTCOMES


def _check_dimension(region: Region | None, dimension: int) -> None:
    of_region = region.dimension if isinstance(region, Box) else 1
    if region is not None and of_region != dimension:
        raise BadValue(
            f"region must have dimension {dimension}, like the outputs, but had {of_region}."
        )


def _thinned(cells: Partition) -> Partition:
    """Repeatedly drop every second edge, except edges of atoms, until few enough cells remain."""
    while cells.size > _MAX_CELLS:
        kept = tuple(
            np.union1d(e[::2], np.concatenate([a, after(a, whole=cells.whole)]))
            for e, a in zip(cells.edges, cells.atoms, strict=True)
        )
        if sum(map(len, kept)) == sum(map(len, cells.edges)):
            raise ValueError(
                f"the outputs need {cells.size} cells, more than {_MAX_CELLS}, because too many "
                "labels are combined with numbers: group the labels."
            )
        cells = replace(cells, edges=kept)
    return cells


def _atoms(
    numbers: Sequence[np.ndarray], dimension: int, discrete: bool | None, whole: bool
) -> np.ndarray:
    """Return the atoms: all distinct values if there are few, and the frequent values otherwise."""
    if discrete is False:
        return np.empty(0)
    both = np.concatenate(numbers)
    values, counts = np.unique(both, return_counts=True)
    if discrete and counts.max() == 1 and len(values) > _FEW_VALUES:
        raise ValueError(
            f"all {len(values)} outputs are distinct numbers, so no value can be compared as an "
            "outcome: leave out discrete (--discrete) to treat the outputs as reals."
        )
    few = len(values) <= _FEW_VALUES
    least = 1 if few else (2 if discrete else max(_ATOM_COUNT, int(_ATOM_SHARE * len(both) / 8)))
    frequent = np.flatnonzero(counts >= least)
    heaviest = frequent[np.argsort(-counts[frequent], kind="stable")]
    most = _MAX_OUTCOMES if whole and dimension == 1 else _MAX_ATOMS[dimension]
    return np.sort(values[heaviest[:most]])


def _edges(
    numbers: Sequence[np.ndarray], atoms: np.ndarray, dimension: int, whole: bool
) -> np.ndarray:
    """Return the edges: the quantiles of each side, and the two ends of every atom."""
    steps, tails = _QUANTILES[dimension], _TAILS[dimension]
    halves = 0.5 ** np.arange(2, 2 + tails) * 2 / steps
    levels = np.concatenate([halves, np.arange(1, steps) / steps, 1 - halves])
    sides = [np.sort(side) for side in numbers if len(side)]
    # Quantiles are observed values, so that no edge lies between two adjacent floats.
    quantiles = [side[_places(len(side), tuple(levels))] for side in sides]
    return np.unique(np.concatenate([*quantiles, atoms, after(atoms, whole=whole)]))


@lru_cache(maxsize=64)
def _places(size: int, levels: tuple[float, ...]) -> np.ndarray:
    """Return the indices, in a sorted array, of the quantiles with the given levels."""
    return np.quantile(np.arange(size), levels, method="nearest")


def _ends(region: Region | None, column: int) -> np.ndarray:
    """Return a region's edges in one entry: lower ends, and the next values above upper ends."""
    if region is None:
        return np.empty(0)
    if isinstance(region, Box):
        return np.array([region.low[column], after(float(region.high[column]), whole=False)])
    # The edges are the first outcome of each run of allowed outcomes, and the outcome after the
    # run.
    change = np.diff(np.concatenate([[0], np.asarray(region.allowed, int), [0]]))
    return region.low + np.flatnonzero(change).astype(float)
