"""The Chernoff tail, compared with high precision and with exact binomial probabilities."""

import decimal
import itertools
import math

import pytest
from scipy.stats import binom

from dpjax.inference._chernoff import UnionBound, log_chernoff_tail


def log_tail_in_200_digits(n, p, z):
    wide = decimal.Context(prec=200, Emin=-(10**17), Emax=10**17)
    with decimal.localcontext(wide):
        n, p, z = decimal.Decimal(n), decimal.Decimal(p), decimal.Decimal(z)
        above = (-n * p * (z.exp() - 1) ** 2 / (1 + z.exp())).exp()
        below = (-n * p * (1 - (-z).exp()) ** 2 / 2).exp()
        return float(((above + below) / (1 - (1 - p) ** n)).ln())


@pytest.mark.parametrize("n", [1, 7, 10**3, 10**6, 10**10, 10**13])
@pytest.mark.parametrize("p", [1e-9, 1e-4, 0.02, 0.5, 0.99])
@pytest.mark.parametrize("z", [1e-6, 1e-3, 1 / 12, 1.0, 5.0])
def test_tail_is_equation_8_in_every_corner(n, p, z):
    expected = log_tail_in_200_digits(n, p, z)
    # A logarithm near 0 (a bound near 1) is compared absolutely.
    assert log_chernoff_tail(n, p, z) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [5, 50, 2_000])
@pytest.mark.parametrize("p", [0.01, 0.2, 0.7])
@pytest.mark.parametrize("z", [0.05, 0.3, 1.0])
def test_tail_is_above_the_exact_probability(n, p, z):
    mean = n * p
    few = math.floor(mean * math.exp(-z) + 1e-12)
    many = math.ceil(mean * math.exp(z) - 1e-12)
    zero = binom.pmf(0, n, p)
    exact = (max(binom.cdf(few, n, p) - zero, 0) + binom.sf(many - 1, n, p)) / (1 - zero)
    assert exact <= math.exp(log_chernoff_tail(n, p, z)) + 1e-12


def test_shortfall_adds_empty_counts_and_tails():
    union = UnionBound(probability=0.05, deviation=0.3, num_empty=40, num_tails=4)
    expected = 40 * 0.95**900 + 4 * math.exp(log_tail_in_200_digits(900, 0.05, 0.3))
    assert union.shortfall(900) == pytest.approx(expected, rel=1e-10)


def test_shortfall_falls_in_the_number_of_samples():
    union = UnionBound(probability=1e-3, deviation=0.02, num_empty=100, num_tails=4)
    values = [union.shortfall(round(10 ** (k / 10))) for k in range(8, 100)]
    finite = [v for v in values if 1e-300 < v < math.inf]
    assert len(finite) > 60
    assert all(later < earlier for earlier, later in itertools.pairwise(finite))


def test_smallest_number_of_samples_is_found_by_counting_up():
    union = UnionBound(probability=0.3, deviation=0.8, num_empty=6, num_tails=4)
    by_hand = next(n for n in range(1, 10_000) if union.shortfall(n) <= 0.1)
    assert union.smallest_num_samples(0.1, 10**6) == by_hand
    assert union.smallest_num_samples(0.1, by_hand) == by_hand
    assert union.smallest_num_samples(0.1, by_hand - 1) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.5, 0.1), "num_samples must be an integer >= 1"),
        ((10, 0.0, 0.1), "probability must lie strictly between 0 and 1"),
        ((10, 1.0, 0.1), "probability must lie strictly between 0 and 1"),
        ((10, 0.5, 0.0), "deviation must be a number > 0"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        log_chernoff_tail(*arguments)
