"""Small parts of notions and evidence: rows of statements, rejections, and missing bounds."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax.inference import Event
from dpjax.inference._guesses import Guessed
from dpjax.inference._named import hypothesis_from_plain, hypothesis_to_plain
from dpjax.notions import (
    BetWealth,
    ChainCounts,
    EventAndChain,
    EventCounts,
    GuessCounts,
    RepeatedRuns,
    Statement,
    Terms,
    evidence_from_plain,
)
from dpjax.notions.evidence._guesses import _of_curve

STATED = Statement(0.5, 0.75, "it", upper_bound=1.25, standard_error=0.125, smallest_error=0.01)
LINES = {
    "lower_bound": ("lower bound", "0.5000 (it)"),
    "upper_bound": ("upper bound", "1.2500, under the assumption"),
    "estimate": ("estimate", "0.7500"),
    "standard_error": ("standard error", "0.1250"),
    "smallest_error": ("refuted", "at every error probability down to 0.01"),
}


@pytest.mark.parametrize("left_out", [None, *[name for name in LINES if name != "lower_bound"]])
def test_a_statement_shows_each_number_that_it_has(left_out):
    stated = STATED if left_out is None else replace(STATED, **{left_out: None})
    assert stated._lines() == [line for name, line in LINES.items() if name != left_out]
    curve = {"epsilon": [0.0, 1.0], "delta": [0.5, 0.25]}
    assert replace(stated, curve=curve)._lines()[-1] == ("curve", "epsilon and delta, 2 points")


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"notion": "epsilon"}, ValueError, r"notion must be dpjax\.Epsilon.* but was 'epsilon'"),
        ({"confidence": 1.0}, ValueError, "confidence must lie strictly between 0 and 1"),
        ({"num_claims": 0}, ValueError, "num_claims must be an integer >= 1"),
        ({"num_claims": 2**62}, ValueError, "num_claims must be smaller, because the error"),
        ({"distance": 0}, ValueError, "distance must be an integer >= 1"),
        ({"notion": dpjax.TradeOff(), "distance": 2}, ValueError, "distance must be 1 for a trade"),
        ({"claim": -1.0}, ValueError, "claim"),
        ({"execution": "fast"}, TypeError, r"execution must be .* but was 'fast'"),
    ],
)
def test_terms_are_checked_at_once(changed, error, message):
    given = {"notion": dpjax.Epsilon(), "claim": 1.0, "confidence": 0.9, "num_claims": 1, "key": 0}
    Terms(**given)
    with pytest.raises((error, TypeError), match=message):
        Terms(**(given | changed))


@pytest.mark.parametrize(
    ("notion", "distance", "message"),
    [
        (dpjax.Gdp(), 1, r"notion must be dpjax\.Epsilon\(\) for it, but was Gdp\(\)"),
        (dpjax.Epsilon(0.1), 1, r"delta must be 0 for it, but was 0\.1: use .*accepts any delta"),
        (dpjax.Epsilon(), 2, "distance must be 1 for it, but was 2: use"),
    ],
)
def test_methods_without_events_bound_epsilon_of_one_record(notion, distance, message):
    Terms(dpjax.Epsilon(), None, 0.9, 1, 0).refuse_notions("it")
    with pytest.raises(ValueError, match=message):
        Terms(notion, None, 0.9, 1, 0, distance=distance).refuse_notions("it")


def test_only_bets_are_placed_on_numbers_of_outputs_that_were_not_fixed():
    for kind in (EventCounts, ChainCounts, EventAndChain, GuessCounts, RepeatedRuns):
        assert kind.planned
    assert not BetWealth.planned


def test_repeated_runs_bound_nothing():
    found = RepeatedRuns("processes", 100, 50.0)
    assert found.compare(dpjax.Epsilon(), 0.9, 0.0, 1) == (-math.inf, None)
    # 50 nats are 21.7 decades.
    assert found.chance == "1e-21"
    stated = found.state(dpjax.Epsilon(), 0.9)
    assert (stated.lower_bound, stated.estimate, stated.basis) == (0, None, "no independent draws")
    assert found.rows(stated, "sure") == [
        ("repeated", "the first 100 outputs of two processes, in the same order"),
        ("chance", "below 1e-21 for independent draws"),
    ]
    assert [text for _, text in found.table(stated, "sure")] == ["100", "1e-21"]
    assert evidence_from_plain(found.to_plain()) == found
    for changed in ({"outputs": 0}, {"nats": 0.0}, {"nats": -1.0}, {"runs": 3}):
        with pytest.raises((ValueError, TypeError)):
            evidence_from_plain(found.to_plain() | changed)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"more": 1}, TypeError),
        ({"counts": [[3, 11], [2, 8]]}, ValueError),
        ({"counts": [[3, -1], [2, 8]]}, ValueError),
        ({"trials": [10, 0]}, ValueError),
        ({"trials": [9, 10]}, ValueError),
    ],
)
def test_counts_that_are_none_are_refused(change, error):
    plain = ChainCounts(np.array([[3, 10], [2, 8]]), (10, 10), (2, 0)).to_plain()
    found = evidence_from_plain(plain)
    assert (found.counts.tolist(), found.trials) == ([[3, 10], [2, 8]], (10, 10))
    with pytest.raises(error):
        evidence_from_plain(plain | change)


@pytest.mark.parametrize("error", [0.2, 0.05, 1e-6])
def test_a_claim_is_refuted_by_normal_quantiles_of_errors(error):
    event = Event(np.ones(1, bool), np.array(0), np.array(0.0))
    found = EventCounts(event, np.array([5, 3]), (10, 10)).quantile(error, 10)
    assert found == pytest.approx(stats.norm.isf(error), rel=1e-9)


def test_an_event_and_a_chain_show_another_event():
    event = Event(np.array([True, False]), np.array(0), np.array(0.0))
    chain = ChainCounts(np.array([[4, 9], [2, 8]]), (10, 10), (2, 0))
    both = EventAndChain(EventCounts(event, np.array([9, 3]), (10, 10)), chain)
    other = event._replace(cells=~event.cells)
    shown = both.showing(other, np.array([1, 7]))
    assert shown.event.counts.tolist() == [1, 7] and shown.chain is chain
    plain = both.to_plain()
    assert evidence_from_plain(plain).to_plain() == both.to_plain()
    for name in ("event", "chain"):
        plain = both.to_plain()
        plain[name]["kind"] = "wealth"
        with pytest.raises(ValueError, match="kinds"):
            evidence_from_plain(plain)


def test_a_curve_that_no_error_refutes_has_the_error_1():
    assert _of_curve(Guessed(1000, 100, 70), ((0.0, 0.1),)) == 1.0


@pytest.mark.parametrize(
    "notion", [dpjax.Epsilon(), dpjax.Epsilon(0.1), dpjax.Gdp(), dpjax.TotalVariation()]
)
def test_hypotheses_come_back_from_plain_values(notion):
    plain = hypothesis_to_plain(notion.hypothesis(3))
    assert hypothesis_from_plain(plain) == notion.hypothesis(3) and plain["distance"] == 3
    for changed in ({"distance": 0}, {"delta": 1.0}, {"delta": -0.1}, {"name": "none"}):
        with pytest.raises((KeyError, TypeError, ValueError)):
            hypothesis_from_plain(plain | changed)
