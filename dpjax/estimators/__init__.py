"""Estimators: DPL and MPL of the local approach, levels by histograms."""

from dpjax._streaming import blocks_of as blocks_of
from dpjax.estimators._confirm import Confirmation as Confirmation
from dpjax.estimators._events import cell_counts_runs as cell_counts_runs
from dpjax.estimators._events import event_counts_runs as event_counts_runs
from dpjax.estimators._histogram import HistogramResult as HistogramResult
from dpjax.estimators._histogram import Unplanned as Unplanned
from dpjax.estimators._histogram import draws_per_second as draws_per_second
from dpjax.estimators._histogram import midpoints as midpoints
from dpjax.estimators._histogram_ldp import histogram_ldp as histogram_ldp
from dpjax.estimators._histogram_rdp import histogram_rdp as histogram_rdp
from dpjax.estimators._local import LocalStatistics as LocalStatistics
from dpjax.estimators._local import dpl_runs as dpl_runs
from dpjax.estimators._local import mpl_recorded as mpl_recorded
from dpjax.estimators._local import mpl_runs as mpl_runs
from dpjax.estimators._search import Curves as Curves
from dpjax.estimators._search import PairSearch as PairSearch
from dpjax.estimators._settings import LocalSettings as LocalSettings
from dpjax.estimators._settings import check_sizes as check_sizes
from dpjax.estimators._sources import Recorded as Recorded
