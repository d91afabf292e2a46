"""Text that shows a value exactly, so that different values have different texts."""

import sys
from typing import Any

import numpy as np

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
"""Types whose `repr` shows the value exactly."""


def exact_text(value: Any) -> str:
    """Return text that is equal for two values only if the values are equal.

    For arrays and data frames, `repr` rounds numbers and leaves out the middle. -0.0 differs from
    0.0, and NaN equals NaN.
    """
    if isinstance(value, _PLAIN):
        return repr(value)
    kind = type(value)
    if isinstance(value, dict):
        return f"{kind.__name__}{exact_text([*value.items()])}"
    if isinstance(value, list | tuple):
        return f"{kind.__name__}({', '.join(map(exact_text, value))})"
    if is_frame(value):
        columns = [value.iloc[:, place] for place in range(value.shape[1])]
        parts = [(str(part.dtype), part.tolist()) for part in columns]
        names = value.columns.tolist(), value.index.tolist()
        return f"{kind.__name__} {exact_text(names)} {exact_text(parts)}"
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return f"{kind.__name__} {value.dtype} {value.shape} {exact_text(value.tolist())}"
    return repr(value)


def is_frame(value: Any) -> bool:
    """Return whether a value is a pandas data frame."""
    pandas = sys.modules.get("pandas")
    return isinstance(value, getattr(pandas, "DataFrame", ()))
