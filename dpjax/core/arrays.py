"""Lossless conversion of arrays to JSON values and back."""

import base64

import numpy as np

from dpjax.core.types import JsonObject


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
