"""Training loops as users of jax-privacy, optax and Opacus write them, audited with dpjax.

`python -m benchmarks.loops` runs all whose library is installed. The programs of this folder are
those of the guide `library-loops`; a wrong loop is a program with a few words replaced.
"""
