"""Expected bounds of events by the normal distribution, for equal and unequal sample sizes."""

import math

import numpy as np
import pytest
from scipy import stats

from dpjax.inference import Difference, Event, Ratio, Shared, Shift, divided, size_ratio
from dpjax.inference import _events as events
from dpjax.inference._events import best_ratio, event_lower_bound, expected_bound
from dpjax.inference._sizes import tried_ratios

P, Q = np.array([0.3, 0.02, 0.6, 0.5, 0.01]), np.array([0.1, 0.001, 0.58, 0.5, 0.0])
KINDS = [Ratio(), Ratio(0.01), Shift(), Difference(2)]


def by_hand(kind, p, q, trials, sure):
    """Return the mean of max(X, 0) for a normal X with median and error at expected counts."""
    z = max(stats.norm.ppf(sure), 0.5)
    middle, error = (
        float(x) for x in kind.order_and_error(p * trials[0], q * trials[1], trials, z)
    )
    x = stats.norm(middle, error)
    # The integral of P(X > t) over t > 0.
    grid = np.linspace(0, max(middle, 0) + 12 * error, 200_001)
    return float(np.trapezoid(x.sf(grid), grid))


@pytest.mark.parametrize("sure", [0.55, 0.9, 0.999])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_means_of_normal_variables_above_0(kind, sure):
    found = expected_bound(P, Q, 700, sure, kind)
    for p, q, bound in zip(P, Q, found, strict=True):
        assert bound == pytest.approx(by_hand(kind, p, q, (700, 700), sure), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_divided_draws_have_the_largest_bound_of_the_ratios_that_are_tried(kind):
    found, ratios = (f(P, Q, Shared(700), 0.95, kind) for f in (expected_bound, best_ratio))
    for place, (p, q) in enumerate(zip(P, Q, strict=True)):
        tried = tried_ratios(size_ratio(p, q, kind))
        bounds = [by_hand(kind, p, q, tuple(int(n) for n in divided(r, 700)), 0.95) for r in tried]
        assert found[place] == pytest.approx(max(bounds), rel=1e-4, abs=1e-7)
        assert bounds[tried.tolist().index(ratios[place])] == pytest.approx(max(bounds), rel=1e-4)
    assert len(set(ratios)) > 1


@pytest.mark.parametrize("size", [700, Shared(700)])
def test_many_events_are_computed_in_parts(size, monkeypatch):
    whole = expected_bound(P, Q, size, 0.95, Ratio())
    for most in (1, 2, 4, 5, 9):
        monkeypatch.setattr(events, "_MOST_EVENTS", most)
        found = expected_bound(P, Q, size, 0.95, Ratio())
        np.testing.assert_allclose(found, whole, rtol=1e-12)
        table = expected_bound(P[:4].reshape(2, 2), Q[:4].reshape(2, 2), size, 0.95, Ratio())
        np.testing.assert_allclose(table, whole[:4].reshape(2, 2), rtol=1e-12)


def test_runs_with_equal_counts_have_equal_bounds():
    counts = np.array([[30, 5], [30, 5]]), np.array([[7, 2], [2, 7]])
    found = event_lower_bound(*counts, 60, 90, 0.9)
    for at in np.ndindex(2, 2):
        one = event_lower_bound(counts[0][at], counts[1][at], 60, 90, 0.9)
        assert found[at] == one
    assert np.unique(found).size == 4 and found.shape == (2, 2)
    # There is one count for all runs.
    alone = [event_lower_bound(30, m, 60, 90, 0.9) for m in (2, 7)]
    assert event_lower_bound(30, [2, 7], 60, 90, 0.9).tolist() == alone
    for wrong in ((61, 2), (-1, 2), (30, 91)):
        with pytest.raises(ValueError, match=r"_count must"):
            event_lower_bound(*wrong, 60, 90, 0.9)
    with pytest.raises(ValueError, match="smaller_trials must"):
        event_lower_bound(1, 0, 60, 0, 0.9)


def test_events_are_taken_apart_and_stacked():
    cells = np.arange(18).reshape(2, 3, 3) % 2 == 0
    larger, predicted = np.arange(6).reshape(2, 3) % 2, np.linspace(0, 1, 6).reshape(2, 3)
    whole = Event(cells, larger, predicted)
    parts = [whole.at(at) for at in np.ndindex(2, 3)]
    assert all(float(part.ratio) == 1.0 for part in parts)
    again = Event.stacked(parts, (2, 3))
    for one, other in zip(again[:3], whole[:3], strict=True):
        np.testing.assert_array_equal(one, other)
    assert again.ratio.shape == (2, 3) and math.isclose(again.ratio.sum(), 6)
    own = whole._replace(ratio=np.arange(6.0).reshape(2, 3))
    assert [float(own.at(at).ratio) for at in np.ndindex(2, 3)] == list(range(6))
