"""Groups of pairs that a source can open together."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

import jax

from dpjax.databases import Pairs
from dpjax.databases._pairs import distinct_labels
from dpjax.databases.spaces import Proposed
from dpjax.sources import AnyPairs, Source
from dpjax.sources._subject import check_shape, mechanism_at


class Stack(NamedTuple):
    """Pairs that a source can open together.

    Attributes:
        places: Index of each pair among all pairs.
        pairs: The pairs, in a form that the source accepts.
    """

    places: Sequence[int]
    pairs: Pairs | AnyPairs


def stacks_of(source: Source, pairs: Sequence[Proposed]) -> list[Stack]:
    """Divide pairs into groups that a source can open together.

    For a JAX mechanism, all databases on a side of a group have the same shape. A pair is left out
    if the types of JAX cannot represent its databases, or if the mechanism does not accept them.
    """
    if source.sampler is None:
        labels = distinct_labels(pair.label for pair in pairs)
        sides = [pair.database for pair in pairs], [pair.neighbor for pair in pairs]
        return [Stack(range(len(pairs)), AnyPairs(sides, labels))]
    groups: dict[Hashable, list[int]] = {}
    for place, pair in enumerate(pairs):
        try:
            one = Pairs.of([(pair.database, pair.neighbor)])
        except (TypeError, ValueError):
            continue
        leaves, structure = jax.tree.flatten((one.database, one.neighbor))
        form = structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves)
        groups.setdefault(form, []).append(place)
    found = []
    for places in groups.values():
        group = [pairs[place] for place in places]
        stacked = Pairs.of([(pair.database, pair.neighbor) for pair in group])
        stacked = replace(stacked, labels=tuple(pair.label for pair in group))
        try:
            check_shape(mechanism_at(source.sampler, stacked), stacked)
        except (TypeError, ValueError):
            continue
        found.append(Stack(places, stacked))
    return found
