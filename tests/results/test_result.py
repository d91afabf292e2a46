"""Results: texts, plain numbers, JSON and back, and repetition from a recipe."""

import dataclasses
import json
import re

import jax
import numpy as np
import pytest

import dpjax
from dpjax import mechanisms
from dpjax.inference import event_lower_bound
from dpjax.mechanisms import Laplace, RandomizedResponse
from dpjax.results._figures import notions_figure, outputs_figure
from dpjax.results._words import claimed, outputs_caption
from dpjax.results.recipes import options_from_plain, options_to_plain

EVENTS = dpjax.Events(num_samples=2_000, num_confirm=4_000)
LOCAL = dpjax.Local(num_samples=2_000, num_confirm=5_000)
FEW = dpjax.Local(num_samples=180, num_confirm=420)
HISTOGRAM = dpjax.Histogram(least_probability=0.2)
ONE = [(0.0, 1.0)]
REALS = np.random.default_rng(0).laplace([[0.0], [1.0]], size=(2, 600))


def own(key, count):
    return count + jax.random.laplace(key)


def host(count, num_samples, rng):
    return rng.laplace(count, 1.0, num_samples)


RECORDED = dpjax.Recorded(*REALS)
HOST = dpjax.HostMechanism(host)
NAMED = dpjax.Pairs([0.0], [1.0], ("one record",))
# Subject, pairs, options.
AUDITS = {
    "events": (Laplace(1.0), ONE, {"method": EVENTS, "claim": 0.5, "key": jax.random.key(5)}),
    "of a region": (
        mechanisms.SVT2(0.7), None,
        {"method": dpjax.Events(2_000, 4_000, [0, 9, 10]), "claim": 0.7, "num_claims": 3},
    ),
    "at a delta": (
        Laplace(1.0), ONE,
        {"method": EVENTS, "notion": dpjax.Epsilon(0.01), "claim": 0.9, "confidence": 0.9},
    ),
    "of a function": (own, NAMED, {"method": EVENTS, "key": 2}),
    "of the host": (HOST, NAMED, {"method": EVENTS, "claim": 0.1}),
    "of objects": (
        dpjax.HostMechanism(lambda d, n, rng: rng.laplace(len(d), 1.0, n)),
        [(["a"], ["a", "b"])], {"method": EVENTS},
    ),
    "recorded": (RECORDED, None, {}),
    "local": (Laplace(1.0), ONE, {"method": LOCAL, "claim": 0.5}),
    "local, recorded": (RECORDED, None, {"method": FEW, "claim": 0.1}),
    "at a distance": (
        Laplace(1.0), [(0.0, 3.0)],
        {"method": EVENTS, "notion": dpjax.Gdp(), "distance": 3, "num_claims": 50},
    ),
    "histogram": (RandomizedResponse(1.0), None, {"method": HISTOGRAM, "claim": 0.3}),
    "histogram of inputs": (
        RandomizedResponse(1.0), None,
        {"method": dpjax.Histogram(least_probability=0.2, inputs=[0, 1])},
    ),
}  # fmt: skip
DRAWN = ["events", "of a region", "at a delta", "of a function", "local", "histogram",
         "at a distance"]  # fmt: skip


@pytest.fixture(scope="module")
def results():
    return {
        name: dpjax.audit(subject, pairs, **options)
        for name, (subject, pairs, options) in AUDITS.items()
    }


def comparable(result):
    origin = dataclasses.replace(result.provenance, seconds=0.0)
    return dataclasses.replace(result, provenance=origin)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", AUDITS)
def test_a_result_goes_to_json_and_back_and_is_run_again(results, name):
    result = results[name]
    back = dpjax.AuditResult.from_json(result.to_json())
    assert back == result
    subject = AUDITS[name][0]
    again = dpjax.rerun(back, subject)
    assert comparable(again) == comparable(result)
    if hasattr(subject, "standard_pairs"):
        assert comparable(dpjax.rerun(back)) == comparable(result)
        return
    refused = "subject must be given, because"
    if subject in (own, HOST):
        refused = "would import code, which a stored name may not do"
        again = dpjax.rerun(back, allow_import=[__name__])
        assert comparable(again) == comparable(result)
    with pytest.raises(ValueError, match=refused):
        dpjax.rerun(back)


@pytest.mark.parametrize("name", AUDITS)
def test_results_are_plain(results, name):
    """A result contains no JAX or NumPy objects: it can be stored, sent and compared."""

    def check(value):
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list | tuple):
            for item in value:
                check(item)
        else:
            assert type(value) in (float, int, str, bool, type(None)), (type(value), value)

    check(results[name].to_dict())


@pytest.mark.parametrize("name", AUDITS)
def test_a_result_says_where_it_comes_from(results, name):
    result, options = results[name], AUDITS[name][2]
    assert {"dpjax", "jax", "jaxlib", "numpy", "scipy", "python"} <= set(result.versions)
    key = options.get("key", 0)
    assert result.recipe["key"] == (key if isinstance(key, int) else [0, 5])
    method = options.get("method", dpjax.Events())
    assert result.recipe["method"]["name"] == method.name
    assert result.recipe["method"].get("num_samples") == method.num_samples
    # A generator of JAX is named only if JAX made the draws.
    assert (result.settings["generator"] == "threefry2x32") == (name in DRAWN or "inputs" in name)
    assert result.provenance.device.startswith(jax.default_backend()) == (
        name in DRAWN or "inputs" in name
    )


@pytest.mark.parametrize("name", AUDITS)
def test_what_a_result_prints(results, name):
    result = results[name]
    printed, row = str(result), result.row()
    # A row that is longer than a line continues below its text.
    text = re.sub(r"\n {15}(?=\S)", " ", printed)
    assert all(re.match(r"  \S| {15}\S", line) for line in printed.split("\n")[1:])
    assert all(len(line) <= 100 or " " not in line.strip() for line in printed.split("\n"))
    assert result.mechanism in text and result.verdict.upper() in text and result.sentence in text
    assert f"{result.lower_bound:.4f}" in text and all(note in text for note in result.notes)
    assert row["lower_bound"] == result.lower_bound and row["pair"] == result.witness.pair
    assert ("refuted      the claim" in text) == (result.smallest_error is not None)
    if result.claim is not None and result.basis != "histogram":
        refuted = result.verdict == "violated"
        assert refuted == (result.lower_bound > result.claim)
        # The smallest error has a relative precision of a hundredth.
        if refuted:
            assert result.smallest_error <= 1.02 * (1 - result.confidence)
        elif result.smallest_error is not None:
            assert result.smallest_error >= 0.98 * (1 - result.confidence)


@pytest.mark.parametrize(
    "text", ['{"a": 1}', "[]", "1", "not JSON", '{"witness": {}}', "[" * 100_000]
)
def test_what_is_no_result_is_refused(text):
    with pytest.raises(ValueError, match="not a dpjax audit result"):
        dpjax.AuditResult.from_json(text)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("events", {"kind": "none"}), ("events", {"kind": []}), ("events", {"kind": "local"}),
        ("events", {"trials": [0, 4_000]}), ("events", {"counts": [1, 4_001]}),
        ("events", {"counts": [1]}), ("events", {"counts": [0.5, 1]}), ("events", {"event": 2}),
        ("events", {"more": 1}), ("local", {"events": [-1, 0]}), ("local", {"kernel": {}}),
        ("local", {"num_confirm": 10**400}), ("histogram", {"plan": {}}),
        ("histogram", {"plan": {"precision": "much"}}), ("histogram", {"estimate": "none"}),
    ],
)  # fmt: skip
def test_damaged_evidence_is_refused(results, name, change):
    content = results[name].to_dict()
    content["evidence"]["counted"] |= change
    with pytest.raises(ValueError, match="not a dpjax audit result"):
        dpjax.AuditResult.from_json(json.dumps(content))


def entries(content, path=()):
    """Return the paths of all entries of nested dicts."""
    for name, value in content.items():
        yield (*path, name)
        if isinstance(value, dict) and len(path) < 3:
            yield from entries(value, (*path, name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["events", "local", "histogram"])
def test_a_result_of_any_damaged_content_is_refused_or_shown(results, name):
    content = results[name].to_dict()
    for path in entries(content):
        for damage in (None, "x", -1, 1e308, [], {}, True, [[1]], {"a": None}):
            changed = json.loads(json.dumps(content))
            *outer, last = path
            inner = changed
            for step in outer:
                inner = inner[step]
            inner[last] = damage
            try:
                found = dpjax.AuditResult.from_json(json.dumps(changed))
            except ValueError as error:
                assert "text is not a dpjax audit result" in str(error)
            else:
                assert str(found) and repr(found)


@pytest.mark.parametrize("part", ["statement", "evidence", "recipe", "provenance", "notes"])
def test_a_result_without_a_part_is_refused(results, part):
    content = results["events"].to_dict()
    del content[part]
    with pytest.raises(ValueError, match="not a dpjax audit result"):
        dpjax.AuditResult.from_json(json.dumps(content))


def test_a_bound_equal_to_the_claim_does_not_violate_it():
    result = dpjax.audit(dpjax.Recorded(["a"] * 500, ["a"] * 500), claim=0.0)
    assert result.lower_bound == 0 and result.verdict == "not refuted"


def test_a_function_with_the_name_of_a_built_in_mechanism_is_not_taken_for_it():
    def laplace(key, count):
        return count + 0.2 * jax.random.laplace(key)

    result = dpjax.audit(laplace, ONE, method=EVENTS)
    assert result.mechanism == Laplace.name
    with pytest.raises(ValueError, match="because 'laplace' is not built in"):
        dpjax.rerun(result)
    named = dpjax.audit(dpjax.Recorded(*REALS, name="laplace"))
    with pytest.raises(ValueError, match="because 'laplace' is not built in"):
        dpjax.rerun(named)


def test_pairs_that_a_recipe_cannot_hold_are_asked_for():
    class Records:
        def __init__(self, count):
            self.count = count

    subject = dpjax.HostMechanism(lambda records, n, rng: rng.laplace(records.count, 1.0, n))
    result = dpjax.audit(subject, [(Records(0), Records(1))], method=EVENTS)
    assert result.recipe["pairs"] is None
    with pytest.raises(ValueError, match=r"pairs must be given, because the recipe .* does not"):
        dpjax.rerun(result, subject)
    again = dpjax.rerun(result, subject, [(Records(0), Records(1))])
    assert again.statement == result.statement


def test_a_histogram_is_run_again_by_its_inputs_however_many_pairs_they_make():
    """More than 10 000 pairs are not stored; the inputs suffice to run it again."""
    method = dpjax.Histogram(
        lipschitz=0.4, input_lipschitz=0.4, input_interval=(0.0, 1.0), precision=0.9
    )
    result = dpjax.audit(mechanisms.TruncatedLaplace(2.0), method=method, confidence=0.9)
    recipe = {**result.recipe, "pairs": None}
    again = dpjax.rerun(dataclasses.replace(result, recipe=recipe))
    assert comparable(again) == comparable(result)


@pytest.mark.parametrize("objective", ["lower-bound", "loss"])
def test_infinite_losses_are_written(tmp_path, objective):
    """At floor 0, an outcome of one side only has an infinite loss, which JSON cannot represent."""
    method = dpjax.Local(300, 600, floor=0.0, objective=objective)
    result = dpjax.audit(RandomizedResponse(12.0), method=method, claim=0.5)
    assert result.estimate is None and result.pair_scores == (("0 / 1", None),)
    assert result.curve["loss"] == [None, None]
    assert dpjax.AuditResult.from_json(result.to_json()) == result
    pytest.importorskip("jinja2")
    assert "| 0 / 1 | infinite |" in result.report(tmp_path / "x.md").read_text()


@pytest.mark.parametrize(("name", "num_claims"), [("of a region", 3), ("at a distance", 50)])
def test_the_bound_of_the_own_notion_is_the_one_stated(results, name, num_claims):
    """Each of several claims has a share of the error, and each record has a share of the level."""
    result = results[name]
    counts, sure = result.witness.event_counts, 1 - 0.001 / num_claims
    side, trials = int(result.witness.larger == "neighbor"), result.evidence.trials
    own = result.notion.hypothesis(result.recipe["distance"])
    sided = counts[side], counts[1 - side], trials[side], trials[1 - side]
    expected = float(event_lower_bound(*sided, sure, own))
    assert sum(trials) == 8_000
    assert result.lower_bound == pytest.approx(expected, rel=1e-12) and expected > 0
    assert result.bound(result.notion).lower_bound == result.lower_bound
    assert result.recipe["distance"] == (3 if name == "at a distance" else 1)


def test_a_box_keeps_its_number_of_points():
    method = dpjax.Local(region=dpjax.Box([-5.0, 0.0], [6.0, 2.5], num_points=37))
    content = json.loads(json.dumps(options_to_plain(method)))
    region = options_from_plain(dpjax.Local, content).region
    assert (region.low.tolist(), region.high.tolist()) == ([-5.0, 0.0], [6.0, 2.5])
    assert region.num_points == 37


def test_a_witness_of_several_numbers_is_printed_with_all_of_them(results):
    witness = dataclasses.replace(results["local"].witness, output=[0.25, -1.5])
    text = str(dataclasses.replace(results["local"], witness=witness))
    assert re.search(
        r"^  witness .*, output \[0.25, -1.5\]\n  density      [\d.]+ at the database", text, re.M
    )


def test_no_proof_is_one_short_line(results):
    claim = results["events"].lower_bound + 0.5
    result = dpjax.audit(Laplace(1.0), [(0.0, 1.0)], method=dpjax.Events(2000, 5000), claim=claim)
    assert str(result).split("\n")[1] == (
        f"  NOT REFUTED: With confidence 0.999, epsilon is at least {result.lower_bound:.4f}; no "
        f"proof of the claimed {claim:g}."
    )


def test_an_infinite_estimate_is_said_of_a_refuted_claim_alone():
    """The neighbor alone has one output, 0.02 of all: ln 0.02 / 0 refutes 0.5, but not 20."""

    def leaky(key, side):
        return (jax.random.uniform(key) < 0.02 * side).astype(float)

    audits = [
        dpjax.audit(leaky, [(0.0, 1.0)], method=dpjax.Events(4000, 9000), claim=claim)
        for claim in (0.5, 20.0)
    ]
    assert [result.verdict for result in audits] == ["violated", "not refuted"]
    assert all(result.estimate is None for result in audits)
    assert ["infinite" in str(result) for result in audits] == [True, False]
    sections = [section for result in audits for section in result.page(".md").sections]
    tables = [part.table.rows for part in sections if part.title == "What was shown"]
    assert ["infinite" in {row[1] for row in rows} for rows in tables] == [True, False]


def test_a_figure_is_written_where_a_path_is_given(results, tmp_path):
    pytest.importorskip("matplotlib")
    figure = results["events"].plot(tmp_path / "figure.svg")
    assert "<svg" in (tmp_path / "figure.svg").read_text() and figure.axes
    with pytest.raises(ValueError, match=r"figure.doc"):
        results["events"].plot(tmp_path / "figure.doc")


def test_a_recipe_holds_all_pairs_or_none():
    """A set of one database cannot be stored in JSON: its text would be another database."""
    mechanism = dpjax.HostMechanism(lambda d, n, rng: rng.integers(0, 2, n))
    method = dpjax.Events(num_samples=200, num_confirm=400)
    for pairs, is_plain in (([(0, 1), ("a", "b")], True), ([(0, 1), ({2}, 3)], False)):
        recipe = dpjax.audit(mechanism, pairs, method=method).recipe
        assert (recipe["pairs"] is not None) == is_plain
        if is_plain:
            assert recipe["pairs"]["database"] == [0, "a"]
            assert recipe["pairs"]["neighbor"] == [1, "b"]


def test_a_caption_without_a_curve_tells_the_level(results):
    result = results["events"]
    said = "Above: the outputs in the search set for both databases. Below: their privacy loss"
    assert outputs_caption(result, banded=False).startswith(f"{said}.")
    assert outputs_caption(result, banded=True).startswith(f"{said}, with a 95% confidence band")
    bare = dataclasses.replace(result, evidence=dataclasses.replace(result.evidence, curve=None))
    level = f"Epsilon is at least {result.lower_bound:.4g}, with confidence 0.999."
    assert outputs_caption(bare, banded=False) == level
    assert outputs_caption(dataclasses.replace(result, witness=None), banded=False) == level


def test_options_of_all_kinds_come_back_from_json():
    inside = np.array([True, False, True, True, False])
    for options in (
        dpjax.Events(2_000, 4_000, dpjax.partitions.Outcomes(-2, 5, inside)),
        dpjax.Local(bandwidth=0.25, kernel="biweight"),
        dpjax.Local(bandwidth="hoelder"),
        dpjax.Renyi(2.5),
    ):
        content = json.loads(json.dumps(options_to_plain(options)))
        back = options_from_plain(type(options), content)
        assert options_to_plain(back) == content and type(back) is type(options)
    region = dpjax.Events(2_000, 4_000, dpjax.partitions.Outcomes(-2, 5, inside))
    region = options_from_plain(dpjax.Events, options_to_plain(region)).region
    assert region.low == -2 and region.allowed.tolist() == inside.tolist()
    with pytest.raises(ValueError, match=r"bandwidth rule 'Scot' is not known; .*Scott"):
        options_from_plain(dpjax.Local, {"bandwidth": {"rule": "Scot"}})


def test_a_recipe_leaves_out_pairs_that_json_does_not_give_back(monkeypatch):
    """Long databases and objects are left out; arrays, lists and tuples keep their types."""
    mechanism = dpjax.HostMechanism(lambda d, n, rng: rng.integers(0, 2, n))
    method = dpjax.Events(num_samples=200, num_confirm=400)

    def plain(*pair):
        return dpjax.audit(mechanism, [pair], method=method).recipe["pairs"]

    assert plain([0, 1], [0, 1, 2])["neighbor"] == [[0, 1, 2]]
    array = {"dpjax:type": "int64", "values": [0, 1]}
    assert plain(np.arange(2), [0, 1])["database"] == [array]
    assert plain({"a": {"b": np.arange(2)}}, {"a": 1})["database"] == [{"a": {"b": array}}]
    assert plain(np.array([None]), np.arange(2)) is None
    assert plain(["x"] * 900, ["x"]) is None
    monkeypatch.setattr("dpjax.results._build._MOST_PAIRS", 0)
    assert plain(0, 1) is None


def test_claims_at_a_distance_are_said_to_be_of_one_record(results):
    stated = results["events"].statement
    said = claimed(dataclasses.replace(results["at a distance"], statement=stated))
    assert len(said) == 2 and "in 3 records, and every bound" in said[1]
    assert len(claimed(results["events"])) == 1


@pytest.mark.parametrize("subject", [{"kind": "nothing"}, {"kind": 3}, {}, "laplace"])
def test_subjects_that_are_none_are_refused(results, subject):
    result = results["events"]
    damaged = dataclasses.replace(result, recipe=result.recipe | {"subject": subject})
    with pytest.raises((TypeError, ValueError), match="the recipe's subject"):
        dpjax.rerun(damaged)


@pytest.mark.parametrize("notion", [None, "epsilon", {"name": "nothing"}])
@pytest.mark.parametrize("made", ["events", "at a distance"])
def test_recipes_without_a_notion_are_not_read(results, made, notion):
    content = json.loads(results[made].to_json())
    content["recipe"].pop("notion")
    for damaged in (content["recipe"], content["recipe"] | {"notion": notion}):
        with pytest.raises(ValueError, match=r"^text is not a dpjax audit result: "):
            dpjax.AuditResult.from_json(json.dumps(content | {"recipe": damaged}))


def test_only_notions_are_asked_for(results):
    with pytest.raises(TypeError, match="notion must be a dpjax notion, but was 'gdp'"):
        results["events"].bound("gdp")


@pytest.mark.parametrize("distance", [1, 2])
def test_curves_of_a_pair_are_compared_with_claims_of_one_record(monkeypatch, distance):
    """At a distance, they are for another number of records, so the claim is omitted."""
    pytest.importorskip("matplotlib")
    drawn = []
    monkeypatch.setattr("dpjax.plotting.Claimed", lambda *given: given)
    monkeypatch.setattr("dpjax.plotting.plot_notions", lambda *given, **_: drawn.append(given[2]))
    options = {"method": EVENTS, "notion": dpjax.Zcdp(), "claim": 0.25, "distance": distance}
    notions_figure(dpjax.audit(Laplace(1.0), [(0.0, float(distance))], **options))
    assert drawn[0][:2] == (("zcdp", 0.25) if distance == 1 else (None, None))


def test_pages_have_figures_where_html_shows_them(results):
    pytest.importorskip("matplotlib")
    for kind, number in ((".html", 2), (".md", 0)):
        page = results["events"].page(kind)
        assert sum(len(section.figures) for section in page.sections) == number


def test_a_figure_shows_outputs_where_there_are_some_and_else_the_level(results, monkeypatch):
    """With title, pair and claim; a level that is not an epsilon does not mark a loss."""
    pytest.importorskip("matplotlib")
    drawn = []
    for name in ("plot_outputs", "plot_levels"):
        note = lambda *given, _name=name, **options: drawn.append((_name, given, options))  # noqa: E731
        monkeypatch.setattr(f"dpjax.plotting.{name}", note)
    result = results["events"]
    bare = dataclasses.replace(result, evidence=dataclasses.replace(result.evidence, curve=None))
    gdp = results["at a distance"]
    for shown in (result, bare, dataclasses.replace(result, witness=None), gdp):
        outputs_figure(shown)
    assert [name for name, *_ in drawn] == ["plot_outputs", *["plot_levels"] * 2, "plot_outputs"]
    title, (curve, marks, *options) = drawn[0][1]
    assert title == f"laplace: {result.verdict} (pair 0)" and curve == result.evidence.curve
    assert tuple(marks) == (result.witness.output, result.estimate, result.lower_bound, 0.5)
    assert options == [True, 2_000, None]
    assert drawn[3][1][1].marks is None
    levels = (result.lower_bound, result.upper_bound, result.estimate, 0.5, "confidence 0.999")
    assert drawn[1][1] == (f"laplace: {result.verdict}", "epsilon", *levels)


def test_a_page_lists_the_scores_of_the_search(results):
    scores = (("first", 0.25), ("second", None))
    seen = dataclasses.replace(results["events"].evidence, pair_scores=scores)
    page = dataclasses.replace(results["events"], evidence=seen).page(".md")
    tables = [
        section.table for section in page.sections if "Pairs, by their score" in section.title
    ]
    assert [list(table.rows) for table in tables] == [[("first", "0.2500"), ("second", "infinite")]]


def test_settings_hold_the_number_of_cells():
    """Each label has one cell, and there are cells for outputs that the pilot did not contain."""

    def cells(labels):
        sides = np.random.default_rng(0).choice([*labels], (2, 600))
        return dpjax.audit(dpjax.Recorded(*sides)).settings["num_cells"]

    assert cells("abcde") - cells("abc") == 2 and cells("abc") >= 4


@pytest.mark.parametrize(
    ("part", "value"),
    [
        # The letters of a text are not notes, and a doubt in a name does not change a verdict.
        (("notes",), "standard"),
        (("doubts",), {"epsilon": 1.0}),
        (("doubts",), "no"),
        (("notes",), [1]),
        (("recipe", "subject"), {"name": "laplace"}),
        (("recipe", "subject"), {"kind": 3}),
        (("statement", "curve"), {"epsilon": [float("inf")], "delta": [0.1]}),
    ],
)
def test_what_cannot_be_written_or_shown_again_is_no_result(results, part, value):
    content = json.loads(results["events"].to_json())
    *path, last = part
    place = content
    for name in path:
        place = place[name]
    place[last] = value
    with pytest.raises(ValueError, match="text is not a dpjax audit result"):
        dpjax.AuditResult.from_json(json.dumps(content))


_DREW = {"dtype": "float32", "generator": "threefry2x32"}
_CALLED = {
    "batched": True, "batch_size": 10_000, "special": "outcomes", "bits": None,
    "time_limit": None, "timeout": None, "generator": "seeds by NumPy's SeedSequence",
}  # fmt: skip
# Values that options determine; numbers that depend on draws are tested elsewhere.
SETTINGS = {
    "events": {**_DREW, "block": 2048},
    # Ten pairs in two rounds: 5/11 of 2,000 draws per pair in the first.
    "of a region": {**_DREW, "block": 1024, "rounds": {
        "num_samples": 909, "num_kept": 3, "num_again": 3_636, "num_confirm": 4_000}},
    "at a delta": {**_DREW, "block": 2048},
    "of a function": {**_DREW, "block": 2048},
    "at a distance": {**_DREW, "block": 2048},
    "of the host": _CALLED,
    "of objects": _CALLED,
    "recorded": {"discrete": None, "bits": None, "search_fraction": 0.3,
                 "generator": "philox4x64"},
    "local": {**_DREW, "num_nodes": 512, "undersmoothing": 0.02},
    "local, recorded": {"num_nodes": 512, "dtype": "float32", "generator": "philox4x64",
                        "discrete": None, "search_fraction": 0.3},
    "histogram": {**_DREW, "inputs": [0, 1]},
    "histogram of inputs": {**_DREW, "inputs": [0, 1]},
}  # fmt: skip
OF_DRAWS = {
    "of a region": {"num_cells"}, "local": set(), "local, recorded": {"undersmoothing"},
    "histogram": set(), "histogram of inputs": set(),
}  # fmt: skip


@pytest.mark.parametrize("name", AUDITS)
def test_settings_are_exactly_those_that_determine_the_numbers(results, name):
    found = dict(results[name].settings)
    of_draws = {key: found.pop(key) for key in OF_DRAWS.get(name, {"num_cells", "confirmed"})}
    if name == "recorded":
        sides = zip(found.pop("searched"), of_draws["confirmed"], strict=True)
        assert [*map(sum, sides)] == [len(side) for side in REALS]
    assert found == SETTINGS[name]
    if "confirmed" in of_draws and name != "recorded":
        # The same number of draws is divided differently.
        assert sum(of_draws["confirmed"]) == 8_000 and len(set(of_draws["confirmed"])) == 2


@pytest.mark.parametrize("name", AUDITS)
def test_notes_say_only_what_is_so(results, name):
    found = list(results[name].notes)
    claims = AUDITS[name][2].get("num_claims", 1)
    if claims > 1:
        assert found.pop(0) == (
            "This bound exceeds the true level with a probability of at most "
            f"{0.001 / claims:.3g}. Together, all {claims} such bounds hold with confidence 0.999 "
            "(Bonferroni)."
        )
    expected = []
    if name == "local, recorded":
        expected = [
            "The outputs were treated as reals. Use discrete=True if they are outcomes.",
            "180 outputs per side form the search set, "
            "and the other 420 form the confirmation set.",
        ]
    assert found == expected


NUMBER = r"(-?[\d,.]+(e[+-]?\d+)?|infinite)( (of|to) (-?[\d,.]+(e[+-]?\d+)?|infinite))?"


@pytest.mark.parametrize("name", AUDITS)
def test_a_table_is_of_numbers_where_all_of_its_cells_are(results, name):
    """Numbers are separated from texts on a page; the unit of a number is not a number."""
    tables = [section.table for section in results[name].page(".md").sections if section.table]
    assert len(tables) >= 4
    for table in tables:
        cells = [row[1 : -1 if table.units else None] for row in table.rows]
        fit = [re.fullmatch(NUMBER, cell) is not None for row in cells for cell in row]
        assert table.numbers == all(fit)
