"""The audit methods by name."""

from dpjax.core.lazy import Classes
from dpjax.methods._method import Method

METHODS: Classes[type[Method]] = Classes(
    "dpjax.methods",
    {
        "events": "_events:Events",
        "sequential": "_sequential:Sequential",
        "local": "local._method:Local",
        "local-search": "local._method:LocalSearch",
        "histogram": "histogram._method:Histogram",
        "histogram-estimate": "histogram._unplanned:HistogramEstimate",
        "guesses": "_guesses:Guesses",
    },
)
"""Class of each method, by the name used on the command line and in files."""
