"""Estimators of privacy."""

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
