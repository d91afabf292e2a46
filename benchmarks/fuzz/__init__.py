"""Mutated inputs of every kind: results equal to a trusted parse, or dpjax's own errors."""
