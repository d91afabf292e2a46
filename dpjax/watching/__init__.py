"""Audits of outputs as they arrive from a running system; one file stores an audit's state."""

from dpjax.watching._folder import Folder as Folder
from dpjax.watching._watch import Watch as Watch
from dpjax.watching._watch import watch as watch
