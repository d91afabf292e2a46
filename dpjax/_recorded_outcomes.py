"""Which recorded outputs are outcomes, and their numbers."""

from typing import Any

import numpy as np

_MAX_DISTINCT = 1000
_MAX_OUTCOMES = 2**20
_ALONE_SHARE = 0.99
_RARE = 10


def looks_discrete(x: np.ndarray, y: np.ndarray, notes: list[str]) -> bool:
    """Whether outputs are outcomes rather than reals; adds to the notes what was found.

    Args:
        x: [n] or [n, d], numbers or labels.
        y: [m] or [m, d], of the same kind.
        notes: For the result.
    """
    if x.dtype.kind in "US":
        return True
    if x.ndim == 2:
        return False
    both = np.concatenate([x, y])
    distinct = len(np.unique(both))
    if x.dtype.kind in "bi" and y.dtype.kind in "bi":
        notes.append(f"Integers: taken as outcomes ({distinct} distinct).")
        return True
    if distinct <= min(_MAX_DISTINCT, len(both) // 20):
        notes.append(
            f"Only {distinct} distinct numbers in {len(both)}: taken as outcomes. Say "
            "discrete=False if they are reals."
        )
        return True
    notes.append("Taken as reals with a density. Say discrete=True if they are outcomes.")
    return False


def number_outcomes(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both sides as numbers of their outcomes.

    Args:
        x: [n], numbers or labels.
        y: [m], of the same kind.

    Returns:
        int32 [n] and [m], and the outcomes by number.

    Raises:
        ValueError: There is one outcome only, too many, or hardly any twice; or vectors were given.
    """
    if x.ndim == 2:
        raise ValueError("discrete outputs must be a vector: encode each row as one outcome.")
    labels, numbers, counts = np.unique(
        np.concatenate([x, y]), return_inverse=True, return_counts=True
    )
    # Integers have an order by which guarantee="exact" compares them.
    if labels.dtype.kind == "f" and len(labels) == counts.sum():
        raise ValueError(
            f"all of the {len(labels)} outputs in x and y are distinct reals, so as outcomes there "
            "is nothing to compare: leave discrete out, or say discrete=False."
        )
    if labels.dtype.kind in "US" and nothing_to_compare(counts):
        raise ValueError(alone_text("x and y", counts.sum(), in_python(labels[0])))
    if len(labels) > _MAX_OUTCOMES:
        raise ValueError(
            f"x and y hold {len(labels)} distinct outcomes, more than 2^20: say discrete=False if "
            "they are reals, or group them."
        )
    if len(labels) == 1:
        raise ValueError(
            f"x and y hold one outcome only, {in_python(labels[0])!r}: there is nothing to compare."
        )
    return numbers[: len(x)].astype(np.int32), numbers[len(x) :].astype(np.int32), labels


def nothing_to_compare(counts: np.ndarray) -> bool:
    """Whether practically no outcome occurs twice.

    One outcome that does occur, such as an error among identifiers, can be compared.

    Args:
        counts: [k], of each outcome on both sides together.
    """
    repeated = counts[counts > 1].sum()
    return bool(repeated <= (1 - _ALONE_SHARE) * counts.sum() and counts.max() < _RARE)


def alone_text(names: str, num_outputs: int, example: Any) -> str:
    """The sentence that refuses labels of which none occurs twice."""
    return (
        f"{names} hold {num_outputs} labels, such as {example!r}, and hardly any occurs twice, so "
        "there is nothing to compare: write numbers as numbers (float of a Decimal), leave out "
        "what names a run, or group the labels."
    )


def in_python(label: Any) -> Any:
    """An outcome without its type in NumPy."""
    return label.item() if hasattr(label, "item") else label
