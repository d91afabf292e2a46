"""The version of dpjax, which is read without importing any other module."""

__version__ = "0.6.0"
