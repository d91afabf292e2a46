"""Epsilon as a notion: valid bounds for all counts, estimates, and the smallest error."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax.inference import Event
from dpjax.notions import EventCounts, Terms, smallest_error

TRIALS = 14
SURE = 0.9


def evidence(counts: Any, larger: int = 0, trials: Any = (TRIALS, TRIALS)):
    counts = np.asarray(counts)
    shape = counts.shape[:-1]
    event = Event(
        np.zeros((*shape, 3), bool),
        np.full(shape, larger),
        np.zeros(shape),
    )
    return EventCounts(event, counts, trials)


def every_count():
    """Return all counts of both sides, [15, 15, 2]."""
    return np.stack(np.meshgrid(*[np.arange(TRIALS + 1)] * 2, indexing="ij"), axis=-1)


def error(bounds, p, q, level):
    """Return P(bound > level) for an event with probabilities p and q, over all counts."""
    weights = [stats.binom.pmf(np.arange(TRIALS + 1), TRIALS, chance) for chance in (p, q)]
    return weights[0] @ (bounds > level + 1e-12) @ weights[1]


CHANCES = [(p, p * r) for p in (0.05, 0.4, 0.9) for r in (1.0, 0.6, 0.15)] + [(1.0, 0.5)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("delta", [0.0, 0.04, 0.3])
@pytest.mark.parametrize("larger", [0, 1])
def test_the_bound_holds_as_often_as_it_says(delta, larger):
    """Whichever side the search chose; nothing may be shown below delta."""
    bounds = evidence(every_count(), larger).bound(dpjax.Epsilon(delta), SURE)
    for p, q in CHANCES:
        of_sides = (q, p) if larger else (p, q)
        level = max(math.log((p - delta) / q), 0.0) if p > delta else 0.0
        assert error(bounds, *of_sides, level) <= 1 - SURE + 1e-9
    assert bounds.max() > 0.9


@pytest.mark.slow
def test_the_enumeration_sees_what_it_should():
    """Exchanged sides, a missing delta, and an error of 15% instead of 10% do not pass."""
    counts = every_count()
    swapped = evidence(counts, 1).bound(dpjax.Epsilon(), SURE)
    assert error(swapped, 0.05, 0.4, 0.0) > 1 - SURE
    without = evidence(counts).bound(dpjax.Epsilon(), SURE)
    assert error(without, 0.9, 0.3, math.log((0.9 - 0.3) / 0.3)) > 1 - SURE
    loose = evidence(counts).bound(dpjax.Epsilon(), 0.85)
    assert max(error(loose, p, 0.6 * p, -math.log(0.6)) for p in np.linspace(0.2, 1, 30)) > 1 - SURE


def test_trials_of_two_sides_may_differ():
    """As with recorded outputs, 30 of 40 and 10 of 80 lead to ln 6, on either side."""
    notion, sides = dpjax.Epsilon(), [(30, 10), (10, 30)]
    for larger, counts in enumerate(sides):
        trials = ((40, 80), (80, 40))[larger]
        found = evidence(counts, larger, trials)
        assert found.estimate(notion) == pytest.approx(math.log(6))
        assert 0.5 < found.bound(notion, SURE) < math.log(6)
        # In the other direction, no probability is larger.
        assert evidence(counts, 1 - larger, trials).bound(notion, SURE) == 0
    with pytest.raises(ValueError, match="trials must be equal on both sides if"):
        evidence([sides[0]] * 2, 0, (40, 80)).bound(notion, SURE)


@pytest.mark.parametrize(
    ("delta", "counts", "estimate"),
    [
        (0.0, (10, 5), math.log(2)),
        (0.0, (5, 10), 0.0),
        (0.0, (3, 0), math.inf),
        (0.0, (0, 0), 0.0),
        (0.5, (12, 5), math.log(5 / 5)),
        # A rare event shows nothing if delta may be all of it: 0 / 0 is not infinite.
        (0.5, (5, 0), 0.0),
        (0.5, (0, 0), 0.0),
        (0.5, (7, 0), 0.0),
        (0.5, (8, 0), math.inf),
    ],
)
def test_estimates(delta, counts, estimate):
    assert evidence(counts).estimate(dpjax.Epsilon(delta)) == pytest.approx(estimate, abs=1e-12)


def test_a_rare_event_with_delta_has_no_infinite_estimate():
    """No fresh output is in the event on either side, and delta could be all of it."""
    stated = evidence((0, 0)).state(dpjax.Epsilon(0.05), SURE, 1, 0.5)
    assert stated.estimate == 0 == stated.lower_bound and stated.smallest_error is None
    # If it occurs on one side only, the estimate is infinite.
    assert evidence((9, 0)).state(dpjax.Epsilon(), SURE, 1, None).estimate is None


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_the_smallest_error_is_where_the_verdict_turns(delta):
    notion, found = dpjax.Epsilon(delta), evidence((11, 2))
    for claim in (0.2, 0.5, 0.8):
        least = found.state(notion, SURE, 1, claim).smallest_error
        assert found.bound(notion, 1 - 1.02 * least) > claim
        assert found.bound(notion, 1 - 0.98 * least) <= claim
        # Each of three claims gets a third of the error.
        assert found.state(notion, SURE, 3, claim).smallest_error == min(3 * least, 1)


def test_the_smallest_error_is_computed_once_when_it_is_first_read(monkeypatch):
    confidences, of_event = [], dpjax.Epsilon.of_event

    def counting(self, larger, smaller, trials, confidence, distance=1):
        # NumPy settings of the caller must not stop the computation.
        assert np.geterr()["under"] == "ignore"
        confidences.append(confidence)
        return of_event(self, larger, smaller, trials, confidence, distance)

    monkeypatch.setattr(dpjax.Epsilon, "of_event", counting)
    stated = evidence((11, 2)).state(dpjax.Epsilon(), SURE, 1, 0.5)
    copied = pickle.loads(pickle.dumps(stated))
    assert confidences == [SURE]
    with np.errstate(all="raise"):
        least = stated.smallest_error
    num_bounds = len(confidences)
    assert least is not None and num_bounds > 1
    assert stated.smallest_error == least and len(confidences) == num_bounds
    assert copied.smallest_error == least and copied == stated
    # Without a claim, there is nothing to compute.
    assert evidence((11, 2)).state(dpjax.Epsilon(), SURE, 1, None).smallest_error is None


def test_smallest_errors_by_the_normal_quantile():
    """A bound of 2 - z / 2 exceeds a claim down to P(Z > 2 (2 - claim))."""

    def bound(confidence):
        return max(2 - stats.norm.ppf(confidence) / 2, 0.0)

    for claim in (1.999, 1.5, 0.7, 0.1, 0.0):
        expected = stats.norm.sf(2 * (2 - claim))
        assert smallest_error(bound, claim) == pytest.approx(expected, rel=0.02)
    assert smallest_error(bound, 2.0) is None and smallest_error(bound, 9.0) is None
    assert smallest_error(lambda confidence: 1.0, 0.5) == 1e-12


def test_few_bounds_are_computed_for_it():
    """An exact bound of many counts takes a tenth of a second."""
    asked = []

    def bound(confidence):
        asked.append(confidence)
        return 3 - 0.4 * stats.norm.ppf(confidence) ** 1.1

    assert smallest_error(bound, 1.3) == pytest.approx(
        stats.norm.sf((1.7 / 0.4) ** (1 / 1.1)), rel=0.02
    )
    assert len(asked) <= 10


def test_a_known_bound_saves_calls():
    asked = []

    def bound(confidence):
        asked.append(confidence)
        return 2 - stats.norm.ppf(confidence) / 2

    for claim, confidence, most in ((1.7, 0.999, 4), (0.7, 0.9, 6), (-9.0, 0.9, 1)):
        known, expected = bound(confidence), stats.norm.sf(2 * (2 - claim))
        asked.clear()
        found = smallest_error(bound, claim, (confidence, known))
        assert found == pytest.approx(max(expected, 1e-12), rel=0.02)
        assert len(asked) <= most
    # Below the range of reported errors, a known bound is not useful.
    assert smallest_error(bound, 2.5, (0.4, bound(0.4))) is None


def terms(**options):
    given = {
        "notion": dpjax.Epsilon(),
        "claim": None,
        "confidence": 0.99,
        "num_claims": 1,
        "key": 0,
    }
    return Terms(**{**given, **options})


def test_terms_share_the_error_among_claims():
    assert terms().own_confidence == 0.99 and not terms().notes()
    five = terms(num_claims=5)
    assert (
        five.own_confidence == pytest.approx(0.998) and "0.002. Together, all 5" in five.notes()[0]
    )


def test_a_level_is_named():
    assert dpjax.Epsilon().symbol == "epsilon"
    assert dpjax.Epsilon(0.001).symbol == "epsilon at delta = 0.001"
