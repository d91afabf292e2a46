"""Decision whether outputs are discrete or real, and integer indices for discrete outcomes."""

import numpy as np

from dpjax.core.wording import CONTINUOUS, DISCRETE, EVENTS, BadValue, Sentence
from dpjax.sources._labels_alone import refuse_alone
from dpjax.sources._opened import Smoothing

MIN_REAL = 200
"""Minimum number of samples per side for a density estimate."""

_ATOM_SHARE = 0.05
"""A value can be an atom only if at least this share of a side's outputs equal the value."""

_SEEN = 20
"""Minimum count, in the search set, at which an outcome's probability ratio is reliable."""

_STEPS = 3
"""Minimum bandwidth for which integers are smoothed, in multiples of the integers' spacing."""

_EXACT = 2**53
_MAX_DISTINCT = 1000
_MAX_OUTCOMES = 2**20
_FREQUENT = 12


def looks_discrete(
    x: np.ndarray, y: np.ndarray, size: int, smoothing: Smoothing | None, notes: list[str]
) -> bool:
    """Decide whether outputs are discrete outcomes or reals.

    Args:
        x: Numbers or labels in the search set of the database, [n] or [n, d].
        y: Numbers or labels in the search set of the neighbor, [m] or [m, d].
        size: Total number of samples per side.
        smoothing: None to leave integers unsmoothed, or a function that returns the bandwidth for
            integer outputs with a wide range.
        notes: List of notes for the result, to which a note on the decision is appended.
    """
    if x.dtype.kind in "USO":
        return True
    if x.ndim == 2:
        return False
    both = np.concatenate([x, y])
    values, counts = np.unique(both, return_counts=True)
    if both.dtype.kind in "biu":
        rare = counts < 2 * _SEEN
        wide = bool(counts[rare].sum() * 2 > len(both))
        if wide and smoothing is not None and _may_be_smoothed(x, y, values, size, smoothing):
            notes.append(
                Sentence(
                    f"The integers have a wide range ({len(values)} distinct values, most of which "
                    f"occur fewer than {_SEEN} times per side in the search set), so they were "
                    f"treated as reals and smoothed. Use {DISCRETE} if they are outcomes, or "
                    f"{EVENTS} for exact counts."
                )
            )
            return False
        notes.append(f"The integers were treated as outcomes ({len(values)} distinct).")
        if wide and smoothing is not None:
            notes.append(
                Sentence(
                    f"Most of these outcomes occur fewer than {_SEEN} times per side in the "
                    f"search set, too rarely to be compared one by one: {EVENTS} compares sets of "
                    "outcomes."
                )
            )
        return True
    if len(values) <= min(_MAX_DISTINCT, size // 10, len(both) // 4):
        notes.append(
            Sentence(
                f"Only {len(values)} distinct numbers occur among the {len(both)} outputs of the "
                f"search set, so they were treated as outcomes. Use {CONTINUOUS} if they are reals."
            )
        )
        return True
    notes.append(
        Sentence(f"The outputs were treated as reals. Use {DISCRETE} if they are outcomes.")
    )
    return False


def _may_be_smoothed(
    x: np.ndarray, y: np.ndarray, values: np.ndarray, size: int, smoothing: Smoothing
) -> bool:
    """Return whether integers may be smoothed with the bandwidth that the confirmation would use.

    Smoothing adds noise whose density is the kernel. Adding noise is post-processing, so the ratio
    of the smoothed densities is at most e^epsilon if the mechanism is epsilon-DP. If the bandwidth
    spans several integers and no integer is frequent, the distribution of a kernel sum is as close
    to normal for integers as for reals. Integers are not smoothed if smoothing would hide a
    difference. Examples are a single frequent value (an error code), and a side whose values are
    all multiples of a larger step.
    """
    count = len(x)
    if size < MIN_REAL or count < 2 or np.abs(values.astype(float)).max() > _EXACT:
        return False
    step = _step(values)
    if any(_step(side) > step or _stands_out(side, step) for side in (x, y)):
        return False
    pilots = [side.astype(float) for side in (x, y)]
    centre = np.median(np.concatenate(pilots))
    bandwidth = smoothing([pilot - centre for pilot in pilots], size - count)
    return bandwidth >= _STEPS * step


def _step(values: np.ndarray) -> int:
    """Return the greatest common divisor of all differences between the values."""
    return int(np.gcd.reduce(np.diff(np.unique(values).astype(np.int64)), initial=0))


def most_often(num_outputs: int) -> float:
    """Return the count above which a value is an atom, with a margin for random variation."""
    usual = _ATOM_SHARE * num_outputs
    return usual + 3 * np.sqrt(usual)


def _stands_out(side: np.ndarray, step: int) -> bool:
    """Return whether some value is far more frequent than the values within three steps of it."""
    values, counts = np.unique(side.astype(float), return_counts=True)
    if counts.max() > most_often(len(side)):
        return True
    often = counts >= _FREQUENT
    values, counts, ordered = values[often], counts[often], np.sort(side.astype(float))
    until = np.searchsorted(ordered, values + 3 * step, "right")
    since = np.searchsorted(ordered, values - 3 * step, "left")
    beside = (until - since - counts) / 6
    return bool(np.any(counts > 3 * beside + _FREQUENT / 2))


def in_one_type(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Convert the integers of both sides to one dtype; return all other outputs unchanged.

    Raises:
        ValueError: If no 64-bit dtype can represent all integers.
    """
    if {x.dtype.kind, y.dtype.kind} != {"i", "u"}:
        return x, y
    signed, unsigned = (x, y) if x.dtype.kind == "i" else (y, x)
    if unsigned.size == 0 or unsigned.max() <= np.iinfo(np.int64).max:
        return x.astype(np.int64), y.astype(np.int64)
    if signed.size and signed.min() < 0:
        raise ValueError(
            "x and y must be integers that fit into one 64-bit type, but one side had "
            f"{signed.min()} and the other {unsigned.max()}."
        )
    return x.astype(np.uint64), y.astype(np.uint64)


def number_outcomes(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Assign an integer index to each outcome that occurs on either side.

    Args:
        x: Numbers or labels [n].
        y: Numbers or labels [m], of the same kind.

    Returns:
        For each output of `x` and `y`, the index of its outcome, int32 [n] and int32 [m]; and all
        outcomes, sorted by index.

    Raises:
        ValueError: If there are fewer than two outcomes or too many outcomes, if hardly any outcome
            occurs twice, or if outputs are vectors.
    """
    if x.ndim == 2:
        raise ValueError("discrete outputs must be a vector: encode each row as one outcome.")
    labels, numbers, counts = np.unique(
        np.concatenate([x, y]), return_inverse=True, return_counts=True
    )
    if labels.dtype.kind in "iuf" and len(labels) == counts.sum():
        raise BadValue(
            f"all of the {len(labels)} outputs in x and y are distinct numbers, so there are no "
            f"outcomes to compare one by one: use {CONTINUOUS} if they are reals, or "
            f"{EVENTS}, which compares sets of them."
        )
    if labels.dtype.kind in "USO":
        refuse_alone(counts, "x and y", counts.sum(), repr(in_python(labels[0])))
    if len(labels) > _MAX_OUTCOMES:
        raise BadValue(
            f"x and y hold {len(labels)} distinct outcomes, more than 2^20: use {CONTINUOUS} if "
            "they are reals, or group the outcomes."
        )
    if len(labels) == 1:
        raise ValueError(
            f"x and y hold only one outcome, {in_python(labels[0])!r}: there is nothing to compare."
        )
    return numbers[: len(x)].astype(np.int32), numbers[len(x) :].astype(np.int32), labels


def in_python(label: object) -> object:
    """Convert a NumPy scalar to a plain Python object, and return other objects unchanged."""
    item = getattr(label, "item", None)
    return label if item is None else item()
