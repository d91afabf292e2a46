"""The version of dpjax, which can be imported without any other module of dpjax."""

__version__ = "0.6.0"
