"""Estimators: DPL and MPL of the local approach, empirical privacy of real queries."""

from dpjax.estimators._confirm import Confirmation as Confirmation
from dpjax.estimators._empirical import empirical_privacy as empirical_privacy
from dpjax.estimators._empirical_bandwidth import VariableBandwidth as VariableBandwidth
from dpjax.estimators._empirical_queries import Count as Count
from dpjax.estimators._empirical_queries import Maximum as Maximum
from dpjax.estimators._empirical_queries import Mean as Mean
from dpjax.estimators._empirical_queries import Minimum as Minimum
from dpjax.estimators._empirical_queries import Quantile as Quantile
from dpjax.estimators._empirical_queries import RegressionCoefficient as RegressionCoefficient
from dpjax.estimators._empirical_queries import Sum as Sum
from dpjax.estimators._empirical_queries import Variance as Variance
from dpjax.estimators._empirical_result import EmpiricalPrivacy as EmpiricalPrivacy
from dpjax.estimators._empirical_samples import HostQuery as HostQuery
from dpjax.estimators._empirical_samples import JaxQuery as JaxQuery
from dpjax.estimators._local import LocalStatistics as LocalStatistics
from dpjax.estimators._local import dpl_runs as dpl_runs
from dpjax.estimators._local import mpl_recorded as mpl_recorded
from dpjax.estimators._local import mpl_runs as mpl_runs
from dpjax.estimators._search import Curves as Curves
from dpjax.estimators._search import PairSearch as PairSearch
from dpjax.estimators._search import lattice_too_coarse as lattice_too_coarse
from dpjax.estimators._settings import LocalSettings as LocalSettings
from dpjax.estimators._sources import Recorded as Recorded
