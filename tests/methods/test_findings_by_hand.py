"""Findings of an event audit for given counts: witness, settings, notes and the curve."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpjax import Epsilon, Profile
from dpjax.inference import Chain, Event
from dpjax.mechanisms import FiniteSpace
from dpjax.methods._candidates import Candidate
from dpjax.methods._findings import finding_of
from dpjax.notions import Terms
from dpjax.partitions import Encoder, Search, encode_drawn, lay
from dpjax.sources import AnyPairs, Rounds

# Cells of three outcomes: no number, another label, below 0, 0, 1, 2, and 3 or more.
_SIDE = encode_drawn(Encoder("x"), np.array([0, 1, 2, 2]), FiniteSpace(3))
CELLS = lay([_SIDE, _SIDE], ["a number"], outcomes=3, whole=True, ordered=False)
HALVES = np.zeros((2, 2, 7), np.int64)
HALVES[:, :, 3:6] = [[[5, 3, 2], [2, 3, 4]], [[4, 5, 1], [1, 2, 6]]]


def found(event, counts, chain=None, rounds=(20, 0, 0, 100), notion=None, num_claims=1):
    """Return the finding about the second of two pairs, with an event of cells or a chain."""
    pairs = AnyPairs(([0, 1], [0, 2]), ("same", "other"))
    opened = SimpleNamespace(
        pairs=pairs, notes=["A note."], settings={"one": 1}, num_confirm=100, region="all outputs"
    )
    if event is not None:
        cells, larger = event
        event = Event(np.isin(np.arange(7), cells), np.array(larger), np.array(0.0))
    plan = Candidate(event, chain, 0.5)
    ranked = (("other", 0.5), ("same", None))
    terms = Terms(notion or Epsilon(), None, 0.95, num_claims, 0)
    search = Search(CELLS, HALVES, None)
    counts = np.array(counts, np.int64)
    return finding_of(opened, search, plan, 1, counts, terms, (Rounds(*rounds), ranked))


def test_the_witness_has_the_counts_of_the_event():
    finding = found(([3, 4], 1), [[70, 30], [40, 60]])
    witness, evidence = finding.witness, finding.evidence
    assert (witness.pair, witness.database, witness.neighbor) == ("other", 1, 2)
    assert witness.event_counts == (30, 60) and witness.densities == (0.3, 0.6)
    assert witness.larger == "neighbor" and witness.output == "a number from 0 to 1"
    assert witness.event == "the output is a number from 0 to 1"
    assert evidence.settings == {"one": 1, "num_cells": 7, "searched": [20, 18]}
    # There are 20 outputs on one side and 18 on the other; each took the smaller number.
    assert evidence.num_samples == 18 and evidence.num_confirm == 100
    assert evidence.pair_scores == (("other", 0.5), ("same", None))
    assert evidence.region == "all outputs" and finding.statement.lower_bound > 0
    equal = "database and neighbor are equal in same, so nothing could be found there."
    assert finding.notes == [equal, "A note."]
    curve = evidence.curve
    assert curve["density"] == pytest.approx([9 / 20, 8 / 20, 3 / 20])
    assert curve["neighbor_density"] == pytest.approx([3 / 18, 5 / 18, 10 / 18])
    assert curve["event"] == [True, True, False]
    joint = found(([3, 4], 1), [[70, 30], [40, 60]], num_claims=2).notes
    assert "all 2 such bounds" in joint[0] and joint[1:] == [equal, "A note."]


def test_sides_with_different_numbers_of_draws_are_told():
    finding = found(([3], 0), [[60, 20], [80, 40]], rounds=(20, 3, 10, 100))
    assert finding.witness.densities == (20 / 80, 40 / 120) and finding.witness.larger == "database"
    rounds = {"num_samples": 20, "num_kept": 3, "num_again": 10, "num_confirm": 100}
    assert finding.evidence.settings == {
        "one": 1, "rounds": rounds, "num_cells": 7, "confirmed": [80, 120],
        "searched": [20, 18],
    }  # fmt: skip


def test_an_event_that_never_occurred_is_shown_by_its_complement():
    finding = found(([3, 4, 5], 0), [[100, 0], [100, 0]])
    assert finding.witness.event_counts == (100, 100) and finding.witness.densities == (1.0, 1.0)
    assert finding.notes[-1] == "The chosen event did not occur in the confirmation set."
    shown = finding.evidence.counted
    assert shown.event.cells.tolist() == [True] * 3 + [False] * 3 + [True]
    assert shown.counts.tolist() == [100, 100] and finding.statement.lower_bound == 0
    assert "equal to" not in finding.witness.event


@pytest.mark.parametrize(
    ("notion", "reason"),
    [
        (Epsilon(), "no event: nothing distinguishes the databases"),
        (Epsilon(0.1), "no event: no difference in probability exceeds delta"),
    ],
)
def test_no_event_says_why(notion, reason):
    finding = found(([], 0), [[100, 0], [100, 0]], notion=notion)
    assert finding.witness.event == f"the output is anything ({reason})"
    assert finding.witness.output == f"anything ({reason})"
    assert finding.notes[-1] == "A note."


def test_the_witness_of_a_chain_is_one_of_its_sets():
    """Marks are positions in the chain; an event contains a few of them."""
    place = np.array([2, 2, 2, 0, 1, 2, 2])
    finding = found(None, [[50, 30, 20], [10, 30, 60]], Chain(place, 2, (2, 0)), notion=Profile())
    assert finding.evidence.settings["num_sets"] == 2
    first, second = finding.witness.event_counts
    assert (first, second) in {(50, 10), (80, 40), (20, 60), (50, 90)}
    assert abs(first - second) == 40 and finding.witness.densities == (first / 100, second / 100)
    assert finding.witness.larger == ("database" if first > second else "neighbor")
