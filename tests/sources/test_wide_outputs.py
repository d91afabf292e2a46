"""Audits of functions that return vectors with thousands of entries."""

import json

import jax
import numpy as np
import pytest

import dpjax
from dpjax.partitions import Encoder
from dpjax.sources import _kept
from dpjax.sources._kept import Kept

CONFIDENCE = 1 - 1e-5

DEFINITION = {"python": "3", "mechanism": "a", "pairs": "b"}


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


SHIFT = np.random.default_rng(2).normal(size=(4, 1500))
SHIFT[0] *= 5 / np.linalg.norm(SHIFT[0])


def spread(side, rng):
    """Return numbers that all move a little, beside three common factors."""
    return rng.normal(size=1500) + rng.normal(size=3) @ SHIFT[1:] + side * SHIFT[0]


@pytest.mark.slow
def test_a_sequential_audit_chooses_entries_again_and_is_continued_bit_by_bit():
    """The first 16 outputs do not show which entries differ, or what the factors are."""
    options = {"notion": dpjax.Epsilon(delta=0.01), "confidence": CONFIDENCE, "claim": 50.0}

    def audited(num_draws):
        method = dpjax.Sequential(num_draws=num_draws)
        return dpjax.audit(spread, [(0.0, 1.0)], method=method, key=4, **options)

    part = audited(150)
    again = dpjax.resume(part, spread, [(0.0, 1.0)], num_draws=500)
    whole = audited(500)
    assert whole.lower_bound == again.lower_bound > 2
    assert whole.witness.event == again.witness.event
    assert "linear score of the entries" in whole.witness.event


@pytest.mark.parametrize("most", [2**22, 40 * 1500])
def test_all_numbers_are_kept_up_to_a_limit(monkeypatch, most):
    monkeypatch.setattr(_kept, "_MOST_NUMBERS", most)
    rng = np.random.default_rng(3)
    raw = [[spread(side, rng) for _ in range(30)] for side in (0, 1)]
    encoder = Encoder("it")
    kept = Kept([encoder], 100, lambda: DEFINITION, whole=True)

    def add(start, stop):
        for side in (0, 1):
            for place in range(start, stop):
                kept.add(0, side, encoder.encode([raw[side][place]]), place)

    add(0, 16)
    assert kept.whole(0, 16) is None  # No entries were chosen yet.
    encoder.fixed([kept.first(0, side, 0, 16) for side in (0, 1)])
    np.testing.assert_array_equal(kept.whole(0, 16)[1].values, raw[1][:16])
    add(16, 30)
    columns = [kept.first(0, side, 0, 30).values for side in (0, 1)]
    assert columns[0].shape == (30, encoder.dimension) and encoder.dimension < 1500
    other = Kept([again := Encoder("it")], 100, lambda: DEFINITION, whole=True)
    other.restore(json.loads(json.dumps(kept.to_plain())))
    for stored, code in ((kept, encoder), (other, again)):
        np.testing.assert_array_equal(stored.first(0, 1, 0, 30).values, columns[1])
        assert code.keeps_all is (most > 60 * 1500)
        if code.keeps_all:
            np.testing.assert_array_equal(stored.whole(0, 20)[0].values, raw[0][:20])
        else:
            assert stored.whole(0, 20) is None


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
