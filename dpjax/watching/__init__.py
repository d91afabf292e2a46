"""Audits of a running system's outputs as they arrive, with their state in one file."""

from dpjax.watching._folder import Folder as Folder
from dpjax.watching._watch import Watch as Watch
from dpjax.watching._watch import watch as watch
