"""What a sequential audit reads from recorded outputs, and how it tests their order."""

import itertools

import numpy as np
import pytest
from sides import request

import dpjax
from dpjax import Recorded
from dpjax.sources import Marked, _recorded_in_order
from dpjax.sources._counting import Tally
from dpjax.sources._held import held
from dpjax.sources._recorded_in_order import OpenedInOrder, _Side

WORDS = np.array(["".join(letters) for letters in itertools.product("abcdefghij", repeat=4)])


def clustered(shift):
    """Return 85% zeros, and ones in clusters of 30; ranks alone vary too little to show it."""
    x = np.zeros(4000, int)
    for start in range(shift, 4000, 200):
        x[start : start + 30] = 1
    return x


@pytest.mark.parametrize("method", [dpjax.Sequential(), dpjax.Local()], ids=["sequential", "local"])
def test_clusters_of_a_rare_outcome_are_doubtful(method):
    x, y = clustered(0), clustered(77)
    result = dpjax.audit(Recorded(x, y), method=method)
    assert result.verdict == "doubtful"
    assert "successive outputs are correlated" in " ".join(result.doubts)


def test_clusters_of_a_rare_label_are_doubtful():
    """The two labels have adjacent cells."""
    sides = [np.where(clustered(shift), "yes", "no") for shift in (0, 77)]
    result = dpjax.audit(Recorded(*sides), method=dpjax.Sequential())
    assert result.verdict == "doubtful"


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "method", [dpjax.Events(), dpjax.Sequential()], ids=["events", "sequential"]
)
@pytest.mark.parametrize("kind", ["texts", "huge", "dicts"])
def test_independent_labels_of_which_many_are_new_are_not_doubtful(kind, method):
    """Few labels occur twice, so ordering by first occurrence would rank later ones higher."""
    sides = [np.random.default_rng(seed).integers(0, 9000, 18_000).tolist() for seed in (6, 7)]
    make = {
        "texts": "v{}".format,
        "huge": lambda number: 2**60 + number,
        "dicts": lambda number: {"count": 1.0, "name": f"v{number}"},
    }[kind]
    x, y = ([make(number) for number in side] for side in sides)
    result = dpjax.audit(Recorded(x, y), method=method, confidence=1 - 1e-6)
    assert not result.doubts and result.lower_bound == 0


@pytest.mark.parametrize("method", [dpjax.Sequential(), dpjax.Local()], ids=["sequential", "local"])
@pytest.mark.parametrize("side", ["x", "y"])
def test_each_side_is_tested_for_clusters(side, method):
    sides = {name: np.random.default_rng(5).permutation(clustered(0)) for name in "xy"}
    sides[side] = clustered(0)
    (doubt,) = dpjax.audit(Recorded(**sides), method=method).doubts
    assert doubt.startswith(f"{side}: successive outputs are correlated")


def test_the_order_of_the_first_outputs_is_tested(monkeypatch):
    monkeypatch.setattr(_recorded_in_order, "_ORDERED", 7)
    values = np.arange(20)
    np.testing.assert_array_equal(_Side(held("x", values), "x").beginning(), values[:7])
    np.testing.assert_array_equal(_Side(held("x", values[:7]), "x").beginning(), values[:7])
    np.testing.assert_array_equal(_Side(held("x", values[:4]), "x").beginning(), values[:4])


@pytest.mark.parametrize("ends", [[3, 5], [7], [3, 7, 12], [7, 8], [1, 19]])
def test_the_first_outputs_may_arrive_in_several_chunks(monkeypatch, ends):
    class Chunked:
        name = "x"

        def chunks(self):
            yield from np.split(np.arange(20), ends)

    monkeypatch.setattr(_recorded_in_order, "_ORDERED", 7)
    np.testing.assert_array_equal(_Side(Chunked(), "x").beginning(), np.arange(7))


def test_as_many_outputs_as_determine_the_cells_are_too_few():
    side, told = _Side(held("x", np.arange(20)), "x"), []
    np.testing.assert_array_equal(
        side.first(19, Tally(lambda *counts: told.append(counts))), np.arange(19)
    )
    assert told == [(20, 0)] and side.values.total == 20
    np.testing.assert_array_equal(side.again(20), np.arange(20))
    with pytest.raises(ValueError, match=r"more than 20 outputs, .* held 20"):
        _Side(held("x", np.arange(20)), "x").first(20, Tally())


def test_any_parts_are_read_once_and_forwards():
    """This also holds across chunk boundaries, and if some outputs are skipped."""

    class Chunked:
        name = "x"

        def chunks(self):
            yield from np.split(np.arange(30), [7, 8, 20])

    side = _Side(Chunked(), "x")
    for start, number in ((2, 3), (5, 0), (5, 4), (12, 1), (13, 17)):
        read = list(side.read(start, number))
        expected = np.arange(start, start + number)
        np.testing.assert_array_equal(np.concatenate([np.empty(0, int), *read]), expected)
        assert all(len(part) for part in read)


def test_the_longer_side_is_named():
    rng = np.random.default_rng(1)
    x, y = rng.laplace(size=2000), rng.laplace(size=2500)
    for sides, sentence in (
        ((x, y), "y has 500 more outputs than x; these outputs are not counted"),
        ((y, x), "x has 500 more outputs than y; these outputs are not counted"),
    ):
        result = dpjax.audit(Recorded(*sides), method=dpjax.Sequential())
        assert any(sentence in note for note in result.notes)
    same = dpjax.audit(Recorded(x, y[:2000]), method=dpjax.Sequential())
    assert not any("more outputs than" in note for note in same.notes)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("num_labels", [1000, 5000])
@pytest.mark.parametrize("claim", [None, 0.1])
def test_many_labels_give_no_false_bound(num_labels, claim):
    """The distributions are equal, so one of 5 audits has a bound with probability at most 5e-7.

    If cells were laid for labels that occur only later, and earlier in x than in y, then every
    audit would have one.
    """
    rng = np.random.default_rng(num_labels)
    for _ in range(5):
        sides = (rng.choice(WORDS[:num_labels], 2000) for _ in "xy")
        result = dpjax.audit(
            Recorded(*sides), method=dpjax.Sequential(), claim=claim, confidence=1 - 1e-7
        )
        assert result.lower_bound == 0 and result.verdict != "violated"


def test_cells_depend_on_the_outputs_before_them_alone():
    """Recordings that agree in the first 300 outputs per side have the same cells after 300."""
    first = [np.random.default_rng(seed).choice(WORDS[:200], 300) for seed in (1, 2)]
    found = []
    for start in (200, 2200):
        later = WORDS[start : start + 1000], WORDS[start + 1000 : start + 2000]
        x, y = (np.append(*parts) for parts in zip(first, later, strict=True))
        opened = OpenedInOrder(Recorded(x, y), request())
        opened.search()
        known = {repr(str(label)) for side in first for label in side[:16]}
        assert {*opened._encoder.names} == {"a number"} | known
        found.append(opened.lay_again(0, 284))
    assert found[0].partition.key == found[1].partition.key
    np.testing.assert_array_equal(found[0].halves, found[1].halves)
    seen = {repr(str(label)) for label in np.concatenate(first)}
    assert {*found[0].partition.names} == {"a number"} | seen


def zipf(rng, number):
    return WORDS[np.minimum(rng.zipf(1.3, number), 9_999)]


KINDS = {
    "numbers": lambda rng, n: rng.laplace(size=n),
    "lattice": lambda rng, n: rng.laplace(size=n).round(1),
    "labels": zipf,
    "numbers and labels": lambda rng, n: [
        float(value) if value > 0 else str(word)
        for value, word in zip(rng.normal(size=n), zipf(rng, n), strict=True)
    ],
    "records": lambda rng, n: [
        {"count": float(value), "name": str(word)}
        for value, word in zip(rng.normal(size=n), zipf(rng, n), strict=True)
    ],
    "vectors": lambda rng, n: rng.normal(size=(n, 5)),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", KINDS)
def test_later_outputs_change_no_earlier_block(kind):
    """Bets on a block depend only on earlier outputs; the last block may be shorter."""
    rng = np.random.default_rng(3)
    sides = [KINDS[kind](rng, 900) for _ in "xy"]
    paths = [
        dpjax.audit(
            Recorded(*(side[:number] for side in sides)), method=dpjax.Sequential(), claim=5.0
        ).evidence.counted.path[:-1]
        for number in (400, 900)
    ]
    assert len(paths[0]) > 5 and paths[0] == paths[1][: len(paths[0])]


@pytest.mark.parametrize("kind", ["labels", "records"])
def test_an_audit_goes_on_with_a_longer_recording(kind):
    """Labels have the same cells whether the outputs were read in one block or in several."""
    rng = np.random.default_rng(4)
    sides = [KINDS[kind](rng, 1200) for _ in "xy"]
    first = dpjax.audit(
        Recorded(*(side[:500] for side in sides)), method=dpjax.Sequential(), claim=5.0
    )
    path = first.evidence.counted.path
    longer = dpjax.resume(first, Recorded(*sides)).evidence.counted.path
    assert longer[: len(path)] == path and longer[-1][0] == 1200


def test_progress_of_outputs_that_are_counted_in_order():
    told = []
    sides = Recorded(np.arange(60) % 7, np.arange(60) % 5)
    opened = OpenedInOrder(sides, request(16, 9, told=told))
    (search,) = opened.search()
    before, size = told[-1][0], search.partition.size
    opened.count(Marked(np.array([0]), np.arange(size)[None], size, 0, 20))
    assert told[-1][0] - before == 40
