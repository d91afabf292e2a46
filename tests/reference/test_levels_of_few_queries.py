"""Stated levels of sparse vectors and of extreme parameters, against exact output probabilities."""

import itertools
import math

import numpy as np
import pytest

from dpjax import mechanisms, reference

SPARSE = [
    *((kind, k, c) for kind in ("SVT1", "SVT2", "SVT4") for k in (1, 2, 3) for c in (1, 2)),
    *((kind, 5, 2) for kind in ("SVT1", "SVT4")), ("SVT1", 21, 1),
    ("SVT5", 1, 1), *(("SVT6", k, 1) for k in (1, 2, 3, 4)),
    *(("NumericalSVT", k, 1) for k in (1, 2, 3, 4)), *(("SVT3And4", k, 1) for k in (1, 2, 3)),
]  # fmt: skip


def largest_level(mechanism):
    """Return the largest level of pairs in which the last answers move against the others.

    The former are far below the threshold or at the threshold, and the latter far above or at it.
    """
    k, found = mechanism.num_queries, 0.0
    stops = not isinstance(mechanism, mechanisms.SVT6)
    counts = range(min(k, getattr(mechanism, "max_positives", 1) if stops else k) + 1)
    for p, above, below in itertools.product(counts, (0.0, 50.0, 200.0), (0.0, 50.0, 200.0)):
        last = np.arange(k) >= k - p
        answers = 1.0 + np.where(last, -below, above)
        found = max(
            found, reference.pair_level(mechanism, answers, answers + np.where(last, -1, 1))
        )
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "k", "c"), SPARSE)
def test_levels_of_sparse_vectors_are_suprema(kind, k, c):
    several = {"max_positives": c} if kind in ("SVT1", "SVT2", "SVT4") else {}
    mechanism = getattr(mechanisms, kind)(num_queries=k, **several)
    found = largest_level(mechanism)
    assert 0.97 * mechanism.level < found <= mechanism.level * (1 + 1e-9)


@pytest.mark.parametrize(
    ("mechanism", "level"),
    [
        (mechanisms.SVT1(num_queries=1), 1 / 4), (mechanisms.SVT1(2.0, num_queries=3), 3 / 2),
        (mechanisms.SVT1(num_queries=7, max_positives=2), 7 / 8),
        (mechanisms.SVT2(num_queries=3, max_positives=2), 3 / 8), (mechanisms.SVT2(), 1),
        (mechanisms.SVT4(num_queries=1), 1 / 4), (mechanisms.SVT4(num_queries=2), 3 / 2),
        (mechanisms.SVT4(num_queries=3), 7 / 4), (mechanisms.SVT4(num_queries=10), 7 / 4),
        (mechanisms.SVT4(num_queries=1, max_positives=2), 1 / 4),
        (mechanisms.SVT4(num_queries=3, max_positives=2), 7 / 4),
        (mechanisms.SVT4(num_queries=5, max_positives=2), 13 / 4),
        (mechanisms.SVT5(num_queries=1), 1 / 2), (mechanisms.SVT5(num_queries=2), math.inf),
        (mechanisms.NumericalSVT(num_queries=1), 1 / 2), (mechanisms.NumericalSVT(), 1),
        (mechanisms.SVT3And4(num_queries=1), 3 / 4), (mechanisms.SVT3And4(num_queries=2), 5 / 2),
        (mechanisms.SVT4.at_level(2.0, num_queries=2), 2),
        (mechanisms.SnappedLaplace(1.0, 2.0**49), 1 / 2),
        (mechanisms.TwoPoint(1e-17, 5.0), 5 + 17 * math.log(10)),
        (mechanisms.TruncatedGeometric(1e-30), 2.0**-101),
    ],
    ids=repr,
)  # fmt: skip
def test_levels_by_hand(mechanism, level):
    """The level of TwoPoint is ln(5) + ln(1e17), up to 5e-2 for ln(1 - e^-5)."""
    loose = isinstance(mechanism, mechanisms.TwoPoint)
    expected = math.log(-math.expm1(-5.0)) + 17 * math.log(10) if loose else level
    assert mechanism.level == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 100), (2.0, 100), (1.0, 1000), (0.01, 10_000)])
def test_levels_of_truncated_counts_do_not_cancel(epsilon, n):
    """Probabilities close to 1 used to be subtracted from each other."""
    mechanism = mechanisms.TruncatedGeometric(epsilon, n)
    for count in (0, 1, n // 2, n - 1):
        found = reference.pair_level(mechanism, count, count + 1)
        assert found == pytest.approx(mechanism.level, rel=1e-9)
    total = np.exp(reference.log_density(mechanism, 3, np.arange(n + 1))).sum()
    assert total == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("epsilon", [1.0, 40.0, 100.0, 800.0, 1500.0])
@pytest.mark.parametrize(
    "kind", [mechanisms.SymmetricUnaryEncoding, mechanisms.OptimizedUnaryEncoding]
)
def test_levels_of_unary_encodings_at_any_epsilon(kind, epsilon):
    assert reference.pair_level(kind(epsilon), 0, 1) == pytest.approx(epsilon, rel=1e-12)


def test_levels_of_rare_coins():
    """A bit of a one-time RAPPOR with f = 1e-9 is wrong with probability 5e-10."""
    mechanism = mechanisms.OneTimeRappor(1e-9)
    differing = np.sum(
        np.asarray(mechanisms.bloom_filter(0, mechanism.num_bits, mechanism.num_hashes))
        != np.asarray(mechanisms.bloom_filter(1, mechanism.num_bits, mechanism.num_hashes))
    )
    level = differing * math.log((1 - 5e-10) / 5e-10)
    assert reference.pair_level(mechanism, 0, 1) == pytest.approx(level, rel=1e-12)


@pytest.mark.parametrize(
    ("mechanism", "pair", "level"),
    [
        (mechanisms.SnappedLaplace(), (5000.0, 5001.0), 0.0),
        (mechanisms.SnappedLaplace(0.5), (1023.5, 1025.0), 0.25),
        (mechanisms.TwoSidedGeometric(0.7), (0.2, 0.8), 0.0),
        (mechanisms.TwoSidedGeometric(0.7), (0.2, 1.8), 0.7),
    ],
)
def test_databases_are_clamped_or_rounded(mechanism, pair, level):
    assert reference.pair_level(mechanism, *pair) == pytest.approx(level, abs=1e-9)
