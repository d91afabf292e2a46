"""Enumeration of all audits of a mechanism with two outcomes.

The test supplies all possible outputs of an audit with their probabilities. Therefore, the
probability that a bound exceeds the level is summed exactly instead of simulated; it must be at
most 1 - confidence. The same sums show that the test would detect small mistakes.
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

import dpjax
from dpjax import Epsilon, Events, HostMechanism
from dpjax.inference import Event
from dpjax.notions import EventCounts

RATIOS = (0.1, 0.3, 0.5, 0.8, 1.0, 1.2, 2.0, 5.0)
CONFIDENCE, ERROR = 0.7, 0.3
"""The confidence is low, so that few draws lead to positive bounds."""

HALF, FRESH = 2, 5
"""Draws per side in each half of the search, and on average in the confirmation."""

CHANCES = [(p, min(p * ratio, 1.0)) for p in np.linspace(0.05, 0.95, 19) for ratio in RATIOS]
"""Probabilities of the outcome "yes" for the database and its neighbor."""


@dataclass(frozen=True)
class Found:
    """Result of one audit: its bound, and the event, the side and the draws that it counted."""

    bound: float
    event: str
    larger: str
    trials: tuple[int, int]


def answers(number, size):
    return ["yes"] * number + ["no"] * (size - number)


@cache
def audited(searched, confirmed=None, fresh=FRESH):
    """Run the audit with given counts of "yes".

    Args:
        searched: Counts for the database in both halves of the search, then for the neighbor.
        confirmed: Counts for the database and its neighbor; half of the draws if None.
        fresh: Average number of confirmation draws per side; the event determines the division.
    """
    # Outputs with even and odd indices form the two halves.
    first, second = (
        [x for both in zip(*(answers(k, HALF) for k in side), strict=True) for x in both]
        for side in (searched[:2], searched[2:])
    )
    given, trials = {0: [first], 1: [second]}, [0, 0]

    def deal(database, num_samples):
        if given[database]:
            outputs = given[database].pop(0)
        else:
            trials[database] = num_samples
            held = num_samples // 2 if confirmed is None else confirmed[database]
            outputs = answers(held, num_samples)
        assert len(outputs) == num_samples
        return outputs

    sizes = Events(2 * HALF, fresh)
    result = dpjax.audit(HostMechanism(deal), [(0, 1)], method=sizes, confidence=CONFIDENCE)
    assert given == {0: [], 1: []} and sum(trials) == 2 * fresh
    return Found(result.lower_bound, result.witness.event, result.witness.larger, tuple(trials))


SEARCHES = list(product(range(HALF + 1), repeat=4))


@cache
def choices():
    """Return {(event, likelier side, confirmation draws): searches that choose the event}."""
    found = {}
    for searched in SEARCHES:
        # With "yes" in half of the draws, every event occurs, and the witness names the chosen one.
        choice = audited(searched)
        found.setdefault((choice.event, choice.larger, choice.trials), []).append(searched)
    return found


@cache
def bounds(choice):
    """Return the bounds [N1 + 1, N2 + 1] for all fresh counts after a search with this choice."""
    searched, (first, second) = choices()[choice][0], choice[2]
    return np.array(
        [[audited(searched, (x, y)).bound for y in range(second + 1)] for x in range(first + 1)]
    )


def chosen(event, larger):
    """Return the choice with this event and side that occurs after most searches."""
    found = [choice for choice in choices() if choice[:2] == (event, larger)]
    return max(found, key=lambda choice: len(choices()[choice]))


def probability(held, p, q):
    """Return the probabilities of all counts on both sides as a table."""
    first, second = (law(n - 1, chance) for n, chance in zip(held.shape, (p, q), strict=True))
    return first @ held @ second


@cache
def law(size, chance):
    return binom.pmf(np.arange(size + 1), size, chance)


def level(p, q, delta=0.0):
    """Return the smallest epsilon of the two outcomes, in both directions."""
    ratios = [(p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)]
    return max(
        [0.0, *(math.log((a - delta) / b) if b else math.inf for a, b in ratios if a > delta)]
    )


def worst(table, delta=0.0):
    """Return the largest P(bound > level) for a table of bounds."""
    return max(probability(table > level(p, q, delta) + 1e-12, p, q) for p, q in CHANCES)


@pytest.mark.slow
def test_all_choices_are_there_and_searches_of_one_choice_are_alike():
    """As a consequence, one search can represent all searches that choose the same event."""
    sides = {side for _, side, _ in choices()}
    assert sides == {"database", "neighbor"} and len(choices()) >= 5
    # The rarer an event, the more draws are made on the side where it is rare.
    assert len({trials for *_, trials in choices()}) >= 3
    for (_, _, (one, other)), searches in choices().items():
        some = ((0, other), (one - 1, 1), (one, 0), (one // 2, other))
        first, last = (
            [audited(searched, counts) for counts in some]
            for searched in (searches[0], searches[-1])
        )
        assert first == last


def test_a_bound_is_above_the_level_no_more_often_than_it_may():
    """This holds for every choice of the search, and therefore for the whole audit."""
    found = [worst(bounds(choice)) for choice in choices()]
    assert max(found) <= ERROR
    # The bound is nearly tight: events of one outcome leave little room.
    assert np.median(sorted(found)[-4:]) > 0.85 * ERROR


@pytest.mark.parametrize("side", [0, 1])
def test_one_count_more_would_be_seen(side):
    """Count one more "yes" on the side where it is more likely."""
    choice = chosen("the output is 'yes'", ("database", "neighbor")[side])
    table = np.moveaxis(bounds(choice), side, 0)
    more = np.concatenate([table[1:], table[-1:]])
    assert worst(table) <= ERROR < worst(np.moveaxis(more, 0, side))


def chance_of(searched, p, q):
    return math.prod(binom.pmf(k, HALF, c) for k, c in zip(searched, (p, p, q, q), strict=True))


def test_counts_of_the_search_again_would_be_seen():
    """If the search draws are counted again, the event is counted because it occurred."""
    searches = choices()["the output is 'yes'", "database", (FRESH, FRESH)]

    def again(searched):
        trials, held = audited(searched, None, 2 * HALF).trials, (searched[:2], searched[2:])
        return tuple(round(sum(k) * n / (2 * HALF)) for k, n in zip(held, trials, strict=True))

    wrong = [s for s in searches if audited(s, again(s), 2 * HALF).bound > 0]
    # Both sides have the same fraction of "yes", for all fractions.
    shares = [
        sum(chance_of(s, p, p) for s in wrong) / sum(chance_of(s, p, p) for s in searches)
        for p in np.linspace(0.05, 0.95, 19)
    ]
    assert max(shares) > ERROR


def test_an_audit_finds_a_level_that_one_with_swapped_sides_does_not():
    """With exchanged sides, the guarantee still holds, but the audit finds nothing."""
    p, q = 0.9, 0.1
    right = swapped = 0.0
    for choice, searches in choices().items():
        chance = sum(chance_of(searched, p, q) for searched in searches)
        right += chance * probability(bounds(choice) > 0.5, p, q)
        swapped += chance * probability(bounds(choice).T > 0.5, p, q)
    assert right > 0.75 and swapped < 0.01


# Test the bound of the notion directly, because audits cannot reach all of its values.


def table(trials, confidence, *, delta=0.0, swap=False):
    """Return the bounds for all counts of an event that is more likely for the database."""
    counts = np.stack(np.indices([size + 1 for size in trials]), -1)
    found = []
    for pair in counts.reshape(-1, 2):
        event = Event(np.ones(1, bool), np.int64(0), np.float64(0))
        told = trials[::-1] if swap else trials
        evidence = EventCounts(event, np.minimum(pair, told), told)
        found.append(float(evidence.bound(Epsilon(delta), confidence)))
    return np.reshape(found, counts.shape[:2])


@pytest.mark.parametrize("trials", [(5, 5), (4, 9), (9, 4)])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_sides_of_other_sizes_and_a_delta_keep_the_error(trials, delta):
    assert worst(table(trials, CONFIDENCE, delta=delta), delta) <= ERROR


def test_a_larger_error_numbers_of_draws_swapped_and_a_lost_delta_would_be_seen():
    assert worst(table((5, 5), CONFIDENCE / 2)) > ERROR
    assert worst(table((5, 5), CONFIDENCE - 0.05)) > ERROR
    assert worst(table((9, 4), CONFIDENCE, swap=True)) > ERROR
    assert worst(table((5, 5), CONFIDENCE), 0.1) > ERROR
