"""The histogram estimators: levels with a precision that is stated before the draws."""

from dpjax.methods.histogram._estimate import HistogramResult as HistogramResult
from dpjax.methods.histogram._estimate import Unplanned as Unplanned
from dpjax.methods.histogram._estimate import draws_per_second as draws_per_second
from dpjax.methods.histogram._estimate import midpoints as midpoints
from dpjax.methods.histogram._ldp import histogram_ldp as histogram_ldp
from dpjax.methods.histogram._method import Histogram as Histogram
from dpjax.methods.histogram._rdp import histogram_rdp as histogram_rdp
