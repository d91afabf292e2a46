"""Monitoring: audits of outputs of a running system as they arrive, with a state in one file."""

from dpjax.watching._folder import Folder as Folder
from dpjax.watching._watch import Watch as Watch
from dpjax.watching._watch import watch as watch
