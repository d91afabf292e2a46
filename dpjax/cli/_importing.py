"""Imports that a command waits for: without interruption and without garbage collection."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dpjax.core.errors import signals_wait


@contextmanager
def importing() -> Iterator[None]:
    """Run a block of imports: signals wait until its end, and no garbage is collected.

    Importing jax and dpjax creates hundreds of thousands of objects that live as long as the
    process. The garbage collector would traverse them several times during the imports and again
    in every full collection of the audit, so they are frozen: later collections skip them.

    In a program that has already imported jax, the garbage collector is left alone.
    """
    collects = gc.isenabled() and "jax" not in sys.modules
    if collects:
        gc.disable()
    try:
        with signals_wait():
            yield
    finally:
        if collects:
            gc.freeze()
            gc.enable()
