"""Outputs from elsewhere: Python functions, programs, files."""

from dpjax.io._command import CommandMechanism as CommandMechanism
from dpjax.io._host import HostMechanism as HostMechanism
from dpjax.io._recording import Recording as Recording
from dpjax.io._recording import read_samples as read_samples
