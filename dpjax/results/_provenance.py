"""Where a result comes from: what was audited, with which seed, versions and machine."""

import platform
import subprocess
from pathlib import Path
from typing import Any

import jax
import jaxlib.version
import numpy as np
import scipy

import dpjax
from dpjax import _random


def seed_of(key: Any) -> Any:
    """An integer seed, or the words of a typed key."""
    if hasattr(key, "dtype") and jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key):
        return _random.words_of(key).tolist()
    return int(key)


def key_of(seed: Any) -> Any:
    """What `seed_of` was given: an integer seed, or a typed key of the words."""
    if isinstance(seed, int):
        return seed
    return jax.random.wrap_key_data(jax.numpy.array(seed, jax.numpy.uint32), impl="threefry2x32")


def versions() -> dict[str, str]:
    """Of dpjax and what it stands on."""
    return {
        "dpjax": dpjax.__version__,
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def device() -> str:
    """The device that computes."""
    return f"{jax.devices()[0].platform}: {jax.devices()[0].device_kind}"


def revision(package: Path = Path(__file__).parents[1]) -> str | None:
    """The commit of the clone of dpjax that a package's folder is of, or None if it is of none.

    An installed package may lie in a repository of somebody else's, which ignores or even tracks
    it: a clone of dpjax tracks it, in the folder `dpjax` of its root.
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
