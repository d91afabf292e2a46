"""Every method is implemented once: an audit is a run of a sweep, on the device and the host."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import numpy as np
import pytest

import dpjax
from dpjax import Events, Execution, Histogram, HostMechanism, Local
from dpjax.core import random
from dpjax.inference import Event
from dpjax.mechanisms import SVT2, Laplace, RandomizedResponse, TruncatedLaplace
from dpjax.methods import METHODS
from dpjax.notions import EventCounts
from dpjax.results import Finding, Findings, Observed, conclude
from dpjax.sources import Drawn, Marked, Request
from dpjax.sweeps import Entry, compute

KEY = 5
SMALL = Events(300, 700)
FIVE = [(0.0, x) for x in (0.2, 1.0, 0.4, 0.9, 0.1)]
ONE = [(0.0, 1.0)]


def two_counts(key, database):
    """Outputs of two numbers, which are divided along a learned score."""
    return database + jax.random.laplace(key, (2,))


def noisy(key, database):
    """Real numbers without their own region."""
    return database + jax.random.laplace(key)


def in_batches(database, num_samples, rng):
    return database + rng.laplace(size=num_samples)


def one_by_one(database, rng):
    return "yes" if rng.random() < 0.2 + 0.5 * database else None


ENTRIES = {
    "events": Entry(Laplace(1.0), SMALL, FIVE),
    "events of outcomes, a region": Entry(RandomizedResponse(1.0, 3), Events(300, 700, [0, 2])),
    "events of codes": Entry(SVT2(1.0), SMALL, SVT2(1.0).standard_pairs().one(0)),
    "events of vectors": Entry(two_counts, Events(600, 700), [([0.0, 0.0], [1.0, 1.0])]),
    "events in a region of vectors": Entry(
        two_counts, Events(600, 700, ([-1, -1], [3, 3])), [([0.0, 0.0], [1.0, 1.0])]
    ),
    "a chain": Entry(Laplace(1.0), SMALL, ONE, notion=dpjax.Zcdp()),
    "a chain beside an event": Entry(
        Laplace(1.0), Events(300, 700, also=True), ONE, notion=dpjax.Gdp()
    ),
    "a curve with a claim": Entry(
        RandomizedResponse(3.0), SMALL, [(0, 1)], notion=dpjax.Profile(), claim=[(0.0, 0.1)]
    ),
    "densities": Entry(Laplace(0.5), Local(500, 1000), ONE),
    "frequencies": Entry(RandomizedResponse(1.0), Local(500, 1000)),
    "densities of a function": Entry(noisy, Local(500, 1000), ONE),
    "a histogram": Entry(
        TruncatedLaplace(2.0), Histogram(lipschitz=0.64, num_samples=50_000), claim=0.1
    ),
    "the host in batches": Entry(HostMechanism(in_batches), SMALL, FIVE, claim=0.1),
    "the host one by one": Entry(
        HostMechanism(one_by_one, batched=False), SMALL, [(0, 1)], notion=dpjax.Renyi(2)
    ),
}


def audited(entry, run_key):
    return dpjax.audit(
        entry.mechanism,
        entry.pairs,
        method=entry.method,
        notion=entry.notion,
        claim=entry.claim,
        confidence=entry.confidence,
        key=run_key,
    )


@pytest.mark.one_in(7)
@pytest.mark.parametrize("name", ENTRIES)
def test_an_audit_is_the_first_run_of_a_sweep(name):
    """Results are bitwise equal, with the same verdict if there is a claim."""
    entry = ENTRIES[name]
    rows, result = compute(entry, [0, 1, 2], KEY), audited(entry, entry.key(KEY))
    assert rows["lower_bound"][0] == result.lower_bound
    assert result.estimate == (None if np.isnan(rows["estimate"][0]) else rows["estimate"][0])
    assert rows["verdict"][0] == (None if entry.claim is None else result.verdict)
    # Other runs have other draws.
    assert rows["estimate"][0] != rows["estimate"][1]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ENTRIES)
def test_a_run_does_not_depend_on_the_batch_that_it_is_in(name):
    # Use the same number of runs in each, so that they share a program.
    first, second = (compute(ENTRIES[name], runs, KEY) for runs in ([0, 1, 2], [4, 3, 1]))
    for column in ("lower_bound", "estimate", "pair", "exact", "status", "verdict"):
        np.testing.assert_array_equal(first[column][1], second[column][2])


@pytest.mark.parametrize("name", ENTRIES)
def test_entries_are_plain_values(name):
    entry = ENTRIES[name]
    assert Entry.from_dict(entry.to_dict(), [__name__]) == entry


@dataclass(frozen=True)
class Upper:
    """A method that counts how often outputs lie in the upper half of the cells of one pair."""

    num_samples: int = 500
    name: ClassVar[str] = "upper"
    bounded: ClassVar[bool] = True

    def accepts(self, source):
        return None

    def run(self, source, pairs, terms, runs):
        rounds = Events(self.num_samples, self.num_samples).rounds
        request = Request(rounds, None, lambda *_: 0.0, terms.root, terms.layout, runs, terms.kept)
        with source.opened(pairs, request) as opened:
            (search,) = opened.search()
            upper = np.arange(search.partition.size) >= search.partition.size // 2
            marks = np.tile(upper, (len(runs), 1)) * 1
            counts = opened.count(Marked(np.zeros(len(runs), int), marks, 2))
        likelier = Event(upper, np.array(1), np.array(0.0))
        found = [EventCounts(likelier, inside, (500, 500)) for inside in counts[..., 1]]
        return Findings.of(*(Finding(conclude(c, terms), Observed(c, {}), []) for c in found))


def test_a_method_of_ten_lines_runs_in_audits_and_sweeps_on_device_and_host(monkeypatch):
    """More than half of the neighbor's outputs lie there, but fewer of the database's."""
    monkeypatch.setitem(METHODS, Upper.name, Upper)
    for mechanism in (Laplace(1.0), HostMechanism(in_batches)):
        entry = Entry(mechanism, Upper(), ONE, claim=0.01)
        rows, result = compute(entry, range(4), KEY), audited(entry, entry.key(KEY))
        assert np.all((0 < rows["lower_bound"]) & (rows["lower_bound"] < 1))
        assert rows["exact"].all() and set(rows["verdict"]) == {"violated"}
        assert (result.lower_bound, result.verdict) == (rows["lower_bound"][0], "violated")
        assert result.witness is None and "VIOLATED" in str(result)
        assert Entry.from_dict(entry.to_dict(), [__name__]) == entry


def test_what_cannot_be_run_again_is_refused_in_a_sweep():
    recorded = dpjax.Recorded(*np.random.default_rng(0).laplace(size=(2, 100)))
    with pytest.raises(TypeError, match="must draw new outputs in every run"):
        Entry(recorded, SMALL)
    with pytest.raises(TypeError, match=r"use method=Events\(\)"):
        Entry(HostMechanism(in_batches), Local(500, 1000), ONE)
    with pytest.raises(
        TypeError, match="must compute a bound, but LocalSearch only computes estimates"
    ):
        dpjax.audit(Laplace(), method=dpjax.methods.LocalSearch())
    with pytest.raises(ValueError, match="importable by its name"):
        Entry(HostMechanism(lambda d, n, rng: rng.laplace(size=n) + d), SMALL, ONE)


@pytest.mark.parametrize(
    ("source", "layout"),
    [
        (Drawn(Laplace(1.0)), "gathered"),
        (Drawn(Laplace(1.0)), "streamed"),
        (HostMechanism(in_batches, batch_size=256), "auto"),
    ],
)
def test_counts_of_parts_of_the_fresh_outputs_add_up(source, layout):
    """This holds for any number of requests, and wherever the first part ends in a block."""
    rounds, execution = Events(1000, 3000).rounds, Execution(layout=layout)
    request = Request(rounds, None, lambda *_: 0.0, random.as_key(4), execution)
    with source.opened(ONE, request) as opened:
        (search,) = opened.search()
        marks = np.arange(search.partition.size)[None] % 5
        whole = Marked(np.zeros(1, np.int64), marks, 5)
        first, rest = whole._replace(size=1024), whole._replace(first=1024)
        parts = [opened.count(part) for part in (rest, first)]
        assert parts[1].sum(axis=-1).tolist() == [[1024, 1024]]
        np.testing.assert_array_equal(parts[0] + parts[1], opened.count(whole))
