"""Many audits at once: declared as a value, run anywhere, stored block by block."""

from dpjax.sweeps._cell import ESTIMATORS as ESTIMATORS
from dpjax.sweeps._cell import Cell as Cell
from dpjax.sweeps._cell import HistogramSettings as HistogramSettings
from dpjax.sweeps._compute import compute as compute
from dpjax.sweeps._compute import run_bounds as run_bounds
from dpjax.sweeps._experiments import EXPERIMENTS as EXPERIMENTS
from dpjax.sweeps._experiments import LEVELS as LEVELS
from dpjax.sweeps._experiments import experiment as experiment
from dpjax.sweeps._presets import PRESETS as PRESETS
from dpjax.sweeps._presets import preset as preset
from dpjax.sweeps._runner import Progress as Progress
from dpjax.sweeps._runner import run_sweep as run_sweep
from dpjax.sweeps._spec import Block as Block
from dpjax.sweeps._spec import SweepSpec as SweepSpec
from dpjax.sweeps._store import Store as Store
from dpjax.sweeps._store import rows_equal as rows_equal
