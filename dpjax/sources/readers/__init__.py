"""Readers of recorded outputs: npy, npz, csv, tsv, text and Parquet files, in chunks."""

from dpjax.sources.readers._numpy import npz_array as npz_array
from dpjax.sources.readers._recording import Recording as Recording
from dpjax.sources.readers._recording import read_samples as read_samples
