"""Audit methods. Each method computes evidence and findings from the outputs of a source."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpjax.methods._before import pairs_to_audit as pairs_to_audit
    from dpjax.methods._before import settled as settled
    from dpjax.methods._events import Events as Events
    from dpjax.methods._families import best_member as best_member
    from dpjax.methods._guesses import Guesses as Guesses
    from dpjax.methods._method import Method as Method
    from dpjax.methods._method import within_limit_of as within_limit_of
    from dpjax.methods._pairs import FoundPairs as FoundPairs
    from dpjax.methods._pairs import search_pairs as search_pairs
    from dpjax.methods._plan_draws import plan_draws as plan_draws
    from dpjax.methods._sequential import Sequential as Sequential
    from dpjax.methods._table import METHODS as METHODS
    from dpjax.methods.histogram import Histogram as Histogram
    from dpjax.methods.histogram import HistogramEstimate as HistogramEstimate
    from dpjax.methods.local import Local as Local
    from dpjax.methods.local import LocalSearch as LocalSearch
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
