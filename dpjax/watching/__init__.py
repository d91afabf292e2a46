"""Monitoring: audits of a running system's outputs as they arrive; one file holds the state."""

from dpjax.watching._folder import Folder as Folder
from dpjax.watching._watch import Watch as Watch
from dpjax.watching._watch import watch as watch
