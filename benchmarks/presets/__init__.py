"""Sweeps, drawing and printing of the papers' figures and tables."""
