"""Conversions of arrays: to JSON values and back, from other libraries, and to one array."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpjax.core.numerics import has_inexact
from dpjax.core.types import JsonObject

_LARGEST = 2**63 - 1
"""Largest integer of the type int64."""


def packed(array: np.ndarray) -> JsonObject:
    """Encode an array of numbers or strings, with its dtype and shape, as JSON values."""
    content = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "content": content}


def unpacked(plain: JsonObject, kinds: str = "biufUS") -> np.ndarray:
    """Restore an array from the JSON values that `packed` returned.

    Args:
        plain: JSON values that were read from a file; the file may be damaged.
        kinds: Accepted kinds of dtypes, as a string of `numpy.dtype.kind` characters.

    Raises:
        KeyError, TypeError, ValueError: If `plain` does not describe an array of an accepted
            dtype.
    """
    dtype = np.dtype(plain["dtype"])
    if dtype.kind not in kinds:
        raise ValueError(f"it holds outputs of dtype {dtype}, which is not accepted here")
    return np.frombuffer(base64.b64decode(plain["content"]), dtype).reshape(plain["shape"])


def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate arrays without rounding integers.

    NumPy converts int64 and uint64, and integers and floats, to float64, in which adjacent integers
    above 2^53 are equal.

    Args:
        parts: Arrays of numbers, strings or objects, whose shapes differ only in the first axis.

    Raises:
        ValueError: If no 64-bit type can represent all of the integers together with the other
            numbers.
    """
    kinds = {part.dtype.kind for part in parts}
    if len(kinds & {*"iuf"}) < 2:
        return np.concatenate(parts)
    if not any(part.dtype.kind in "iu" and has_inexact(part) for part in parts):
        return np.concatenate(parts)
    if "f" in kinds:
        raise ValueError("integers above 2^53 and floats, which no 64-bit type can represent")
    if not any(part.dtype.kind == "i" and part.min(initial=0) < 0 for part in parts):
        return np.concatenate([part.astype(np.uint64) for part in parts])
    if any(part.max(initial=0) > _LARGEST for part in parts if part.dtype.kind == "u"):
        raise ValueError(
            "integers below 0 and integers of 2^63 or more, which no 64-bit type can represent"
        )
    return np.concatenate([part.astype(np.int64) for part in parts])


def beside(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Join columns of numbers [n] to rows [n, d].

    Raises:
        ValueError: If float64 is the common type but cannot represent an integer exactly.
    """
    rows = np.stack(columns, axis=1)
    integers = [column for column in columns if column.dtype.kind in "iu"]
    if rows.dtype.kind == "f" and any(map(has_inexact, integers)):
        raise ValueError(
            "vectors with integers above 2^53, which float64 cannot represent exactly: choose this "
            "column alone, or scale the integers down"
        )
    return rows


def to_numpy(array: Any) -> np.ndarray:
    """Convert an array of another library to a NumPy array with equal entries.

    NumPy cannot convert a PyTorch tensor that requires gradients, that is sparse, that is stored on
    an accelerator, or whose floats NumPy lacks, such as bfloat16. The latter become float32.

    Args:
        array: Anything that `numpy.asarray` accepts, or a tensor of PyTorch.

    Raises:
        Exception: If the other library cannot convert the array.
    """
    if not hasattr(array, "requires_grad"):
        return np.asarray(array)
    dense = array.to_dense()
    try:
        return dense.numpy(force=True)
    except TypeError:
        return dense.float().numpy(force=True)
