"""Pooling of search counts for databases that occur in multiple pairs."""

from collections.abc import Sequence

import numpy as np

from dpjax.partitions import Search
from dpjax.sources import AnyPairs, numbers_of_databases


class Pools:
    """Groups of sides of different pairs. All sides of a group have equal databases and cells.

    Many audits compare one database with multiple neighbors. In such audits, search draws from the
    common database are useful for all pairs that contain it, not only for the pair for which the
    draws were made. Scores computed from the pooled draws rank the pairs more precisely.
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
        """Return the search sets of all pairs, with summed counts for shared databases.

        Args:
            searches: Search sets of all pairs. Each set contains only the draws that were made for
                its pair. The counts are not modified.
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
