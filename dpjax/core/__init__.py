"""Foundations of the package: errors, validation, types, files, compiled programs, exact sums."""
