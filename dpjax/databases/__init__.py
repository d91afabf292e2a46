"""Pairs of neighboring databases to audit, and functions that construct such pairs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpjax.databases._difference import difference as difference
    from dpjax.databases._difference import records_apart as records_apart
    from dpjax.databases._neighbours import add_remove_one as add_remove_one
    from dpjax.databases._neighbours import change_one as change_one
    from dpjax.databases._neighbours import hypercube as hypercube
    from dpjax.databases._neighbours import interval_grid as interval_grid
    from dpjax.databases._neighbours import random_answers as random_answers
    from dpjax.databases._pairs import Pairs as Pairs
    from dpjax.databases._pairs import rows_of as rows_of
    from dpjax.databases._patterns import all_pairs as all_pairs
    from dpjax.databases._patterns import query_patterns as query_patterns
    from dpjax.databases._patterns import shifts as shifts
    from dpjax.databases.spaces import AddRemove as AddRemove
    from dpjax.databases.spaces import AnyTwo as AnyTwo
    from dpjax.databases.spaces import ChangeOne as ChangeOne
    from dpjax.databases.spaces import Domain as Domain
    from dpjax.databases.spaces import DrawnPairs as DrawnPairs
    from dpjax.databases.spaces import Neighbors as Neighbors
    from dpjax.databases.spaces import Within as Within
    from dpjax.databases.spaces import drawn_pairs as drawn_pairs
    from dpjax.databases.spaces import neighbors as neighbors
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
