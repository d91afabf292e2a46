"""Resampled counts on a lattice cause a note, but smooth distributions do not."""

import numpy as np
import pytest
import scipy
from scipy.stats import chi2

import dpjax
from dpjax.partitions import Encoder, lay
from dpjax.sources._uneven import _MEAN, _VARIANCE, _tail, notes_of_uneven_ratios

SMOOTH = {
    "discrete normal": lambda rng, n, shift: np.rint(rng.normal(shift, 20, n)),
    "narrow": lambda rng, n, shift: np.rint(rng.normal(3 * shift, 8, n)),
    "geometric": lambda rng, n, shift: rng.geometric(0.1, n) - rng.geometric(0.1, n) + shift,
    "poisson": lambda rng, n, shift: rng.poisson(100 + 3 * shift, n),
    "binomial": lambda rng, n, shift: rng.binomial(400, 0.3 + 0.01 * shift, n),
    "tenths": lambda rng, n, shift: np.round(rng.laplace(shift, 3, n), 1),
    "wide": lambda rng, n, shift: np.rint(rng.normal(30 * shift, 3000, n)),
    "laplace": lambda rng, n, shift: rng.laplace(shift, 1, n),
    "atom": lambda rng, n, shift: np.maximum(rng.normal(shift, 2, n), 0),
}


def notes(x, y, pilot):
    encoder = Encoder("x and y")
    first = [encoder.encode(side[:pilot]) for side in (x, y)]
    cells = lay(first, encoder.names)
    rest = [cells.index(encoder.encode(side[pilot:])) for side in (x, y)]
    return notes_of_uneven_ratios(
        cells, np.stack([np.bincount(side, minlength=cells.size) for side in rest])
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("law", SMOOTH)
def test_smooth_laws_cause_no_note(law):
    """15 pairs of sides at three sizes; all of them err with a probability below 2e-5."""
    rng = np.random.default_rng(31)
    for size in (4_000, 40_000, 400_000):
        for _ in range(5):
            x, y = (SMOOTH[law](rng, size, shift) for shift in (0, 1))
            assert not notes(x, y, min(size // 2, 2**16))


@pytest.mark.parametrize("law", SMOOTH)
def test_resamples_cause_a_note(law):
    """At least 6 of 10 cause a note; the worst of nine distributions has 95% in 20 others."""
    rng, found = np.random.default_rng(32), 0
    for _ in range(10):
        x, y = (rng.choice(SMOOTH[law](rng, 1_000, shift), 60_000) for shift in (0, 1))
        found += bool(notes(x, y, 30_000))
    assert found >= 6


@pytest.mark.parametrize("terms", [5, 6, 7, 8, 9, 10, 25])
def test_the_tail_is_near_that_of_trimmed_squares(terms):
    """A tail of 1e-3 is exceeded by at most 1% of 200,000 sums; with 25, by .1% to .4%."""
    squares = np.random.default_rng(33).standard_normal((200_000, terms)) ** 2
    kept = 4 * terms // 5
    sums = np.sort(squares, axis=1)[:, :kept].sum(axis=1)

    def tail(total):
        return _tail(np.append(np.full(kept, total / kept), np.full(terms - kept, 1e9)))

    limit = scipy.optimize.brentq(lambda total: tail(total) - 1e-3, 0.1, 100)
    share = np.mean(sums >= limit)
    assert share < 0.01
    assert terms < 25 or 0.001 < share < 0.004


def test_an_audit_shows_the_note_and_keeps_its_verdict():
    rng = np.random.default_rng(34)
    resampled = [rng.choice(np.rint(rng.normal(0, 20, 1_000)), 60_000).astype(int) for _ in "xy"]
    result = dpjax.audit(dpjax.Recorded(*resampled), claim=0.5)
    assert any("jumps between neighboring outcomes" in note for note in result.notes)
    assert not result.doubts
    drawn = [np.rint(rng.normal(shift, 20, 60_000)).astype(int) for shift in (0, 1)]
    assert not any("jumps" in note for note in dpjax.audit(dpjax.Recorded(*drawn)).notes)


def test_moments_of_trimmed_squares():
    """The asymptotic mean and variance, from partial moments of squared normals.

    The integral of x^k over the density of chi-squared(1) up to q is the distribution function of
    chi-squared(1 + 2 k) at q, times 1 or 3.
    """
    largest = chi2.ppf(0.8, 1)
    mean, square = chi2.cdf(largest, 3), 3 * chi2.cdf(largest, 5)
    first, second = mean + 0.2 * largest, square + 0.2 * largest**2
    assert pytest.approx(mean, abs=1e-6) == _MEAN
    assert pytest.approx(second - first**2, abs=1e-6) == _VARIANCE
