import jax

# Strictness that users do not need but that finds mistakes: a silent [n, n] and a key used twice.
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_debug_key_reuse", True)
