"""Bounds from counts: sample sizes of both sides, and error probabilities for each evidence."""

import math

import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax.inference import Event, one_run_lower_bound
from dpjax.inference._band import band, radius
from dpjax.inference._buehler import buehler_bound
from dpjax.inference._guesses import Guessed, refutes
from dpjax.inference._hypotheses import Ratio
from dpjax.notions import ChainCounts, EventAndChain, EventCounts, evidence_from_plain
from dpjax.notions.evidence._guesses import GuessCounts, _of_curve, level_of

COUNTS, TRIALS = np.array([30, 200]), (400, 1_000)


def counted(larger):
    return EventCounts(Event(np.ones(1, bool), np.array(larger), np.array(0.0)), COUNTS, TRIALS)


def test_each_side_has_its_own_number_of_draws():
    # For the neighbor, 200 of 1000 are 0.2; for the database, 30 of 400 are 0.075.
    found = float(counted(1).bound(dpjax.Epsilon(), 0.95))
    assert found == pytest.approx(buehler_bound(Ratio(), 200, 30, (1_000, 400), 0.05), rel=1e-12)
    assert 0.5 < found < np.log(0.2 / 0.075)
    assert float(counted(0).bound(dpjax.Epsilon(), 0.95)) == 0


def test_an_event_and_a_chain_share_the_error():
    chain = ChainCounts(np.array([[5, 30], [100, 200]]), TRIALS, (2, 0))
    both = EventAndChain(counted(1), chain)
    shown = both.state(dpjax.Epsilon(), 0.95).lower_bound
    assert shown == pytest.approx(buehler_bound(Ratio(), 200, 30, (1_000, 400), 0.025), rel=1e-12)
    other = both.state(dpjax.Gdp(), 0.95, named=dpjax.Epsilon())
    assert other == chain.state(dpjax.Gdp(), 0.975)
    for mine, theirs in zip(both.simultaneous(0.95), chain.band(0.975), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    alone = counted(1).state(dpjax.Gdp(), 0.95)
    assert alone.lower_bound == float(counted(1).bound(dpjax.Gdp(), 0.95))


@pytest.mark.parametrize("named", [None, dpjax.Epsilon(), dpjax.Gdp()])
def test_the_bound_of_the_own_notion_is_known_to_the_smallest_error(monkeypatch, named):
    """If the event was chosen for another notion, the chain's bound is not a starting value."""
    asked, compare = [], EventAndChain.compare

    def recorded(evidence, notion, confidence, *others):
        asked.append(confidence)
        return compare(evidence, notion, confidence, *others)

    monkeypatch.setattr(EventAndChain, "compare", recorded)
    chain = ChainCounts(np.array([[5, 30], [100, 200]]), TRIALS, (2, 0))
    both = EventAndChain(counted(1), chain)
    claim = both.state(dpjax.Epsilon(), 0.95).lower_bound + 0.01
    stated = both.state(dpjax.Epsilon(), 0.95, claim=claim, named=named)
    part = chain if named == dpjax.Gdp() else counted(1)
    assert stated.lower_bound == part.state(dpjax.Epsilon(), 0.975).lower_bound
    alone = both.state(dpjax.Epsilon(), 0.95, claim=claim).smallest_error
    asked.clear()
    assert stated.smallest_error == pytest.approx(alone, rel=0.03)
    # A claim that is not refuted at 95% needs no bound with a larger confidence.
    assert asked and (max(asked) <= 0.95) == (named != dpjax.Gdp())


def test_corners_of_a_band_are_outside_of_the_quarter_circle():
    """Corner j contains the arc from angle j to j + 1: the first side at j, the other at j + 1."""
    found, r = band(np.array([[40, 90], [10, 70]]), (100, 200), 0.05, corners=4), radius(2, 0.05)
    lower, upper = found.roc
    for j in range(4):
        first, second = (
            stats.norm.sf(r * part) for part in (np.cos(j * np.pi / 8), np.sin((j + 1) * np.pi / 8))
        )
        for place, (k, m) in enumerate(((40, 10), (90, 70))):
            low = stats.beta.ppf(first, k, 100 - k + 1)
            high = stats.beta.isf(second, m + 1, 200 - m)
            assert lower[place, j] == pytest.approx(low, rel=1e-9)
            assert upper[place, j] == pytest.approx(high, rel=1e-9)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"trials": [0, 1_000]}, "trials must be an integer >= 1"),
        ({"counts": [401, 200]}, "counts"),
        ({"counts": [-1, 200]}, "counts"),
        ({"event": 2}, "event"),
    ],
)
def test_counts_that_are_none_are_refused(changed, message):
    content = counted(1).to_plain()
    assert evidence_from_plain(content).to_plain() == content
    with pytest.raises(ValueError, match=message):
        evidence_from_plain(content | changed)


@pytest.mark.parametrize(
    "changed", [{"usable": [3, 0]}, {"usable": [0, -1]}, {"trials": [10, 1_000]}]
)
def test_chains_that_are_none_are_refused(changed):
    content = ChainCounts(np.array([[5, 30], [100, 200]]), TRIALS, (2, 0)).to_plain()
    assert evidence_from_plain(content).to_plain() == content
    with pytest.raises(ValueError):
        evidence_from_plain(content | changed)


def test_the_number_of_guesses_is_fixed_unless_it_is_chosen():
    guessed = Guessed(1000, 100, 95)
    fixed = one_run_lower_bound(*guessed, delta=1e-5, confidence=0.95)
    assert level_of(guessed, dpjax.Epsilon(1e-5), 0.05) == fixed
    assert 0 < level_of(guessed, dpjax.Epsilon(1e-5), 0.05, chosen=True) < fixed


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_a_share_of_the_error_is_told_where_other_guesses_use_the_rest(share):
    (part,) = GuessCounts(1000, 50, 50, 95, share=share).parts()
    assert ("40% of the error probability was used" in part.text) == (share < 1)


@pytest.mark.parametrize("right", [85, 95])
@pytest.mark.parametrize("claim", [((1.0, 0.0),), ((0.0, 0.3), (0.5, 0.1), (1.0, 0.0))])
def test_the_smallest_error_of_a_curve_is_rounded_up(right, claim):
    """The curve is refuted at this error, but not at an error that is smaller by 1e-9."""
    guessed = Guessed(1000, 100, right)

    def gain(y):
        """Each point bounds P(S) <= e^epsilon Q(S) + delta, for an event and its complement."""
        one = [math.exp(-e) * (y - delta) for e, delta in claim]
        other = [1 - delta - math.exp(e) * (1 - y) for e, delta in claim]
        return max(0.0, *one, *other)

    found = _of_curve(guessed, claim)
    assert 1e-14 < found < 1 and refutes(guessed, gain, found)
    assert not refutes(guessed, gain, found * (1 - 1e-9))
