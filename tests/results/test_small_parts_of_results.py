"""Parts of results that other tests pass by: claims of a pair, rows alone, pairs in recipes."""

from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax.databases import Pairs
from dpjax.notions import Statement
from dpjax.results import AuditResult
from dpjax.results._figures import _of_pair
from dpjax.results._findings import Findings, Row
from dpjax.results._words import claimed
from dpjax.results.recipes import pairs_from_plain, pairs_to_plain
from dpjax.sources import AnyPairs


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(1)
    x, y = rng.random(4000) < 0.6, rng.random(4000) < 0.3
    return dpjax.audit(dpjax.Recorded(x.astype(int), y.astype(int)), claim=2.0)


@pytest.mark.parametrize(
    ("notion", "of_two"),
    [
        (dpjax.Epsilon(), 1.0), (dpjax.Gdp(), 1.0), (dpjax.Epsilon(0.1), None),
        (dpjax.TotalVariation(), None), (dpjax.Zcdp(), None), (dpjax.Renyi(3.0), None),
    ],
)  # fmt: skip
def test_a_level_of_one_record_is_drawn_for_the_pair(notion, of_two):
    """Epsilon and mu add up over records; levels of other notions are left out."""
    for distance, expected in ((1, 0.5), (2, of_two)):
        found = SimpleNamespace(notion=notion, recipe={"distance": distance})
        shown = _of_pair(found, 0.5)
        assert expected is None or shown.level == expected
        assert shown.kind == (None if expected is None else notion.name)
        assert shown.delta == notion.delta
        assert expected is None or shown.order == getattr(notion, "order", None)
        assert _of_pair(found, None).kind is None


def test_rows_alone_make_no_result():
    row = Row(Statement(0.0, 0.5, "search"), 0)
    found = Findings.of_rows(lambda: [row])
    assert found.rows() == [row]
    with pytest.raises(ValueError, match="computes only estimates"):
        found.finding(0)


def test_a_file_that_is_no_result_is_named(result, tmp_path):
    for name, text in (("r.json", "{}"), ("r.html", "<p>"), ("r.HTM", "<p>"), ("r.json", "[")):
        (tmp_path / name).write_text(text)
        with pytest.raises(ValueError, match=rf"result file .*{name} cannot be read: "):
            AuditResult.from_file(tmp_path / name)
    (tmp_path / "r.json").write_text(result.to_json())
    assert AuditResult.from_file(tmp_path / "r.json").to_dict() == result.to_dict()


def test_a_claim_is_told_in_numbers():
    def told(claim, distance=1):
        return claimed(
            SimpleNamespace(
                claim=claim,
                recipe={"distance": distance},
                mechanism="m",
                level="epsilon",
                notion=dpjax.Profile(),
            )
        )

    assert told(2.0) == ["The claim is that epsilon of m is at most 2."]
    whole, points = told([[0.0, 0.5], [1.0, 0.25]])
    assert whole.endswith(" of m is within the curve below.")
    assert points == "The curve: (0, 0.5), (1, 0.25)"
    assert len(told(2.0, 3)) == 2 and len(told([[0.0, 0.5]], 3)) == 3
    assert told(None)[0].startswith("Nothing was claimed") and len(told(None, 3)) == 1


def test_pairs_of_recipes_come_back():
    arrays = Pairs(np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]]), ("near",))
    dicts = Pairs({"a": np.arange(2.0)}, {"a": np.arange(1.0, 3.0)}, ("one", "two"))
    for pairs in (arrays, dicts):
        found = pairs_from_plain(pairs_to_plain(pairs, None), True)
        assert found.labels == pairs.labels
        assert pairs_to_plain(found, None) == pairs_to_plain(pairs, None)
    listed = pairs_from_plain([(0.0, 1.0), (0.0, 2.0)], True)
    assert isinstance(listed, Pairs) and listed.neighbor.tolist() == [1.0, 2.0]
    objects = pairs_from_plain([("a", "b")], False)
    assert isinstance(objects, AnyPairs) and objects.sides == (["a"], ["b"])
    for wrong in ({"database": [0]}, {"database": [0], "neighbor": [1], "more": 3}):
        with pytest.raises((KeyError, ValueError)):
            pairs_from_plain(wrong, True)
