"""Audits of functions that return vectors with thousands of entries."""

import jax
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
    assert result.lower_bound > 2 and "[5]" in result.witness.event
    assert "Outputs have 1,200 numbers each" in "".join(result.notes)


def pixel_in_jax(key, shift):
    return jax.random.normal(key, (1100,)).at[1050].add(shift)


def parts_in_jax(key, shift):
    first, second = jax.random.split(key)
    image = jax.random.normal(first, (30, 40)).at[20, 7].add(shift)
    return {"image": image, "size": jax.random.normal(second)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "method"),
    [
        (pixel_in_jax, dpjax.Events(200, 500)),
        (parts_in_jax, dpjax.Events(200, 500)),
        (pixel_in_jax, dpjax.Sequential(num_draws=1000)),
    ],
)
def test_functions_in_jax(function, method):
    result = dpjax.audit(function, [(0.0, 3.0)], method=method, claim=0.5, confidence=CONFIDENCE)
    assert result.verdict == "violated"
    entry = 1050 if function is pixel_in_jax else 20 * 40 + 7
    assert f"entry {entry} " in result.witness.event
    assert "The audit compares the 998 numbers that differ most" in " ".join(result.notes)


@pytest.mark.slow
def test_functions_in_jax_with_equal_distributions_have_no_bound():
    method = dpjax.Events(200, 500)
    result = dpjax.audit(pixel_in_jax, [(0.0, 0.0)], method=method, confidence=CONFIDENCE)
    assert result.lower_bound == 0
