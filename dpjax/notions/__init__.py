"""Notions of privacy: the terms of a bound."""
