"""Statements from counts: shares of the error, tables, and rejected fields."""

import numpy as np
import pytest

import dpjax
from dpjax.inference import Event
from dpjax.notions import (
    ChainCounts,
    EventAndChain,
    EventCounts,
    HistogramLevel,
    Statement,
    Terms,
    evidence_from_plain,
)


def event(larger=0, counts=(70, 30), trials=(100, 120)):
    cells = Event(np.array([True, False, True]), np.array(larger), np.array(0.5))
    return EventCounts(cells, np.array(counts), trials)


CHAIN = ChainCounts(np.array([[30, 55, 80], [4, 20, 77]]), (100, 120), (3, 1))


@pytest.mark.parametrize("claim", [0.2, 0.4])
def test_the_smallest_error_is_shared_by_the_claims_and_at_most_1(claim):
    alone = event().state(dpjax.Epsilon(), 0.9, 1, claim).smallest_error
    assert 0 < alone < 0.1
    for number in (2, 7, int(0.9 / alone), int(1.1 / alone) + 1):
        stated = event().state(dpjax.Epsilon(), 0.9, number, claim)
        assert stated.smallest_error == pytest.approx(min(number * alone, 1.0))
    assert int(0.9 / alone) * alone > 0.5
    assert event().state(dpjax.Epsilon(), 0.9, 3, 5.0).smallest_error is None


@pytest.mark.parametrize("number", [10**9, 10**10, 10**12, 5 * 10**12])
def test_claims_that_are_refuted_jointly_are_refuted_at_the_joint_error(number):
    """The smallest error of one claim is at least 1e-12, and so many claims add up to more."""
    terms = Terms(dpjax.Epsilon(), 0.1, 0.999, number, 0)
    apart = event(counts=(900, 20), trials=(1000, 1000))
    stated = apart.state(terms.notion, terms.own_confidence, number, 0.1)
    assert stated.lower_bound > 0.1 and 0 < stated.smallest_error <= 1 - 0.999
    other = apart.state(terms.notion, terms.own_confidence, number, stated.lower_bound + 0.01)
    assert other.smallest_error > 1 - 0.999


def test_an_event_chosen_for_one_notion_bounds_no_other():
    found = event()
    for named in (None, dpjax.Epsilon()):
        assert found.answer(dpjax.Epsilon(), 0.9, 1, named).lower_bound > 0
    message = (
        r"chosen for epsilon, so it has no bound for mu of .*: audit with notion=Gdp\(\), or "
        r"with method=Events\(also=True\)"
    )
    with pytest.raises(ValueError, match=message):
        found.answer(dpjax.Gdp(), 0.9, 1, dpjax.Epsilon())


@pytest.mark.parametrize("estimate", [0.75, None])
def test_tables_of_a_page(estimate):
    stated = Statement(0.5, estimate, "a basis")
    for found, name in ((event(), "Estimate at the witness"), (CHAIN, "Estimate at the witness")):
        assert found.table(stated, "sure") == [
            ("Lower bound (a basis, sure)", "0.5000"),
            (name, "infinite" if estimate is None else "0.7500"),
        ]


@pytest.mark.parametrize("found", [event(), event(1), CHAIN, EventAndChain(event(1), CHAIN)])
def test_counts_come_back_without_the_cells_of_their_event(found):
    plain = found.to_plain()
    again = evidence_from_plain(plain)
    assert again.to_plain() == found.to_plain()
    one = again.event if isinstance(again, EventAndChain) else again
    if isinstance(one, EventCounts):
        assert one.event.cells.size == 0 and float(one.event.predicted) == 0
        of_found = found.event if isinstance(found, EventAndChain) else found
        assert [side.tolist() for side in one.sided()] == [s.tolist() for s in of_found.sided()]
    for notion in (dpjax.Epsilon(), dpjax.Gdp()):
        assert again.state(notion, 0.9) == found.state(notion, 0.9)


@pytest.mark.parametrize("found", [event(), CHAIN])
def test_other_fields_are_refused(found):
    with pytest.raises(TypeError, match="counts must have no other fields, but had more"):
        evidence_from_plain(found.to_plain() | {"more": 1})
    with pytest.raises((TypeError, ValueError)):
        evidence_from_plain(found.to_plain() | {"kind": "guess"})


def test_chains_are_bounded_by_what_may_be_an_event():
    whole = ChainCounts(CHAIN.counts, CHAIN.trials, (3, 0))
    band = whole.band(0.9)
    np.testing.assert_array_equal(CHAIN.band(0.9).power[1], band.power[1][1:])
    shares = CHAIN.shares()
    np.testing.assert_allclose(shares.power[0][:, 0], [0.3, 0.55, 0.8])
    np.testing.assert_allclose(shares.level[0][:, 0], np.array([4, 20, 77]) / 120)
    np.testing.assert_allclose(shares.power[1][:, 0], 1 - np.array([20, 77]) / 120)
    # The largest difference of frequencies: 55 of 100 and 20 of 120.
    stated = CHAIN.state(dpjax.TotalVariation(), 0.9)
    assert stated.estimate == pytest.approx(0.55 - 20 / 120)
    assert stated.curve is None and CHAIN.state(dpjax.Profile(), 0.9).curve is not None
    other = CHAIN.state(dpjax.TotalVariation(), 0.9, distance=2)
    assert other.estimate == pytest.approx(stated.estimate / 2)
    assert other.lower_bound == pytest.approx(stated.lower_bound / 2)


def test_sections_of_a_histogram():
    plan = {"order": None, "precision": 0.2, "num_samples": 9000, "num_inputs": 2,
            "num_intervals": 1500, "bound": "all-intervals"}  # fmt: skip
    found = HistogramLevel(0.7, "it", None, "ok", plan, num_pairs=3000, num_failed=1)
    first, second = found.parts()
    assert first.title == "What the interval rests on" and not first.numbers
    assert first.text == "Assumed: it. The interval is valid only if this assumption holds."
    assert first.rows[1] == ("Union bound", "all-intervals")
    assert second.title == "Inputs" and second.numbers
    assert [text for _, text in second.rows] == ["2", "3,000", "1", "9,000", "1,500"]
    for name in ("precision", "num_samples", "num_inputs", "num_intervals"):
        wrong = found.to_plain() | {"plan": plan | {name: 0}}
        with pytest.raises(ValueError, match=f"{name} must be a number > 0"):
            evidence_from_plain(wrong)
    with pytest.raises(TypeError):
        evidence_from_plain(found.to_plain() | {"estimate": "much"})
