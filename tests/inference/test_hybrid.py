"""Looks: what they count, which event they plan, and how the error is divided."""

import numpy as np
import pytest
from scipy import stats

from dpjax import Epsilon
from dpjax.inference import Difference, Ratio, Shift, choose_event, start, step
from dpjax.inference._assumptions import FiniteOutputs
from dpjax.inference._choice import Rivals
from dpjax.inference._chosen_guesses import delta_of_curves
from dpjax.inference._hybrid import Look, best_events, best_pairs, errors, look_bound, planned_look
from dpjax.inference._ranges import _ends


def look(larger=0, draws=10):
    return Look(1, np.array([True, False, True]), larger, draws, 0.04)


X, Y = np.array([[9, 9, 9], [3, 1, 0]]), np.array([[9, 9, 9], [1, 2, 2]])


def test_a_look_counts_its_pair_and_its_event():
    one = look().counted(X, Y)
    assert (one.counts, one.drawn) == ((3, 3), (4, 5)) and not one.is_taken
    other = look(1).counted(X, Y)
    assert (other.counts, other.drawn) == ((3, 3), (5, 4))
    both = one.counted(np.array([[0] * 3, [4, 2, 0]]), np.array([[0] * 3, [1, 1, 3]]))
    assert (both.counts, both.drawn) == ((7, 7), (10, 10)) and both.is_taken
    with pytest.raises(ValueError, match="planned for 10 draws per side, but 11 were"):
        both.counted(np.array([[0] * 3, [0, 1, 0]]), np.zeros((2, 3), int))


@pytest.mark.parametrize("wrong", [np.array([[0] * 3, [-1, 1, 0]]), np.array([[0] * 3, [0.5] * 3])])
def test_what_is_no_count(wrong):
    for sides in ((wrong, Y), (X, wrong)):
        with pytest.raises((TypeError, ValueError), match="must be"):
            look().counted(*sides)


def test_a_look_is_kept_as_it_is():
    found = look(1).counted(X, Y)
    again = Look.from_plain({name: value.tolist() for name, value in found.to_plain().items()})
    assert again.to_plain().keys() == found.to_plain().keys()
    for name, value in found.to_plain().items():
        np.testing.assert_array_equal(value, again.to_plain()[name])
    assert again.cells.dtype == bool and type(again.counts[0]) is int


def test_the_error_is_divided():
    assert errors(0.05) == pytest.approx((0.01, 0.04))


def state(hypothesis, ordered=True):
    """Return three pairs; the last one differs most."""
    rng = np.random.default_rng(3)
    found = start(3, 6, 0.05, hypothesis=hypothesis, ordered=ordered)
    law = np.array([6, 5, 4, 3, 2, 1]) / 21
    x = np.stack([rng.multinomial(4000, law) for _ in range(3)])
    y = np.stack([rng.multinomial(4000, law**(1 + 0.3 * pair) / (law**(1 + 0.3 * pair)).sum())
                  for pair in range(3)])  # fmt: skip
    return step(found, x, y)


@pytest.mark.parametrize("hypothesis", [Ratio(), Ratio(0.05), Shift(), Difference(), Shift(2)])
@pytest.mark.parametrize("ordered", [True, False])
def test_events_are_those_of_the_hypothesis(hypothesis, ordered):
    found = state(hypothesis, ordered)
    events = best_events(found, np.array([2, 0]), 3000, 0.04, 2)
    counts = np.stack([found.first[[2, 0]], found.second[[2, 0]]], axis=1)
    positions = [np.arange(6.0)] if ordered else ()
    expected = choose_event(counts, 3000, 0.96, hypothesis=hypothesis, positions=positions,
                            ordered=ordered, rivals=Rivals(2))  # fmt: skip
    np.testing.assert_array_equal(events.predicted, expected.predicted)
    np.testing.assert_array_equal(events.cells, expected.cells)
    assert best_pairs(found, 2, 3000, 0.04)[0] == 2 and len(best_pairs(found, 2, 3000, 0.04)) == 2
    planned = planned_look(found, [0, 2], 3000, 0.04)
    assert (planned.pair, planned.draws, planned.error) == (2, 3000, 0.04)
    one = best_events(found, np.array([0, 2]), 3000, 0.04, 2).at((1,))
    np.testing.assert_array_equal(planned.cells, one.cells)
    assert planned.larger == int(one.larger)


def test_a_pair_has_no_rivals_unless_their_number_is_given():
    found = step(start(1, 2, 0.05, ordered=True), np.array([[700, 300]]), np.array([[500, 500]]))
    without, alone, beside = (
        float(best_events(found, np.array([0]), 3000, 0.04, *rivals).predicted[0])
        for rivals in ((), (1,), (2,))
    )
    assert without == alone > beside


def test_the_bound_of_a_look_is_that_of_its_counts():
    taken = Look(0, np.array([True, False]), 0, 1000, 0.04, (600, 300), (1000, 1000))
    exact = Epsilon().of_event(np.array(600), np.array(300), (1000, 1000), 0.96)
    assert look_bound(taken, Ratio(), 0.04) == float(exact)


@pytest.mark.parametrize(("order", "share"), [(None, 1 / 2), (2.0, 1 / 3), (3.0, 0.4)])
@pytest.mark.parametrize("inputs", [2, 3])
def test_the_layout_of_finitely_many_outputs(order, share, inputs):
    """An error z of log-counts is one of 2 z, or of (2 a - 1) z / (a - 1) of a divergence."""
    found = FiniteOutputs(8, 0.1, inputs).layout(0.6, order)
    assert (found.num_intervals, found.num_inputs) == (8, inputs)
    assert found.least_probability == 0.1
    assert found.deviation == found.enough == pytest.approx(0.6 * share)
    assert found.all_counts_used is (order is not None) and found.all_pairs is (inputs > 2)


def test_the_delta_of_curves():
    assert delta_of_curves(1000, 0.05) == pytest.approx(0.002)


def test_ends_of_ranges_are_few():
    """All places are tried if there are at most 64; else the first, quantiles and event ends."""
    for size in (5, 64):
        line = np.arange(float(size))
        found = _ends(line, np.ones(size, bool), line < 2, np.ones((2, size), int))
        assert found.tolist() == [-np.inf, *range(1, size), np.inf]
    line = np.arange(200.0)
    event = (line >= 77) & (line < 101)
    found = _ends(line, np.ones(200, bool), event, np.ones((2, 200), int))
    even = np.searchsorted(2 * np.arange(1, 201), np.linspace(0, 400, 32)[1:-1])
    assert found.tolist() == [-np.inf, *sorted({*even.tolist(), 77, 101}), np.inf]
    # Only the first 32 ends of a ragged event are tried.
    ragged = _ends(line, np.ones(200, bool), line % 2 == 0, np.ones((2, 200), int))
    assert set(ragged[1:-1].tolist()) == {*even.tolist(), *range(1, 33)}


def test_looks_use_level_sets_unless_losses_are_monotonic():
    """For normal noise with standard deviations 1 and 2, the best sets are intervals."""
    edges = np.linspace(-5, 5, 39)
    laws = [np.diff(stats.norm.cdf(edges, scale=s), prepend=0, append=1) for s in (1, 2)]
    x, y = np.random.default_rng(4).multinomial(2000, laws)[:, None]
    found = {}
    for monotonic in (False, True):
        state = step(start(1, 40, 0.05, monotonic=monotonic), x, y)
        found[monotonic] = best_events(state, np.array([0]), 3000, 0.04)
    # Both tails together, and one tail.
    both, one = found[False].cells[0], found[True].cells[0]
    assert both[[0, -1]].all() and not both[15:25].any()
    assert one[0] != one[-1]
    assert found[False].predicted[0] > found[True].predicted[0]
