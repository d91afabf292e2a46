"""Marks, sizes, evidence and findings of events and chains, counted by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax.inference import MOST_SETS, Chain, Event
from dpjax.methods import _findings
from dpjax.methods._candidates import Candidate, num_marks, promised
from dpjax.methods._events import Events, _refuse_empty_region, _rows
from dpjax.methods._findings import finding_of
from dpjax.notions import ChainCounts, EventAndChain, EventCounts, Terms
from dpjax.partitions import Search
from dpjax.sources import AnyPairs, Rounds

CELLS = np.array([True, False, True, False, False])
PLACE = np.array([0, 2, 1, 0, 2])
EVENT = Event(CELLS, np.array(0), np.array(1.5), np.array(3.0))
TURNED = EVENT._replace(larger=np.array(1))
CHAIN = Chain(PLACE, 2, (1, 1))


def candidate(event=None, chain=None):
    return Candidate(event, chain, 1.5)


def test_marks_of_cells():
    assert candidate(EVENT).marks.tolist() == [1, 0, 1, 0, 0]
    assert candidate(chain=CHAIN).marks.tolist() == PLACE.tolist()
    assert candidate(EVENT, CHAIN).marks.tolist() == [1, 4, 3, 0, 4]
    assert candidate(EVENT).marks.dtype == np.int64
    assert num_marks(candidate(EVENT)) == 2
    assert num_marks(candidate(chain=CHAIN)) == MOST_SETS + 1
    assert num_marks(candidate(EVENT, CHAIN)) == 2 * (MOST_SETS + 1)


def test_sizes_are_larger_where_the_event_is_rare():
    """Three times as many draws on the side where the event is less likely."""
    assert candidate(EVENT).sizes(400).tolist() == [200, 600]
    assert candidate(TURNED).sizes(400).tolist() == [600, 200]
    assert candidate(chain=CHAIN).sizes(400).tolist() == [400, 400]
    assert candidate(TURNED, CHAIN).sizes(400).tolist() == [600, 200]


def test_evidence_of_counts():
    event = candidate(TURNED).evidence(np.array([[30, 10], [5, 45]]))
    assert isinstance(event, EventCounts) and event.trials == (40, 50)
    assert event.counts.tolist() == [10, 45] and event.event.larger == 1
    # Marks above the third are empty: the sets have marks 0 and 1, and the rest has mark 2.
    counts = np.array([[5, 6, 7, 0, 0], [1, 2, 3, 0, 0]])
    chain = candidate(chain=CHAIN).evidence(counts)
    assert isinstance(chain, ChainCounts) and chain.trials == (18, 6) and chain.usable == (1, 1)
    assert chain.counts.tolist() == [[5, 11], [1, 3]]
    # The mark is twice the mark of the chain, plus one within the event.
    counts = np.array([[1, 2, 4, 8, 16, 32, 0, 0], [64, 1, 1, 1, 1, 1, 0, 0]])
    both = candidate(EVENT, CHAIN).evidence(counts)
    assert isinstance(both, EventAndChain)
    assert both.event.counts.tolist() == [2 + 8 + 32, 3] and both.event.trials == (63, 69)
    assert both.chain.counts.tolist() == [[3, 15], [65, 67]] and both.chain.trials == (63, 69)


class Cells:
    """Five cells, whose numbers describe events."""

    size, names, num_alone, boxed, shape = 5, ["a"], 5, np.array([], int), (0,)

    def __init__(self, words=None):
        self.words = words

    def settled(self, cells, seen):
        return cells | ~seen

    def spread(self, place, seen, number):
        return np.where(seen, place, number - 1)

    def describe(self, cells, whole=False):
        shown = "".join(str(number) for number in np.flatnonzero(cells))
        return f"the output is {shown}{' exactly' if whole else ''}"

    def plain(self):
        return self.words


def searched(halves=None, allowed=None, words=None):
    counts = np.ones((2, 2, 5), int) if halves is None else np.asarray(halves)
    return Search(Cells(words), counts, allowed)


SEEN = np.ones((2, 2, 5), int) * [1, 1, 1, 0, 1]


def test_cells_that_were_not_seen_go_anywhere_in_the_region():
    plan = candidate(EVENT, CHAIN)
    free = plan.settled(searched(SEEN))
    assert free.event.cells.tolist() == [True, False, True, True, False]
    assert free.chain.place.tolist() == [0, 2, 1, 1, 2]
    inside = np.array([True, True, True, False, True])
    bound = plan.settled(searched(SEEN, inside))
    assert bound.event.cells.tolist() == CELLS.tolist()
    assert bound.chain.place.tolist() == PLACE.tolist()
    assert free.predicted == 1.5 and candidate(EVENT).settled(searched(SEEN)).chain is None


TERMS = Terms(dpjax.Epsilon(), 0.25, 0.99, 1, 3)


def found(monkeypatch, counts, plan=None, *, search=None, rounds=(9, 0, 0, 40), terms=TERMS):
    monkeypatch.setattr(_findings, "_curve", lambda search, event: {"event": event.tolist()})
    opened = SimpleNamespace(
        pairs=AnyPairs(([0, 1], [2, 3]), ("zeroth", "first")), notes=["a note"],
        settings={"generator": "none"}, num_confirm=40, region="a region",
    )  # fmt: skip
    scores = (("first", 2.0), ("zeroth", None))
    return finding_of(
        opened, search or searched(), plan or candidate(TURNED), 1, np.array(counts), terms,
        (Rounds(*rounds), scores),
    )  # fmt: skip


def test_the_finding_of_an_event(monkeypatch):
    halves = np.arange(20).reshape(2, 2, 5)  # The sums are 10, 35, 60, 85: 70 and 120 per side.
    seen = found(monkeypatch, [[30, 10], [5, 45]], search=searched(halves, words={"words": "w"}),
                 rounds=(9, 2, 3, 40))  # fmt: skip
    evidence, witness = seen.evidence, seen.witness
    assert evidence.settings == {
        "generator": "none", "rounds": {"num_samples": 9, "num_kept": 2, "num_again": 3,
        "num_confirm": 40}, "num_cells": 5, "score": {"words": "w"}, "confirmed": [40, 50],
        "searched": [70, 120],
    }  # fmt: skip
    assert (evidence.num_samples, evidence.num_confirm) == (70, 40)
    assert evidence.region == "a region"
    assert evidence.pair_scores == (("first", 2.0), ("zeroth", None))
    assert evidence.curve == {"event": CELLS.tolist()}
    assert (witness.pair, witness.database, witness.neighbor) == ("first", 1, 3)
    assert (witness.output, witness.event) == ("02", "the output is 02 exactly")
    assert witness.densities == (0.25, 0.9) and witness.event_counts == (10, 45)
    assert witness.larger == "neighbor" and seen.notes == ["a note"]
    assert seen.statement.claim == 0.25 and seen.statement.level == "epsilon"
    plain = found(monkeypatch, [[30, 10], [5, 35]], candidate(EVENT))
    assert plain.evidence.settings == {"generator": "none", "num_cells": 5}
    assert plain.witness.larger == "database"


def test_an_event_that_did_not_happen_is_shown_by_its_complement(monkeypatch):
    seen = found(monkeypatch, [[40, 0], [50, 0]])
    assert seen.witness.output == "134" and seen.witness.event_counts == (40, 50)
    assert seen.witness.densities == (1.0, 1.0) and seen.evidence.counted.counts.tolist() == [
        40,
        50,
    ]
    assert seen.notes == ["a note", "The chosen event did not occur in the confirmation set."]
    assert seen.evidence.curve == {"event": (~CELLS).tolist()}
    none = candidate(EVENT._replace(cells=np.zeros(5, bool)))
    nothing = found(monkeypatch, [[40, 0], [50, 0]], none)
    said = "the output is 01234 exactly (no event: nothing distinguishes the databases)"
    assert nothing.notes == ["a note"] and nothing.witness.event == said
    assert nothing.witness.output == said.removeprefix("the output is ")
    delta = Terms(dpjax.Epsilon(0.125), 0.25, 0.99, 1, 3)
    empty = found(monkeypatch, [[40, 0], [50, 0]], none, terms=delta)
    assert empty.witness.event == "the output is 01234 exactly (the output is )"


def test_the_finding_of_a_chain(monkeypatch):
    terms = Terms(dpjax.Gdp(), None, 0.99, 1, 3)
    counts = [[900, 50, 50], [100, 300, 600]]
    monkeypatch.setattr(dpjax.Gdp, "shown", lambda notion, chain, band: EVENT)
    seen = found(monkeypatch, counts, candidate(chain=CHAIN), terms=terms)
    assert seen.evidence.settings["num_sets"] == 2 and "confirmed" not in seen.evidence.settings
    # The event has the cells 0 and 2, whose marks are 0 and 1.
    assert seen.witness.event_counts == (950, 400)


def test_rows_of_runs_of_equal_and_of_different_sizes():
    """Each row depends only on its own counts; the more likely side comes first."""
    plans = [candidate(EVENT), candidate(TURNED), candidate(TURNED)]
    chosen = [SimpleNamespace(candidate=plan, pair=number) for number, plan in enumerate(plans)]
    counts = np.array(
        [[[700, 300], [1900, 100]], [[900, 100], [1400, 600]], [[990, 10], [500, 500]]]
    )
    rows = _rows(chosen, counts, TERMS)
    for number, (row, plan) in enumerate(zip(rows, plans, strict=True)):
        alone = plan.evidence(counts[number]).state(TERMS.notion, TERMS.own_confidence)
        assert row.pair == number and row.statement.basis == "exact binomial"
        assert row.statement.lower_bound == pytest.approx(alone.lower_bound, rel=1e-12)
        assert row.statement.estimate == pytest.approx(alone.estimate, rel=1e-12)
        assert row.statement.lower_bound > 0
    never = _rows(chosen[:1], np.array([[[700, 300], [2000, 0]]]), TERMS)
    assert never[0].statement.estimate is None


def test_rows_of_chains_are_statements_of_their_evidence():
    plan = candidate(chain=CHAIN)
    counts = np.array([[[900, 50, 50], [100, 300, 600]]])
    for terms in (
        Terms(dpjax.Gdp(), 0.5, 0.99, 2, 3, distance=2),
        Terms(dpjax.Profile(), [(0.0, 0.125), (1.0, 0.0625)], 0.99, 2, 3),
    ):
        (row,) = _rows([SimpleNamespace(candidate=plan, pair=4)], counts, terms)
        curve = terms.claimed if isinstance(terms.claimed, tuple) else None
        asked = (terms.notion, 1 - 0.01 / 2, 1, curve, terms.distance)
        expected = plan.evidence(counts[0]).state(*asked)
        assert row.statement == expected and row.pair == 4


def test_a_region_without_any_output_of_any_pair_is_refused():
    inside = np.array([False, False, False, True, False])
    opened = SimpleNamespace(region="[0, 1]")
    empty, full = searched(SEEN, inside), searched(SEEN, ~inside)
    _refuse_empty_region([empty, full], opened)
    _refuse_empty_region([empty, searched(SEEN)], opened)
    with pytest.raises(ValueError, match=r"region \[0, 1\] lies outside the support"):
        _refuse_empty_region([empty, empty], opened)


@pytest.mark.parametrize(
    ("options", "pairs", "rounds"),
    [
        ({}, 1, (20_000, 0, 0, 50_000)), ({}, 2, (19_800, 0, 0, 50_400)),
        ({"num_samples": 100}, 2, (100, 0, 0, 50_000)),
        ({"num_confirm": 100}, 1, (20_000, 0, 0, 100)),
        ({"num_samples": 100, "num_confirm": 70}, 4, (45, 2, 110, 70)),
        ({"num_draws": 7_000}, 1, (2_000, 0, 0, 5_000)),
        ({"num_draws": 20}, 2, (4, 0, 0, 11)),
    ],
)  # fmt: skip
def test_rounds_of_options(options, pairs, rounds):
    assert tuple(Events(**options).rounds(pairs)) == rounds


def test_ten_draws_for_each_pair():
    assert Events(num_draws=30).rounds(3).num_confirm > 0
    with pytest.raises(ValueError, match=r"at least 30 \(10 for each pair\), but was 29"):
        Events(num_draws=29).rounds(3)
    assert Events().accepts(None) is None and not Events().also


def test_expected_bounds_of_a_partition_are_for_its_rivals():
    asked = []

    class Notion(dpjax.Epsilon):
        def promise(self, search, budget):
            asked.append((search, budget))
            return np.float64(0.5)

    halves = np.ones((2, 2, 3), int)
    terms = Terms(Notion(), None, 0.99, 2, 3)
    assert promised(terms, "cells", halves, 77, 4) == 0.5
    ((search, budget),) = asked
    assert search.partition == "cells" and search.halves is halves and search.allowed is None
    assert (budget.num_confirm, budget.num_partitions, budget.num_rivals) == (77, 4, 1)
    assert budget.confidence == pytest.approx(0.995) and not budget.shared
    promised(terms, "cells", halves, 77)
    assert asked[1][1].num_partitions == 1
