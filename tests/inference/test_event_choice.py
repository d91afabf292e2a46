"""The event that is chosen is the best of all sets of cells, in the right direction."""

import numpy as np
import pytest

from dpjax.inference import choose_event, event_lower_bound


def test_events_are_likelihood_ratio_sets():
    """With exact counts, the best set of all 2^6 is found, in the right direction."""
    share = np.array([[0.3, 0.2, 0.2, 0.15, 0.07, 0.08], [0.1, 0.3, 0.05, 0.3, 0.05, 0.2]])
    size = 10_000_000
    counts = np.round(share * size).astype(int)
    event = choose_event(counts, 5_000, 0.95)

    def value(mask, larger):
        p, q = (share[:, mask].sum(axis=1) * 5_000).round().astype(int)[[larger, 1 - larger]]
        return float(event_lower_bound(p, q, 5_000, 5_000, 0.95))

    masks = [np.array([i >> j & 1 for j in range(6)], bool) for i in range(1, 63)]
    best = max(value(mask, larger) for mask in masks for larger in (0, 1))
    assert value(event.cells, int(event.larger)) == pytest.approx(best, abs=0.01)
    assert float(event.predicted) == pytest.approx(best, abs=0.03)
    only = choose_event(counts, 5_000, 0.95, allowed=[False, True, False, True, False, False])
    assert set(np.flatnonzero(only.cells)) <= {1, 3} and int(only.larger) == 1
    batch = choose_event(np.stack([counts, counts[::-1]]), 5_000, 0.95)
    assert batch.larger.tolist() == [int(event.larger), 1 - int(event.larger)]


@pytest.mark.parametrize(
    "counts, message",
    [(np.ones((3, 4), int), "shape"), (np.zeros((2, 4), int), "at least one draw")],
)
def test_bad_counts_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        choose_event(counts, 100, 0.95)
