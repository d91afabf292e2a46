"""A context in which neither signals nor garbage collection interrupt imports."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import LazyLoader, find_spec, module_from_spec

from dpjax.core.errors import signals_wait

_LATER = ("numpy.ctypeslib", "numpy.f2py", "numpy.polynomial", "numpy.testing")
"""Modules that are loaded when they are first used.

SciPy imports these modules because it imports all public names of NumPy, but audits do not use the
modules.
"""


@contextmanager
def importing() -> Iterator[None]:
    """Within the context, delay signals, and collect no garbage while modules are imported.

    The imports of jax and dpjax create hundreds of thousands of objects that live as long as the
    process. The garbage collector would traverse all objects several times during the imports, and
    again in every full collection of the audit. After the imports, the objects are frozen so that
    later garbage collections skip the objects.

    If jax has already been imported, garbage is collected as usual.
    """
    first = "jax" not in sys.modules
    collects = gc.isenabled() and first
    if collects:
        gc.disable()
    try:
        with signals_wait():
            if first:
                _postpone()
            yield
    finally:
        if collects:
            gc.freeze()
            gc.enable()


def _postpone() -> None:
    """Replace the modules in `_LATER` with modules that load themselves when first used."""
    import numpy

    for name in _LATER:
        if name in sys.modules or (spec := find_spec(name)) is None or spec.loader is None:
            continue
        spec.loader = LazyLoader(spec.loader)
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
        setattr(numpy, name.rpartition(".")[2], module)
