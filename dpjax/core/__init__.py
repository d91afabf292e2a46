"""Leaves of the package: errors, checks, types, files, compiled programs, exact sums, noise."""
