"""Detection of random generators that are pickled with a function, and thereby copied."""

import io
import pickle
import random

import numpy as np

_GENERATORS = (
    random.Random,
    np.random.Generator,
    np.random.RandomState,
    np.random.BitGenerator,
)


def pickled_generators(value: object) -> list[str]:
    """Pickle a value, and return the types of the random generators that the pickle contains.

    Every unpickled copy of such a generator draws the same numbers.

    Args:
        value: Any object. Functions and classes at the top level of a module are pickled by name,
            so generators that belong to them are not found.
    """
    pickler = _Pickler(io.BytesIO())
    pickler.dump(value)
    return pickler.found


class _Pickler(pickle.Pickler):
    """Pickler that lists the types of the random generators that it visits."""

    def __init__(self, file: io.BytesIO):
        super().__init__(file)
        self.found: list[str] = []

    def persistent_id(self, obj: object) -> None:
        """Note a generator; see `pickle.Pickler`. The value None means that `obj` is pickled."""
        if isinstance(obj, _GENERATORS):
            self.found.append(type(obj).__name__)
