"""Estimators of privacy."""

from ._empirical import empirical_privacy as empirical_privacy
from ._empirical_bandwidth import VariableBandwidth as VariableBandwidth
from ._empirical_queries import Count as Count
from ._empirical_queries import Maximum as Maximum
from ._empirical_queries import Mean as Mean
from ._empirical_queries import Minimum as Minimum
from ._empirical_queries import Quantile as Quantile
from ._empirical_queries import RegressionCoefficient as RegressionCoefficient
from ._empirical_queries import Sum as Sum
from ._empirical_queries import Variance as Variance
from ._empirical_result import EmpiricalPrivacy as EmpiricalPrivacy
from ._empirical_samples import HostQuery as HostQuery
from ._empirical_samples import JaxQuery as JaxQuery
