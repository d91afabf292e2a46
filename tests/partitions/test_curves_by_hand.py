"""How boxes are ordered for a picture, by ratios of groups from the other half."""

import numpy as np
import pytest

from dpjax.partitions._curve import _fit, _other_ratios, curve_of, ranked_boxes

HALVES = np.array([[[1, 2, 4], [3, 0, 2]], [[5, 1, 1], [0, 2, 9]]])
"""Counts of two halves, two sides and three boxes."""


@pytest.mark.parametrize("labels", [[0, 0, 1], [0, 1, 2], [1, 0, 1]])
def test_ratios_come_from_the_other_half(labels):
    found = _other_ratios(HALVES, np.array(labels))
    for half in (0, 1):
        other = HALVES[1 - half]
        for box, label in enumerate(labels):
            group = [place for place, of in enumerate(labels) if of == label]
            first, second = (np.log((side[group].sum() + 0.5) / (side.sum() + 1)) for side in other)
            assert found[half, box] == pytest.approx(first - second)


def test_groups_fit_if_their_ratios_tell_the_sides_apart():
    """The log-likelihood of a side is -log(1 + exp(-ratio)) or -log(1 + exp(ratio))."""
    ratios = np.array([[0.3, -1.0, 2.0], [0.0, 0.5, -0.7]])
    expected = 0.0
    for half in (0, 1):
        for box in range(3):
            ratio = ratios[half, box]
            expected -= HALVES[half, 0, box] * np.log1p(np.exp(-ratio))
            expected -= HALVES[half, 1, box] * np.log1p(np.exp(ratio))
    assert _fit(HALVES, ratios) == pytest.approx(expected)


def test_boxes_of_the_event_come_first_and_labels_have_no_place():
    rng = np.random.default_rng(1)
    halves = rng.integers(5, 50, (2, 2, 9))
    event = np.array([True, False, True, False, False, True, False, False, False])
    groups = np.arange(9)
    counts, inside, ends = ranked_boxes(halves, event, [groups], 2)
    np.testing.assert_array_equal(counts[:, :2], halves.sum(axis=0)[:, :2])
    assert inside[:2].tolist() == [True, False] and np.isnan(ends[:2]).all()
    np.testing.assert_array_equal(counts.sum(axis=1), halves.sum(axis=(0, 2)))
    # It covers the axis without gaps; the axis ends at the fraction of outputs in boxes.
    np.testing.assert_allclose(ends[3:, 0], ends[2:-1, 1])
    total = halves.sum(axis=0)
    share = (total[:, 2:].sum(axis=1) / total.sum(axis=1)).mean()
    assert ends[2, 0] == 0 and ends[-1, 1] == pytest.approx(share)
    # The event's boxes come first, and each box is shown as two halves with separate ratios.
    of_boxes = inside[2:]
    assert of_boxes[0] and np.flatnonzero(np.diff(of_boxes.astype(int))).size == 1
    within = counts[:, 2:][:, of_boxes].sum(axis=1)
    np.testing.assert_array_equal(within, total[:, [2, 5]].sum(axis=1))


@pytest.mark.parametrize(("end", "is_drawn"), [(1e300, True), (1.1e300, False), (np.inf, True)])
def test_outputs_whose_distances_may_overflow_are_not_drawn(end, is_drawn):
    """The midpoint of two ends of 1e308 would be infinite, which JSON cannot represent."""
    counts, bounds = np.array([[3, 5], [4, 4]]), np.array([[-1e300, 0.0], [0.0, end]])
    found = curve_of(counts, np.array([True, False]), bounds, str)
    assert (found is not None) is is_drawn
    assert found is None or np.isfinite(found["points"]).all()
