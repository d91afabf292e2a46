"""Warnings that refer to the code that called dpjax."""

import inspect
import warnings


def warn(message: str) -> None:
    """Issue a `UserWarning` whose location is the call of dpjax in the user's code."""
    frame, level, outside = inspect.currentframe(), 0, 1
    while frame is not None:
        level += 1
        module = frame.f_globals.get("__name__", "").partition(".")[0]
        # A context manager of dpjax that decorates a function adds a frame of contextlib.
        if module == "dpjax" or (module == "contextlib" and outside == level - 1):
            outside = level
        frame = frame.f_back
    # `warnings.warn` counts this function as level 1.
    warnings.warn(message, stacklevel=outside + 1)
