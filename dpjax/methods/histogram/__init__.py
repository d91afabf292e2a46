"""Histogram estimators of privacy levels, with a precision that is fixed in advance."""

from dpjax.methods.histogram._counts import draws_per_second as draws_per_second
from dpjax.methods.histogram._estimate import HistogramResult as HistogramResult
from dpjax.methods.histogram._estimate import Unplanned as Unplanned
from dpjax.methods.histogram._estimate import midpoints as midpoints
from dpjax.methods.histogram._levels import histogram_levels as histogram_levels
from dpjax.methods.histogram._method import Histogram as Histogram
from dpjax.methods.histogram._method import HistogramEstimate as HistogramEstimate
