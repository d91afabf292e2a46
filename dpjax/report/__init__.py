"""Reports."""

from dpjax.report._empirical import write_empirical_report as write_empirical_report
