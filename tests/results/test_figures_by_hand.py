"""Arguments of the figures of a result, field by field, without drawing."""

import numpy as np
import pytest
from made_results import TRIALS, counted, made

import dpjax.plotting
from dpjax.notions.evidence import ChainCounts, EventCounts
from dpjax.plotting import Marks, Outputs, Seen
from dpjax.results import _figures, _panels

CHAIN = ChainCounts(np.array([[900, 1500], [100, 400]]), (2_000, 2_000), (2, 0))
CURVE = {
    "points": [0.0, 1.0],
    "database": [0.5, 0.5],
    "neighbor": [0.25, 0.75],
    "loss": [0.7, -0.4],
}
DELTA = {"notion": {"name": "epsilon", "delta": 0.125}}
GDP = {"notion": {"name": "gdp"}}
RENYI = {"notion": {"name": "renyi", "order": 3.0}}


@pytest.fixture
def drawn(monkeypatch):
    """Return the arguments of each figure that would be drawn."""
    calls = []
    for name in ("plot_levels", "plot_outputs", "plot_trade_off", "plot_overview", "plot_notions",
                 "notion_panels", "plot_wealth"):  # fmt: skip
        monkeypatch.setattr(
            dpjax.plotting, name, lambda *given, name=name: calls.append((name, *given)) or name
        )
    return calls


class Walked(EventCounts):
    """Counts with a path that were not planned."""

    planned = False

    def history(self):
        return [(40, 0.5, 1.0)], 0.75, 4.0


WALKED = Walked(counted().event, counted().counts, TRIALS)


def test_levels(drawn):
    _figures.levels_figure(made(upper_bound=4.5))
    _figures.levels_figure(made(claim=[[0.0, 0.5]]), titled=False)
    assert drawn == [
        ("plot_levels", "noisy: violated", "epsilon", 1.5, 4.5, 3.25, 0.5, "confidence 0.99"),
        ("plot_levels", "", "epsilon", 1.5, None, 3.25, None, "confidence 0.99"),
    ]


def test_outputs(drawn):
    marks = Marks("at least 2", 3.25, 1.5, 0.5)
    _figures.outputs_figure(made(curve=CURVE))
    _figures.outputs_figure(made(curve=CURVE, witness=None))
    _figures.outputs_figure(made(), titled=False)
    assert drawn[0] == (
        "plot_outputs", "noisy: violated (first pair)", Outputs(CURVE, marks, True, 3_000, None)
    )  # fmt: skip
    assert [call[:2] for call in drawn[1:]] == [
        ("plot_levels", "noisy: violated"), ("plot_levels", "")
    ]  # fmt: skip
    score = {"score": {"words": "entry 1"}}
    made_of = made(DELTA, curve=CURVE, bandwidth=0.5, claim=None, settings=score)
    _figures.outputs_figure(made_of, titled=False)
    assert drawn[-1] == (
        "plot_outputs", "", Outputs(CURVE, marks._replace(claim=None), False, 3_000, "entry 1")
    )  # fmt: skip
    for claim, expected in ((2, 2), ([[0.0, 0.5]], None)):
        _figures.outputs_figure(made(curve=CURVE, claim=claim))
        assert drawn[-1][2].marks.claim == expected
    # The level of another notion is not a loss.
    _figures.outputs_figure(made(GDP, curve=CURVE))
    assert drawn[-1][2].marks is None


def test_whether_losses_and_bands_are_drawn(monkeypatch):
    for name in ("banded", "has_losses"):
        monkeypatch.setattr(Outputs, name, lambda shown, name=name: name == shown.score)
    for score, found in (("banded", (True, False)), ("has_losses", (False, True))):
        result = made(curve=CURVE, settings={"score": {"words": score}})
        assert (_figures.has_band(result), _figures.has_losses(result)) == found
    bare = made()
    assert not _figures.has_band(bare) and not _figures.has_losses(bare)


def levels(errors):
    """Return kinds, levels, deltas and orders of the claim and of the bound."""
    return [
        (one.kind, one.level, one.delta, one.order, one.points.tolist())
        for one in (errors.claim, errors.lower)
    ]


def test_errors(drawn):
    _figures.trade_off_figure(made())
    ((name, title, errors),) = drawn
    assert (name, title) == ("plot_trade_off", "")
    assert levels(errors) == [("epsilon", 0.5, 0.0, None, []), ("epsilon", 1.5, 0.0, None, [])]
    assert (errors.claimed, errors.bound, errors.band) == ("claim 0.5", "lower bound 1.500", None)
    seen = Seen((1_240, 56), TRIALS, 0, "the output is at least 2", 0.995)
    assert errors.seen == seen
    turned = _figures._errors(made(larger="neighbor", counted=WALKED, claim=2)).seen
    assert turned == seen._replace(larger=1, confidence=None)
    assert _figures._errors(made(claim=2)).claimed == "claim 2"
    assert _figures._errors(made(claim=None)).claim.kind is None
    number = _figures._errors(made(output=2.5)).seen
    assert number.event == "the output is at least 2.000001"
    assert _figures._errors(made(output=2.5, event=None)).seen.event == "the output is 2.5"
    for changes in ({"witness": None}, {"event_counts": None}):
        assert _figures._errors(made(**changes)).seen is None


def test_errors_of_other_levels():
    curve = [[0.0, 0.5], [1.0, 0.25]]
    found = _figures._errors(made({"notion": {"name": "profile"}}, claim=curve))
    assert levels(found)[0] == ("profile", 0.0, 0.0, None, curve) and found.claimed == (
        "claimed curve"
    )
    assert levels(_figures._errors(made(RENYI)))[0] == ("renyi", 0.5, 0.0, 3.0, [])
    assert levels(_figures._errors(made(DELTA)))[1] == ("epsilon", 1.5, 0.125, None, [])
    # For a pair at a distance, epsilon and mu are summed, but not other notions.
    for recipe, factor in (({}, 3), (GDP, 3), (DELTA, None), (RENYI, None)):
        claim, lower = levels(_figures._errors(made({**recipe, "distance": 3})))
        name = recipe.get("notion", {"name": "epsilon"})["name"]
        assert claim[:2] == ((name, 0.5 * factor) if factor else (None, 0.0))
        assert lower[:2] == ((name, 1.5 * factor) if factor else (None, 0.0))
    # A statement with a curve has no single level.
    stated = made().statement
    bounds = type(stated)(**{**vars(stated), "curve": {"delta": [0.1]}})
    assert levels(_figures._errors(made(statement=bounds)))[1][0] is None
    band = _figures._errors(made(counted=CHAIN)).band
    expected = CHAIN.band(0.995)
    for one, other in zip(band.roc, expected.roc, strict=True):
        np.testing.assert_array_equal(one, other)


def test_whether_there_is_a_trade_off():
    assert _figures.has_trade_off(made())
    assert _figures.has_trade_off(made(witness=None)) and _figures.has_trade_off(made(claim=None))
    assert not _figures.has_trade_off(made(claim=None, witness=None))


def test_an_overview(drawn):
    _figures.figure_of(made(curve=CURVE))
    name, title, errors, outputs = drawn[0]
    assert (name, title) == ("plot_overview", "noisy: violated (first pair)")
    assert errors.bound == "lower bound 1.500" and outputs.curve == CURVE
    _figures.figure_of(made(witness=None))
    assert drawn[1][:2] == ("plot_overview", "noisy: violated") and drawn[1][3] is None
    _figures.figure_of(made(claim=None, witness=None))
    assert drawn[2][:2] == ("plot_levels", "noisy: violated")


@pytest.mark.parametrize(
    ("recipe", "claim", "expected"),
    [
        ({}, 0.5, ("epsilon", 0.5, 0.0, None)), (DELTA, 0.5, ("epsilon", 0.5, 0.125, None)),
        (RENYI, 0.5, ("renyi", 0.5, 0.0, 3.0)), ({}, None, (None, 0.0, 0.0, None)),
        ({"distance": 2}, 0.5, (None, 0.0, 0.0, None)),
    ],
)  # fmt: skip
def test_every_notion(drawn, recipe, claim, expected):
    result = made(recipe, counted=CHAIN, claim=claim)
    assert _figures.notions_figure(result) == "plot_notions"
    assert _figures.notions_figures(result) == "notion_panels"
    first, second = drawn
    assert first[2] == "noisy (first pair): bounds with joint confidence 0.99"
    for band, claimed in ((first[1], first[3]), second[1:]):
        np.testing.assert_array_equal(band.power[0], CHAIN.band(0.995).power[0])
        assert (claimed.kind, claimed.level, claimed.delta, claimed.order) == expected


def test_no_notions_without_a_chain(drawn):
    assert _figures.notions_figure(made()) is None and _figures.notions_figures(made()) == {}
    assert drawn == []
    _figures.notions_figure(made(counted=CHAIN, witness=None))
    assert drawn[0][2] == "noisy: bounds with joint confidence 0.99"


def test_wealth(drawn):
    assert _figures.wealth_figure(made()) is None
    _figures.wealth_figure(made(counted=WALKED))
    assert drawn.pop()[1] == "noisy: violated"
    for titled, title in ((True, "noisy: violated"), (False, "")):
        assert _figures.wealth_figure(made(counted=WALKED), titled=titled) == "plot_wealth"
        assert drawn.pop() == ("plot_wealth", title, [(40, 0.5, 1.0)], 0.75, 4.0, "epsilon")


def test_panels(drawn):
    first, second = _panels.panels(made())
    assert first == ("tests", "plot_trade_off", _panels.trade_off_caption(made()))
    assert second == (
        "outputs", "plot_levels", "Epsilon is at least 1.5, with confidence 0.99."
    )  # fmt: skip
    assert drawn[0][1] == "" and drawn[1][1] == ""
    bare = _panels.panels(made(claim=None, witness=None, counted=WALKED))
    assert [panel.name for panel in bare] == ["outputs", "wealth"]
    assert bare[1] == ("wealth", "plot_wealth", "The lower bound after each block of draws.")
    *_, wealth = _panels.panels(made(counted=WALKED))
    assert wealth.caption.startswith("Wealth of the bets after each block of draws. The claim is")
    assert drawn[-1][1] == ""


@pytest.mark.parametrize("band", [True, False])
@pytest.mark.parametrize("losses", [True, False])
def test_the_caption_of_a_panel_tells_what_is_drawn(drawn, monkeypatch, band, losses):
    monkeypatch.setattr(Outputs, "banded", lambda shown: band)
    monkeypatch.setattr(Outputs, "has_losses", lambda shown: losses)
    caption = _panels.panels(made(curve=CURVE))[1].caption
    assert ("with a 95% confidence band" in caption) == (band and losses)
    assert ("which is not drawn" in caption) == (not losses)


def test_panels_of_every_notion(monkeypatch):
    names = ["profile", "errors", "divergences"]
    monkeypatch.setattr(dpjax.plotting, "notion_panels", lambda *given: dict.fromkeys(names, "f"))
    found = _panels.panels_of_every_notion(made(counted=CHAIN))
    assert [(panel.name, panel.figure) for panel in found] == [(name, "f") for name in names]
    assert [panel.caption for panel in found] == [
        "For each epsilon, a lower bound on delta.",
        "For each rate of false alarms, an upper bound on the best test's rate of misses.",
        "For each order, a lower bound on the Renyi divergence.",
    ]
    assert _panels.panels_of_every_notion(made()) == []
