"""Events made of cells, in words that a reader can act on."""

from collections.abc import Sequence
from typing import Any

import numpy as np

_PARTS, _PRODUCT_PARTS = 4, 3
"""So many parts of a union are named before the others are only counted."""

_ATOMS = ("NaN", "-infinity", "+infinity")


def describe_axis(axis: Any, mask: np.ndarray) -> str:
    """The event that a number lies in some cells of one axis.

    Args:
        axis: Of `Cells`.
        mask: bool [size] of the axis.

    Returns:
        Such as "the output is below -0.31 or in [0.2, 0.7)".
    """
    if not mask.any():
        return f"{axis.name} is nothing at all"
    if mask.all():
        return f"{axis.name} is anything"
    parts, others = _parts(axis, mask), _parts(axis, ~mask)
    if len(others) == 1 and len(parts) > 1:
        return f"{axis.name} is anything but {_alone(others[0])}"
    rest = len(parts) - _PARTS
    shown = parts if rest <= 0 else [*parts[:_PARTS], f"one of {rest} more such sets"]
    return f"{axis.name} is " + _union(shown)


def describe_product(axes: Sequence[Any], mask: np.ndarray) -> str:
    """The event that a vector lies in some cells of a product.

    Args:
        axes: Of `Cells`.
        mask: bool, with one axis each.

    Returns:
        Such as "entry 0 is below 1 and entry 1 is at least 2".
    """
    if len(axes) == 1:
        return describe_axis(axes[0], mask)
    if mask.all():
        return "the output is anything"
    rows = mask.reshape(len(mask), -1)
    patterns = np.unique(rows[rows.any(axis=1)], axis=0)
    parts = []
    for pattern in patterns:
        chosen = np.all(rows == pattern, axis=1)
        first = "" if chosen.all() else describe_axis(axes[0], chosen)
        inner = pattern.reshape(mask.shape[1:])
        others = "" if inner.all() else describe_product(axes[1:], inner)
        parts.append(" and ".join(text for text in (first, others) if text))
    if not parts:
        return "the output is nothing at all"
    rest = len(parts) - _PRODUCT_PARTS
    if rest > 0:
        parts = [*parts[:_PRODUCT_PARTS], f"in one of {rest} more such sets"]
    return "; or ".join(parts)


def _parts(axis: Any, mask: np.ndarray) -> list[str]:
    """Runs of neighbouring bins, and atoms, each in words."""
    bins = mask[: axis.num_bins]
    change = np.flatnonzero(np.diff(np.concatenate([[False], bins, [False]]).astype(int)))
    runs = [(int(a), int(b)) for a, b in zip(change[::2], change[1::2], strict=True)]
    parts = [text for run in runs for text in _run(axis, *run)]
    return parts + [_ATOMS[i] for i in np.flatnonzero(mask[axis.num_bins :])]


def _run(axis: Any, start: int, stop: int) -> list[str]:
    """Bins start .. stop - 1."""
    edges, last = np.asarray(axis.edges), axis.num_bins
    if start == 0 and stop == last:
        return ["finite"]
    low = None if start == 0 else edges[start - 1]
    high = None if stop == last else edges[stop - 1]
    if axis.whole:
        if low is not None and high is not None:
            low, high = int(low), int(high) - 1
            return [str(low)] if low == high else [f"in {{{low}, ..., {high}}}"]
        return [f"below {int(high)}" if high is not None else f"at least {int(low or 0)}"]
    if low is None:
        return [f"below {high:.6g}"]
    if high is None:
        return [f"at least {low:.6g}"]
    if np.nextafter(np.float32(low), np.float32(np.inf)) >= np.float32(high) or (
        low == 0 and (high <= np.finfo(np.float32).tiny)
    ):
        return [f"{low:.8g}"]
    return [f"in [{low:.6g}, {high:.6g})"]


def _alone(part: str) -> str:
    return f"a number {part}" if part.startswith(("below", "at least", "in ", "finite")) else part


def _union(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " or " + parts[-1]
