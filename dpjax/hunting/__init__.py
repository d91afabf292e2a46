"""Hunts: audits of released packages, where each release is installed in its own environment."""

from dpjax.hunting._bisect import Bisection as Bisection
from dpjax.hunting._bisect import bisect as bisect
from dpjax.hunting._bisect import versions_of as versions_of
from dpjax.hunting._case import Case as Case
from dpjax.hunting._case import read_case as read_case
from dpjax.hunting._environment import Environment as Environment
from dpjax.hunting._environment import environment_of as environment_of
from dpjax.hunting._environment import package_of as package_of
from dpjax.hunting._hunt import Caught as Caught
from dpjax.hunting._hunt import hunt as hunt
from dpjax.hunting._hunt import refuse_same_names as refuse_same_names
