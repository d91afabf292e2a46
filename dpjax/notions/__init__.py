"""Notions of privacy: what is bounded, what a search looks for, how evidence bounds it."""

from dpjax.notions._epsilon import Epsilon as Epsilon
from dpjax.notions._epsilon import EventCounts as EventCounts
from dpjax.notions._epsilon import Statement as Statement
from dpjax.notions._epsilon import smallest_error as smallest_error
from dpjax.notions._terms import Terms as Terms
