"""dpjax: black-box estimation and auditing of differential privacy."""

from importlib.metadata import version as _version

__version__ = _version("dpjax")
