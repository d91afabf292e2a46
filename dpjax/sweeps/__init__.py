"""Sweeps: many audits described by one specification, computed and stored in blocks of runs."""

from dpjax.methods import HistogramEstimate as HistogramEstimate
from dpjax.methods import LocalSearch as LocalSearch
from dpjax.sweeps._compute import compute as compute
from dpjax.sweeps._entry import Entry as Entry
from dpjax.sweeps._runner import Progress as Progress
from dpjax.sweeps._runner import run_sweep as run_sweep
from dpjax.sweeps._spec import Block as Block
from dpjax.sweeps._spec import SweepSpec as SweepSpec
from dpjax.sweeps._store import Store as Store
from dpjax.sweeps._store import rows_equal as rows_equal
from dpjax.sweeps._summary import SweepSummary as SweepSummary
