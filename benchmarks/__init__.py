"""Benchmarks of dpjax, and figures and tables of the papers (see README.md)."""
