"""Histogram estimators of privacy levels, with a precision that is fixed in advance."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpjax.methods.histogram._counts import draws_per_second as draws_per_second
    from dpjax.methods.histogram._estimate import HistogramResult as HistogramResult
    from dpjax.methods.histogram._estimate import Unplanned as Unplanned
    from dpjax.methods.histogram._estimate import midpoints as midpoints
    from dpjax.methods.histogram._levels import histogram_levels as histogram_levels
    from dpjax.methods.histogram._method import Histogram as Histogram
    from dpjax.methods.histogram._unplanned import HistogramEstimate as HistogramEstimate
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
