"""Labels of pairs: results refer to pairs by their labels, which therefore differ."""

import numpy as np
import pytest

import dpjax
from dpjax.databases import Pairs
from dpjax.databases._pairs import distinct_labels
from dpjax.databases.spaces import Proposed
from dpjax.mechanisms import Laplace
from dpjax.methods._stacks import stacks_of
from dpjax.results.recipes import pairs_from_plain
from dpjax.sources import as_source


def host(database, num_samples, rng):
    return rng.laplace(database, 1.0, num_samples)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], ()),
        (["a", "b"], ("a", "b")),
        (["a", "a", "b", "a"], ("a", "a (2)", "b", "a (3)")),
        (["a", "a", "a (2)"], ("a", "a (3)", "a (2)")),
        (["a (2)", "a", "a"], ("a (2)", "a", "a (3)")),
        (["a", "a (2)", "a (2)", "a"], ("a", "a (2)", "a (2) (2)", "a (3)")),
    ],
)
def test_numbers_are_added_to_later_labels(given, expected):
    found = distinct_labels(given)
    assert found == expected
    assert distinct_labels(found) == found


@pytest.mark.parametrize("subject", [Laplace(1.0), dpjax.HostMechanism(host)])
def test_two_variations_of_a_pair_have_different_labels(subject):
    varied = [Proposed(0.0, high, "one record, varied") for high in (0.5, 1.0)]
    (stack,) = stacks_of(as_source(subject), varied)
    assert stack.pairs.labels == ("one record, varied", "one record, varied (2)")


def test_results_tell_pairs_with_one_given_label_apart():
    pairs = Pairs(np.zeros(2), np.array([0.1, 1.0]), ("shift", "shift"))
    result = dpjax.audit(Laplace(1.0), pairs, method=dpjax.Events(500, 500))
    assert sorted(dict(result.pair_scores)) == ["shift", "shift (2)"]
    assert result.witness.pair == "shift (2)" and result.witness.neighbor == 1.0
    assert dpjax.rerun(result).pair_scores == result.pair_scores


def test_tables_of_pairs_have_different_labels():
    table = {"database": [0, 0], "neighbor": [1, 2], "labels": ["a", "a"]}
    assert pairs_from_plain(table, stacked=False).labels == ("a", "a (2)")
