"""If several pairs share a database, each of them uses all search draws from it."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpjax
from benchmarks.rare import LawSource, audits, cases, law_of
from dpjax import Pairs
from dpjax.core.types import FiniteSpace
from dpjax.inference import known_band
from dpjax.mechanisms import SVT1, Laplace
from dpjax.methods._pooled import Pools
from dpjax.partitions import Encoder, Search, encode_drawn, lay
from dpjax.partitions._partition import Partition
from dpjax.sources import AnyPairs, numbers_of_databases

ARRAY = np.zeros(2)
CYCLE: list[Any] = [1]
CYCLE.append(CYCLE)
EQUAL = [
    (ARRAY, np.zeros(2)),
    ([1, 2.5, None, "a"], [1, 2.5, None, "a"]),
    ([0.5, 1.5], [0.5, 1.5]),
    ({"a": [1.0, 2.0]}, {"a": [1.0, 2.0]}),
    (float("nan"), float("nan")),
    (CYCLE, CYCLE),
]
DIFFERENT = [
    (ARRAY, np.zeros(2, np.int64)),
    (ARRAY, np.zeros((2, 1))),
    (ARRAY, ARRAY + 1),
    ([1, 2], [1.0, 2.0]),
    ([1, 2], [2, 1]),
    ([1, 2], (1, 2)),
    ([[1], 2], [[1, 2]]),
    (["a", "bc"], ["ab", "c"]),
    (True, 1),
    ({"a": 1}, {"b": 1}),
    (object(), object()),
]


@pytest.mark.parametrize(("first", "second"), EQUAL)
def test_equal_databases_have_one_number(first, second):
    numbers = numbers_of_databases(AnyPairs.of([(first, "x"), (second, "y")]))
    assert numbers[0, 0] == numbers[1, 0] and len(set(numbers[:, 1])) == 2


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_databases_of_other_content_or_type_have_other_numbers(first, second):
    numbers = numbers_of_databases(AnyPairs.of([(first, second), (second, first)]))
    assert numbers[0, 0] != numbers[0, 1] and numbers[0, 0] == numbers[1, 1]


def cells(size: int) -> Partition:
    space, encoder = FiniteSpace(size), Encoder("counted")
    outputs = encode_drawn(encoder, np.arange(size), space)
    return lay([outputs] * 2, encoder.names, outcomes=size, ordered=False, whole=True)


def test_counts_at_a_shared_database_are_added_up_in_equal_cells_alone():
    laid = [cells(3), cells(3), cells(4), cells(3), cells(3)]
    rng = np.random.default_rng(0)
    halves = [rng.integers(0, 9, (2, 2, 2, part.size)) for part in laid]
    searches = [Search(*of_pair, None) for of_pair in zip(laid, halves, strict=True)]
    # The neighbor of pair 1 is the database of pair 0; pair 2 has other cells; pair 4 is equal.
    pairs = AnyPairs.of([(0, 1), (2, 0), (0, 3), (0, 4), (0, 0)])
    own = [search.halves.copy() for search in searches]
    found = [search.halves for search in Pools(searches, pairs).pooled(searches)]
    shared = own[0][..., 0, :] + own[1][..., 1, :] + own[3][..., 0, :]
    for pair, side in ((0, 0), (1, 1), (3, 0)):
        assert np.array_equal(found[pair][..., side, :], shared)
        assert np.array_equal(found[pair][..., 1 - side, :], own[pair][..., 1 - side, :])
    for pair in (2, 4):
        assert np.array_equal(found[pair], own[pair])
    for search, before in zip(searches, own, strict=True):
        assert np.array_equal(search.halves, before)


def test_a_shared_database_does_not_change_how_many_draws_searched_a_pair():
    method = dpjax.Events(num_draws=20_000)
    result = dpjax.audit(SVT1(1.0), method=method)
    rounds = result.settings["rounds"]
    assert result.evidence.num_samples == rounds["num_samples"] + rounds["num_again"]


@pytest.mark.slow
def test_pairs_of_one_database_are_told_apart_by_fewer_draws(monkeypatch):
    """In 300 runs, the mean rises by .021 with standard error .003; without pools, by 0."""
    laws = law_of(SVT1(1.0))
    pooled = audits(LawSource(laws), dpjax.Events(), 300, dpjax.Epsilon()).mean()
    monkeypatch.setattr(Pools, "pooled", lambda self, searches: list(searches))
    alone = audits(LawSource(laws), dpjax.Events(), 300, dpjax.Epsilon()).mean()
    assert pooled - alone > 0.008


@pytest.mark.slow
@pytest.mark.parametrize("name", cases())
def test_bounds_of_known_laws_cover(name):
    """False alarms: below 1e-5 per distribution, the quantile of the number of audits at 5%.

    Bounds from a band hold for all events at once, so that less than one in a hundred is above the
    level. A hundred audits notice a band that is as wrong as five hundred audits would notice.
    """
    case = cases()[name]
    runs = 100 if case.notion.hypothesis() is None else 500
    level = case.level
    if level is None:
        level = max(case.notion.of_band(known_band(law), case.distance) for law in case.laws)
    source = LawSource(case.laws, ordered=case.ordered, seed=7)
    found = audits(source, case.method, runs, case.notion, case.distance)
    assert np.count_nonzero(found > level + 1e-9) <= stats.binom.isf(1e-5, runs, 0.05)


def test_reals_have_cells_of_their_pair_and_are_counted_alone(monkeypatch):
    method, pairs = dpjax.Events(num_draws=20_000), Pairs(np.zeros(3), np.array([0.5, 1.0, 0.7]))
    with_pools = dpjax.audit(Laplace(1.0), pairs, method=method).lower_bound
    monkeypatch.setattr(Pools, "pooled", lambda self, searches: list(searches))
    assert dpjax.audit(Laplace(1.0), pairs, method=method).lower_bound == with_pools
