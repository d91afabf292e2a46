"""The version, which is read without importing anything else."""

__version__ = "0.6.0"
