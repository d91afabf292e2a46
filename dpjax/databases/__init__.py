"""Pairs of neighbouring databases: what an audit compares."""

from dpjax.databases._pairs import Pairs as Pairs
from dpjax.databases._patterns import all_pairs as all_pairs
from dpjax.databases._patterns import query_patterns as query_patterns
from dpjax.databases._patterns import shifts as shifts
