"""Encoding of rows of numbers, some of which may be NaN or infinite."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpjax.core.numerics import has_inexact
from dpjax.core.wording import BadValue
from dpjax.partitions._batches import Outputs
from dpjax.partitions._columns_of_outputs import is_rounded
from dpjax.partitions._labels import Labels
from dpjax.partitions._nested import FLOATS, INTEGERS
from dpjax.partitions.missing import patterns_of


def encoded_rows(rows: np.ndarray, base: int | None, labels: Labels) -> Outputs:
    """Encode numbers. Each pattern of NaN and infinities is a label, beside the other entries.

    Args:
        rows: Numbers, [n, columns].
        base: Number of the first columns that all outputs have, or None. A further column is 0 in
            outputs that lack it.
        labels: Labels, to which those of new patterns are added.
    """
    # All outputs have one memory layout, because NumPy's sums of rows depend on the layout.
    # Adding 0.0 turns -0.0 into 0.0.
    values = rows.astype(np.float64, order="C")
    values += 0.0
    codes = np.zeros(len(rows), np.int32)
    finite = np.isfinite(values)
    if base != 0 and finite.all():
        return Outputs(codes, values, np.zeros(len(rows), bool))
    strange = np.flatnonzero(~finite.all(axis=1))
    if strange.size:
        texts, places = patterns_of(values[strange], base or 1)
        codes[strange] = np.array([*map(labels.outcome, texts)], np.int32)[places]
    values[~finite] = 0.0
    # A further column counts only if it is not 0.
    alone = np.all(~finite[:, :base], axis=1) & np.all(values[:, base:] == 0, axis=1)
    return Outputs(codes, values, alone)


def stacked(outputs: Sequence[object], base: int | None) -> np.ndarray | None:
    """Stack outputs that are arrays of equally many numbers, or numbers, or return None.

    A table is encoded far faster than its rows. The result is None if float64 cannot represent all
    numbers, and if arrays have a single number.

    Args:
        outputs: Outputs of any kind.
        base: Number of entries of earlier outputs, or None if there were none.

    Returns:
        float64 [n, d], or [n] for numbers; or None.
    """
    kinds = {*map(type, outputs)}
    if kinds and (kinds <= FLOATS or kinds <= INTEGERS):
        return _as_floats(outputs, kinds <= INTEGERS) if base in (None, 1) else None
    vectors = [each for each in outputs if type(each) is np.ndarray]
    if not vectors or len(vectors) < len(outputs):
        return None
    shape, dtype = vectors[0].shape, vectors[0].dtype
    if len(shape) != 1 or shape[0] < 2 or base not in (None, *shape) or dtype.kind not in "biuf":
        return None
    if any(each.shape != shape or each.dtype != dtype for each in vectors):
        return None
    table = np.stack(vectors)
    return None if is_rounded(table) else table.astype(np.float64)


def _as_floats(numbers: Sequence[Any], are_integers: bool) -> np.ndarray | None:
    """Return numbers as float64 [n], or None if any would be rounded."""
    if not are_integers:
        return np.array(numbers, np.float64)
    try:
        table = np.array(numbers, np.int64)
    except OverflowError:
        return None
    return None if has_inexact(table) else table.astype(np.float64)


def checked(source: str, base: int | None, dimension: int) -> int:
    """Return the number of entries that all vectors have.

    Args:
        source: Origin of the outputs, as named in messages.
        base: Number of entries of earlier outputs, or None if there were none.
        dimension: Number of entries of a new output.

    Raises:
        ValueError: If the new output has another number of entries, or none.
    """
    if not dimension:
        raise BadValue(
            f"{source} must give at least one number per output, but gave outputs of the shape [0]."
        )
    if base not in (None, dimension):
        raise ValueError(
            f"{source} must give outputs of one length, but first gave {base} number(s) per "
            f"output, and later {dimension}."
        )
    return dimension
