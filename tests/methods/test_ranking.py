"""Which pairs the second round of a search keeps, and which pair and event are confirmed."""

from types import SimpleNamespace

import numpy as np

import dpjax
from dpjax.methods import _ranking
from dpjax.methods._ranking import Ranks, _kept, _places, choices, searched_again
from dpjax.notions import Terms
from dpjax.sources import Rounds

TERMS = Terms(dpjax.Epsilon(), None, 0.99, 1, 3)


def test_without_a_second_round_all_pairs_are_kept():
    found = searched_again([None] * 3, None, None, TERMS, Rounds(9, 0, 0, 40), 2)
    assert found.kept.tolist() == [[0, 1, 2]] * 2 and found.promised.shape == (0, 2)


def test_the_places_of_kept_pairs():
    kept = np.array([[5, 2, 9], [2, 5, 1]])
    found = {pair: [part.tolist() for part in place] for pair, place in _places(kept)}
    assert found == {
        1: [[1], [2]], 2: [[0, 1], [1, 0]], 5: [[0, 1], [0, 1]], 9: [[0], [2]],
    }  # fmt: skip
    assert [pair for pair, _ in _places(kept)] == [1, 2, 5, 9]


def test_the_last_place_goes_to_another_pair():
    promised, hoped = np.array([[3.0, 2.0, 1.0, 0.5]]), np.array([[9.0, 8.0, 1.5, 2.0]])
    assert _kept(promised, hoped, 3).tolist() == [[0, 1, 3]]


def chosen(monkeypatch, kept, predicted, promised, also=False):
    """Return the pairs that two runs choose, for expected bounds given by pair and run."""
    asked = []

    def candidates(searches, terms, budget, also):
        asked.append((searches, budget, also))
        return [
            [
                SimpleNamespace(
                    predicted=predicted[pair][run][0], tie=predicted[pair][run][1],
                    settled=lambda search, pair=pair, run=run: ("settled", pair, run, search),
                )
                for run in runs
            ]
            for _, pair, runs in searches
        ]  # fmt: skip

    monkeypatch.setattr(_ranking, "candidates", candidates)

    class Search:
        def __init__(self, name, pair):
            self.name, self.pair = name, pair

        def at(self, place):
            place = place.tolist() if isinstance(place, np.ndarray) else place
            return self.name, self.pair, place

    searches = [Search("own", pair) for pair in range(4)]
    pools = SimpleNamespace(pooled=lambda all_of: [Search("pooled", s.pair) for s in all_of])
    ranks = Ranks(np.array(promised, float).reshape(-1, 2), np.array(kept))
    opened = SimpleNamespace(num_confirm=77, shares=True)
    return choices(searches, pools, ranks, TERMS, opened, also), asked


def test_pairs_that_runs_choose(monkeypatch):
    """They are sorted by expected bound, then by tie-breaker; other pairs by predicted bound."""
    kept = [[2, 0], [3, 2]]
    predicted = {2: {0: (1.0, 0.0), 1: (3.0, 1.0)}, 0: {0: (1.0, 0.5)}, 3: {1: (3.0, 0.5)}}
    promised = [[9.0, 1.0], [8.0, 2.0], [7.0, 3.0], [8.0, 4.0]]
    found, asked = chosen(monkeypatch, kept, predicted, promised)
    first, second = found
    assert (first.pair, second.pair) == (0, 2)
    assert first.search == ("own", 0, 0) and second.search == ("own", 2, 1)
    assert first.candidate == ("settled", 0, 0, ("pooled", 0, 0))
    assert second.candidate == ("settled", 2, 1, ("pooled", 2, 1))
    # Equal bounds are sorted by the number of the pair; of the rest, 1 and 3 predict 8.
    assert first.scores == [(0, 1.0), (2, 1.0), (1, 8.0), (3, 8.0)]
    assert second.scores == [(2, 3.0), (3, 3.0), (1, 2.0), (0, 1.0)]
    ((searches, budget, also),) = asked
    assert searches == [("pooled", 0, [0]), ("pooled", 2, [0, 1]), ("pooled", 3, [1])]
    assert (budget.num_confirm, budget.confidence, budget.num_rivals, budget.shared) == (
        77,
        0.99,
        2,
        True,
    )
    assert also is False


def test_events_are_chosen_for_a_few_pairs_at_a_time(monkeypatch):
    monkeypatch.setattr(_ranking, "_PAIRS_AT_ONCE", 2)
    predicted = {pair: {run: (float(pair == 1 + run), 0.0) for run in (0, 1)} for pair in range(4)}
    found, asked = chosen(monkeypatch, [[0, 1, 2, 3]] * 2, predicted, [], also=True)
    assert [len(searches) for searches, *_ in asked] == [2, 2]
    assert [each.pair for each in found] == [1, 2] and all(also for *_, also in asked)
    assert found[0].scores == [(1, 1.0), (0, 0.0), (2, 0.0), (3, 0.0)]
