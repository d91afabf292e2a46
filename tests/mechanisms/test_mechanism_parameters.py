"""Stated levels of the built-in mechanisms, their parameters, and float64."""

import subprocess
import sys
import textwrap

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import mechanisms
from dpjax.mechanisms import CATALOGUE, find_mechanism


def test_stated_levels():
    assert mechanisms.NoisyHistogram2(0.5).level == 2
    assert mechanisms.ReportNoisyMax3(1.5, 6).level == 4.5
    assert mechanisms.SVT4(0.4, max_positives=1).level == pytest.approx(0.7)
    assert mechanisms.SVT4.at_level(0.7, max_positives=3).level == pytest.approx(0.7)
    assert mechanisms.SVT6(1.0).level == 5
    assert mechanisms.TruncatedLaplace(0.25).level == 4
    assert mechanisms.TwoPoint(20.0, 5.0).level == 5
    # Where 1 is not rare, the answer 0 leaks as well.
    assert mechanisms.TwoPoint(0.1, 0.2).level == pytest.approx(
        np.log1p(-np.exp(-0.3)) - np.log1p(-np.exp(-0.1))
    )
    for name in ("gaussian", "report-noisy-max-4", "svt5"):
        assert np.isinf(CATALOGUE[name]().level)


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 0.7, 1.5, 10.0])
def test_exponential_rate_solves_its_equation(epsilon):
    rate = float(mechanisms.Exponential(epsilon).rate())
    level = rate + np.log(2 - np.exp(-2 * rate)) - np.log(2 - np.exp(-rate))
    assert level == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: mechanisms.Laplace(0.0),
            ValueError,
            r"epsilon must be a number > 0, but was 0\.0",
        ),
        (lambda: mechanisms.Laplace(-1), ValueError, "epsilon must be a number > 0, but was -1"),
        (lambda: mechanisms.SVT6(np.nan), ValueError, r"epsilon .*\(finite\), but was nan"),
        (lambda: mechanisms.Gaussian(np.inf), ValueError, r"sigma .*\(finite\), but was inf"),
        (lambda: mechanisms.Laplace("1"), TypeError, "epsilon must be a number > 0, but was '1'"),
        (lambda: mechanisms.Laplace(True), TypeError, "epsilon .* but was True"),
        (lambda: mechanisms.TruncatedLaplace(0), ValueError, "scale must be a number > 0"),
        (lambda: mechanisms.TruncatedGaussian(-2), ValueError, "sigma must be a number > 0"),
        (lambda: mechanisms.TwoPoint(0.0), ValueError, "log_rarity must be a number > 0"),
        (lambda: mechanisms.TwoPoint(ratio=0.0), ValueError, "ratio must be a number > 0"),
        (lambda: mechanisms.ReportNoisyMax(1.0, 1), ValueError, "num_queries .* >= 2, but was 1"),
        (lambda: mechanisms.ReportNoisyMax(1.0, 2.0), TypeError, "num_queries .*2.0 .float"),
        (lambda: mechanisms.RandomizedResponse(1.0, 1), ValueError, "num_categories .* >= 2"),
        (lambda: mechanisms.SVT1(max_positives=0), ValueError, "max_positives .* >= 1, but was 0"),
        (
            lambda: mechanisms.SVT2(num_queries=21, max_positives=2),
            ValueError,
            "num_queries must be at most 20",
        ),
        (lambda: mechanisms.SVT4(threshold=np.inf), ValueError, "threshold must be a number"),
        (lambda: mechanisms.SVT4.at_level(0.0), ValueError, "level must be a number > 0"),
        (
            lambda: mechanisms.Laplace(jnp.array([1.0, -0.5])),
            ValueError,
            "epsilon must be a number > 0",
        ),
        (lambda: find_mechanism("svt7"), ValueError, "'svt7' is not known; did you mean 'svt"),
        (lambda: mechanisms.DiscreteGaussian(20.0), ValueError, "largest_noise .* 10 sigma"),
        (lambda: mechanisms.TruncatedGeometric(largest_count=0), ValueError, "largest_count"),
        (lambda: mechanisms.SnappedLaplace(bound=0.0), ValueError, "bound must be a number >= 1"),
        (lambda: mechanisms.OneTimeRappor(1.0), ValueError, "coin_chance must lie strictly"),
        (lambda: mechanisms.OneTimeRappor(num_bits=3), ValueError, "num_bits .* 2 num_hashes = 4"),
        (
            lambda: mechanisms.Rappor(set_chance=0.4),
            ValueError,
            r"clear_chance \(p\) must be below",
        ),
        (
            lambda: mechanisms.ThresholdedHistogramEncoding(threshold=0.5),
            ValueError,
            "threshold must lie above 1/2, but was 0.5",
        ),
        (
            lambda: mechanisms.SubsetSelection(subset_size=6),
            ValueError,
            "subset_size must be below num_categories, 6, but was 6",
        ),
        (lambda: mechanisms.LocalHashing(num_buckets=20), ValueError, "num_buckets.* at most 2"),
        (lambda: mechanisms.SymmetricUnaryEncoding(1.0, 21), ValueError, "num_categories .* 20"),
    ],
)
def test_bad_parameters(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_float64_where_jax_is_told_so():
    code = """
        import jax
        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp
        from dpjax import mechanisms
        from dpjax.core import random
        from dpjax.mechanisms import FiniteSpace, IntegerSpace
        key = random.as_key(0)
        for cls in mechanisms.CATALOGUE.values():
            mechanism = cls()
            integers = isinstance(mechanism.output_space, FiniteSpace | IntegerSpace)
            database = jnp.asarray(mechanism.standard_pairs().neighbor[0])
            draws = jax.eval_shape(lambda k, x: mechanism.sample(k, x, 100), key, database)
            assert draws.dtype == ("int32" if integers else "float64"), (mechanism, draws.dtype)
            assert draws.shape[0] == 100
        assert mechanisms.Laplace().standard_pairs().neighbor.dtype == "float64"
    """
    subprocess.run([sys.executable, "-W", "error", "-c", textwrap.dedent(code)], check=True)
