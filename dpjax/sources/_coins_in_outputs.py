"""Notes on recorded outputs that contain coins, names of databases or numbers of runs."""

from collections.abc import Sequence

import numpy as np

from dpjax.partitions import Encoder, Outputs
from dpjax.partitions._cells import entry_name

_LABEL = "the label"


def notes_of_coins(sides: Sequence[Outputs], encoder: Encoder) -> list[str]:
    """Return a note if some part of the output has one value for each database, or [].

    A mechanism without noise has such outputs, too, so the note does not change the verdict.

    Args:
        sides: Outputs of both sides, in the form in which the encoder returns them.
        encoder: Encoder that encoded the outputs.
    """
    number = sum(len(side.labels) for side in sides)
    if (found := _told(sides, encoder)) is None:
        return []
    part, of_database, of_neighbor = found
    return [
        f"In each of {number:,} outputs, {part} tells which database was used: it is {of_database} "
        f"for the database and {of_neighbor} for its neighbor. The outputs seem to contain the "
        "coin itself, or the name of the database. If this is a mistake of the recording, leave "
        "it out."
    ]


def notes_of_run_numbers(
    names: Sequence[str], sides: Sequence[Outputs], encoder: Encoder
) -> list[str]:
    """Return a note if one entry of the vectors has one value on each side, and another varies.

    Such an entry may be the number of a run. A mechanism may also add no noise to one entry, so the
    note does not change the verdict.

    Args:
        names: Names of both sides.
        sides: Outputs of both sides, in the form in which the encoder returns them.
        encoder: Encoder that encoded the outputs.
    """
    if any(side.values.shape[1] < 2 for side in sides) or encoder.is_reduced:
        return []
    if all(np.all(side.values == side.values[:1]) for side in sides):
        return []
    if (found := _told(sides, encoder)) is None or found[0] == _LABEL:
        return []
    part, of_database, of_neighbor = found
    return [
        f"{part[0].upper()}{part[1:]} is {of_database} in all examined outputs of {names[0]} and "
        f"{of_neighbor} in those of {names[1]}. If the mechanism does not release this entry, for "
        "instance because it is the number of a run, the bound does not hold: leave it out."
    ]


def _told(sides: Sequence[Outputs], encoder: Encoder) -> tuple[str, str, str] | None:
    """Return the first part that has one value on each side, and both values, or None."""
    labels = [np.unique(side.labels) for side in sides]
    # The first label stands for numbers without a label.
    if all(len(found) == 1 and found[0] > 0 for found in labels) and labels[0] != labels[1]:
        first, second = (encoder.names[int(found[0])] for found in labels)
        return _LABEL, first, second
    if any(side.alone.any() or not len(side.labels) for side in sides):
        return None
    least, most = ([edge(side.values, axis=0) for side in sides] for edge in (np.min, np.max))
    constant = np.all(np.equal(least, most), axis=0) & (least[0] != least[1])
    if not constant.any():
        return None
    place = int(np.flatnonzero(constant)[0])
    part = "the number" if len(constant) == 1 else f"entry {entry_name(place, encoder.parts)}"
    first, second = (f"{side[place]:g}" for side in least)
    return part, first, second
