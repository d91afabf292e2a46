"""Order of the keys of dicts, which may be the order of confidential numbers.

A dict of noisy counts in the order of `Counter.most_common()` reveals the order of the exact
counts. Numbers of dicts are compared key by key, so the place of each key has to be a number, too.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Self

MOST_KEYS = 256
"""Largest number of keys whose places are compared."""

Order = tuple[str, ...]
"""Paths of all keys, dict by dict. The paths of one dict are in the order of its keys."""


def places_of(names: Sequence[str]) -> dict[str, float]:
    """Return the place of each key of a dict, or no numbers if the keys are sorted."""
    if len(names) > MOST_KEYS or [*names] == sorted(names):
        return {}
    return {f"place of {name}": place for place, name in enumerate(names)}


class Orders:
    """Comparison of the order of keys with the usual order, which is that of one output.

    Attributes:
        usual: The usual order.
        columns: Path of the column with each key's shift, by the path of the key. There are no
            columns until two outputs have the same keys in different orders.
    """

    __slots__ = ("columns", "usual")

    def __init__(self, usual: Order = ()):
        self.usual = usual
        self.columns: dict[str, str] = {}

    def add(self, orders: Iterable[Order]) -> tuple[str, ...]:
        """Return the paths of new columns if the keys of an output have another order.

        Args:
            orders: Order of the keys of each output of a batch.
        """
        usual = self.usual
        if self.columns or not 1 < len(usual) <= MOST_KEYS:
            return ()
        # Most outputs share the tuple of their order.
        if not any(order is not usual and _shifts(order, usual) for order in orders):
            return ()
        self.columns = {key: f"{key}.shift" for key in usual}
        return (*self.columns.values(),)

    def shifts(self, order: Order) -> dict[str, int]:
        """Return the shifts that are not 0, by the path of their column.

        A shift is the place of a key minus its place in the usual order. Only the keys that both
        orders have in common count. An output of an earlier batch has no shifts, so 0 is correct.
        """
        found = _shifts(order, self.usual)
        return {self.columns[key]: shift for key, shift in found.items() if key in self.columns}

    @classmethod
    def restored(cls, usual: Iterable[str], paths: Iterable[str]) -> Self:
        """Restore the usual order, and the columns if they are among the paths."""
        orders = cls(tuple(usual))
        columns = {key: f"{key}.shift" for key in orders.usual}
        orders.columns = columns if {*columns.values()} & {*paths} else {}
        return orders


NO_ORDERS = Orders()
"""Orders of outputs without keys. A shared object saves memory if there are thousands of pairs."""


@lru_cache(maxsize=1024)
def _shifts(order: Order, usual: Order) -> dict[str, int]:
    common = {*order} & {*usual}
    places = {key: place for place, key in enumerate(key for key in usual if key in common)}
    found = enumerate(key for key in order if key in common)
    return {key: place - places[key] for place, key in found if place != places[key]}
