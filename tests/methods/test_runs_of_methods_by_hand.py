"""Requests of methods to sources and their findings, field by field, with stand-in sources."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax import Recorded, Sequential
from dpjax.core import random
from dpjax.core.execution import Execution
from dpjax.methods import METHODS, _sequential
from dpjax.notions import Terms
from dpjax.sources import Tally


def test_methods_have_bounds_unless_they_estimate():
    bounded = {name: method.bounded for name, method in METHODS.items()}
    assert {name for name, has in bounded.items() if has} == {
        "events", "guesses", "histogram", "local", "sequential",
    }  # fmt: skip
    assert {name for name, has in bounded.items() if not has} == {
        "histogram-estimate", "local-search",
    }  # fmt: skip
    assert {name: method.name for name, method in METHODS.items()} == {
        name: name for name in METHODS
    }


class Walked:
    """An audit in progress that records how it was created."""

    def __init__(self, opened, terms, total, *, few, run, redraws, compiles):
        self.made = (opened, total, few, run, redraws, compiles)
        self.ended, self.deadlines, self.refused, self.stops = "", [], 0, False
        walks.append(self)

    def refuse_other_outputs(self):
        self.refused += 1

    def go(self, deadline):
        self.deadlines.append(deadline)
        if stops:
            raise KeyboardInterrupt

    def finding(self):
        return self


walks, stops = [], []


class Asked:
    """A source that records its requests."""

    counts_again, time_limit = False, None

    sampler = "a function of JAX"

    def __init__(self, takes_pairs=True, one_by_one=False):
        self.takes_pairs, self.one_by_one, self.requests = takes_pairs, one_by_one, []

    def with_time_limit(self, limit):
        return self

    @contextmanager
    def opened(self, pairs, request):
        self.requests.append((pairs, request))
        yield SimpleNamespace(tally=Tally())


@pytest.fixture
def walked(monkeypatch):
    walks.clear()
    stops.clear()
    monkeypatch.setattr(_sequential, "Walk", Walked)
    monkeypatch.setattr(_sequential, "time", SimpleNamespace(perf_counter=lambda: 100.0))


def terms(**options):
    return Terms(dpjax.Epsilon(), 0.5, 0.99, 1, 3, Execution(layout="streamed"), **options)


def run(source, method, run=2, **options):
    found = method._run(source, "pairs", terms(**options), np.int32(run), method.seconds)
    return found, source.requests[-1]


def test_what_a_sequential_audit_asks_for(walked):
    found, (pairs, request) = run(Asked(), Sequential(50_000, seconds=7.0))
    assert pairs == "pairs" and request.region is None and request.runs.tolist() == [2]
    assert request.runs.dtype == np.int32 and request.block == 4096 and request.in_order
    assert not request.each and request.held is None and request.seconds is None
    assert request.execution.layout == "gathered"
    assert random.words_of(request.key).tolist() == random.words_of(random.as_key(3)).tolist()
    assert request.rounds(1).num_confirm == 50_000
    assert found.made[1:] == (50_000, False, 2, True, True)
    assert found.deadlines == [107.0] and found.refused == 0 and found.ended == ""


@pytest.mark.parametrize(
    ("draws", "one_by_one", "few"),
    [(10_000, False, True), (10_001, False, False), (10_001, True, True), (None, False, False)],
)
def test_few_draws_are_expensive(walked, draws, one_by_one, few):
    found, (_, request) = run(Asked(one_by_one=one_by_one), Sequential(draws))
    total = 250_000 if draws is None else draws
    assert request.each is few and found.made[1:] == (total, few, 2, True, not one_by_one)
    assert found.deadlines == [None]


def test_recordings_are_not_redrawn_and_are_compared(walked):
    source = Asked(takes_pairs=False)
    source.counts_again = True
    found, _ = run(source, Sequential())
    assert found.made[1:] == (2**31 - 1, False, 2, False, True) and found.refused == 1
    stops.append(True)
    stopped, _ = run(source, Sequential())
    assert stopped.ended == "the user stopped the audit"


def test_an_audit_that_goes_on_is_like_the_earlier_one(walked, monkeypatch):
    monkeypatch.setattr(_sequential, "_refuse_other_bets", lambda earlier, terms: None)
    for few in (True, False):
        earlier = SimpleNamespace(wealth=SimpleNamespace(few=few), held={"a": 1})
        found, (_, request) = run(Asked(), Sequential(50_000), earlier=earlier)
        assert request.held == {"a": 1} and request.each is few and found.made[2] is few


def test_what_sequential_audits_refuse():
    profile = Terms(dpjax.Profile(), None, 0.99, 1, 3)
    with pytest.raises(ValueError, match=r"for sequential audits, but was Profile"):
        Sequential().run(SimpleNamespace(time_limit=None), None, profile)


@pytest.fixture(scope="module")
def audited():
    rng = np.random.default_rng(4)
    x, y = rng.random(900) < 0.8, rng.random(800) < 0.4
    return dpjax.audit(Recorded(x * 1, y * 1), method=Sequential(), claim=3.0, num_claims=2)


def test_the_result_of_a_sequential_audit(audited):
    """All 800 outputs are used; the first outputs determine the cells."""
    evidence, counted = audited.evidence, audited.evidence.counted
    first = evidence.num_samples
    assert 0 < first < 800 and evidence.num_confirm == 800 and evidence.region == "all outputs"
    assert evidence.settings["drawn"] == 800 and evidence.settings["order"] == "recorded"
    assert evidence.settings["num_cells"] >= 3
    assert evidence.pair_scores[0][0] == "recorded pair" and len(evidence.pair_scores) == 1
    rng = np.random.default_rng(4)
    x, y = rng.random(900) < 0.8, rng.random(800) < 0.4
    witness = audited.witness
    ones = (int(x[:800].sum()), int(y.sum()))
    zeros = (800 - ones[0], 800 - ones[1])
    assert witness.event_counts in (ones, zeros)
    assert witness.larger == ("database" if witness.event_counts == ones else "neighbor")
    assert witness.output.startswith("a number ") and witness.event.startswith("the output is a nu")
    assert witness.densities == tuple(count / 800 for count in witness.event_counts)
    assert (witness.pair, witness.database, witness.neighbor) == ("recorded pair", "x", "y")
    assert counted.shown == (*witness.event_counts, 800)
    assert counted.larger == (witness.larger == "neighbor")
    assert counted.error == pytest.approx(0.001 / 2) and counted.before is None
    draws = [draws for draws, *_ in counted.path]
    assert draws[0] == first and draws[-1] == 800 and all(np.diff(draws) > 0)
    assert counted.path[-1][1:] == (counted.wealth.bound, counted.wealth.log_at_claim)
    said = f"Ended after 800 draws per side, summed over all pairs, in {len(draws)} blocks: "
    assert audited.notes[-1] == f"{said}all draws were used."
    assert audited.notes[0] == Terms(dpjax.Epsilon(), 3.0, 0.999, 2, 0).notes()[0]
    assert any("x has 100 more outputs than y" in note for note in audited.notes)
    assert len(counted.laid) == 32 and counted.laid_by.tolist()[0] >= first


def test_a_sequential_audit_of_pairs_ranks_them():
    def noisy(database, num_samples, rng):
        return rng.integers(0, 2, num_samples) * (rng.random(num_samples) < 0.5 + database / 2)

    pairs = [(0.0, 0.1), (0.0, 1.0), (0.5, 0.5)]
    result = dpjax.audit(dpjax.HostMechanism(noisy), pairs, method=Sequential(900), key=5)
    scores = dict(result.pair_scores)
    assert set(scores) == {"pair 0", "pair 1", "pair 2"} and result.witness.pair == "pair 1"
    assert result.pair_scores[0][0] == "pair 1"
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert (result.witness.database, result.witness.neighbor) == (0.0, 1.0)
    assert any("equal in pair 2" in note for note in result.notes)
    draws = result.evidence.counted.wealth.draws
    assert (
        result.num_confirm == draws[1, 0] and result.settings["drawn"] == draws[:, 0].sum() == 900
    )


def in_batches(side, num_samples, rng):
    return rng.integers(0, 2 + side, num_samples)


def one_by_one(side, rng):
    return int(rng.integers(0, 2 + side))


@pytest.mark.parametrize(("function", "growth"), [(in_batches, 50), (one_by_one, 12)])
def test_blocks_without_a_claim_grow_by_a_part_of_all_draws(function, growth):
    """They have at least 40 draws; a block is smaller only at the end of a phase."""
    subject = dpjax.HostMechanism(function, batched=function is in_batches)
    result = dpjax.audit(subject, [(0, 1)], method=Sequential(800))
    draws = [draws for draws, *_ in result.evidence.counted.path]
    whole = [max(-(-growth * before // 100), 40) for before in draws[:-1]]
    sizes = list(zip(np.diff(draws).tolist(), whole, strict=True))
    assert draws[-1] == 800 and all(size <= most for size, most in sizes)
    assert sum(size < most for size, most in sizes) <= 2 and max(whole) > 40
