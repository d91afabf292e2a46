"""Spaces of neighboring databases, each defined by a domain of records and a neighbor relation."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpjax.databases.spaces._domain import Domain as Domain
    from dpjax.databases.spaces._drawn_pairs import DrawnPairs as DrawnPairs
    from dpjax.databases.spaces._drawn_pairs import drawn_pairs as drawn_pairs
    from dpjax.databases.spaces._given import as_space as as_space
    from dpjax.databases.spaces._neighbors import Neighbors as Neighbors
    from dpjax.databases.spaces._neighbors import neighbors as neighbors
    from dpjax.databases.spaces._relations import AddRemove as AddRemove
    from dpjax.databases.spaces._relations import AnyTwo as AnyTwo
    from dpjax.databases.spaces._relations import ChangeOne as ChangeOne
    from dpjax.databases.spaces._relations import Relation as Relation
    from dpjax.databases.spaces._relations import Within as Within
    from dpjax.databases.spaces._space import VARIED as VARIED
    from dpjax.databases.spaces._space import Path as Path
    from dpjax.databases.spaces._space import Proposed as Proposed
    from dpjax.databases.spaces._space import Space as Space
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
