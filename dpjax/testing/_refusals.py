"""Short tracebacks for refused arguments and for errors of the audited function."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from dpjax.core.wording import BadType, BadValue

P = ParamSpec("P")
R = TypeVar("R")


def briefly(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that its errors about arguments have no frames of dpjax.

    The message of such an error names the argument and what is accepted. If the audited function
    raised an error, this error is the cause, and keeps the frames of the function. Other errors,
    which may be defects of dpjax, keep all frames.
    """

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except (BadValue, BadType) as error:
            raise error.with_traceback(None) from error.__cause__

    return called
