"""Audits of functions that return vectors with thousands of entries."""

import numpy as np
import pytest

import dpjax

CONFIDENCE = 1 - 1e-5


def image(mean, rng):
    """Return 48 x 48 pixels with Gaussian noise; only the mean of the whole image is known."""
    return rng.normal(mean, 1.0, (48, 48))


def pixel(shift, rng):
    found = rng.normal(size=2000)
    found[1234] += shift
    return found


@pytest.mark.slow
def test_a_difference_in_all_entries_is_found():
    """The mean of 2,304 entries differs by 0.06 * 48 = 2.88 standard deviations."""
    result = dpjax.audit(image, [(0.0, 0.06)], method=dpjax.Events(200, 500), confidence=CONFIDENCE)
    assert result.lower_bound > 1.5
    assert "mean of all entries" in result.witness.event
    assert "Outputs have 2,304 numbers each" in result.notes[0]


@pytest.mark.slow
def test_a_difference_in_one_entry_is_found():
    result = dpjax.audit(pixel, [(0.0, 3.0)], method=dpjax.Events(200, 500), confidence=CONFIDENCE)
    assert result.lower_bound > 1.5
    assert "entry 1234" in result.witness.event


@pytest.mark.slow
def test_equal_distributions_have_no_bound():
    result = dpjax.audit(image, [(0.0, 0.0)], method=dpjax.Events(200, 500), confidence=CONFIDENCE)
    assert result.lower_bound == 0


@pytest.mark.slow
def test_recorded_arrays():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 1500, 1200)).astype(np.float32)
    y[:, 5] += 3
    result = dpjax.audit(dpjax.Recorded(x, y), confidence=CONFIDENCE)
    assert result.lower_bound > 2 and "entry 5" in result.witness.event
    assert "Outputs have 1,200 numbers each" in "".join(result.notes)
