"""Many audits at once: the experiments of the papers."""

from dpjax.sweeps._experiments import EXPERIMENTS as EXPERIMENTS
from dpjax.sweeps._experiments import LEVELS as LEVELS
from dpjax.sweeps._experiments import Experiment as Experiment
from dpjax.sweeps._experiments import experiment as experiment
from dpjax.sweeps._experiments import run_bounds as run_bounds
