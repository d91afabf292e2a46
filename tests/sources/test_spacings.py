"""Near-copies are found by their spacings, without false alarms for genuine distributions."""

import numpy as np
import pytest

import dpjax
from dpjax.sources._spacings import Spacings

HONEST = {
    "laplace": lambda rng, n: rng.laplace(size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "pareto": lambda rng, n: rng.pareto(0.1, n),
    "lognormal": lambda rng, n: np.exp(rng.normal(0, 100, n)),
    "float32": lambda rng, n: rng.normal(size=n).astype(np.float32),
    "float noise": lambda rng, n: rng.geometric(0.001, n) * 0.1 + rng.geometric(0.1, n) * 0.7,
    "rounded": lambda rng, n: np.round(rng.normal(size=n), 6),
    "atoms": lambda rng, n: np.where(rng.random(n) < 0.3, 0.0, rng.normal(size=n)),
    "clouds": lambda rng, n: rng.geometric(0.001, n) + 1e-7 * rng.normal(size=n),
    "two scales": lambda rng, n: np.where(rng.random(n) < 0.5, 1e-9, 1.0) * rng.normal(size=n),
    "vectors": lambda rng, n: rng.normal(size=(n, 3)),
}


def found(x, y, rows=2**18):
    sides = []
    for outputs in (x, y):
        side = Spacings()
        for start in range(0, len(outputs), rows):
            side.add(outputs[start : start + rows])
        sides.append(side)
    return sides[0].near_copies(sides[1])


@pytest.mark.parametrize("law", HONEST)
def test_honest_outputs_are_no_near_copies(law):
    """40 pairs of sides with 60 to 20,000 outputs; the test errs with probability 4e-8."""
    rng = np.random.default_rng(11)
    for size in (60, 400, 3_000, 20_000):
        for _ in range(10):
            assert found(HONEST[law](rng, size), HONEST[law](rng, size // 2)).chance > 1e-9


@pytest.mark.parametrize("jitter", [1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("size", [1_000, 5_000])
def test_resamples_with_a_little_noise_are_found(jitter, size):
    rng = np.random.default_rng(12)
    for _ in range(5):
        resampled = rng.choice(rng.laplace(size=1_000), size) + jitter * rng.normal(size=size)
        for x, y in ((resampled, rng.laplace(size=size)), (rng.laplace(size=size), resampled)):
            assert found(x, y).chance < 1e-9


def test_copies_far_apart_in_a_large_recording_are_found_in_flat_memory():
    rng = np.random.default_rng(13)
    base = rng.laplace(size=2**19)
    twice = np.concatenate([base, base + 1e-11 * rng.normal(size=base.size)])
    side = Spacings()
    for start in range(0, twice.size, 2**17):
        side.add(twice[start : start + 2**17])
    other = Spacings()
    other.add(rng.laplace(size=2**17))
    assert side.near_copies(other).chance < 1e-9
    assert side._columns[0].values.size <= 2**15


def test_one_number_and_no_number_are_no_near_copies():
    constant = np.where(np.arange(100) == 50, np.nan, 7.0)
    for x, y in ((constant, constant), (constant, constant + 1), (constant, constant[:0])):
        assert found(x, y).chance == 1.0


def test_an_audit_of_near_copies_has_no_verdict():
    rng = np.random.default_rng(14)
    base = rng.laplace(size=1_000)
    x, y = rng.choice(base, 5_000) + 1e-9 * rng.normal(size=5_000), rng.laplace(size=5_000)
    for method in (dpjax.Events(), dpjax.Local()):
        result = dpjax.audit(dpjax.Recorded(x, y), claim=0.1, method=method)
        assert result.verdict == "doubtful" and "spacings" in result.doubts[0]
    known = dpjax.audit(dpjax.Recorded(x, y, independent=True), claim=0.1)
    assert known.verdict == "violated" and not known.doubts
    assert any("spacings" in note for note in known.notes)
