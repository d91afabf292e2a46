"""Abilities of each kind of source, and what it rejects at the limits."""

import dataclasses

import numpy as np
import pytest

import dpjax
from dpjax.sources._arriving import Arriving
from dpjax.sources._canary_runs import CanaryRuns
from dpjax.sources._command import _database_text, _filled
from dpjax.sources._drawn import Drawn
from dpjax.sources._family import Member, _Interval, _range_of
from dpjax.sources._one_run import scores_of
from dpjax.sources._source import Source
from dpjax.sources.libraries import LibraryMechanism

ABILITIES = ("takes_pairs", "has_arrays", "has_canaries", "repeatable", "side_by_side",
             "stacks_pairs", "counts_again")  # fmt: skip


SOURCES = {
    Source: ("", "events", {"takes_pairs"}),
    Drawn: ("mechanism", "events",
            {"takes_pairs", "has_arrays", "repeatable", "side_by_side", "stacks_pairs"}),
    dpjax.HostMechanism: ("host", "events", {"takes_pairs", "repeatable"}),
    dpjax.CommandMechanism: ("command", "events", {"takes_pairs", "repeatable"}),
    LibraryMechanism: ("object", "events", {"takes_pairs", "repeatable"}),
    Member: ("member", "events", {"takes_pairs", "repeatable"}),
    dpjax.Family: ("family", "events", {"takes_pairs"}),
    dpjax.Recorded: ("samples", "events", {"has_arrays", "counts_again"}),
    Arriving: ("samples", "sequential", set()),
    dpjax.OneRun: ("one_run", "guesses", {"has_canaries"}),
    CanaryRuns: ("canary_runs", "guesses", {"has_canaries", "repeatable"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", SOURCES, ids=lambda kind: kind.__name__)
def test_what_each_source_can_do(kind):
    name, method, abilities = SOURCES[kind]
    assert (kind.kind, kind.usual_method) == (name, method)
    assert {ability for ability in ABILITIES if getattr(kind, ability)} == abilities


DEFAULTS = {
    dpjax.HostMechanism: {
        "batched": True, "workers": 0, "batch_size": 10_000, "special": "outcomes", "bits": None,
        "time_limit": None, "timeout": None, "restart": False,
    },
    dpjax.CommandMechanism: {
        "workers": 1, "batch_size": 50_000, "timeout": 600.0, "special": "outcomes", "bits": None,
        "time_limit": None,
    },
    dpjax.OneRun: {"fair_coins": False, "name": "one run"},
    LibraryMechanism: {
        "d_in": None, "bits": "auto", "workers": 0, "time_limit": 60.0, "timeout": None,
        "special": "outcomes",
    },
    dpjax.Recorded: {
        "discrete": None, "bits": None, "search_fraction": 0.3, "blocks": None,
        "independent": False, "name": "recorded outputs",
    },
    dpjax.Recording: {"column": None},
}  # fmt: skip


@pytest.mark.parametrize("kind", DEFAULTS, ids=lambda kind: kind.__name__)
def test_options_that_are_left_out(kind):
    given = {field.name: field.default for field in dataclasses.fields(kind)}
    assert {name: given[name] for name in DEFAULTS[kind]} == DEFAULTS[kind]


@pytest.mark.parametrize(
    ("database", "text"),
    [
        ("a {b}", "a {b}"), (np.array([1, 2]), "[1,2]"), (np.float32(1.5), "1.5"),
        (np.array([[1.0], [2.0]]), "[[1.0],[2.0]]"), ([1, "a", None], '[1,"a",null]'),
        ({"a": (1, 2)}, '{"a":[1,2]}'), (np.int64(3), "3"), (True, "true"),
    ],
)  # fmt: skip
def test_databases_as_texts(database, text):
    assert _database_text(database) == text


@pytest.mark.parametrize("database", [{1, 2}, object(), [np.zeros(1)], b"a", "a\0", "\ud800"])
def test_databases_that_are_no_texts(database):
    with pytest.raises((TypeError, ValueError), match="pairs must hold"):
        _database_text(database)


def test_places_are_filled_at_once():
    places = {"database": "{seed}", "num_samples": "7", "seed": "{database}"}
    assert _filled("a{database}b{num_samples}{seed}{other}", places) == "a{seed}b7{database}{other}"


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.arange(19), "at least 20 canaries .* but there were 19"), (np.zeros(20), "all were 0"),
        (np.array([np.nan, 1.0] * 10), "but 10 were"), (np.zeros((20, 2)), "all were 0, 0"),
        (np.array(["a"] * 20), "must be numbers"), (np.array([True] * 20), "must be numbers"),
    ],
)  # fmt: skip
def test_scores_that_are_none(scores, message):
    with pytest.raises((TypeError, ValueError), match=message):
        scores_of(scores)
    assert scores_of(np.arange(20)).dtype == np.float64


def test_runs_with_canaries_draw_coins_of_their_own():
    asked = []

    def function(included, seed):
        asked.append((included.copy(), seed))
        included[:] = True
        return np.arange(30.0)

    source = CanaryRuns(function, 30)
    scores, included = source.canaries((1, 2), 5)
    generator = np.random.default_rng([1, 2, 3, 5])
    expected = generator.integers(0, 2, 30).astype(bool)
    np.testing.assert_array_equal(included, expected)
    np.testing.assert_array_equal(asked[0][0], expected)
    assert asked[0][1] == int(generator.integers(2**31)) and scores.tolist() == list(range(30))
    assert source.parameters == {"num_canaries": 30} and source.name == "function"
    with pytest.raises(ValueError, match="each of 31 canaries, but returned 30"):
        CanaryRuns(function, 31).canaries((1, 2), 5)
    with pytest.raises(TypeError, match="function must be a function"):
        CanaryRuns(3, 30)
    with pytest.raises(ValueError, match="num_canaries"):
        CanaryRuns(function, 19)
    CanaryRuns(function, 20)


@pytest.mark.parametrize(
    ("interval", "values"),
    [
        ((1, 100), [1, 10, 100]), ((0, 10), [0, 5, 10]), ((-4.0, 2.0), [-4.0, -1.0, 2.0]),
        ((0.01, 1.0), [0.01, pytest.approx(0.1), 1.0]), ((1, 4.0), [1, pytest.approx(2.0), 4.0]),
        ((3, 3), [3]), ((1, 2), [1, 2]), ((0, 1), [0, 1]),
    ],
)  # fmt: skip
def test_intervals_of_parameters(interval, values):
    assert _Interval(*interval).values() == values
    assert _Interval(*interval).whole == (type(interval[0]) is type(interval[1]) is int)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ([1, 2], [1, 2]), ((1, 2), _Interval(1, 2)), ((1, 2, 3), [1, 2, 3]), (range(3), [0, 1, 2]),
        ((True, False), [True, False]), (("a", "b"), ["a", "b"]), ([1.5], [1.5]),
        (np.array([1.0, 2.0]), [1.0, 2.0]), ((1.0,), [1.0]),
    ],
)  # fmt: skip
def test_ranges_of_parameters(given, values):
    assert _range_of("a", given) == values


@pytest.mark.parametrize(
    ("given", "message"),
    [((2, 1), r"increasing intervals, but a had \(2, 1\)"), ((1, 1), "increasing intervals"),
     ([], r"a had \[\]"), ({}, r"a had \{\}"), (3, "a had 3"), ("ab", "a had 'ab'")],
)  # fmt: skip
def test_ranges_that_are_none(given, message):
    with pytest.raises(ValueError, match=message):
        _range_of("a", given)


def test_members_to_try():
    """All of few combinations, 48 of many, in order; or one parameter is varied."""
    few = dpjax.Family(print, {"a": [1, 2], "b": (0.0, 1.0)})
    assert few.tried(np.random.default_rng(1)) == [
        {"a": a, "b": b} for a in (1, 2) for b in (0.0, 0.5, 1.0)
    ]
    assert len(dpjax.Family(print, {"a": list(range(48))}).tried(None)) == 48
    many = dpjax.Family(print, {"a": list(range(49))}).tried(np.random.default_rng(1))
    values = [chosen["a"] for chosen in many]
    assert len(set(values)) == 48 and values == sorted(values)
    chosen, seen = {"a": 1, "b": 0.5}, set()
    for seed in range(40):
        found = few.varied(chosen, np.random.default_rng(seed))
        changed = {name for name in found if found[name] != chosen[name]}
        assert len(changed) <= 1 and found["a"] in (1, 2) and 0 <= found["b"] <= 1
        seen |= changed
    assert seen == {"a", "b"}
