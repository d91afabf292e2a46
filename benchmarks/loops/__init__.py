"""Audits of typical training loops written with jax-privacy, optax and Opacus.

`python -m benchmarks.loops` audits all programs whose library is installed. The guide
`library-loops` shows programs of this folder. A faulty loop is one of these programs with some text
replaced.
"""
