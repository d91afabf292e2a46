"""Every sentence about a result, word for word, for results that are made by hand."""

import math

import pytest
from made_results import COUNTS, TRIALS, counted, made

from dpjax.results._advice import advice
from dpjax.results._meaning import meaning
from dpjax.results._words import (
    HEADLINES,
    claimed,
    initial,
    outputs_caption,
    pretty,
    short,
    shown_rows,
    trade_off_caption,
    unit_of,
    witness_story,
)

KEEP = (
    "Add the audit to your tests with dpjax.testing.assert_private, so that the tests detect "
    "later bugs."
)
MORE = "draw or record more outputs, so that rarer events are seen."
OTHERS = (
    "Audit other pairs of databases: dpjax.neighbors proposes pairs, and dpjax.search_pairs finds "
    "the best of many pairs."
)
READ = (
    "Read the witness below, which names two databases and an event that distinguishes them. The "
    "witness usually shows where the code is wrong."
)
REPAIRED = f"After the repair, audit again with another key. {KEEP}"


def test_advice_on_a_violated_claim():
    assert advice(made()) == [
        "Do not publish the claim: epsilon is not 0.5 but at least 1.5. Add more noise, or claim "
        "less privacy.",
        READ,
        REPAIRED,
    ]
    shown = advice(made(lower_bound=0.500004, witness=None))
    assert shown == [
        "Do not publish the claim: epsilon is above 0.5. Add more noise, or claim less privacy.",
        REPAIRED,
    ]
    assert "at least 0.5001" in advice(made(lower_bound=0.50006))[0]
    curve = advice(made(claim=[[0.0, 0.5]]))
    assert curve[0] == "Do not publish the claim, because this mechanism violates it."
    assert len(advice(made(claim=1, lower_bound=2.0))) == 3


def test_advice_on_a_claim_that_is_not_refuted():
    kept = made(verdict="not refuted", claim=3.25)
    assert advice(kept) == [f"To look harder: {MORE}", OTHERS, KEEP]
    above = made(verdict="not refuted", claim=3.125)
    assert advice(above) == [
        "Audit again: the estimate 3.25 lies above the claim, and more draws may refute the claim.",
        f"To look harder: {MORE}",
        OTHERS,
        KEEP,
    ]
    for changes in ({"estimate": None}, {"claim": [[0.0, 0.5]]}, {"claim": None}):
        found = made(verdict="not refuted", witness=None, **changes)
        assert advice(found) == [f"To look harder: {MORE}", KEEP]


def test_advice_on_other_verdicts():
    assert advice(made(verdict="no claim")) == [
        "To get a verdict, audit again and claim the level that the mechanism is meant to "
        "guarantee.",
        f"For a larger bound: {MORE}",
    ]
    firsts = {
        "not random": "Find out why the noise repeats:",
        "doubtful": "Record the outputs again, each from a separate call that draws fresh noise.",
        "assumption refuted": "Do not use the interval, because the counts contradict its "
        "assumption.",
    }
    seconds = {
        "not random": "Draw fresh randomness on every call,",
        "doubtful": "If you know that the outputs are independent,",
        "assumption refuted": "Audit with method=dpjax.Events(),",
    }
    for verdict, first in firsts.items():
        found = advice(made(verdict=verdict))
        assert len(found) == 2 and found[0].startswith(first)
        assert found[1].startswith(seconds[verdict])
    # A function cannot be told that its outputs are independent.
    (only,) = advice(made(verdict="doubtful", settings={"batched": True}))
    assert only.startswith("Change the audited code so that every output has its own noise")


GUESS = (
    "somebody who guesses which of them was used is right with a probability of 50% before seeing "
    "an output"
)


def percent(epsilon):
    return 100 * math.exp(epsilon) / (1 + math.exp(epsilon))


def test_a_promise_and_what_was_shown_of_it():
    first, second = meaning(made())
    # e^0.5 / (1 + e^0.5) = 0.62246, and e^1.5 / (1 + e^1.5) = 0.81757, rounded down.
    assert first == (
        f"Take two databases that differ in one person: {GUESS}. The claim promises that this "
        "probability is at most 62.2% after any output."
    )
    assert second == (
        "This audit shows, with confidence 0.99, that there are outputs after which the guess is "
        "right with a probability of at least 81.7%, which breaks the promise."
    )
    first, second = meaning(made({"distance": 2}))
    # Twice the levels: e^1 / (1 + e^1) = 0.73106, and e^3 / (1 + e^3) = 0.95257.
    assert "differ in 2 people: " in first and "at most 73.1% after" in first
    assert "at least 95.2%, which" in second
    for claim in (None, [[0.0, 0.5]]):
        (first, _) = meaning(made(claim=claim))
        assert first == f"Take two databases that differ in one person: {GUESS}."
    assert "at most 73.1% after" in meaning(made(claim=1))[0]


ENDS = {
    ("violated", 0.5): ", which breaks the promise.",
    ("not random", 0.5): ", which breaks the promise.",
    ("not random", None): ".",
    ("not refuted", 0.5): ", which is consistent with the claim but does not prove it.",
    ("no claim", None): ".",
}


@pytest.mark.parametrize(("verdict", "claim"), ENDS)
def test_what_was_shown_ends_by_its_verdict(verdict, claim):
    shown = meaning(made(verdict=verdict, claim=claim))[1]
    assert shown.endswith(f"at least 81.7%{ENDS[verdict, claim]}")
    nothing = meaning(made(verdict=verdict, claim=claim, lower_bound=0.0039))[1]
    assert percent(0.0039) < 50.1
    assert nothing == (
        "This audit found no output after which the guess is better than a coin toss"
        f"{ENDS[verdict, claim]}"
    )
    assert percent(0.00401) > 50.1
    little = meaning(made(verdict=verdict, claim=claim, lower_bound=0.00401))[1]
    assert f"of at least 50.1%{ENDS[verdict, claim]}" in little


def test_what_cannot_be_said():
    for verdict in ("doubtful", "assumption refuted"):
        said = "This audit cannot say how often such a guess is right."
        assert meaning(made(verdict=verdict))[1] == said
    known = (
        "Somebody who has seen one run of the mechanism knows the noise of the next run and always "
        "guesses right."
    )
    for changes in ({"witness": None}, {"event_counts": None}):
        assert meaning(made(verdict="not random", **changes))[1] == known
        assert meaning(made(**changes))[1] != known


GDP = {"notion": {"name": "gdp"}}
EVENT_ENDS = {
    "violated": ["The claim does not allow an event that distinguishes the databases so well."],
    "not random": ["The claim does not allow an event that distinguishes the databases so well."],
    "not refuted": ["The claim allows this event; other events may still violate it."],
    "no claim": [],
    "doubtful": ["This audit cannot say how reliable this percentage is."],
    "assumption refuted": ["This audit cannot say how reliable this percentage is."],
}


@pytest.mark.parametrize("verdict", EVENT_ENDS)
def test_guesses_by_an_event(verdict):
    """50 (1 + 0.248 - 0.008) = 62.0."""
    said, *rest = meaning(made(GDP, level="mu of Gaussian DP", verdict=verdict))
    assert said == (
        "Somebody who sees one output, and uses the witness's event to guess which of the two "
        "databases it came from, is right in about 62.0% of cases; a coin toss is right in 50%."
    )
    assert rest == EVENT_ENDS[verdict]
    turned = made(GDP, level="mu of Gaussian DP", event_counts=(40, 1_400))
    assert "about 59.6% of cases" in meaning(turned)[0]  # 50 (1 + 0.2 - 0.008)


def test_guesses_by_an_event_that_is_not_there():
    assert len(meaning(made(GDP, verdict="not random", claim=None))) == 1
    for changes in ({"witness": None}, {"event_counts": None}, {"settings": {"confirmed": [0, 9]}},
                    {"settings": {"confirmed": [9, 0]}}):  # fmt: skip
        assert meaning(made(GDP, **changes)) == []
    # The event is also used if epsilon has a delta or is not the level.
    delta = {"notion": {"name": "epsilon", "delta": 0.125}}
    assert "62.0%" in meaning(made(delta))[0]
    assert "62.0%" in meaning(made(level="delta of an order"))[0]


def test_claims_and_texts():
    assert claimed(made()) == ["The claim is that epsilon of noisy is at most 0.5."]
    assert pretty(1 / 3) == "0.333333" and pretty(1234567.0) == "1.23457e+06" and pretty(3) == "3"
    assert initial("epsilon at 1") == "Epsilon at 1" and initial("") == ""
    assert short("x" * 160) == "x" * 160
    assert short("x" * 161) == "x" * 160 + "..."


@pytest.mark.parametrize(
    ("notion", "level", "unit", "begin"),
    [
        ("gdp", "epsilon at delta 0.1", "nats", "Epsilon is the natural logarithm"),
        ("gdp", "Renyi divergence of order 2", "nats", "A Renyi divergence is measured in nats"),
        ("gdp", "delta at epsilon 1", "probability", "Delta is a probability."),
        ("gdp", "delta", "probability", "Delta is a probability."),
        ("gdp", "mu", "standard deviations", "mu is the distance between two normal"),
        ("zcdp", "rho", "nats per order", "Rho is a Renyi divergence"),
    ],
)
def test_the_unit_is_that_of_the_level(notion, level, unit, begin):
    found, said = unit_of(made({"notion": {"name": notion}}, level=level))
    assert found == unit and said.startswith(begin)


def test_rows_with_an_infinite_estimate():
    rows = [("Lower bound", "1.5"), ("Estimate", "infinite"), ("Other", "x")]
    without = [rows[0], rows[2]]
    assert shown_rows(made(), rows) == rows
    for verdict in ("not refuted", "doubtful", "assumption refuted"):
        assert shown_rows(made(estimate=None, verdict=verdict), rows) == without
    for verdict in ("violated", "not random", "no claim"):
        # Both sides contain the event: another event made the estimate infinite.
        assert shown_rows(made(estimate=None, verdict=verdict), rows) == without
        assert shown_rows(made(estimate=None, verdict=verdict, event_counts=(3, 0)), rows) == rows
        assert shown_rows(made(estimate=None, verdict=verdict, event_counts=(0, 3)), rows) == rows
        assert shown_rows(made(estimate=None, verdict=verdict, witness=None), rows) == rows


def story(**changes):
    result = made(**changes)
    return witness_story(result, result.witness)


CHOSEN = counted().chosen


def test_the_story_of_a_witness():
    pair, event, allowed, chance = story()
    assert pair == "The two databases (first pair) are 0.25 and its neighbor 1.75."
    assert event == (
        f"The event: the output is at least 2. {CHOSEN} It happened in 1,240 of 5,000 "
        "outputs (24.8%) from the database and in 56 of 7,000 outputs (0.8%) from its neighbor: "
        "31 times as often for the database."
    )
    assert allowed == (
        "Under the claim, an event's probability with one database is at most 1.649 times its "
        "probability with the other."
    )
    assert chance == (
        "If the claim were true, at most one of 500 audits would give evidence as strong as this."
    )
    assert story(difference="entry 3: 0 and 1")[0] == (
        "The two databases (first pair) differ: entry 3: 0 and 1."
    )
    turned = story(larger="neighbor", event_counts=(56, 1_240))[1]
    assert "It happened in 1,240 of 7,000 outputs (17.7%) from its neighbor and in 56 of 5,000" in (
        turned
    )
    assert turned.endswith("(1.12%) from the database: 15.8 times as often for its neighbor.")
    for counts in ((500, 0), (0, 700), (500, 700)):
        assert "times as often" not in story(event_counts=counts)[1]


def test_the_story_of_densities():
    _, densities, event, *_ = story(bandwidth=0.125, output=2.5)
    assert densities == (
        "At the output 2.5, the estimated density of fresh outputs is 0.248 for the database and "
        "0.008 for its neighbor."
    )
    assert event.startswith(f"The event: the output is at least 2.000001. {CHOSEN}")
    assert len(story(bandwidth=0.125, event_counts=None)) == 2
    assert len(story(event_counts=None)) == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"claim": math.log(1e6)}, "at most 1e+06 times its probability with the other."),
        ({"claim": 1}, "at most 2.718 times its probability with the other."),
        (
            {"claim": 0.5, "recipe": {"distance": 3}},
            "at most 4.482 times its probability with the other.",
        ),
        (
            {"recipe": {"notion": {"name": "epsilon", "delta": 0.125}}},
            "at most 1.649 times its probability with the other, plus 0.125.",
        ),
        ({"claim": math.log(1e6) + 1e-9}, None),
        ({"claim": None}, None),
        ({"claim": [[0.0, 0.5]]}, None),
        ({"recipe": GDP}, None),
    ],
)
def test_what_a_claim_allows(changes, said):
    result = made(**changes)
    told = [text for text in witness_story(result, result.witness) if "Under the claim" in text]
    assert len(told) == (said is not None)
    assert said is None or said in told[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"smallest_error": None}, "at most one of 200 audits would give evidence"),
        ({"verdict": "not random"}, "at most one of 500 audits would give evidence"),
        ({"verdict": "doubtful"}, "The probability of such counts is known only for independent"),
        ({"verdict": "not refuted"}, "Such counts are not unusual if the claim is true."),
        (
            {"verdict": "no claim", "claim": None, "lower_bound": 1.23456},
            "If epsilon were below 1.235, at most one of 200 audits would give a bound as high as",
        ),
        ({"confidence": 0.9999, "smallest_error": None}, "at most one of 20,000 audits"),
    ],
)
def test_how_often_chance_gives_such_counts(changes, said):
    """An error of 0.01 for two claims is 1/200 for each."""
    assert story(**changes)[-1].find(said) >= 0


def test_captions():
    begin = "Above: the outputs in the search set for both databases. Below: their privacy loss"
    curve = {"points": [0.0]}
    assert outputs_caption(made(curve=curve), banded=False) == f"{begin}."
    assert outputs_caption(made(curve=curve), banded=True) == (
        f"{begin}, with a 95% confidence band at each output."
    )
    unknown = f"{begin}, which is not drawn, because it is too uncertain at every output."
    for banded in (False, True):
        assert outputs_caption(made(curve=curve), banded=banded, known=False) == unknown
    event = {"points": [0.0], "event": [1]}
    assert outputs_caption(made(curve=event), banded=False) == (
        f"{begin}. The shaded event contains 24.8% of the fresh outputs from the database and 0.8% "
        "of those from its neighbor."
    )
    assert outputs_caption(made(curve=event, densities=None), banded=False) == f"{begin}."
    bare = "Epsilon is at least 1.5, with confidence 0.99."
    assert outputs_caption(made(), banded=False) == bare
    assert outputs_caption(made(curve=curve, witness=None), banded=False) == bare
    claim, dot = " The claim forbids every test in the shaded", " The dot is the test for the"
    for changes, has_claim, has_dot in (
        ({}, True, True), ({"claim": None}, False, True), ({"witness": None}, True, False),
        ({"event_counts": None}, True, False),
    ):  # fmt: skip
        said = trade_off_caption(made(**changes))
        assert (claim in said) == has_claim and (dot in said) == has_dot


def test_every_verdict_has_a_headline():
    assert HEADLINES == {
        "violated": "Violated: the claim is refuted",
        "not random": "Not random: outputs are a function of the data",
        "not refuted": "Not refuted, which is no proof",
        "no claim": "A lower bound; nothing was claimed",
        "assumption refuted": "The assumption is refuted",
        "doubtful": "Doubtful: the draws do not look independent",
    }
    assert counted().trials == TRIALS and tuple(counted().counts) == COUNTS
