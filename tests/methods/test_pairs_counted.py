"""The search of pairs by counts finds the pair that breaks the claim, and the bound stays valid."""

import re
import time
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax import Domain, Epsilon, HostMechanism, neighbors
from dpjax.core import random
from dpjax.databases import Within
from dpjax.databases.spaces import Proposed
from dpjax.methods import _rungs
from dpjax.methods._pairs_counted import search_counted
from dpjax.methods._rungs import Ladder, Rung
from dpjax.notions import Terms

CONFIDENCE = 1 - 1e-6


def laplace(database, num_samples, seed):
    return np.random.default_rng(seed).laplace(database, 1.0, num_samples)


def coin(database, num_samples, seed):
    """Reveal a bit with odds of e^(2 database): the level of (-d, d) is 2 d."""
    rng = np.random.default_rng(seed)
    return (rng.random(num_samples) < 1 / (1 + np.exp(-2 * database))).astype(int)


def clipped_sum(database, num_samples, seed):
    """Sum records clipped to [0, 1], but forget to clip if there is only a single record."""
    total = np.clip(database, 0, 1).sum() if len(database) > 1 else np.sum(database)
    return np.random.default_rng(seed).laplace(total, 1.0, num_samples)


@pytest.mark.slow
@pytest.mark.parametrize("function", [laplace, coin])
def test_one_pair_of_three_hundred_is_found(function):
    """Level 2 compared with at most 1, with 36,000 draws; found with at least 4 of 5 keys."""
    found = 0
    for key in range(5):
        rng = np.random.default_rng(key)
        levels = rng.uniform(0, 1, 300)
        levels[rng.integers(300)] = 2.0
        pairs = [(-level / 2, level / 2) for level in levels.tolist()]
        best = dpjax.search_pairs(HostMechanism(function), pairs, key=key)
        assert best.num_draws < 37_000 and len(best.pairs) == len(best.estimates) == 3
        found += (-1.0, 1.0) in zip(*best.pairs.sides, strict=True)
    assert found >= 4


@pytest.mark.slow
def test_a_space_is_searched_and_the_bound_made_of_other_draws():
    space = neighbors([0.5, 0.25], domain=Domain(bounds=(0.0, 8.0)))
    result = dpjax.audit(
        HostMechanism(clipped_sum),
        space,
        claim=1.0,
        confidence=CONFIDENCE,
        method=dpjax.Events(num_draws=20_000),
    )
    assert result.verdict == "violated"
    # A single record 8 has level 8. Twenty thousand draws show more than half of it.
    assert 4 < result.lower_bound <= 8
    assert any("proposed pairs and their variations" in note for note in result.notes)
    again = dpjax.rerun(result, HostMechanism(clipped_sum))
    assert again.lower_bound == result.lower_bound and again.witness == result.witness


@pytest.mark.slow
def test_choosing_costs_no_confidence():
    """Equal distributions: at most 5% of bounds are above 0; false alarm below 1e-5."""

    def nothing(database, num_samples, seed):
        return np.random.default_rng(seed).integers(0, 4, num_samples)

    space, above = neighbors([1.0, 2.0], num_pairs=12), 0
    for key in range(40):
        method = dpjax.Events(num_draws=2000)
        found = dpjax.audit(HostMechanism(nothing), space, method=method, confidence=0.95, key=key)
        above += found.lower_bound > 0
    assert above <= stats.binom.isf(1e-5, 40, 0.05)


def test_variations_find_what_was_not_proposed():
    """The level grows with the first number; only variations come close to 700."""

    def peak(database, num_samples, seed):
        gap = abs(database[1] - database[0]) * np.exp(-(((database[0] - 700) / 100) ** 2))
        return np.random.default_rng(seed).laplace(3 * gap, 1.0, num_samples)

    space = neighbors([5.0, 6.0], Within(1.0, "linf"), Domain(bounds=(0, 1000)), num_pairs=60)

    def level(pair):
        return max(3 * np.exp(-(((side[0] - 700) / 100) ** 2)) for side in pair[:2])

    found = dpjax.search_pairs(HostMechanism(peak), space, keep=1)
    (best,) = zip(*found.pairs.sides, strict=True)
    assert max(map(level, space.proposed())) < 0.1 and level(best) > 0.5
    assert space.allows(*best) and found.pairs.labels[0].endswith("varied")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("keep", [1, 2, 3, 5])
def test_of_three_and_more_pairs_one_is_small(keep):
    """Only large databases leak; small databases, which often break code, are also kept."""

    def large_only(database, num_samples, seed):
        shift = 3.0 * np.sum(database) if len(database) >= 3 else 0.0
        return np.random.default_rng(seed).laplace(shift, 1.0, num_samples)

    space = neighbors([1.0] * 5, domain=Domain(bounds=(0.0, 1.0)))
    found = dpjax.search_pairs(HostMechanism(large_only), space, keep=keep, factor=1_000)
    assert len(found.pairs) == keep
    # The search expects a bound of about 0 for a pair without a leak.
    silent = [estimate < 0.1 for estimate in found.estimates]
    assert sum(silent) == (keep > 2) and silent[-1] == (keep > 2)


def test_the_audit_alone_measures_the_pace():
    """Rungs are timed as they draw; the audit draws two outputs per side of its pairs."""
    sizes = []

    def sums(database, num_samples, seed):
        sizes.append(num_samples)
        return np.random.default_rng(seed).laplace(sum(database), 1.0, num_samples)

    space = neighbors([0.5, 0.25], domain=Domain(bounds=(0.0, 1.0)), num_pairs=8)
    method = dpjax.Events(num_draws=4_000)
    result = dpjax.audit(HostMechanism(sums, time_limit=20.0), space, method=method)
    (kept,) = re.findall(r"used the best (\d+) of \d+ proposed pairs", " ".join(result.notes))
    # One more call before the search, and one before the audit.
    assert 0 < sum(size == 2 for size in sizes) <= 2 * int(kept) + 2


@pytest.mark.slow
def test_time_limits_hold_where_paces_differ():
    """Half of the databases are a thousand times slower: the limit holds, and a pair is audited."""

    def uneven(database):
        if database > 1.5:
            time.sleep(0.05)
        return database + np.random.default_rng().laplace()

    space = neighbors(1.0, Within(1.0), Domain(bounds=(0, 5)))
    start = time.perf_counter()
    result = dpjax.audit(HostMechanism(uneven, batched=False, time_limit=4.0), space)
    # Allow two more seconds for a busy machine, on which a slow call may come last.
    assert time.perf_counter() - start < 6.0
    assert result.lower_bound > 0


@pytest.mark.slow
def test_a_search_without_an_audit_has_the_time_limit_of_its_source():
    """The 49,000 outputs of the rungs would take 25 seconds."""

    def slow(database):
        time.sleep(0.0005)
        return len(database) + np.random.default_rng().laplace()

    start = time.perf_counter()
    found = dpjax.search_pairs(
        HostMechanism(slow, batched=False, time_limit=2.0), neighbors([1.0, 2.0, 3.0, 4.0, 5.0])
    )
    # Allow two more seconds for a busy machine, as above.
    assert time.perf_counter() - start < 4.0
    assert 100 < found.num_draws < 4000 and len(found.rungs) > 2


@pytest.mark.slow
def test_the_pace_of_a_pair_is_that_of_as_many_draws_of_both_sides():
    """One side takes 20 ms per draw, so the time of a pair allows few draws on that side."""

    def uneven(database):
        if database > 1.5:
            time.sleep(0.02)
        return database + np.random.default_rng().laplace()

    terms = Terms(Epsilon(), None, 0.95, 1, 0)
    alive = [Proposed(0.0, 1.0, "fast"), Proposed(1.0, 2.0, "uneven"), Proposed(3.0, 2.0, "slow")]
    source = HostMechanism(uneven, batched=False)
    asked, began = (lambda pair: (Epsilon(), 0.0)), time.perf_counter()
    rung = Rung(source, alive, 600, terms, None, random.as_key(0), asked, began)
    paces = rung.ranked(0.6, 1.2).paces
    assert paces[0] < paces[1] and 0.01 <= paces[1] and 0.02 <= paces[2]


def test_pairs_for_which_a_rung_has_no_time_are_not_drawn(monkeypatch):
    """The clock advances by a second per pair, and 2.5 seconds allow three pairs."""
    drawn = []

    class Slow(Rung):
        def _searches(self, part, each):
            now[0] += 1.0
            drawn.append((part, each))
            return super()._searches(part, None)

    now = [5.0]
    terms = Terms(Epsilon(), None, 0.95, 1, 0)
    alive = [Proposed(0.0, shift, "a pair") for shift in (1.0, 2.0, 3.0, 4.0, 5.0)]
    asked = (lambda pair: (Epsilon(), 0.0)), 0.0
    rung = Slow(HostMechanism(laplace), alive, 600, terms, None, random.as_key(0), *asked)
    with monkeypatch.context() as patch:
        patch.setattr(_rungs, "time", SimpleNamespace(perf_counter=lambda: now[0]))
        ranked = rung.ranked(2.5, 1e6)
    # The remaining time is divided among the remaining pairs and their sides. A side takes longer
    # than its part, so it is given a quarter of it.
    expected = [(range(0, 1), 2.5 / 10), (range(1, 2), 1.5 / 32), (range(2, 3), 0.5 / 24)]
    assert drawn == expected and ranked.drawn == 3 * 2 * 600
    assert ranked.paces == pytest.approx([1 / 1200] * 3 + [0.0] * 2)
    assert np.all(ranked.scores[:3] > 0) and np.all(ranked.scores[3:] == -np.inf)


def test_refusals():
    space = neighbors([1.0])
    with pytest.raises(ValueError, match=r"budget must be at least .* draws for"):
        dpjax.search_pairs(HostMechanism(laplace), space, budget=100)
    with pytest.raises(ValueError, match="pairs must be given: a list of"):
        dpjax.search_pairs(HostMechanism(laplace))
    with pytest.raises(ValueError, match="two different databases"):
        dpjax.testing.assert_private(HostMechanism(laplace), 1.0, [(1.0, 1.0)])


@pytest.mark.slow
def test_a_space_in_an_assertion():
    space = neighbors([0.5, 0.25], domain=Domain(bounds=(0.0, 8.0)))
    with pytest.raises(AssertionError, match="is not 1-differentially private"):
        dpjax.testing.assert_private(
            HostMechanism(clipped_sum), 1.0, space, num_samples=2000, num_confirm=2000
        )


@pytest.mark.slow
def test_a_space_for_what_jax_draws():
    space = neighbors(0.0, Within(1.0), Domain(bounds=(-2, 2)))
    result = dpjax.audit(dpjax.mechanisms.Laplace(1.0), space, confidence=CONFIDENCE)
    assert 0.8 < result.lower_bound <= 1.0


@pytest.mark.slow
def test_progress_of_an_audit_begins_with_that_of_its_search():
    told = []
    execution = dpjax.Execution(progress=lambda *both: told.append(both))
    space = neighbors(0.0, Within(1.0), Domain(bounds=(-2, 2)))
    dpjax.audit(dpjax.mechanisms.Laplace(1.0), space, execution=execution)
    # Each rung makes about a quarter of a million draws, and few pairs suffice for one rung.
    assert 100_000 < told[0][0] <= told[0][1] <= 300_000


@pytest.mark.slow
def test_the_audit_has_what_the_search_left_of_the_time_limit():
    used = []

    class Timed(HostMechanism):
        def with_time_used(self, seconds):
            used.append(seconds)
            return super().with_time_used(seconds)

    space = neighbors(1.0, Within(1.0), Domain(bounds=(0, 5)), num_pairs=4)
    start = time.perf_counter()
    dpjax.audit(Timed(lambda x: x + np.random.default_rng().laplace(), batched=False,
                      time_limit=1.0), space)  # fmt: skip
    assert used == sorted(used) and 0 <= used[0] and 0.2 < used[-1] < time.perf_counter() - start


@pytest.mark.slow
def test_a_list_that_a_limit_is_too_short_for_is_searched_first():
    """With twelve pairs at 5 ms per output, an audit of all of them would need ten seconds."""

    def slow(database):
        time.sleep(0.005)
        return database + np.random.default_rng().laplace()

    pairs = [(0.0, 8.0 if number == 9 else 0.0) for number in range(12)]
    source = HostMechanism(slow, batched=False, time_limit=6.0)
    start = time.perf_counter()
    result = dpjax.audit(source, pairs, claim=1.0)
    # Allow two more seconds for a busy machine.
    assert time.perf_counter() - start < 8.5
    assert result.verdict == "violated" and result.witness.pair == "pair 9"
    (note,) = [note for note in result.notes if "the search for these pairs used" in note]
    assert re.match(r"The audit used the best \d of 12 pairs; ", note)
    # A search would not help for four pairs.
    source = HostMechanism(slow, batched=False, time_limit=0.5)
    with pytest.raises(ValueError, match="time_limit must allow 30 outputs per side"):
        dpjax.audit(source, pairs[6:10], claim=1.0)


def test_a_search_whose_first_round_takes_all_the_time_keeps_its_ranking():
    """Every output takes 20 ms, and the whole search has 30 ms."""

    def slow(database, rng):
        time.sleep(0.02)
        return database + rng.laplace()

    terms = Terms(Epsilon(), None, CONFIDENCE, 1, 0)
    pairs = [(0.0, float(number)) for number in range(1, 21)]
    ladder, subject = Ladder(None, 0.03, 2, 2), HostMechanism(slow, batched=False)
    found = search_counted(subject, pairs, ladder, terms, None, terms.root)
    assert len(found.pairs) >= 1 and len(found.rungs) == 1 and found.untried > 0
