"""Messages of failed assertions word for word, claims, and sizes of audits."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax.mechanisms import Laplace
from dpjax.testing import _assertions
from dpjax.testing._assertions import (
    _asked,
    _detectable,
    _doubtful,
    _of_member,
    _said,
    _sure,
    _violation,
    _witness,
)
from dpjax.testing._budget import Sizes, detectable_epsilon, fewest_sizes, sizes_of


@dataclass
class Found:
    """The parts of a result that a message uses."""

    verdict: str = "violated"
    mechanism: str = "noise"
    sentence: str = "A sentence."
    claim: object = 0.5
    delta: float = 0.0
    lower_bound: float = 0.75
    confidence: float = 0.999
    num_claims: int = 1
    num_confirm: int = 1000
    notes: tuple = ("First.", "Second.")
    doubts: tuple = ("One.", "Two.")
    witness: object = None
    trials: tuple = (1000, 2000)

    @property
    def notion(self):
        return SimpleNamespace(quantity="epsilon", takes_delta=True)

    @property
    def evidence(self):
        return SimpleNamespace(trials=self.trials, counted=None)


WITNESS = SimpleNamespace(
    pair="pair 3", database="[0]", neighbor="[1]", difference=None, event="output > 2",
    event_counts=(500, 250), larger="database", densities=(0.5, 0.125),
)  # fmt: skip
ASKED = SimpleNamespace(notion=SimpleNamespace(takes_delta=True), subject=Laplace(), pairs="pairs")
END = (
    "  note         First.\n  note         Second.\n  test         pytest 'a test'\n"
    "  replay\n    code\n    more"
)


@pytest.fixture(autouse=True)
def replayed(monkeypatch):
    seen = []
    monkeypatch.setattr(_assertions, "running_test", lambda: "a test")
    monkeypatch.setattr(
        _assertions, "replay_lines", lambda *given: seen.append(given) or ["code", "more"]
    )
    return seen


def test_violations(replayed):
    result = Found()
    assert _violation(result, ASKED) == (
        "noise is not 0.5-differentially private.\n"
        "  claim        epsilon = 0.5\n"
        "  lower bound  0.7500, with confidence 1 - 0.001: a mechanism that satisfies the claim "
        "fails for at most one in 1e+03 keys\n" + END
    )
    assert replayed == [(result, ASKED.subject, "pairs")]
    given = SimpleNamespace(**{**vars(ASKED), "subject": dpjax.Recorded([0.0, 1.0], [1.0, 2.0])})
    recorded = _violation(replace(result, mechanism="recorded outputs"), given)
    assert recorded.startswith("recorded outputs are not 0.5-differentially private.\n")
    assert "fails for at most one in 1e+03 recordings\n" in recorded
    at_delta = _violation(replace(result, delta=0.01), ASKED).splitlines()
    assert at_delta[0] == "noise is not (0.5, 0.01)-differentially private."
    assert at_delta[1] == "  claim        epsilon = 0.5 at delta = 0.01"
    other = SimpleNamespace(notion=SimpleNamespace(takes_delta=False), subject=Laplace(), pairs=2)
    assert _violation(result, other).splitlines()[0] == "noise violates its claim. A sentence."
    fixed = _violation(replace(result, verdict="not random", witness=WITNESS), ASKED)
    assert fixed == (
        "noise is not private. A sentence.\n  claim        epsilon = 0.5\n" + _witness(
            replace(result, witness=WITNESS)
        ) + END
    )  # fmt: skip


def test_doubts():
    assert _doubtful(Found(), ASKED) == (
        "noise was not tested. A sentence.\n  doubt        One.\n  doubt        Two.\n" + END
    )


def test_witnesses():
    result = Found(witness=WITNESS)
    assert _witness(Found()) == ""
    assert _witness(result) == (
        "  pair         pair 3: database [0], neighbor [1]\n"
        "  event        output > 2\n"
        "  counts       500 of 1000 draws from the database (0.5), 250 of 2000 draws "
        "from the neighbor (0.125)\n"
    )
    short = "  pair         pair 3: one record more\n"
    other = SimpleNamespace(**{**vars(WITNESS), "difference": "one record more"})
    assert _witness(replace(result, witness=other)).startswith(short + "  event")
    uncounted = SimpleNamespace(**{**vars(other), "event_counts": None})
    assert _witness(replace(result, witness=uncounted)) == short
    assert _witness(replace(result, witness=other, trials=(0, 0))) == short
    assert _witness(replace(result, witness=other, trials=(5, 0))) == short


def test_claims_in_words():
    assert _said(Found(claim=[[0, 1]])) == "its curve" == _said(Found(claim=None))
    assert _said(Found(claim=0.25)) == "epsilon = 0.25"
    assert _sure(Found(confidence=0.95)) == "1 - 0.05" and _sure(Found()) == "1 - 0.001"


@pytest.mark.parametrize("least", [None, 1.23456])
def test_levels_that_would_be_detected(monkeypatch, least):
    monkeypatch.setattr(_assertions, "detectable_level", lambda result: least)
    expected = "" if least is None else (
        "  detectable   with this event and 1000 draws per side, the claim epsilon = 0.5 is likely "
        "to be refuted if the true epsilon is at least 1.235\n"
    )  # fmt: skip
    assert _detectable(Found()) == expected


def test_messages_outside_of_a_test(monkeypatch):
    monkeypatch.setattr(_assertions, "running_test", lambda: None)
    lines = _doubtful(replace(Found(), notes=(), doubts=()), ASKED).splitlines()
    assert lines[1:] == ["  replay", "    code", "    more"]


@pytest.mark.parametrize(
    ("epsilon", "options", "notion", "claim"),
    [
        (0.5, {}, dpjax.Epsilon(), 0.5), (0.5, {"delta": 0.01}, dpjax.Epsilon(0.01), 0.5),
        (None, {"gdp": 0.25}, dpjax.Gdp(), 0.25), (None, {"zcdp": 0.25}, dpjax.Zcdp(), 0.25),
        (None, {"total_variation": 0.25}, dpjax.TotalVariation(), 0.25),
        (None, {"notion": dpjax.Profile(), "claim": [[0, 1]]}, dpjax.Profile(), [[0, 1]]),
    ],
)  # fmt: skip
def test_what_claims_ask_for(epsilon, options, notion, claim):
    found = _asked(Laplace(), epsilon, "pairs", {**options, "key": 7, "num_samples": 5})
    assert (found.notion, found.claim, found.pairs) == (notion, claim, "pairs")
    assert (found.key, found.num_samples, found.num_confirm) == (7, 5, None)


@pytest.mark.parametrize(
    ("epsilon", "options", "words"),
    [
        (None, {}, "given: none"), (1.0, {"gdp": 1.0}, "given: epsilon, gdp"),
        (None, {"gdp": 1.0, "zcdp": 1.0}, "given: gdp, zcdp"),
        (None, {"claim": 1.0}, "to claim an epsilon, write epsilon=LEVEL instead of claim"),
        (None, {"notion": dpjax.Gdp()}, "given: notion"),
        (1.0, {"claim": 1.0, "notion": dpjax.Gdp()}, "given: epsilon, claim, notion"),
    ],
)  # fmt: skip
def test_claims_that_are_refused(epsilon, options, words):
    with pytest.raises(TypeError) as raised:
        _asked(Laplace(), epsilon, None, options)
    assert str(raised.value) == (
        "one claim must be given: epsilon, gdp, zcdp, total_variation, or notion together with "
        f"claim; {words}."
    )


def test_epsilons_that_are_refused():
    with pytest.raises(
        TypeError, match=r"^epsilon must be a number, but was .*: to pass pairs, wri"
    ):
        _asked(Laplace(), [(0, 1)], None, {})
    with pytest.raises(ValueError, match=r"epsilon must be .*, but was -1"):
        _asked(Laplace(), -1, None, {})


@pytest.mark.parametrize(
    ("given", "stated", "notion", "claim"),
    [
        ({"notion": "n", "claim": 2.0}, ("m", 3.0), "n", 2.0), ({}, ("m", 3.0), "m", 3.0),
        ({"notion": "n", "claim": None}, ("m", 3.0), "n", None), ({}, None, None, None),
    ],
)  # fmt: skip
def test_claims_of_families(monkeypatch, given, stated, notion, claim):
    seen = []
    member = SimpleNamespace(source=SimpleNamespace(stated=stated), pairs="best pairs")
    monkeypatch.setattr(_assertions, "settled", lambda *asked: seen.append(asked) or member)
    asked = _assertions.Asked("family", "pairs", confidence=0.9, key=3, seconds=5.0)
    if notion is None:
        with pytest.raises(TypeError, match="given: none"):
            _of_member("family", asked, given)
        return
    found = _of_member("family", asked, given)
    assert (found.subject, found.pairs) == (member.source, "best pairs")
    assert (found.notion, found.claim) == (notion, claim)
    ((family, pairs, claimed, terms, seconds),) = seen
    assert (family, pairs, seconds) == ("family", "pairs", 5.0)
    assert claimed == (given.get("notion"), given.get("claim"))
    assert (terms.claim, terms.confidence, terms.num_claims, terms.key) == (None, 0.9, 1, 3)


@pytest.mark.parametrize(
    ("draws", "pairs", "whole", "sizes"),
    [
        (100_000, 1, False, (20_000, 30_000)), (100_000, 10, False, (2_000, 30_000)),
        (0, 1, False, (200, 400)), (1000, 1, False, (200, 400)), (10**12, 1, False, (10**9, 10**9)),
        (0, 1, True, (8192, 8192)), (10**6, 1, True, (196_608, 294_912)),
    ],
)  # fmt: skip
def test_sizes_of_audits(draws, pairs, whole, sizes):
    from dpjax.core.numerics import MAX_BLOCK

    found = sizes_of(draws, pairs, whole_blocks=whole)
    if whole:
        plain = sizes_of(draws, pairs)
        expected = tuple(max(size // MAX_BLOCK, 1) * MAX_BLOCK for size in plain)
        assert tuple(found) == expected
    else:
        assert tuple(found) == sizes
    assert Sizes(100, 30).draws(4) == 860
    assert fewest_sizes(pairs, compiled=False) == sizes_of(20_000, pairs)
    assert fewest_sizes(pairs, compiled=True) == sizes_of(0, pairs, whole_blocks=True)


def test_levels_that_cannot_be_detected():
    """Without draws, an event or its densities, no level is detectable."""
    audited = dpjax.audit(Laplace(), [(0.0, 1.0)], method=dpjax.Events(1000, 2000))
    for wrong in (
        replace(audited, witness=None),
        replace(audited, witness=replace(audited.witness, densities=None)),
    ):
        assert detectable_epsilon(wrong, 0.1) == math.inf
    assert detectable_epsilon(audited, 40.0) == math.inf
    assert detectable_epsilon(audited, -1.0) == 0.0
    levels = [detectable_epsilon(audited, claim) for claim in (0.1, 0.5, 1.0)]
    assert levels == sorted(levels) and all(np.isfinite(levels)) and levels[0] > 0.1


def test_arguments_at_wrong_places():
    for function in (dpjax.testing.assert_private, dpjax.testing.assert_not_private):
        said = (
            f"{function.__name__}() got epsilon twice, by position and by name: its arguments by "
        )
        with pytest.raises(TypeError) as raised:
            function(Laplace(), [(0.0, 1.0)], epsilon=1.0)
        assert str(raised.value) == f"{said}position are subject, epsilon and pairs."
        with pytest.raises(
            TypeError, match="no argument 'method': leave it out, because an assert"
        ):
            function(Laplace(), epsilon=1.0, method=dpjax.Sequential())
        with pytest.raises(TypeError, match="no argument 'num_sample': did you mean 'num_samples'"):
            function(Laplace(), epsilon=1.0, num_sample=100)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gdp": None}, "gdp must be the claimed level, but was None"),
        ({"notion": dpjax.Gdp(), "claim": None}, "claim must be the claimed level, but was None"),
        ({"gdp": 1.0, "delta": 1e-5}, "delta must be passed together with epsilon"),
        ({"notion": dpjax.Gdp(), "claim": 1.0, "delta": 1e-5}, "delta must be passed together"),
    ],
)
def test_no_assertion_passes_without_its_claim(options, said):
    with pytest.raises(TypeError, match=said):
        dpjax.testing.assert_private(Laplace(), **options)
