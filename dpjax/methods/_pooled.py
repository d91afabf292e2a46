"""Pooling of search counts at databases that several pairs share."""

from collections.abc import Sequence

import numpy as np

from dpjax.partitions import Search
from dpjax.sources import AnyPairs, numbers_of_databases


class Pools:
    """Groups of sides of different pairs that have the same database and the same cells.

    Many designs compare one database with several neighbors. The search draws at a database that
    were made for one pair also serve the other pairs with this database. Pooled draws rank the
    pairs more precisely.
    """

    def __init__(self, searches: Sequence[Search], pairs: AnyPairs):
        numbers, places = numbers_of_databases(pairs), {}
        for pair, search in enumerate(searches):
            if numbers[pair, 0] == numbers[pair, 1]:
                continue  # A pair of equal databases keeps its own counts.
            cells = search.partition.key
            for side in (0, 1):
                places.setdefault((numbers[pair, side], cells), []).append((pair, side))
        self._shared = [sides for sides in places.values() if len(sides) > 1]

    def pooled(self, searches: Sequence[Search]) -> list[Search]:
        """Return the search sets of all pairs, with counts at shared databases added up.

        Args:
            searches: Search sets of all pairs, each with counts of its own draws, which are not
                modified.
        """
        found = list(searches)
        for sides in self._shared:
            total = np.sum([searches[pair].halves[..., side, :] for pair, side in sides], axis=0)
            for pair, side in sides:
                halves = found[pair].halves
                if halves is searches[pair].halves:
                    found[pair] = found[pair]._replace(halves=halves.copy())
                found[pair].halves[..., side, :] = total
        return found
