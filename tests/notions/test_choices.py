"""A notion passes rivals, order, groups and lines to the choice of an event."""

import numpy as np
import pytest

from dpjax.methods._candidates import promised
from dpjax.notions import Epsilon, Terms, _notion
from dpjax.partitions import Budget, Partition, Search


def codes(bins, *, ordered, whole=True):
    """Return a partition with a bin for each of 0, 1, ..., after two cells for labels."""
    nothing = np.empty(0)
    return Partition(
        ("number",), (np.arange(1.0, bins),), (nothing,), np.array([0]), whole, ordered
    )


def searched(partition, law, draws=2_000, seed=0):
    """Return counts of two halves of draws from two distributions [2, bins]."""
    rng = np.random.default_rng(seed)
    bins = np.stack([rng.multinomial(draws, law) for _ in range(2)])
    labels = np.zeros((2, 2, partition.num_alone), int)
    return Search(partition, np.concatenate([labels, bins], axis=-1), None)


def shifted(bins, shift):
    """Return two Laplace distributions in bins; one of them is shifted."""
    places = np.arange(bins)[None] - bins / 2 - np.array([[0.0], [shift]])
    law = np.exp(-np.abs(places) * 8 / bins)
    return law / law.sum(axis=1, keepdims=True)


def scattered(bins, seed=1):
    """Return codes; in random order, half of them have probabilities that differ by e^.5."""
    law = np.exp(np.random.default_rng(seed).permutation(bins) % 2 - np.array([[0.25], [0.75]]))
    law[1] = law[0][::-1]
    return law / law.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("ask", ["choose", "promise"])
def test_of_many_rivals_each_promises_less(ask):
    """The best of many pairs looks better than it is; with many cells, half-lines are best."""
    partition = codes(400, ordered=True)
    search = searched(partition, shifted(400, 40.0))
    found = []
    for rivals in (1, 5, 25):
        given = getattr(Epsilon(), ask)(search, Budget(5_000, 0.999, rivals))
        found.append(float(given.predicted if ask == "choose" else given))
    assert found[0] > found[1] > found[2] > 0


@pytest.mark.parametrize("law", [shifted(400, 40.0), scattered(400)], ids=["lines", "sets"])
def test_of_many_partitions_each_promises_less(law):
    """This is as for many pairs; sets ordered by ratio are shrunk only for partitions."""
    search = searched(codes(400, ordered=True), law, draws=20_000)
    asked = [Budget(5_000, 0.999, num_partitions=number) for number in (1, 5, 25)]
    found = [float(Epsilon().choose(search, budget).predicted) for budget in asked]
    assert found[0] > found[1] > found[2] > 0
    terms = Terms(Epsilon(), None, 0.999, 1, 0)
    cells, halves, _ = search
    for budget in asked:
        promise = promised(terms, cells, halves, 5_000, budget.num_partitions)
        assert promise == Epsilon().promise(search, budget)
    assert promised(terms, cells, halves, 5_000) == Epsilon().promise(search, asked[0])


@pytest.mark.parametrize("ask", ["choose", "promise"])
def test_codes_without_an_order_are_shrunk_as_names_are(ask):
    """Adjacent codes are not similar, so sets of codes depend only on ratios."""
    law = scattered(40)
    found = [
        getattr(Epsilon(), ask)(searched(codes(40, ordered=o), law), Budget(5_000, 0.999))
        for o in (True, False)
    ]
    with_order, without = (float(f.predicted if ask == "choose" else f) for f in found)
    assert without > with_order > 0


def test_groups_of_neighbours_show_more_where_bins_are_rare(monkeypatch):
    partition = codes(600, ordered=True)
    search = searched(partition, shifted(600, 200.0), draws=300)
    budget = Budget(5_000, 0.999)
    grouped = Epsilon().choose(search, budget).predicted
    monkeypatch.setattr(Partition, "coarser", lambda self: [])
    monkeypatch.setattr(Partition, "positions", lambda self: [])
    assert grouped > Epsilon().choose(search, budget).predicted


def test_fresh_outputs_are_shared_where_the_budget_says_so():
    """A rare event needs more fresh outputs on the side where it is rarer."""
    law = np.array([[0.98, 0.02], [0.999, 0.001]])
    search = searched(codes(2, ordered=True), law, draws=20_000)
    equal, shared = (
        Epsilon().choose(search, Budget(5_000, 0.999, shared=shared)) for shared in (False, True)
    )
    assert float(equal.ratio) == 1.0 and float(shared.ratio) > 1.5
    assert shared.predicted > equal.predicted


@pytest.mark.parametrize("entries", [1, 2, 3])
def test_events_are_simplified_along_the_entries_of_outputs_alone(entries, monkeypatch):
    """The sum of the entries is a line of the search, but it cannot be described to a reader."""
    empty = (np.empty(0),) * entries
    edges = (np.arange(1.0, 4.0),) * entries
    partition = Partition(("vector",), edges, empty, np.array([0]))
    search = searched(partition, np.full((2, 4**entries), 4.0**-entries))
    given = []

    def simpler(event, halves, lines, *others):
        given.append(lines)
        return event

    monkeypatch.setattr(_notion, "simpler", simpler)
    Epsilon().choose(search, Budget(5_000, 0.999))
    (lines,) = given
    bins = np.indices((4,) * entries).reshape(entries, -1)
    assert np.array_equal(np.stack(lines)[:, partition.num_alone :], bins)
