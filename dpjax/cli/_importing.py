"""Run imports without interruption and without garbage collection."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dpjax.core.errors import signals_wait


@contextmanager
def importing() -> Iterator[None]:
    """Run a block of imports; signals wait until its end, and no garbage is collected.

    The imports of jax and dpjax create hundreds of thousands of objects that live as long as the
    process. The garbage collector would traverse all objects several times during the imports, and
    again in every full collection of the audit. The objects are therefore frozen after the imports,
    so that later collections skip these objects.

    If jax was already imported, garbage is collected as usual.
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
