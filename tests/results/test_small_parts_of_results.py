"""Small parts of results: claims of a pair, separate rows, and pairs in recipes."""

from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax.databases import Pairs
from dpjax.notions import Statement
from dpjax.results import AuditResult
from dpjax.results._advice import advice
from dpjax.results._figures import _of_pair
from dpjax.results._findings import Findings, Row
from dpjax.results._words import claimed
from dpjax.results.recipes import (
    options_from_plain,
    options_to_plain,
    pairs_from_plain,
    pairs_to_plain,
    plain_database,
)
from dpjax.sources import AnyPairs


@pytest.fixture(scope="module")
def recorded():
    rng = np.random.default_rng(1)
    x, y = rng.random(4000) < 0.6, rng.random(4000) < 0.3
    return dpjax.Recorded(x.astype(int), y.astype(int))


@pytest.fixture(scope="module")
def result(recorded):
    return dpjax.audit(recorded, claim=2.0)


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


def test_what_is_printed_of_a_claim_that_is_refuted_and_of_one_that_is_not(recorded, result):
    """Answers 0 and 1 of 4,000 records, 30% for the search; the claim of 2 is true."""
    refuted = dpjax.audit(recorded, claim=0.1)
    names = [name for name, _ in result._rows()]
    assert names == ["lower bound", "estimate", "witness", "probability", "draws"]
    rows = refuted._rows()
    assert [name for name, _ in rows] == [names[0], "refuted", *names[1:]]
    down = refuted.refuted_at
    assert rows[1][1] == f"the claim, at every error probability down to {down}"
    first, second = refuted.witness.densities
    texts = dict(rows)
    assert texts["probability"] == f"{first:.4g} at the database, {second:.4g} at the neighbor"
    assert texts["witness"].startswith(f"{refuted.witness.pair}, output ")
    assert texts["draws"] == refuted.evidence.draws()


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


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (dpjax.Events, {}),
        (dpjax.Events, {"region": {"low": 0, "size": 3, "outcomes": [1]}}),
        (dpjax.Events, {"region": {"low": [0.0], "high": [1.0]}}),
        (dpjax.Local, {"region": {"low": [0.0], "high": [1.0], "num_points": 5}}),
        (dpjax.Local, {"bandwidth": {"rule": "Scott"}}),
    ],
)
def test_a_name_that_a_table_of_options_has_not_is_refused(kind, content):
    options_from_plain(kind, content)
    place = next(iter(content), None)
    more = {**(content if place is None else content[place]), "more": 1}
    with pytest.raises(ValueError, match="has no 'more'"):
        options_from_plain(kind, more if place is None else {place: more})


def test_options_that_are_none_or_false_are_left_out_of_recipes():
    options = dpjax.Events(num_samples=10, num_confirm=20, region=(0.0, 1.0))
    assert options_to_plain(options) == {"num_samples": 10, "num_confirm": 20, "region": [0.0, 1.0]}
    box = dpjax.Box(np.array([0.0]), np.array([2.0]), num_points=7)
    plain = {"low": [0.0], "high": [2.0], "num_points": 7}
    assert options_to_plain(dpjax.Events(region=box, also=True)) == {"region": plain, "also": True}
    del plain["num_points"]
    default = dpjax.Box([0.0], [2.0]).num_points
    assert options_from_plain(dpjax.Events, {"region": plain}).region.num_points == default
    inside = dpjax.partitions.Outcomes(-2, 4, np.array([True, False, False, True]))
    plain = {"low": -2, "size": 4, "outcomes": [-2, 1]}
    assert options_to_plain(dpjax.Events(region=inside)) == {"region": plain}
    found = options_from_plain(dpjax.Events, {"region": {**plain, "outcomes": [1, -2]}}).region
    assert (found.low, found.allowed.tolist()) == (-2, [True, False, False, True])


def test_databases_that_json_has_not_are_written_as_text():
    endless = [1]
    endless.append(endless)
    tree = {"a": [1, 2.5, None, True], "b": {"c": "text"}}
    assert plain_database(tree) == tree and plain_database(np.arange(3)) == [0, 1, 2]
    assert plain_database({"a": {"b": np.arange(2.0)}}) == {"a": {"b": [0.0, 1.0]}}
    for database in ([0.0, np.nan], [np.inf], {1: 2}, {"a": (1, 2)}, (1, 2), b"x", endless):
        assert plain_database(database) == repr(database)
    # A text of 2000 characters, including its quotes, is shown in full.
    assert plain_database("x" * 1998) == "x" * 1998
    assert plain_database("x" * 1999) == "'" + "x" * 1999 + "..."


def test_advice_goes_on_after_a_colon(result):
    said = [text for text in advice(result) if ": " in text]
    assert "To look harder: draw or record more outputs, so that rarer events are seen." in said
