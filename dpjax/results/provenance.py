"""The origin of a result: seed, versions and machine."""

import hashlib
import platform
import subprocess
from functools import lru_cache
from pathlib import Path

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
import scipy
from jax import Array

from dpjax.core import random
from dpjax.core.types import Device
from dpjax.core.version import __version__

DECISIVE = ("dpjax", "jax", "jaxlib")
"""Packages whose versions determine the draws bit for bit."""

_PROBED = 1024
"""Number of values that are computed to identify the kind of a processor."""


Key = int | Array
"""An integer seed or a typed JAX key."""


def seed_of(key: Key) -> int | list[int]:
    """Return an integer seed unchanged; for a typed key, return the list of its words."""
    if isinstance(key, Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        return random.words_of(key).tolist()
    return int(key)


def key_of(seed: int | list[int]) -> Key:
    """Invert `seed_of`: return an integer seed unchanged, or rebuild a typed key from its words."""
    if isinstance(seed, int):
        return seed
    return jax.random.wrap_key_data(jnp.array(seed, jnp.uint32), impl="threefry2x32")


def versions() -> dict[str, str]:
    """Return the versions of dpjax and its dependencies."""
    return {
        "dpjax": __version__,
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def device() -> str:
    """Return the name of the device on which jax computes by default."""
    return f"{jax.devices()[0].platform}: {jax.devices()[0].device_kind}"


@lru_cache(maxsize=8)
def processor(device: Device = None) -> str:
    """Return the kind of a device, followed by a digest of test computations.

    If `processor` returns the same string for two devices, the devices give bitwise equal results.
    On other devices, the last bits of floats may differ, for example because some processors fuse
    multiplication and addition. The digest covers the operations of sweeps: noise, elementary
    functions, products and sums.

    Args:
        device: JAX device. If `device` is None, the first device of the process is used.
    """
    device = jax.local_devices()[0] if device is None else device
    numbers = np.linspace(0.1, 9.9, _PROBED)
    with jax.default_device(device):
        found = jax.device_get(_probe(np.array([1, 2], np.uint32), jnp.asarray(numbers)))
    digest = hashlib.sha256(b"".join(np.asarray(values).tobytes() for values in found))
    return f"{device.device_kind} {digest.hexdigest()[:8]}"


@jax.jit
def _probe(words: Array, x: Array) -> list[Array]:
    noise = random.laplace(jax.random.wrap_key_data(words, impl="threefry2x32"), _PROBED)
    bumps = jnp.exp(-0.5 * noise * noise) * x + jnp.log(x)
    functions = jnp.exp(-x), jnp.log(x), jnp.log1p(x), jnp.sin(x), jnp.sqrt(x)
    return [noise, *functions, noise / x, x * x + noise, jnp.sum(bumps), jnp.mean(noise)]


def revision(package: Path = Path(__file__).parents[1]) -> str | None:
    """Return the current commit if the package's folder belongs to a clone of dpjax, else None.

    A repository is considered a clone of dpjax only if it tracks the package in the folder `dpjax`
    at its root.
    """

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(package), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")
        in_root = git("rev-parse", "--show-prefix") == "dpjax/"
        return git("rev-parse", "HEAD") if in_root else None
    except (OSError, subprocess.SubprocessError):
        return None
