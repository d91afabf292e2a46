"""Random bits, and random noise with accurate tails.

A privacy loss is a ratio of tail probabilities, so inaccurate tails give wrong losses. In float32,
`jax.random.laplace` computes the logarithm of a uniform number on a grid with step 2^-23. As a
result, the draws of `jax.random.laplace` beyond 13 times the scale have only a few distinct values,
and no draw exceeds about 16 times the scale. In this module, each draw uses 63 random bits. One bit
determines the sign. The other 62 bits determine a uniform number, whose *relative* precision near 0
equals the precision of the float type. The tails of the draws are accurate even where the tail
probability is far below 1e-12.

Threefry is written in `jax.numpy` with its rounds unrolled, so that XLA can fuse it with the
logarithm and with the code that uses the draw. On CPU, the unrolled Threefry is several times
faster than the rolled loop of `jax.random`. The words that the unrolled Threefry returns are
bitwise equal to the words of jax's generator.

One Threefry call returns two words of 32 bits. An output consists of one noise term per query. The
noise terms are called the rows of the output. Each row has its own leading word, which determines
the sign and the first 31 bits. All rows of an output share one additional word, the trailing word,
which determines the remaining bits. Because of the shared word, k rows need only (k + 1) / 2 calls
to Threefry instead of k calls. When a noise term is compared with a threshold, the trailing bits
matter only if the leading words of the noise term and of the threshold are equal. Consider two
noise terms that share a trailing word, and one threshold for each term. The probability that both
terms are below their thresholds differs by at most 2^-64 from the product of the two probabilities.
If the uniform numbers of two noise terms are known to be below s, the conditional probability that
one term exceeds the other has an error of at most 2^-31 / s. Different outputs share no random
words.

In this module, call number c for an output is threefry(key, (c, position)), where the position is
the index of the output in its block. Call 0 returns the leading word of row 0 and the trailing word
of all rows; call 1 returns the leading words of rows 1 and 2; call 2 returns the leading words of
rows 3 and 4; and so on.

References:
    Salmon, Moraes, Dror, Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3":
    Threefry-2x32 with 20 rounds.
"""

import hashlib
import math
from numbers import Integral
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import DTypeLike

from dpjax.core.wording import BadType, BadValue

Word = TypeVar("Word", np.ndarray, Array)


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def _rounds(key: tuple[Word, Word], counter: tuple[Word, Word]) -> tuple[Word, Word]:
    """Compute Threefry-2x32 with 20 rounds: two words of 32 random bits per counter.

    Args:
        key: Words of the key: two uint32 arrays of NumPy or JAX.
        counter: Words of the counter: two uint32 arrays, broadcastable against the key.

    Returns:
        The random words: two uint32 arrays of the broadcast shape.

    References:
        Salmon et al. (2011), section 4.1.
    """
    schedule = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    x0, x1 = counter[0] + schedule[0], counter[1] + schedule[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation))
            x1 = x0 ^ x1
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1


# Jitted separately, so that the 120 or so operations of Threefry are traced only once.
threefry2x32 = jax.jit(_rounds)


def words_of(key: Array) -> np.ndarray:
    """Return the two words of a typed key as a host array, uint32 [2]."""
    return np.asarray(jax.random.key_data(key))


def fold_words(words: np.ndarray, data: int | np.ndarray) -> np.ndarray:
    """Compute `fold_in` from the words of keys in NumPy, so that nothing is compiled.

    It is best to fold many keys in one call: a thousand keys take about as long as one key.

    Args:
        words: Words of the keys, uint32 [..., 2].
        data: Integers in [0, 2^32) to fold into the keys, broadcastable against the keys.

    Returns:
        The two words of each new key, uint32 [..., 2], with the broadcast shape of `words` and
        `data`.
    """
    # The arithmetic wraps around on purpose; NumPy would warn of overflow for scalars.
    numbers = np.atleast_1d(np.asarray(data).astype(np.uint32))
    first, second = np.atleast_1d(words[..., 0], words[..., 1])
    found = np.stack(_rounds((first, second), (np.zeros_like(numbers), numbers)), axis=-1)
    return found.reshape(*np.broadcast_shapes(words.shape[:-1], np.shape(data)), 2)


def as_key(key: object) -> Array:
    """Create a typed Threefry key from an integer seed, or validate a given key.

    Args:
        key: An integer seed (0 <= seed < 2^64) or a scalar typed key from `jax.random.key`.

    Raises:
        TypeError: If `key` is neither an integer nor a typed key.
        ValueError: If the seed is out of range, if the key is not a scalar, or if the
            generator of the key is not Threefry.
    """
    if isinstance(key, Integral) and not isinstance(key, bool):
        seed = int(key)
        if not 0 <= seed < 2**64:
            raise BadValue(f"key must be a seed in [0, 2**64), but was {seed}.")
        # Without x64, jax.random.key would drop the upper half.
        words = jax.device_put(np.array([seed >> 32, seed & 0xFFFFFFFF], np.uint32))
        return jax.random.wrap_key_data(words, impl="threefry2x32")
    if not isinstance(key, Array) or not jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        raise BadType(
            f"key must be an integer seed or a typed key (jax.random.key(seed)), but was {key!r}."
        )
    if key.shape != ():
        raise BadValue(f"key must be a single key, but had shape {key.shape}.")
    if str(jax.random.key_impl(key)) != "threefry2x32":
        raise BadValue(
            f"key must use the threefry2x32 generator, but was {jax.random.key_impl(key)!r}: make "
            "it with jax.random.key(seed, impl='threefry2x32')."
        )
    return key


def fold_in(key: Array, data: Array | int) -> Array:
    """Compute the key that `jax.random.fold_in` returns, but without a loop."""
    # A Python integer may need all 32 bits; JAX would read it as an int32.
    return _fold_in(key, np.uint32(data) if isinstance(data, int) else data)


@jax.jit
def _fold_in(key: Array, data: Array) -> Array:
    word = data.astype(jnp.uint32)
    return jax.random.wrap_key_data(
        jnp.stack(threefry2x32(_key_words(key), (jnp.zeros_like(word), word))), impl="threefry2x32"
    )


def stable_hash(text: str) -> int:
    """Return a 32-bit hash of a string; the hash is the same in every process."""
    return int.from_bytes(hashlib.blake2s(text.encode(), digest_size=4).digest(), "big")


def sample_keys(key: Array, num_samples: int) -> Array:
    """Return independent typed keys [num_samples] for a user's function, one key per draw."""
    return jax.random.wrap_key_data(
        jnp.stack(_words(key, num_samples, 0), axis=-1), impl="threefry2x32"
    )


def words(key: Array, num_samples: int) -> tuple[Array, Array]:
    """Return two independent words of 32 random bits per position, uint32 [num_samples] each."""
    return _words(key, num_samples, 0)


def uniform(key: Array, num_samples: int, row: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Return uniform samples on (0, 1] that keep full relative precision down to 2^-63.

    Args:
        key: A scalar typed key.
        num_samples: Number of draws.
        row: Index of the noise term within each output. Noise terms in different rows are
            independent.
        dtype: float32 or float64. If `dtype` is None, jax's default float dtype is used.

    Returns:
        Uniform samples, float [num_samples].
    """
    return signed_uniform(key, num_samples, row, dtype)[1]


def signed_uniform(
    key: Array, num_samples: int, row: int = 0, dtype: DTypeLike | None = None
) -> tuple[Array, Array]:
    """Return fair bits and independent uniform samples on (0, 1]; each draw uses two random words.

    The arguments are those of `uniform`. The bits and the uniform samples have shape [num_samples]
    each.
    """
    dtype = jnp.dtype(dtype or jnp.result_type(float))
    high, low = _words(key, num_samples, row)
    # Convert through int32, since the conversion from uint32 does not vectorize on CPU.
    lead = (high >> 1).astype(jnp.int32).astype(dtype) * dtype.type(2.0**-31)
    tail = ((low >> 1).astype(jnp.int32).astype(dtype) + dtype.type(0.5)) * dtype.type(2.0**-62)
    return (high & 1) == 1, lead + tail


def exponential(
    key: Array, num_samples: int, row: int = 0, dtype: DTypeLike | None = None
) -> Array:
    """Return standard exponential samples (density e^-x); see `uniform`."""
    # Taking the magnitude of a Laplace draw lets XLA vectorize the later operations on CPU.
    return jnp.abs(laplace(key, num_samples, row, dtype))


def laplace(key: Array, num_samples: int, row: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Return standard Laplace samples (density e^-|x| / 2); see `uniform`."""
    negative, u = signed_uniform(key, num_samples, row, dtype)
    magnitude = -jnp.log(u)
    return jnp.where(negative, -magnitude, magnitude)


def normal(key: Array, num_samples: int, row: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Return standard normal samples; see `uniform`."""
    negative, u = signed_uniform(key, num_samples, row, dtype)
    magnitude = -jax.scipy.special.ndtri(u / 2)
    return jnp.where(negative, -magnitude, magnitude)


def gumbel(key: Array, num_samples: int, row: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Return standard Gumbel samples, computed as -ln of exponential samples; see `uniform`.

    Large exponential samples become the lower tail of the Gumbel distribution, and small
    exponential samples become the upper tail. Because both tails need full relative precision, one
    random bit first chooses between the two tails.
    """
    large, u = signed_uniform(key, num_samples, row, dtype)
    share = u / 2
    rest = 1 - share
    logarithm = -jnp.log(jnp.where(large, share, rest))
    # Compute log1p(-x) from the logarithm already computed: x ln(1 - x) / ((1 - x) - 1).
    small = jnp.where(rest < 1, logarithm * (share / (1 - rest)), share)
    return -jnp.log(jnp.where(large, logarithm, small))


def two_sided_geometric(
    key: Array, num_samples: int, epsilon: Array | float, row: int = 0
) -> Array:
    """Return integers k with probability (1 - a) / (1 + a) a^|k|, where a = e^-epsilon.

    The magnitude |k| is drawn by inverting P(|k| >= m) = 2 a^m / (1 + a). The arguments are those
    of `uniform`. The result is int32 [num_samples]. Magnitudes above 2^30 become 2^30, so that the
    sum of the result and a count does not overflow.
    """
    negative, u = signed_uniform(key, num_samples, row, None)
    shift = math.log(2.0) - jnp.log1p(jnp.exp(-jnp.asarray(epsilon, u.dtype)))
    magnitude = jnp.floor((shift - jnp.log(u)) / epsilon)
    magnitude = jnp.minimum(magnitude, 2.0**30).astype(jnp.int32)
    return jnp.where(negative, -magnitude, magnitude)


def _key_words(key: Array) -> tuple[Array, Array]:
    data = jax.random.key_data(key)
    return data[..., 0], data[..., 1]


def _words(key: Array, num_samples: int, row: int) -> tuple[Array, Array]:
    """Return the leading words and the trailing words of the draws, uint32 [num_samples] each."""
    position = jax.lax.iota(jnp.uint32, num_samples)

    def call(number: int) -> tuple[Array, Array]:
        return threefry2x32(_key_words(key), (jnp.full_like(position, number), position))

    own, tail = call(0)
    if row > 0:
        # XLA merges identical calls made for different rows.
        own = call((row + 1) // 2)[(row + 1) % 2]
    return own, tail


def numbers_of_process() -> dict[str, str]:
    """Return the names of jax's default float type and random generator in this process."""
    return {"dtype": str(np.dtype(jnp.result_type(float))), "generator": "threefry2x32"}
