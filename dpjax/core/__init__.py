"""Leaves that every room stands on: errors, checks, types, files, programs, numbers, noise."""
