"""Recipes, verdicts and findings made from small parts, with all fields."""

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

import jax
import numpy as np
import pytest
from made_results import COUNTS, counted, made

import dpjax
from dpjax import notions
from dpjax.core.wording import Doubt, Unvaried
from dpjax.notions import Statement, Terms
from dpjax.notions.evidence import RepeatedRuns
from dpjax.partitions import Box, Outcomes
from dpjax.results import Finding, _build, build, concluded, judge, recipes
from dpjax.results._findings import Findings, finding_of_repeats
from dpjax.results._subjects import subject_from_plain, subject_to_plain
from dpjax.results._unvaried import epsilon_of_constants, verdict_on_unvaried
from dpjax.results.provenance import device, versions
from dpjax.sources import AnyPairs, Repeats, Source, Trust


def terms(claim=0.5, notion=None, confidence=0.99, num_claims=2, **options):
    return Terms(notion or dpjax.Epsilon(), claim, confidence, num_claims, 7, **options)


def stated(bound, **changes):
    return Statement(bound, 2.0, "exact binomial", **changes)


SURE = "With confidence 0.99, epsilon is at least"


@pytest.mark.parametrize(
    ("bound", "claim", "verdict", "sentence"),
    [
        (1.5, None, "no claim", f"{SURE} 1.5000; there was no claim to test."),
        (1.5, 0.5, "violated", f"{SURE} 1.5000, above the claimed 0.5."),
        (0.25, 0.5, "not refuted", f"{SURE} 0.2500; no proof of the claimed 0.5."),
        (0.5, 0.5, "not refuted", f"{SURE} 0.5000; no proof of the claimed 0.5."),
        (0.50004, 0.5, "violated", "With confidence 0.99, epsilon is above the claimed 0.5."),
        (0.50006, 0.5, "violated", f"{SURE} 0.5001, above the claimed 0.5."),
    ],
)
def test_verdicts_on_numbers(bound, claim, verdict, sentence):
    assert judge(stated(bound), terms(claim)) == (verdict, sentence)


def test_verdicts_on_curves():
    asked = terms([(0.0, 0.5), (1.0, 0.25)], dpjax.Profile())
    crossed = judge(stated(0.1, crossing=(1.0, 0.375, 0.25)), asked)
    point = dpjax.Profile().point(1.0, 0.375)
    assert crossed == ("violated", f"With confidence 0.99, {point}, above the claimed 0.25.")
    whole = (
        "violated",
        "With confidence 0.99, the privacy profile is not within the claimed curve. The curve is "
        "refuted as a whole, not at one particular point.",
    )
    # Both claims together allow an error of up to 0.01.
    error = 1 - 0.99
    assert judge(stated(0.1, smallest_error=error), asked) == whole
    kept = ("not refuted", asked.notion.symbol)
    for smallest in (error + 1e-9, None):
        verdict, sentence = judge(stated(0.1, smallest_error=smallest), asked)
        assert verdict == kept[0]
        assert sentence == (
            f"With confidence 0.99, {kept[1]} is at least 0.1000; no proof of the claimed curve."
        )


def test_a_statement_with_its_verdict():
    found = concluded(stated(1.5, smallest_error=0.25), terms(), "a level", ("violated", "Said."))
    assert (found.lower_bound, found.estimate, found.basis) == (1.5, 2.0, "exact binomial")
    assert (found.level, found.claim, found.confidence, found.num_claims) == (
        "a level", 0.5, 0.99, 2,
    )  # fmt: skip
    assert (found.verdict, found.sentence, found.smallest_error) == ("violated", "Said.", 0.25)
    curve = concluded(stated(1.5), terms([(0.0, 0.5)], dpjax.Profile()), "a level", ("", ""))
    assert curve.claim == [[0.0, 0.5]]


@dataclass(frozen=True)
class Method:
    """A method with options."""

    size: int = 3
    off: bool = False
    none: float | None = None
    name: ClassVar[str] = "a method"


class Subject(Source):
    """A subject with a name."""

    name, parameters, kind = "a subject", {"a": 1.5}, "mechanism"
    plain = None

    def to_plain(self):
        return self.plain


def built(finding, method=None, subject=None, **options):
    return build(finding, subject or Subject(), method or Method(), terms(**options), 1.25)


def finding(notes=(), pairs=None, **changes):
    result = made(**changes)
    return Finding(result.statement, result.evidence, list(notes), result.witness, pairs)


def test_a_result_is_built_of_its_parts():
    pairs = AnyPairs(([0, 1], [2, "a"]), ("one", "first pair"))
    given = finding(["a note"], pairs)
    found = built(given, distance=3, notion=dpjax.Epsilon(0.125))
    assert found.recipe == {
        "subject": None,
        "method": {"name": "a method", "size": 3},
        "notion": {"name": "epsilon", "delta": 0.125},
        "distance": 3,
        "pairs": {"labels": ["one", "first pair"], "database": [0, 1], "neighbor": [2, "a"]},
        "key": 7,
    }
    assert (found.statement, found.witness, found.evidence) == (
        given.statement, given.witness, given.evidence,
    )  # fmt: skip
    assert found.notes == ("a note",) and found.doubts == ()
    origin = found.provenance
    assert (origin.mechanism, origin.parameters, origin.seconds) == ("a subject", {"a": 1.5}, 1.25)
    assert origin.device == "host" and origin.versions == versions()
    on_device = built(finding(settings={"generator": "threefry2x32"}))
    first = jax.devices()[0]
    assert on_device.provenance.device == device() == f"{first.platform}: {first.device_kind}"
    assert on_device.recipe["pairs"] == {}
    subject = Subject()
    subject.plain = {"name": "m"}
    assert built(given, subject=subject).recipe["subject"] == {"kind": "mechanism", "name": "m"}


@pytest.mark.parametrize(
    ("distance", "neighbor", "fewer"),
    [
        (1, ["x", "y"], "one record"),
        (1, [], "one record"),
        (1, ["a", "x", "y", "c"], "one record"),
        (2, ["x", "y", "z"], "2 records"),
        (1, ["a", "c", "x"], ""),
        (1, ["b", "c"], ""),
        (1, ["c", "b", "a"], ""),
        (2, ["x", "y", "c"], ""),
    ],
)
def test_a_note_if_the_databases_differ_in_more_records_than_stated(distance, neighbor, fewer):
    pairs = AnyPairs(([["d"], ["a", "b", "c"]], [["e", "f"], neighbor]), ("one", "first pair"))
    found = built(finding(["a note"], pairs), distance=distance)
    number = 2 if len(neighbor) == 4 else 3
    said = (
        f"The databases of the witness differ in {number} records. If the claim is about databases "
        f"that differ in {fewer}, it does not cover this pair: pass other pairs or "
        f"distance={number}."
    )
    assert found.notes == ("a note", *([said] if fewer else []))
    if fewer:
        assert f"\x01--distance {number}\x02." in found.notes[1].marked


def test_no_note_on_records_without_a_bound():
    given = finding([], AnyPairs(([["a", "b"]], [["x", "y"]]), ("first pair",)))
    nothing = replace(given, statement=replace(given.statement, lower_bound=0.0))
    assert built(nothing).notes == ()


def test_a_doubt_takes_the_verdict():
    found = built(finding(["first", Doubt("why"), "last"]))
    assert found.notes == ("first", "last") and found.doubts == ("why",)
    assert found.verdict == "doubtful" and found.lower_bound == 1.5
    assert found.sentence == (
        "There is no verdict: the bound requires independent draws, and the outputs do not look "
        "independent. If you know that the outputs are independent, pass independent=True."
    )
    found = built(finding([Doubt("why")], settings={"batched": False}))
    assert found.verdict == "doubtful" and found.sentence.endswith(
        "Change the audited code so that every output has its own noise, and audit it again."
    )


def test_pairs_of_a_recipe(monkeypatch):
    def plain(first, second, stacks=False):
        sides = ([first], [second])
        if stacks:
            sides = tuple(np.array(side) for side in sides)
        return _build._plain_pairs(AnyPairs(sides, ("a",)), stacks)

    floats = plain(np.arange(2.0), np.arange(3.0))
    assert floats == {
        "database": [{"dpjax:type": "float64", "values": [0.0, 1.0]}],
        "neighbor": [{"dpjax:type": "float64", "values": [0.0, 1.0, 2.0]}],
        "labels": ["a"],
    }
    assert plain([0, 1], [2, 3], stacks=True) == {
        "database": [[0, 1]], "neighbor": [[2, 3]], "labels": ["a"],
    }  # fmt: skip
    assert plain({"a": (1,)}, {"a": 1})["database"] == [
        {"a": {"dpjax:type": "tuple", "values": [1]}}
    ]
    assert plain(object(), 1) is None and plain(1, object()) is None
    assert plain("text", "other")["neighbor"] == ["other"]
    assert plain("x" * 2000, "y") is None and plain("y", "x" * 1998) is not None
    monkeypatch.setattr(_build, "_MOST_PAIRS", 1)
    assert plain(0, 1) is not None
    two = AnyPairs(([0, 1], [2, 3]), ("a", "b"))
    assert _build._plain_pairs(two, False) is None


def test_so_many_pairs_are_kept():
    """A recipe contains up to ten thousand pairs, each on a line of the file."""
    for number, kept in ((10_000, True), (10_001, False)):
        numbers = np.arange(number)
        pairs = AnyPairs((numbers, numbers + 1), tuple(map(str, range(number))))
        assert (_build._plain_pairs(pairs, True) is not None) == kept


def test_regions_in_recipes():
    box = Box([-5.0, 0.0], [6.0, 2.5])
    assert recipes._region_to_plain(box) == {
        "low": [-5.0, 0.0], "high": [6.0, 2.5], "num_points": box.num_points,
    }  # fmt: skip
    assert recipes._region_from_plain({"low": [0.0], "high": [1.0]}).num_points == (
        Box([0.0], [1.0]).num_points
    )
    chosen = Outcomes(-2, 5, np.array([True, False, True, True, False]))
    content = recipes._region_to_plain(chosen)
    assert content == {"low": -2, "size": 5, "outcomes": [-2, 0, 1]}
    back = recipes._region_from_plain(content)
    assert (back.low, back.size, back.allowed.tolist()) == (-2, 5, chosen.allowed.tolist())
    assert recipes._region_from_plain([1, 2]) == [1, 2]
    for wrong in ({**content, "more": 1}, {"low": [0.0], "high": [1.0], "more": 1}):
        with pytest.raises(ValueError, match="more"):
            recipes._region_from_plain(wrong)


def test_options_in_recipes():
    assert recipes.options_to_plain(Method()) == {"size": 3}
    assert recipes.options_to_plain(Method(0, True, 0.0)) == {"size": 0, "off": True, "none": 0.0}
    arrays = recipes.options_to_plain(Method(np.arange(2), True, np.float64(0.5)))
    assert arrays == {"size": [0, 1], "off": True, "none": 0.5}
    assert recipes.options_to_plain(Method((1, [np.int64(2)])))["size"] == [1, [2]]
    renyi = dpjax.Renyi(3.0)
    assert recipes.notion_to_plain(renyi) == {"name": "renyi", "order": 3.0}
    assert recipes.notion_to_plain(renyi, "renyi") == {"order": 3.0}
    assert recipes.notion_to_plain(renyi, "epsilon") == {"name": "renyi", "order": 3.0}
    assert recipes.notion_from_plain({"delta": 0.125}) == dpjax.Epsilon(0.125)
    assert recipes.notion_from_plain({"name": "renyi", "order": 3.0}) == renyi
    content = {"name": "gdp"}
    assert recipes.notion_from_plain(content) == dpjax.Gdp() and content == {"name": "gdp"}
    rule = {"rule": "Fixed", "more": 1}
    with pytest.raises(ValueError, match="more"):
        recipes.options_from_plain(dpjax.Local, {"bandwidth": rule})
    with pytest.raises(ValueError, match="none"):
        recipes.notion_from_plain({"name": "none"})
    with pytest.raises(ValueError, match="more"):
        recipes.options_from_plain(notions.Epsilon, {"more": 1})


def test_databases_in_recipes():
    plain = recipes.plain_database
    assert plain(np.float32(0.5)) == 0.5 and type(plain(np.float32(0.5))) is float
    assert plain({"a": np.arange(2), "b": {"c": np.int8(1)}}) == {"a": [0, 1], "b": {"c": 1}}
    for value in (None, True, "a", 3, 1.5, [1, [2.5]], {"a": [None]}):
        assert plain(value) == value
    for value in (float("nan"), float("inf"), {1: 2}, (1, 2), {1}, [1, (2,)], {"a": {1: 2}}):
        assert isinstance(plain(value), str)
    assert plain([0] * 666) == [0] * 666  # 1998 characters, including two brackets.
    assert plain([10, *[0] * 665]) == [10, *[0] * 665]  # 1999
    assert plain([100, *[0] * 665]) == [100, *[0] * 665]  # 2000
    long = [1000, *[0] * 665]
    assert plain(long) == str(long)[:2000] + "..." and len(str(long)) == 2001
    endless = []
    endless.append(endless)
    assert isinstance(plain(endless), str)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_short_frame_is_shown_by_its_columns(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"pay": [1.0, 5.0], "town": ["a", "b"]})
    assert recipes.plain_database(frame) == "{'pay': [1.0, 5.0], 'town': ['a', 'b']}"
    long = frames.DataFrame({"pay": [0.0] * 101})
    assert recipes.plain_database(long) == repr(long)
    if library == "pandas":
        frame.columns = ["pay", "pay"]
        assert recipes.plain_database(frame) == repr(frame)
        strange = SimpleNamespace(columns=3, to_dict=None)
        assert recipes.plain_database(strange) == repr(strange)


def test_a_pair_that_is_compared():
    pairs = AnyPairs(([0, [0] * 50], [2, [*[0] * 49, 1]]), ("a", "b"))
    assert recipes.compared(pairs, 1) == {
        "pair": "b", "database": [0] * 50, "neighbor": [*[0] * 49, 1],
        "difference": "entry 49: 0 and 1",
    }  # fmt: skip
    assert recipes.compared(pairs, 0)["difference"] is None


def test_a_subject_of_a_recipe():
    for content in ({"kind": "none"}, {"kind": 3}, {}):
        with pytest.raises(ValueError, match="unknown kind"):
            subject_from_plain(content, None, Trust(()))
    content = {"kind": "mechanism", "name": "laplace", "parameters": {"epsilon": 2.0}}
    found = subject_from_plain(content, None, Trust(()))
    assert found.mechanism.epsilon == 2.0 and content["kind"] == "mechanism"
    assert subject_to_plain(found) == content
    assert subject_to_plain(Subject()) is None


def test_findings_have_a_row_each():
    pairs = AnyPairs(([0, 1], [2, 3]), ("zeroth pair", "first pair"))
    one, two = finding(pairs=pairs), finding(witness=None)
    found = Findings.of(one, two)
    assert found.finding(0) is one and found.finding(1) is two
    first, second = found.rows()
    assert (first.pair, second.pair) == (1, 0)
    assert first.statement == one.statement and first.verdict == "violated"
    assert (first.output, first.status, first.state) == (None, "OK", None)


def test_the_finding_of_repeats():
    pairs = AnyPairs(([0, 1], [2, 3]), ("a", "b"))
    counted_runs = RepeatedRuns("batches", 1_000, 100.0)
    error = Repeats("it", counted_runs, pairs, 1, {"batched": True})
    found = finding_of_repeats(error, terms())
    assert found.statement.verdict == "not random" and found.statement.level == "epsilon"
    assert found.statement.sentence == error.sentence and found.statement.lower_bound == 0.0
    assert found.notes == [*terms().notes(), error.advice] and len(found.notes) == 2
    assert found.evidence.counted is counted_runs and found.evidence.settings == {"batched": True}
    assert (found.witness.pair, found.witness.database, found.witness.neighbor) == ("a", 0, 2)
    assert found.pairs is pairs and found.evidence.num_confirm is None


CONSTANT = Unvaried((300, 400), "first pair")


def judged(trials, notes, event_counts, **changes):
    result = made(event_counts=event_counts, **changes)
    return verdict_on_unvaried(result.statement, result.witness, trials, notes)


def test_constant_outputs_without_a_claim():
    """For one of two claims at confidence 0.99, the error is 0.005."""
    none = {"verdict": "no claim", "claim": None}
    few = next(n for n in range(1, 10_000) if epsilon_of_constants((n, n), 0.005) > 4.0)
    for size, verdict in ((few, "not random"), (few - 1, "no claim")):
        for counts in ((size, 0), (0, size)):
            found, notes = judged((size, size), ["a", CONSTANT, "b"], counts, **none)
            assert found.verdict == verdict
            assert notes == (["a", "b"] if verdict == "not random" else ["a", CONSTANT, "b"])
    assert found.sentence == "It is violated."
    uneven, _ = judged((9_000, 8_000), [CONSTANT], (0, 8_000), **none)
    assert uneven.verdict == "not random" and uneven.sentence == f"{CONSTANT} It is violated."
    for counts in ((8_000, 0), (0, 9_000), (9_000, 8_000), (0, 0), (8_999, 0), None):
        assert judged((9_000, 8_000), [CONSTANT], counts, **none)[0].verdict == "no claim"


def test_constant_outputs_with_a_claim():
    assert judged((9, 9), [CONSTANT], COUNTS)[0].verdict == "not random"
    kept, notes = judged((9_000, 8_000), [CONSTANT], (9_000, 0), verdict="not refuted")
    assert kept.verdict == "not refuted" and notes == [CONSTANT]
    for notes in ([Unvaried((3, 4), "second pair")], ["words"], []):
        assert judged((9, 9), notes, COUNTS)[0].verdict == "violated"
    result = made()
    alone, _ = verdict_on_unvaried(result.statement, None, (9, 9), [CONSTANT])
    assert alone.verdict == "violated"


def test_no_trials_bound_no_constants():
    assert epsilon_of_constants((0, 9), 0.01) == 0.0 == epsilon_of_constants((9, 0), 0.01)


def test_recipes_are_json():
    content = json.loads(json.dumps(built(finding(), distance=2).recipe))
    assert content["distance"] == 2 and counted().trials == (5_000, 7_000)
    assert replace(made(), recipe=content).recipe["key"] == 7
