"""Readers of recorded outputs."""

from dpjax.io._read import read_samples as read_samples
