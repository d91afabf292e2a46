"""Time draws of noise that are summed immediately: dpjax, jax.random and NumPy.

The quality of a draw depends on its tails. Therefore, each entry states the smallest tail
probability that the generator can reproduce, which follows from the number of random bits that
enter the logarithm. jax.random uses 23 bits of one word in float32 (for Gumbel noise, in the
default mode) and 52 bits in float64. NumPy's Generator uses 53 bits. dpjax uses 63 bits in both
types.
"""

from collections.abc import Callable, Iterable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.speed.harness import Contender, Goal, Timing, by_name, measure, ratio
from dpjax.core import random

_LANES, _BLOCK = 16, 2**16
"""Number of parallel streams, which let a program use all cores, and of draws per call.

The sum over blocks limits the memory to one block.
"""

_TARGET = 5.0

NOISES = {
    "laplace": (random.laplace, jax.random.laplace, np.random.Generator.laplace),
    "exponential": (random.exponential, jax.random.exponential, np.random.Generator.exponential),
    "gumbel": (random.gumbel, jax.random.gumbel, np.random.Generator.gumbel),
    "normal": (random.normal, jax.random.normal, np.random.Generator.normal),
}
"""Map from a kind of noise to the samplers of dpjax, JAX and NumPy."""


def run(
    *, quick: bool = False, names: Iterable[str] = tuple(NOISES)
) -> tuple[list[Timing], list[Goal]]:
    """Return timings and goals.

    Args:
        quick: Whether to use fewer draws and rounds.
        names: Keys of `NOISES`.
    """
    blocks = 1 if quick else 20
    entries, goals = [], []
    for name in names:
        ours, jax_sampler, numpy_sampler = NOISES[name]
        key, rng = jax.random.key(0), np.random.default_rng(0)
        single = _summed(lambda k, n, draw=jax_sampler: draw(k, (n,), jnp.float32), blocks)
        double = _summed(lambda k, n, draw=jax_sampler: draw(k, (n,), jnp.float64), blocks)
        dpjax_sum = _summed(lambda k, n, draw=ours: draw(k, n), blocks)
        size = blocks * _LANES * _BLOCK
        timed = measure(
            "noise",
            name,
            {
                "dpjax": Contender(partial(dpjax_sum, key), size, _tail(63)),
                "jax.random, float32": Contender(partial(single, key), size, _tail(23)),
                "jax.random, float64": Contender(partial(_in_x64, double, key), size, _tail(52)),
                "NumPy Generator": Contender(
                    partial(_numpy_sum, numpy_sampler, rng, blocks), size, _tail(53)
                ),
            },
            unit="draw",
            rounds=3 if quick else 7,
        )
        entries += timed
        named = by_name(timed)
        if name != "normal":
            speedup = ratio(named["jax.random, float32"], named["dpjax"])
            goals.append(
                Goal("noise", f"{name}: times faster than jax.random float32", speedup, _TARGET)
            )
    return entries, goals


def _tail(bits: int) -> dict[str, float]:
    return {"smallest tail probability": 2.0**-bits}


def _summed(draw: Callable, blocks: int) -> Callable:
    @jax.jit
    def total(key):
        def step(block, carry):
            keys = jax.vmap(lambda lane: random.fold_in(key, block * _LANES + lane))(lanes)
            return carry + jax.vmap(lambda k: jnp.sum(draw(k, _BLOCK)))(keys)

        lanes = jnp.arange(_LANES, dtype=jnp.int32)
        return jax.lax.fori_loop(
            np.int32(0), np.int32(blocks), step, jnp.zeros(_LANES, jnp.result_type(float))
        )

    return total


def _in_x64(call: Callable, key: jax.Array) -> jax.Array:
    with jax.enable_x64(True):
        return call(key)


def _numpy_sum(draw: Callable, rng: np.random.Generator, blocks: int) -> float:
    # Use shorter blocks than for JAX, because NumPy stores its draws, and these blocks fit into the
    # cache.
    part = 2**15
    return sum(float(np.sum(draw(rng, size=part))) for _ in range(blocks * _LANES * _BLOCK // part))
