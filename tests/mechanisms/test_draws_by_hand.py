"""Draws of built-in mechanisms against loops over single draws, from the same noise.

Noise in row r of a draw is that of `dpjax.core.random`. A changed sign or row would give the same
law, but other draws: results that were stored before could not be computed again.
"""

import math
import re
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import random
from dpjax.mechanisms import CATALOGUE

SIZE = 60
KEY = jax.random.key(5)


def noise(kind, key=KEY):
    """Return a function from a row to draws of one kind of noise."""

    @cache
    def of_row(row, *more):
        return np.asarray(getattr(random, kind)(key, SIZE, *more, row), float)

    return of_row


laplace, gumbel, uniform = noise("laplace"), noise("gumbel"), noise("uniform")


def drawn(name, database, **parameters):
    found = CATALOGUE[name](**parameters).sample(KEY, np.asarray(database), SIZE)
    return np.asarray(found)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.slow
def test_added_noise():
    close(drawn("laplace", 3.0, epsilon=2.0), 3 + laplace(0) / 2)
    close(drawn("noisy-histogram-1", 3.0, epsilon=2.0), 3 + laplace(0) / 2)
    close(drawn("noisy-histogram-2", 3.0, epsilon=2.0), 3 + laplace(0) * 2)
    close(drawn("gaussian", 3.0, sigma=2.0), 3 + 2 * noise("normal")(0))
    found = drawn("two-sided-geometric", 3, epsilon=0.5)
    np.testing.assert_array_equal(found, 3 + random.two_sided_geometric(KEY, SIZE, 0.5))
    assert found.dtype == np.int32
    # 2 / epsilon = 4 is a power of two: k = 2, and the base is 1 + 2^-2.
    added = np.asarray(random.two_sided_geometric(KEY, SIZE, math.log1p(0.25)))
    for count in (0, 3, 5):
        found = drawn("truncated-geometric", count, epsilon=0.5, largest_count=5)
        np.testing.assert_array_equal(found, np.clip(count + added, 0, 5))
    added = np.asarray(random.two_sided_geometric(KEY, SIZE, math.log1p(0.125)))
    found = drawn("truncated-geometric", 3, epsilon=0.499, largest_count=5)
    np.testing.assert_array_equal(found, np.clip(3 + added, 0, 5))


@pytest.mark.parametrize("epsilon, step", [(1.0, 2.0), (0.7, 2.0), (3.0, 0.5)])
def test_snapped_noise(epsilon, step):
    for database, bound in ((0.25, 1024.0), (5.0, 3.0), (-9.0, 3.0)):
        found = drawn("snapped-laplace", database, epsilon=epsilon, bound=bound)
        noisy = np.clip(database, -bound, bound) + laplace(0) / epsilon
        last = math.ceil(bound / step)
        np.testing.assert_array_equal(found, np.clip(np.round(noisy / step), -last, last))


def test_discrete_gaussian_noise():
    sigma, largest = 1.5, 20
    magnitudes = np.arange(1, largest + 1)
    mass = 2 * np.exp(-((magnitudes / sigma) ** 2) / 2)
    tails = mass[::-1].cumsum()[::-1] / (1 + mass.sum())  # P(|k| >= m)
    negative, u = map(np.asarray, random.signed_uniform(KEY, SIZE))
    size = (tails >= u[:, None]).sum(axis=1)
    expected = 4 + np.where(negative, -size, size)
    found = drawn("discrete-gaussian", 4, sigma=sigma, largest_noise=largest)
    np.testing.assert_array_equal(found, expected)


def test_vectors():
    noises = np.stack([laplace(row) for row in range(3)], axis=1)
    close(drawn("parallel-laplace", 2.0, epsilon=0.5), 2 + noises / 0.5)
    answers = np.array([1.0, 5.0, -2.0])
    close(drawn("prefix-sum", answers, epsilon=0.5), np.cumsum(answers + noises / 0.5, axis=1))
    found = drawn("summed-histogram-encoding", 1, epsilon=0.5)
    close(found, np.array([0, 1, 0]) + 4 * noises)


NOISY_MAX = {  # Kind of noise, scale at epsilon = 1 for k queries, and reported values.
    "report-noisy-max": ("laplace", lambda k: 2, "index"),
    "report-noisy-max-2": ("exponential", lambda k: 2, "index"),
    "report-noisy-max-3": ("laplace", lambda k: 2, "value"),
    "report-noisy-max-4": ("exponential", lambda k: 2, "value"),
    "continuous-noisy-max": ("laplace", lambda k: k, "value"),
    "finite-exponential": ("gumbel", lambda k: 2, "index"),
    "half-noise-max": ("gumbel", lambda k: 1, "index"),
}


@pytest.mark.parametrize("name", NOISY_MAX)
def test_noisy_maxima(name):
    kind, scale, told = NOISY_MAX[name]
    answers = np.array([0.5, 0.0, 1.0, 0.25])
    noisy = [a + scale(4) / 2 * noise(kind)(row) for row, a in enumerate(answers)]
    found = drawn(name, answers, epsilon=2.0, num_queries=4)
    if told == "index":
        np.testing.assert_array_equal(found, np.argmax(noisy, axis=0))
    else:
        close(found, np.max(noisy, axis=0))
    level = {"report-noisy-max-3": 4.0, "report-noisy-max-4": math.inf, "half-noise-max": 4.0}
    made = CATALOGUE[name](epsilon=2.0, num_queries=4)
    assert made.level == level.get(name, 2.0)


@pytest.mark.slow
def test_permute_and_flip():
    scores = np.array([0.5, 3.0, 1.0])
    chances = np.exp(0.5 * (scores - 3) / 2)
    expected = []
    for k in range(SIZE):
        times = sorted((uniform(row)[k], row) for row in range(3))
        expected.append(next(i for _, i in times if uniform(3 + i)[k] <= chances[i]))
    assert len({*expected}) == 3
    found = drawn("permute-and-flip", scores, epsilon=0.5, num_queries=3)
    np.testing.assert_array_equal(found, expected)


SVT = {  # Scales of the threshold, of the queries and of a new threshold; whether it stops.
    "svt1": (lambda c: (2, 4 * c, 0), True), "svt2": (lambda c: (2 * c, 4 * c, 2 * c), True),
    "svt4": (lambda c: (4, 4 / 3, 0), True), "svt5": (lambda c: (2, 0, 0), False),
    "svt6": (lambda c: (2, 2, 0), False),
}  # fmt: skip
ANSWERS = np.array([0.0, 2.0, 1.0, 3.0, -1.0])


@pytest.mark.parametrize(
    ("name", "draws"), [("svt3", 11), ("numerical-svt", 12), ("svt3-svt4", 22)]
)
def test_labels_with_numbers_are_drawn_once_and_written_by_columns(name, draws):
    """XLA on a CPU would otherwise draw numbers again for each column, or one output at a time."""
    if jax.default_backend() != "cpu":
        pytest.skip("other devices write both columns at once")
    mechanism, size = CATALOGUE[name](), 8192
    sample = jax.jit(lambda key, database: mechanism.sample(key, database, size))
    compiled = sample.lower(random.as_key(1), jnp.zeros(10)).compile()
    assert compiled.cost_analysis()["transcendentals"] == draws * size
    joined = re.findall(r"concatenate\(.*dimensions=\{(\d)\}", compiled.as_text())
    assert joined and set(joined) == {"0"}


@pytest.mark.parametrize("name, most", [*((name, 1) for name in SVT), ("svt1", 2), ("svt2", 3),
                                        ("svt4", 2)])  # fmt: skip
def test_sparse_vectors(name, most):
    scales, stops = SVT[name]
    first, query, again = scales(most)
    expected = []
    for draw in range(SIZE):
        bar, found = 0.5 + first / 0.8 * laplace(0)[draw], []
        for i, answer in enumerate(ANSWERS):
            if answer + query / 0.8 * laplace(i + 1)[draw] >= bar:
                found.append(i)
                if again:
                    bar = 0.5 + again / 0.8 * laplace(6 + i)[draw]
                if stops and len(found) == most:
                    break
        if stops and most == 1:
            expected.append(found[0] if found else 5)
        else:
            expected.append(sum(2**i for i in found))
    more = {"max_positives": most} if most > 1 else {}
    found = drawn(name, ANSWERS, epsilon=0.8, threshold=0.5, num_queries=5, **more)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "name, first, query, told", [("svt3", 2, 2, 0), ("numerical-svt", 3, 6, 3)]
)
def test_sparse_vectors_that_tell_a_number(name, first, query, told):
    expected = np.zeros((SIZE, 2))
    for draw in range(SIZE):
        bar = 0.5 + first / 0.8 * laplace(0)[draw]
        noisy = [a + query / 0.8 * laplace(i + 1)[draw] for i, a in enumerate(ANSWERS)]
        i = next((i for i, value in enumerate(noisy) if value >= bar), 5)
        fresh = told / 0.8 * laplace(6)[draw]
        number = 0.0 if i == 5 else ANSWERS[i] + fresh if told else noisy[i]
        expected[draw] = i, number
    close(drawn(name, ANSWERS, epsilon=0.8, threshold=0.5, num_queries=5), expected)


def test_two_variants_with_independent_noise():
    both = CATALOGUE["svt3-svt4"](epsilon=0.8, threshold=0.5, num_queries=5)
    third = CATALOGUE["svt3"](epsilon=0.8, threshold=0.5, num_queries=5)
    fourth = CATALOGUE["svt4"](epsilon=0.8, threshold=0.5, num_queries=5)
    one = np.asarray(third.sample(random.fold_in(KEY, 3), ANSWERS, SIZE))
    other = np.asarray(fourth.sample(random.fold_in(KEY, 4), ANSWERS, SIZE))
    expected = np.stack([one[:, 0] * 6 + other, one[:, 1]], axis=1)
    close(np.asarray(both.sample(KEY, ANSWERS, SIZE)), expected)
    assert both.level == pytest.approx(0.8 * (5 / 2 + 7 / 4)) and both.output_space.num_labels == 36


def bits_of(columns):
    return sum(2**i * np.asarray(column, int) for i, column in enumerate(columns))


def response(u, truth, epsilon, k):
    """Return each other category with probability 1 / (k - 1 + e^epsilon), else the true one."""
    step = math.ceil(u * (k - 1 + math.exp(epsilon)))
    return (truth + step) % k if step <= k - 1 else truth


def test_responses():
    for k, truth in ((2, 1), (5, 3)):
        found = drawn("randomized-response", truth, epsilon=0.7, num_categories=k)
        expected = [response(u, truth, 0.7, k) for u in uniform(0)]
        np.testing.assert_array_equal(found, expected)
    for database in (0, 1):
        found = drawn("two-point", database, log_rarity=0.5, ratio=1.0)
        np.testing.assert_array_equal(found, noise("exponential")(0) > 0.5 + database)


def test_unary_encodings():
    odds = math.exp(0.4)
    chances = {
        "symmetric-unary-encoding": (odds / (1 + odds), 1 / (1 + odds)),
        "optimized-unary-encoding": (0.5, 1 / (1 + math.exp(0.8))),
    }
    for name, (own, other) in chances.items():
        expected = bits_of(uniform(i) <= (own if i == 2 else other) for i in range(4))
        np.testing.assert_array_equal(drawn(name, 2, epsilon=0.8), expected)
    noisy = [(i == 2) + 2 / 0.8 * laplace(i) for i in range(4)]
    for threshold in (0.6, 0.9):
        found = drawn("thresholded-histogram-encoding", 2, epsilon=0.8, threshold=threshold)
        np.testing.assert_array_equal(found, bits_of(value > threshold for value in noisy))


def test_local_hashing():
    digits = [np.ceil(uniform(i) * 3).astype(int) - 1 for i in range(4)]
    function = sum(digit * 3**i for i, digit in enumerate(digits))
    answers = [response(u, bucket, 0.8, 3) for u, bucket in zip(uniform(4), digits[2], strict=True)]
    found = drawn("local-hashing", 2, epsilon=0.8, num_buckets=3)
    np.testing.assert_array_equal(found, function * 3 + answers)
    assert CATALOGUE["local-hashing"].optimized(1.5).num_buckets == 5  # e^1.5 = 4.48
    assert CATALOGUE["local-hashing"].binary(1.5).num_buckets == 2


@pytest.mark.slow
def test_subset_selection():
    weight = 2 * math.exp(0.8)
    expected = []
    for draw in range(SIZE):
        inside = uniform(6)[draw] <= weight / (weight + 6 - 2)
        times = [uniform(i)[draw] for i in range(6)]
        times[3] = -1.0 if inside else 2.0
        expected.append(sum(2**i for i in np.argsort(times)[:2]))
    np.testing.assert_array_equal(drawn("subset-selection", 3, epsilon=0.8), expected)


def test_rappor():
    from dpjax.mechanisms._rappor import bloom_filter

    true = np.asarray(bloom_filter(3, 8, 2))
    salt = (np.uint32(int.from_bytes(b"RAPP", "big")), np.uint32(0))
    places = {int(random.threefry2x32(salt, (np.uint32(3), np.uint32(j)))[0]) % 8 for j in (0, 1)}
    assert set(np.flatnonzero(true)) == places
    kept = [uniform(i) <= (0.7 if bit else 0.3) for i, bit in enumerate(true)]
    np.testing.assert_array_equal(drawn("one-time-rappor", 3, coin_chance=0.6), bits_of(kept))
    told = [
        uniform(8 + i) <= np.where(bit, 0.8, 0.45)
        for i, bit in enumerate(uniform(i) <= (0.7 if b else 0.3) for i, b in enumerate(true))
    ]
    found = drawn("rappor", 3, coin_chance=0.6, set_chance=0.8, clear_chance=0.45)
    np.testing.assert_array_equal(found, bits_of(told))


def test_shuffled_batches():
    from scipy.stats import norm

    own = 2.0 + 0.6 * noise("normal")(0)
    others = norm.isf(-np.expm1(-np.exp(-gumbel(1)) / 9))
    close(drawn("shuffled-batches", 2.0, sigma=0.6, num_steps=10), np.maximum(own, 0.6 * others))


def test_exponential_mechanism():
    made = CATALOGUE["exponential"](epsilon=0.8)
    rate = float(made.rate())
    x = math.exp(rate)
    assert math.log((2 * x**2 - 1) / (2 * x - 1)) == pytest.approx(0.8, rel=1e-5)
    below = 1 - math.exp(-rate * 1.5)
    up = 1.5 - np.log(uniform(1)) / rate
    down = 1.5 + np.log1p(-uniform(1) * below) / rate
    expected = np.where(uniform(0) * (1 + below) <= below, np.maximum(down, 0), up)
    close(drawn("exponential", 1.5, epsilon=0.8), expected)


@pytest.mark.parametrize("x", [0.0, 0.3, 1.0])
def test_truncated_noise(x):
    """Distances are quantiles of the distribution on each side, from x to the interval's end."""
    from scipy.stats import laplace as laplace_law
    from scipy.stats import norm

    for name, law, option in (
        ("truncated-laplace", laplace_law(scale=0.5), {"scale": 0.5}),
        ("truncated-gaussian", norm(scale=0.5), {"sigma": 0.5}),
    ):
        below, above = law.cdf(x) - 0.5, law.cdf(1 - x) - 0.5
        is_down = uniform(0) * (below + above) <= below
        offset = law.ppf(0.5 + uniform(1) * np.where(is_down, below, above))
        if name == "truncated-gaussian":
            # Its tail decreases from the end of the interval, so u = 1 is the position of x.
            tail = np.where(is_down, 0.5 - below, 0.5 - above)
            offset = -law.ppf(tail + uniform(1) * (0.5 - tail))
        expected = np.clip(x + np.where(is_down, -offset, offset), 0, 1)
        close(drawn(name, x, **option), expected)


REAL = ("laplace", "noisy-histogram-2", "gaussian", "parallel-laplace", "prefix-sum",
        "summed-histogram-encoding", "report-noisy-max-3", "report-noisy-max-4",
        "continuous-noisy-max", "svt3", "numerical-svt", "shuffled-batches",
        "truncated-laplace", "truncated-gaussian")  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", REAL)
def test_draws_are_as_precise_as_jax_is_told(name):
    """In float64, the draws have digits that float32 cannot represent."""
    with jax.enable_x64(True):
        made = CATALOGUE[name]()
        database = made.standard_pairs().database[0]
        found = np.asarray(made.sample(jax.random.key(1), database, SIZE))
    assert found.dtype == np.float64
    number = found[..., -1] if found.ndim == 2 else found
    assert np.mean(number != number.astype(np.float32)) > 0.5
