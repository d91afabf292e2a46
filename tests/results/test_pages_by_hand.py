"""Pages, printed results and parts of results that are made by hand, cell by cell."""

import datetime
import json
from dataclasses import replace

import numpy as np
import pytest
from made_results import TRIALS, counted, made

from dpjax.inference import blind_spot
from dpjax.notions import Epsilon, Gdp, Renyi, TotalVariation, Zcdp
from dpjax.notions.evidence import ChainCounts, RepeatedRuns
from dpjax.results import AuditResult, Observed, Witness
from dpjax.results._advice import advice
from dpjax.results._meaning import meaning
from dpjax.results._page import NOT_TESTED, _allowance, _device, _not_tested, _pairs
from dpjax.results._result import parameters_text
from dpjax.results._words import witness_story

CHAIN = ChainCounts(np.array([[900, 1500], [100, 400]]), (2_000, 2_000), (2, 0))


def sections(result, **options):
    page = result.page(".md", **options)
    return {section.title: section for section in page.sections}


def test_a_whole_page():
    result = made(notes=("a note",), doubts=())
    page = result.page(".md")
    assert page.title == "Audit of noisy"
    assert page.verdict == ("violated", "Violated: the claim is refuted", "It is violated.")
    today = datetime.date.today().isoformat()
    assert page.footer == f"Written on {today} by dpjax 7.8."
    assert page.result == result.to_dict()
    assert [section.title for section in page.sections] == [
        "What this means", "What was shown", "What to do now", "The witness", "What was claimed",
        "What was not tested", "Pairs, by their score in the search", "How to do it again",
    ]  # fmt: skip
    found = sections(result)
    assert found["What this means"].paragraphs == tuple(meaning(result))
    assert found["What to do now"].items == tuple(advice(result))
    shown = found["What was shown"]
    assert shown.paragraphs == ("Epsilon is the natural logarithm of a ratio of probabilities.",)
    assert shown.items == ("a note",) and shown.figures == ()
    assert shown.table.head == ("Number", "Value", "Unit") and shown.table.units
    assert shown.table.rows == [
        ("Lower bound (exact binomial, confidence 0.99)", "1.5000", "nats"),
        ("Claim", "0.5", "nats"),
        ("Estimate at the witness", "3.2500", "nats"),
        ("Smallest error at which the claim is refuted", "0.002", "probability"),
        ("Event at the database", "1,240 of 5,000", "fresh draws"),
        ("Event at the neighbor", "56 of 7,000", "fresh draws"),
        ("Search set", "3,000", "draws per side"),
        ("Time", "12.3", "seconds"),
    ]
    witness = found["The witness"]
    assert witness.paragraphs == tuple(witness_story(result, result.witness))
    assert witness.table.rows == [
        (
            "Event, with all digits",
            "the output is at least 2.000001: 1240 of 5000 fresh draws from the database, 56 of "
            "7000 from the neighbor",
        )
    ]
    assert not witness.table.numbers
    claim = found["What was claimed"]
    assert claim.paragraphs == ("The claim is that epsilon of noisy is at most 0.5.",)
    assert claim.table.rows == [("Audited", "noisy"), ("scale", "0.5"), ("kind", "a")]
    assert not claim.table.numbers and claim.table.head == ()
    limits = found["What was not tested"]
    assert limits.paragraphs == (blind_spot(3_000),)
    pairs = found["Pairs, by their score in the search"]
    assert pairs.folded and pairs.table.numbers and len(pairs.paragraphs) == 1
    assert pairs.table.head == ("Pair", "Expected bound")
    assert pairs.table.rows == [("first pair", "2.5000"), ("second pair", "infinite")]
    again = found["How to do it again"]
    assert again.folded and len(again.codes) == 1 and again.codes[0][0] == "The recipe"
    assert json.loads(again.codes[0][1]) == {"recipe": result.recipe, **result.settings}
    assert again.paragraphs[0] == (
        "Draws: 3000 per side of 2 pairs to search, 5000 at the database and 7000 at the neighbor "
        "to confirm; region all outputs; 12.3 s on cpu. dpjax 7.8, jax 9."
    )
    assert "dpjax.rerun(dpjax.AuditResult.from_file(path), subject)" in again.paragraphs[1]


def test_sections_that_a_page_may_lack():
    bare = made(witness=None, num_samples=None, num_confirm=None, pair_scores=(), claim=None,
                verdict="no claim", smallest_error=None)  # fmt: skip
    found = sections(bare)
    assert [*found] == ["What this means", "What was shown", "What to do now", "What was claimed",
                        "What was not tested", "How to do it again"]  # fmt: skip
    names = [row[0] for row in found["What was shown"].table.rows]
    assert names == ["Lower bound (exact binomial, confidence 0.99)", "Estimate at the witness",
                     "Time"]  # fmt: skip
    assert found["What was not tested"].paragraphs == ()
    assert found["How to do it again"].paragraphs[0] == "12.3 s on cpu. dpjax 7.8, jax 9."
    doubtful = sections(made(verdict="doubtful", doubts=("one", "two")))
    assert next(iter(doubtful)) == "Why it is doubtful"
    assert doubtful["Why it is doubtful"].paragraphs == ("one", "two")
    assert (
        "confidence 0.99 if the outputs are independent"
        in (doubtful["What was shown"].table.rows[0][0])
    )
    gdp = {"notion": {"name": "gdp"}}
    assert "What this means" not in sections(made(gdp, level="mu", witness=None))
    # An event without counts has no exact numbers.
    assert sections(made(event_counts=None))["The witness"].table is None
    curve = sections(made(claim=[[0.0, 0.5]]))["What was shown"].table.rows
    assert "Claim" not in {row[0] for row in curve}
    unrefuted = sections(made(verdict="not refuted"))["What was shown"].table.rows
    assert not any("Smallest error" in row[0] for row in unrefuted)


def test_the_footer_of_a_page_without_a_version():
    assert made(versions={}).page(".md").footer.endswith(" by dpjax .")


DATABASES, OUTSIDE, CHANNELS = NOT_TESTED


@pytest.mark.parametrize(
    ("changes", "items"),
    [
        ({}, (DATABASES, CHANNELS)),
        ({"region": "[0, 1]"}, (DATABASES, OUTSIDE, CHANNELS)),
        ({"region": None}, (DATABASES, CHANNELS)),
        ({"witness": None}, (DATABASES, CHANNELS)),
        ({"pair_scores": ()}, (DATABASES, CHANNELS)),
        ({"pair_scores": (), "witness": None}, (CHANNELS,)),
    ],
)
def test_what_was_not_tested(changes, items):
    found = _not_tested(made(**changes))
    assert found.items == items and found.title == "What was not tested"


def test_pairs_are_ranked_only_after_a_search():
    assert _pairs(made(num_confirm=None)) == []
    assert len(_pairs(made(num_confirm=0))) == 1


def test_a_page_with_every_notion():
    """Levels are for one record, and Renyi divergences of a group cannot be converted."""
    for distance, more in ((1, [Renyi(2), Renyi(8)]), (2, [])):
        result = made({"distance": distance}, counted=CHAIN, settings={})
        section = sections(result)["Every notion"]
        # A confidence of 0.99 for two audits is 0.995 for each.
        band = CHAIN.band(0.995)
        asked = [Epsilon(), Epsilon(1e-5), Gdp(), Zcdp(), TotalVariation(), *more]
        assert section.table.head == ("Level", "Lower bound", "Unit") and section.table.units
        assert section.figures == () and len(section.paragraphs) == 1
        assert section.table.rows == [
            (notion.symbol, f"at least {notion.of_band(band, distance):.4f}", notion.unit[0])
            for notion in asked
        ]


SUBJECT = {"kind": "host", "name": "my module:f"}


@pytest.mark.parametrize(
    ("subject", "device", "command", "said"),
    [
        (SUBJECT, "gpu: h", "dpjax rerun 'a b.html' --allow-import 'my module'",
         "The key in the recipe reproduces the same draws."),
        (SUBJECT, "host", "dpjax rerun 'a b.html' --allow-import 'my module'",
         "The key in the recipe reproduces the same draws. If the audited code takes no seed, the "
         "bound differs from run to run."),
        ({"kind": "mechanism", "name": "laplace"}, "gpu: h", "dpjax rerun 'a b.html'",
         "The key in the recipe reproduces the same draws."),
        ({"kind": "command"}, "gpu: h", "dpjax rerun 'a b.html' --allow-command",
         "The key in the recipe reproduces the same draws."),
        ({"kind": "samples"}, "host", "dpjax rerun 'a b.html'",
         "A rerun reads the recorded files again. Run the command in the same folder."),
        ({"kind": "one_run"}, "host", "dpjax rerun 'a b.html'",
         "A rerun reads the recorded files again. Run the command in the same folder."),
    ],
)  # fmt: skip
def test_how_to_do_it_again(subject, device, command, said):
    pytest.importorskip("matplotlib")
    from dpjax.results._page import _again

    again = _again(made({"subject": subject}, device=device), "a b.html")
    assert again.title == "How to do it again" and again.folded
    assert again.paragraphs[1] == said
    assert again.codes[0] == (
        "The command that repeats the audit, with the same bound", command
    )  # fmt: skip
    assert again.codes[1][0] == "The recipe" and len(again.codes) == 2
    assert f"s on {device}. dpjax 7.8" in again.paragraphs[0]


@pytest.mark.parametrize(
    ("subject", "arguments"), [(SUBJECT, "pairs=pairs"), (None, "subject, pairs")]
)
def test_no_command_repeats_an_audit_whose_recipe_has_no_pairs(subject, arguments):
    pytest.importorskip("matplotlib")
    from dpjax.results._page import _again

    again = _again(made({"subject": subject, "pairs": None}), "a.html")
    assert f"AuditResult.from_file(path), {arguments}) with the pairs" in again.paragraphs[1]
    assert [title for title, _ in again.codes] == ["The recipe"]


def test_a_page_in_markdown_names_a_json_file():
    result = made({"subject": {"kind": "mechanism", "name": "laplace"}})
    (command, _) = sections(result, name="other.md")["How to do it again"].codes
    assert command[1] == "dpjax rerun audit.json"


def test_devices_and_allowances():
    assert [_device(name) for name in ("cpu: cpu", "gpu: cpu", "host", "cpu")] == [
        "cpu", "gpu: cpu", "host", "cpu",
    ]  # fmt: skip
    assert _allowance({"kind": "command", "name": "a:b"}) == " --allow-command"
    assert _allowance({"kind": "host", "name": "a.b:c:d"}) == " --allow-import a.b"
    assert _allowance({"kind": "host"}) == "" == _allowance({"kind": "mechanism", "name": "a"})


def test_what_is_printed():
    result = made(notes=("a note",), doubts=("a doubt",))
    assert str(result).split("\n") == [
        "noisy(scale=0.5, kind=a)",
        "  VIOLATED: It is violated.",
        "  lower bound  1.5000, confidence 0.99 if the outputs are independent (exact binomial)",
        "  refuted      the claim, at every error probability down to 0.002",
        "  estimate     3.2500",
        "  witness      first pair, output at least 2",
        "  probability  0.248 at the database, 0.008 at the neighbor",
        "  draws        3000 per side of 2 pairs to search, 5000 at the database and 7000 at the "
        "neighbor to",
        "               confirm",
        "  doubt        a doubt",
        "  note         a note",
    ]
    assert repr(result) == ("AuditResult(noisy: violated, epsilon >= 1.5000 with confidence 0.99)")
    assert result.row() == {
        "mechanism": "noisy", "claim": 0.5, "lower_bound": 1.5, "estimate": 3.25,
        "upper_bound": None, "confidence": 0.99, "verdict": "violated", "seconds": 12.34,
        "pair": "first pair",
    }  # fmt: skip
    assert made(witness=None).row()["pair"] is None
    more = str(made(bandwidth=0.5, difference="entry 1", region="[0, 1]", output=1 / 3))
    assert "  witness      first pair, output 0.33333333\n  density      0.248 at" in more
    assert "\n  databases    entry 1\n  draws " in more and more.endswith("\n  region       [0, 1]")
    assert "databases" not in str(result)
    varied = str(made(pair="first pair, varied", database=[1, 2], neighbor=[1]))
    assert "\n  databases    [1, 2] and its neighbor [1]\n" in varied
    few = str(made(densities=None, region=None, num_confirm=None, verdict="not refuted"))
    assert [line.split()[0] for line in few.split("\n")[2:]] == ["lower", "estimate"]
    assert "refuted " in str(made(verdict="not random"))


def test_texts_of_parameters_and_outputs():
    assert parameters_text({}) == ""
    assert parameters_text({"a": 1 / 3, "b": 12345678, "c": [1.5]}) == (
        "(a=0.333333, b=12345678, c=[1.5])"
    )
    assert "output [0.3333, 12]" in str(made(output=[1 / 3, 12.0]))
    assert "output 7" in str(made(output=7))


def test_what_a_notebook_is_told():
    glance = made()._glance()
    assert glance.title == "Audit of noisy" and glance.rows == made()._rows()
    assert glance.verdict == ("violated", "noisy: violated", "It is violated.")


def test_rows_of_a_statement():
    stated = made(upper_bound=4.5, standard_error=0.25).statement
    assert stated._lines() == [
        ("verdict", "violated. It is violated."),
        ("level", "epsilon"),
        ("lower bound", "1.5000 (exact binomial)"),
        ("upper bound", "4.5000, under the assumption"),
        ("estimate", "3.2500"),
        ("standard error", "0.2500"),
        ("refuted", "at every error probability down to 0.002"),
        ("confidence", "0.99"),
    ]
    assert stated.own_confidence == pytest.approx(0.995)


def rows_of(witness):
    from xml.etree import ElementTree

    table = ElementTree.fromstring(witness._repr_html_()).find("table")
    return {row.find("th").text: row.find("td").text for row in table}


def test_rows_of_a_witness():
    witness = made().witness
    assert "Witness: first pair" in witness._repr_html_()
    assert rows_of(witness) == {
        "database": "0.25", "neighbor": "1.75", "output": "at least 2",
        "probability": "0.248 at the database, 0.008 at the neighbor",
        "counted": "1,240 at the database, 56 at the neighbor",
    }  # fmt: skip
    assert "density" in rows_of(replace(witness, bandwidth=0.5))
    assert rows_of(Witness("p", 1, 2, difference="far")) == {"databases": "far"}
    bare = Witness("p", 1, 2)
    assert rows_of(bare) == {"database": "1", "neighbor": "2"}
    assert (bare.on_floor, bare.floor, bare.bandwidth, bare.larger) == (False, 0.0, None, None)


ROUNDS = {"num_samples": 77, "num_kept": 3, "num_again": 88}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "3000 per side of 2 pairs to search, 5000 at the database and 7000 at the neighbor"),
        ({"settings": {}}, "3000 per side of 2 pairs to search, 6000 per side to confirm"),
        ({"settings": {"confirmed": [6, 6]}}, "2 pairs to search, 6000 per side to confirm"),
        ({"pair_scores": ()}, "3000 per side to search, 5000 at the"),
        ({"pair_scores": (("a", 1.0),)}, "3000 per side to search, 5000 at the"),
        (
            {"settings": {"rounds": ROUNDS}},
            "77 per side of 2 pairs to search, 88 more of the best 3, 6000 per side to confirm",
        ),
    ],
)
def test_numbers_of_draws_in_words(changes, said):
    found = made(**changes).evidence.draws()
    assert found.startswith(said) or said in found
    assert found.endswith(" to confirm")


def test_trials_are_those_of_the_sides():
    assert made().evidence.trials == TRIALS and made(settings={}).evidence.trials == (6_000, 6_000)
    assert made(settings={}, num_confirm=None).evidence.trials == (0, 0)
    assert made(num_confirm=None).evidence.draws() is None
    plain = Observed(counted(), {})
    assert plain.pair_scores == () and plain.curve is None and plain.num_samples is None


def test_shortcuts_and_a_refuted_error():
    result = made()
    assert result.refuted_at == "0.002" and made(smallest_error=0.00234).refuted_at == "0.0023"
    assert made(verdict="not random").refuted_at == "0.002"
    for changes in ({"verdict": "not refuted"}, {"smallest_error": None}, {"verdict": "doubtful"}):
        assert made(**changes).refuted_at is None
    assert result.sure == "confidence 0.99" and result.delta == 0.0
    parts = {
        "statement": ("lower_bound", "upper_bound", "estimate", "standard_error", "basis",
                      "smallest_error", "confidence", "num_claims", "level", "claim", "verdict",
                      "sentence"),
        "evidence": ("num_samples", "num_confirm", "region", "pair_scores", "settings", "curve"),
        "provenance": ("mechanism", "parameters", "versions", "device", "seconds"),
    }  # fmt: skip
    result = made(upper_bound=4.5, standard_error=0.25,
                  evidence=replace(result.evidence, curve={"points": [1.0]}))  # fmt: skip
    for part, names in parts.items():
        for name in names:
            assert getattr(result, name) == getattr(getattr(result, part), name) != ()


def test_a_result_comes_back_from_json():
    for result in (
        made(notes=("a",), doubts=("b",)),
        made(witness=None),
        made(crossing=(1.0, 0.5, 0.25)),
        made(densities=None, event_counts=None),
    ):
        back = AuditResult.from_json(result.to_json())
        assert back == result
        assert back.to_dict() == result.to_dict() and back.to_dict() is not result.to_dict()
    assert back.witness.event_counts is None
    assert isinstance(AuditResult.from_json(made().to_json()).witness.event_counts, tuple)


@pytest.mark.parametrize(
    ("place", "damage"),
    [
        (("notes",), "text"), (("notes",), [1]), (("doubts",), None), (("doubts",), {"a": 1}),
        (("statement", "verdict"), "unknown"), (("statement", "num_claims"), 0),
        (("statement", "confidence"), 1.0), (("recipe", "distance"), 0),
        (("recipe", "subject"), {}), (("recipe", "subject"), "laplace"),
        (("recipe", "subject"), {"kind": 3}), (("statement", "lower_bound"), "1.5"),
        (("witness", "pair"), 3),
        (("evidence", "settings"), {"confirmed": [1, 2, 3]}), (("evidence", "num_samples"), "3"),
        (("provenance", "seconds"), "12"),
        (("statement", "smallest_error"), "small"), (("witness", "densities"), ["a", "b"]),
    ],
)  # fmt: skip
def test_damaged_parts_are_refused(place, damage):
    content = made().to_dict()
    *outer, last = place
    inner = content
    for step in outer:
        inner = inner[step]
    inner[last] = damage
    with pytest.raises(ValueError, match="text is not a dpjax audit result: "):
        AuditResult.from_json(json.dumps(content))


def test_a_bound_is_of_one_record_and_one_audit():
    """The bound of any notion is that of the chain at its confidence and distance."""
    for distance in (1, 3):
        result = made({"distance": distance}, counted=CHAIN, settings={})
        for notion in (Epsilon(), Epsilon(0.01), Gdp()):
            expected = CHAIN.answer(notion, 0.995, distance, None)
            assert result.bound(notion) == expected
    assert made({"distance": 3}, counted=CHAIN).bound(Gdp()) != made(counted=CHAIN).bound(Gdp())


def test_repeated_runs_on_a_page():
    found = made(counted=RepeatedRuns("batches", 1_000, 100.0), settings={})
    rows = sections(found)["What was shown"].table.rows
    assert rows[0] == ("Outputs that two batches have in common", "1,000", "nats")
