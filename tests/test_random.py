"""Random words equal those of Threefry and JAX, and noise has the correct tails.

The tails are tested in two ways. First, the magnitude of a sampler is a monotone function of 62
random bits. Thus bisection over these bits yields the exact probability beyond a threshold, which
is compared with the tail probability down to 1e-12. Second, 2^30 draws are counted and compared
with binomial limits. The same checks fail for float32 `jax.random.laplace`. The false-alarm
probabilities of the random parts are at most 1e-5 each, and seeds are fixed.
"""

import functools
import subprocess
import sys
import textwrap

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from dpjax.core import random

FALSE_ALARM = 1e-5
TAILS = 10.0 ** -np.arange(3, 13)
"""Probabilities 1e-3, 1e-4, ..., 1e-12."""

BLOCK = 8192


# Words and keys.


@pytest.mark.parametrize(
    ("key", "counter", "words"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry_known_answers(key, counter, words):
    """Vectors of the Random123 distribution (kat_vectors, threefry2x32, 20 rounds)."""
    key, counter = (tuple(jnp.uint32(w) for w in pair) for pair in (key, counter))
    assert tuple(int(w) for w in random.threefry2x32(key, counter)) == words


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 1])
def test_keys_and_words_are_jaxs_own(seed):
    ours, theirs = random.as_key(seed), jax.random.key(seed, impl="threefry2x32")
    assert ours == theirs
    for data in (0, 1, 123_456, 2**32 - 1):
        assert random.fold_in(ours, np.uint32(data)) == jax.random.fold_in(theirs, np.uint32(data))
    with jax.threefry_partitionable(True):
        words, own, jaxs = words_of_key(ours)
    assert words.shape == (5, 2) and len(np.unique(words)) == 10
    np.testing.assert_array_equal(own, jaxs)


@jax.jit
def words_of_key(key):
    """Return the words of five samples, and seven words by the two ciphers."""
    words = jax.vmap(lambda k: jax.random.bits(k, (2,)))(random.sample_keys(key, 5))
    # jax.random.bits runs the same cipher on counters (0, i).
    first, second = random.threefry2x32(
        tuple(jax.random.key_data(key)),
        (jnp.zeros(7, jnp.uint32), jnp.arange(7, dtype=jnp.uint32)),
    )
    return words, first ^ second, jax.random.bits(jax.random.clone(key), (7,))


def test_as_key_keeps_both_halves_of_a_seed():
    low, high = random.as_key(7), random.as_key(7 + 2**32)
    assert jax.random.key_data(high).tolist() == [1, 7]
    assert low != high
    assert random.as_key(low) is low
    assert random.as_key(np.int64(7)) == low


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (-1, ValueError, r"seed in \[0, 2\*\*64\), but was -1"),
        (2**64, ValueError, r"seed in \[0, 2\*\*64\)"),
        (1.0, TypeError, "integer seed or a typed key .* but was 1.0"),
        (True, TypeError, "but was True"),
        ("7", TypeError, "but was '7'"),
        (np.zeros(2, np.uint32), TypeError, "integer seed or a typed key"),
        (lambda: jax.random.split(jax.random.key(0)), ValueError, r"single key.*\(2,\)"),
        (lambda: jax.random.key(0, impl="rbg"), ValueError, "threefry2x32.*rbg"),
    ],
)
def test_as_key_refuses(bad, error, message):
    with pytest.raises(error, match=message):
        random.as_key(bad() if callable(bad) else bad)


def test_stable_hash_is_stable():
    assert random.stable_hash("laplace/0.7") == random.stable_hash("laplace/0.7")
    assert random.stable_hash("a") == 0x170EA7D9
    assert len({random.stable_hash(str(i)) for i in range(2000)}) == 2000


# The exact map from bits to noise.


def words_of(integers, bit):
    """Return two words whose 62 bits of magnitude are `integers` and whose sign bit is `bit`."""
    high = (integers >> 31).astype(np.uint32) << 1 | np.uint32(bit)
    low = (integers & (2**31 - 1)).astype(np.uint32) << 1
    return high, low


def draw_from(sampler, integers, bit):
    """Return the output of a sampler for given words, in batches of the size of one program."""
    size = 4096
    filled = np.resize(integers, -(-len(integers) // size) * size).reshape(-1, size)
    draws = [compiled(sampler)(*words_of(part, bit)) for part in filled]
    return np.concatenate(draws)[: len(integers)].astype(np.float64)


@functools.cache
def compiled(sampler):
    """Return a sampler as a compiled function of the words that it draws."""

    @jax.jit
    def draw(*words):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(random, "_words", lambda key, num_samples, row: words)
            return sampler(jax.random.key(0, impl="threefry2x32"), len(words[0]))

    return draw


def measure_beyond(sampler, thresholds, bit, side):
    """Return the fraction of all 2^62 magnitudes with side * noise >= threshold, for each."""
    inside = np.full(len(thresholds), -1, np.int64)
    outside = np.full(len(thresholds), 2**62, np.int64)
    while np.any(outside - inside > 1):
        middle = inside + (outside - inside) // 2
        beyond = side * draw_from(sampler, middle, bit) >= thresholds
        inside, outside = np.where(beyond, middle, inside), np.where(beyond, outside, middle)
    return (inside + 1) / 2**62


def geometric(key, num_samples):
    return random.two_sided_geometric(key, num_samples, 0.7)


SAMPLERS = {
    # name: (sampler, sign bit, side, weight of the bit, exact law)
    "laplace-upper": (random.laplace, 0, 1, 0.5, stats.laplace),
    "laplace-lower": (random.laplace, 1, -1, 0.5, stats.laplace),
    "normal-upper": (random.normal, 0, 1, 0.5, stats.norm),
    "normal-lower": (random.normal, 1, -1, 0.5, stats.norm),
    "gumbel-upper": (random.gumbel, 0, 1, 0.5, stats.gumbel_r),
    "gumbel-lower": (random.gumbel, 1, -1, 0.5, stats.gumbel_r),
    "exponential-even": (random.exponential, 0, 1, 1, stats.expon),
    "exponential-odd": (random.exponential, 1, 1, 1, stats.expon),
    "geometric-upper": (geometric, 0, 1, 0.5, stats.dlaplace(0.7)),
    "geometric-lower": (geometric, 1, -1, 0.5, stats.dlaplace(0.7)),
    "uniform-lower": (random.uniform, 0, -1, 1, stats.uniform),
}


def thresholds_of(law, side):
    """Return thresholds with about the probabilities TAILS, and their exact probabilities."""
    thresholds = law.isf(TAILS) if side > 0 else -law.ppf(TAILS)
    if hasattr(law, "pmf") or hasattr(getattr(law, "dist", None), "pmf"):
        # P(K >= m), which is equal on both sides.
        return thresholds, law.sf(thresholds - 1)
    return thresholds, TAILS


@pytest.mark.parametrize("name", SAMPLERS)
def test_tail_probabilities_are_exact_to_1e_12(name):
    sampler, bit, side, weight, law = SAMPLERS[name]
    thresholds, expected = thresholds_of(law, side)
    assert expected.min() < 2e-12
    actual = weight * measure_beyond(sampler, thresholds, bit, side)
    np.testing.assert_allclose(actual, expected, rtol=1e-4)


@pytest.mark.parametrize("name", SAMPLERS)
def test_magnitudes_are_monotone_in_their_bits(name):
    """The bisection relies on this. Test random positions of all sizes and their neighbors."""
    sampler, bit, side, _, _ = SAMPLERS[name]
    rng = np.random.default_rng(3)
    places = (2.0 ** rng.uniform(0, 62, 20_000)).astype(np.int64)
    places = np.clip(np.concatenate([places, places + 1, places + 2**31]), 0, 2**62 - 1)
    values = side * draw_from(sampler, np.sort(places), bit)
    assert np.all(np.isfinite(values))
    # The normal quantile varies by a few units in the last place, which changes a tail probability
    # by much less than a factor of 1e-4.
    assert np.all(np.diff(values) <= 1e-6 * np.abs(values[1:]))


def test_the_tail_check_rejects_noise_that_is_slightly_wrong():
    thresholds, expected = thresholds_of(stats.laplace, 1)

    def wide(key, num_samples):
        return 1.02 * random.laplace(key, num_samples)

    actual = 0.5 * measure_beyond(wide, thresholds, 0, 1)
    assert np.all(np.abs(actual / expected - 1) > 0.1)


def every_jax_laplace():
    """Return float32 jax.random.laplace for all 2^23 uniforms from which it can start."""

    def all_words(key, bit_width, shape):
        assert bit_width == 32 and shape == (2**23,)
        return jax.lax.iota(jnp.uint32, 2**23) << 9

    counting = jax.extend.random.define_prng_impl(
        key_shape=(1,),
        seed=lambda seed: jnp.zeros(1, jnp.uint32),
        split=lambda key, shape: jnp.broadcast_to(key, (*shape, 1)),
        random_bits=all_words,
        fold_in=lambda key, data: key,
        name="counting",
    )
    key = jax.random.key(0, impl=counting)
    return np.asarray(jax.random.laplace(key, (2**23,), jnp.float32), np.float64)


def test_the_tail_check_fails_for_jax_random_laplace():
    draws = every_jax_laplace()
    thresholds, expected = thresholds_of(stats.laplace, 1)
    for side in (1, -1):
        far = side * draws[side * draws >= thresholds[0]]
        actual = np.sum(far >= thresholds[:, None], axis=1) / len(draws)
        error = np.abs(actual / expected - 1)
        assert error[0] < 1e-3, "the enumeration matches the distribution"
        assert error[expected < 1e-7].min() > 0.1
        assert np.all(actual[expected < 1e-8] == 0), "no draw is beyond 17 scales"
    assert len(np.unique(draws[draws > 13])) <= 20


# Counting.


def stream(sampler, num_samples, thresholds, seed):
    """Return counts beyond each threshold on both sides, and the largest draw of every block."""
    key = random.as_key(seed)

    def step(counts, block):
        x = sampler(random.fold_in(key, block), BLOCK)
        above = [jnp.sum(x >= t, dtype=jnp.int32) for t in thresholds]
        below = [jnp.sum(x <= -t, dtype=jnp.int32) for t in thresholds]
        return counts + jnp.stack(above + below), jnp.max(x)

    start = jnp.zeros(2 * len(thresholds), jnp.int32)
    blocks = jnp.arange(num_samples // BLOCK, dtype=jnp.int32)
    counts, largest = jax.jit(lambda: jax.lax.scan(step, start, blocks))()
    return np.asarray(counts).reshape(2, -1), np.asarray(largest)


def smallest_p_value(counts, num_samples, probabilities):
    return min(
        stats.binomtest(int(c), num_samples, p).pvalue
        for row in counts
        for c, p in zip(row, probabilities, strict=True)
    )


@pytest.mark.slow
def test_a_billion_laplace_draws():
    num_samples = 2**30
    probabilities = np.array([1e-5, 1e-7, 1e-8, 1e-9])
    thresholds = [float(t) for t in stats.laplace.isf(probabilities)]
    counts, largest = stream(random.laplace, num_samples, thresholds, seed=11)
    # There are eight p-values, so each gets an eighth of the false-alarm probability.
    assert smallest_p_value(counts, num_samples, probabilities) > FALSE_ALARM / 8
    # Beyond 13 scales, there is no lattice: nearly every draw has a different value.
    far = largest[largest > 13]
    assert len(far) > 1000 and len(np.unique(far)) > 0.99 * len(far)


@pytest.mark.slow
def test_the_lattice_of_jax_random_laplace_is_seen():
    _, largest = stream(lambda key, n: jax.random.laplace(key, (n,)), 2**26, [13.0], seed=11)
    far = largest[largest > 13]
    assert len(far) > 30 and len(np.unique(far)) < 0.5 * len(far)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sampler", "law"),
    [
        (random.exponential, stats.expon),
        (random.normal, stats.norm),
        (geometric, stats.dlaplace(0.7)),
    ],
)
def test_many_draws_of_other_noises(sampler, law):
    num_samples = 2**26
    thresholds, probabilities = thresholds_of(law, 1)
    keep = probabilities > 5e-8
    thresholds, probabilities = thresholds[keep], probabilities[keep]
    counts, _ = stream(sampler, num_samples, [float(t) for t in thresholds], seed=12)
    if law is stats.expon:
        assert not counts[1].any()
        counts = counts[:1]
    p_value = smallest_p_value(counts, num_samples, probabilities)
    assert p_value > FALSE_ALARM / counts.size


@pytest.mark.parametrize("name", ["laplace", "normal", "gumbel", "exponential", "uniform"])
def test_bulk_of_the_law(name):
    """Kolmogorov-Smirnov accepts the distribution and rejects a scale that is wrong by 2%."""
    law = {
        "laplace": stats.laplace,
        "normal": stats.norm,
        "gumbel": stats.gumbel_r,
        "exponential": stats.expon,
        "uniform": stats.uniform,
    }[name]
    sample = jax.jit(getattr(random, name), static_argnums=1)
    draws = np.asarray(sample(random.as_key(5), 2**18), np.float64)
    # Use the limit distribution; for many draws, it agrees with the exact one and is faster.
    assert stats.kstest(draws, law.cdf, method="asymp").pvalue > FALSE_ALARM
    assert stats.kstest(1.02 * draws, law.cdf, method="asymp").pvalue < FALSE_ALARM


@pytest.mark.parametrize("epsilon", [0.2, 0.7, 3.0])
def test_bulk_of_the_geometric(epsilon):
    sample = jax.jit(random.two_sided_geometric, static_argnums=1)
    draws = np.asarray(sample(random.as_key(5), 2**20, epsilon))
    assert draws.dtype == np.int32

    def p_value(epsilon):
        law = stats.dlaplace(epsilon)
        reach = int(law.isf(1e-3))
        inside = np.arange(-reach, reach + 1)
        expected = np.append(law.pmf(inside), 2 * law.sf(reach)) * len(draws)
        counts = [*(np.sum(draws == k) for k in inside), np.sum(np.abs(draws) > reach)]
        return stats.chisquare(counts, expected).pvalue

    assert p_value(epsilon) > FALSE_ALARM
    assert p_value(1.03 * epsilon) < FALSE_ALARM


def test_words_of_rows():
    """Each row starts with a different word; the other words of all rows are one sequence."""
    key, size = random.as_key(9), 500
    draw = jax.jit(lambda key: [random._words(key, size, row) for row in range(7)])
    rows = [[np.asarray(w) for w in words] for words in draw(key)]
    assert all(np.array_equal(tail, rows[0][1]) for _, tail in rows)
    keys = jax.random.key_data(random.sample_keys(key, size)).T
    for words in (random.words(key, size), keys):
        np.testing.assert_array_equal(words, rows[0])
    taken = np.concatenate([rows[0][1], *(lead for lead, _ in rows)])
    position = jnp.arange(size, dtype=jnp.uint32)
    calls = [
        random.threefry2x32(tuple(jax.random.key_data(key)), (jnp.full_like(position, c), position))
        for c in range(4)
    ]
    np.testing.assert_array_equal(np.sort(taken), np.sort(np.ravel(calls)))


def test_rows_share_calls_in_a_compiled_program():
    """Five rows need three calls, and at most 3 / 5 of the operations of five keys."""

    def operations(draw):
        text = jax.jit(draw).lower(random.as_key(0)).compile().as_text()
        return text.count(" xor(")

    def rows(key):
        return sum(random.laplace(key, 1024, row) for row in range(5))

    def keys(key):
        return sum(random.laplace(random.fold_in(key, row), 1024) for row in range(5))

    assert 60 <= operations(rows) <= 70 and operations(keys) > 5 * 20


@pytest.fixture(scope="module")
def uniform_rows():
    """Return a map from each row to 2^21 uniforms of one key."""
    rows = (0, 1, 2, 3, 9)
    draw = jax.jit(lambda key: [random.uniform(key, 2**21, row) for row in rows])
    return dict(zip(rows, map(np.asarray, draw(random.as_key(77))), strict=True))


@pytest.mark.parametrize("rows", [(0, 1), (1, 2), (2, 3), (0, 9)])
@pytest.mark.parametrize("bits", [(0, 5), (3, 9), (9, 30)])
def test_pairs_of_rows_in_the_corners(uniform_rows, rows, bits):
    """The rows are below 2^-a and 2^-b as often as independent rows; false-alarm rate 1e-6 each."""
    inside = [uniform_rows[row] < 2.0**-bit for row, bit in zip(rows, bits, strict=True)]
    count, mean = int(np.sum(inside[0] & inside[1])), 2**21 * 2.0 ** -sum(bits)
    assert stats.poisson.cdf(count, mean) > 5e-7 and stats.poisson.sf(count - 1, mean) > 5e-7


def test_rows_positions_and_keys_are_independent():
    """Correlations between adjacent streams are within 4.9 standard errors (1e-6 each)."""
    size = 200_000
    key = random.as_key(21)
    laplace = jax.jit(random.laplace, static_argnums=(1, 2))
    rows = jax.jit(lambda key: [random.laplace(key, size, row) for row in (0, 1, 2, 3, 20)])
    first, base, *others = map(np.asarray, rows(key))
    other = {
        "row": first,
        **dict(zip(("row of the same call", "next row", "far row"), others, strict=True)),
        "key": laplace(random.as_key(22), size, 1),
        "block": laplace(random.fold_in(key, 0), size, 1),
        "next block": laplace(random.fold_in(key, 1), size, 1),
        "position": np.roll(base, 1),
    }
    for what, values in other.items():
        values = np.asarray(values)
        for transform in (lambda x: x, np.abs, lambda x: np.abs(x) > 3):
            correlation = np.corrcoef(transform(base), transform(values))[0, 1]
            assert abs(correlation) * np.sqrt(size) < 4.9, what


@pytest.mark.slow
def test_float64_where_jax_is_told_so():
    code = """
        import jax
        jax.config.update("jax_enable_x64", True)
        import numpy as np
        from scipy import stats
        from dpjax.core import random
        key = random.as_key(3)
        assert key == jax.random.key(3, impl="threefry2x32")
        for name, law in (("laplace", stats.laplace), ("normal", stats.norm),
                          ("gumbel", stats.gumbel_r), ("exponential", stats.expon)):
            def both(key):
                draw = getattr(random, name)
                return draw(key, 50_000), draw(key, 50_000, dtype=np.float32)
            draws, single = jax.jit(both)(key)
            assert draws.dtype == np.float64, name
            assert stats.kstest(np.asarray(draws), law.cdf).pvalue > 1e-5, name
            assert single.dtype == np.float32
            np.testing.assert_allclose(draws, single, rtol=2e-5, atol=2e-6)
    """
    subprocess.run([sys.executable, "-W", "error", "-c", textwrap.dedent(code)], check=True)


@pytest.mark.parametrize("draw", [random.laplace, random.normal, random.gumbel, random.exponential])
def test_the_first_row_is_drawn_unless_another_is_named(draw):
    key = random.as_key(3)
    first, again, other = draw(key, 9), draw(key, 9, 0), draw(key, 9, 1)
    np.testing.assert_array_equal(first, again)
    assert not np.any(first == other)
