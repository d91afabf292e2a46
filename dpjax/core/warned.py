"""Warnings that refer to the code that called dpjax."""

import inspect
import warnings


def warn(message: str) -> None:
    """Issue a `UserWarning` whose location is the call of dpjax in the user's code."""
    frame, level, outside = inspect.currentframe(), 0, 1
    while frame is not None:
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == "dpjax":
            outside = level
        frame = frame.f_back
    # `warnings.warn` counts this function as level 1.
    warnings.warn(message, stacklevel=outside + 1)
