"""Readers of recorded outputs in npy, npz, csv, tsv, text, JSON lines, Parquet and Arrow files."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpjax.sources.readers._numpy import npz_array as npz_array
    from dpjax.sources.readers._recording import Recording as Recording
    from dpjax.sources.readers._recording import read_samples as read_samples
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
