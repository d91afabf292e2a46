"""What an audit in a test suite reports: numbers of draws and pairs, and levels."""

from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax import Epsilon, Events, Gdp, Guesses, Pairs, Renyi, Sequential, TradeOff
from dpjax.testing import _run, assert_private
from dpjax.testing._budget import Sizes


@pytest.mark.parametrize(
    ("notion", "claim", "num_confirm", "distance", "known"),
    [
        (Epsilon(), 1.0, 500, 1, True), (Epsilon(0.1), 1.0, 500, 1, True),
        (Epsilon(), None, 500, 1, False), (Epsilon(), [(0.0, 0.1)], 500, 1, False),
        (Epsilon(), 1.0, None, 1, False), (Gdp(), 1.0, 500, 1, False),
        (TradeOff(), 1.0, 500, 1, False), (Epsilon(), 1.0, 500, 2, False),
    ],
)  # fmt: skip
def test_levels_that_an_audit_would_refute(
    monkeypatch, notion, claim, num_confirm, distance, known
):
    """Only for numeric claims of epsilon, and for databases that differ in one record."""
    asked = []
    monkeypatch.setattr(_run, "detectable_epsilon", lambda *given: asked.append(given) or 1.25)
    recipe = {"distance": distance}
    result = SimpleNamespace(notion=notion, claim=claim, num_confirm=num_confirm, recipe=recipe)
    assert _run.detectable_level(result) == (1.25 if known else None)
    assert asked == ([(result, 1.0)] if known else [])


def test_sizes_of_audits():
    planned = Sizes(7, 9)
    result = SimpleNamespace(settings={}, num_samples=3, num_confirm=4)
    assert _run._spent(result, planned) == Sizes(3, 4)
    result.settings = {"rounds": 2}
    assert _run._spent(result, planned) == planned
    nothing = SimpleNamespace(settings={}, num_samples=None, num_confirm=None)
    assert _run._spent(nothing, planned) == Sizes(0, 0)


@pytest.mark.parametrize(
    ("pairs", "number"),
    [
        ([(0.0, 1.0)] * 3, 3), (Pairs(np.zeros(4), np.ones(4)), 4), ([], 1),
        (iter([(0.0, 1.0)]), 1), (None, 1),
    ],
)  # fmt: skip
def test_numbers_of_pairs(pairs, number):
    assert _run._num_pairs("a subject", pairs) == number
    usual = SimpleNamespace(standard_pairs=lambda: Pairs(np.zeros(5), np.ones(5)))
    assert _run._num_pairs(usual, pairs) == (5 if pairs is None else number)


def test_methods_of_sources():
    nothing = {"num_samples": None, "num_confirm": None, "num_draws": None, "num_calls": None}
    asked = SimpleNamespace(**nothing, region=(0.0, 1.0))
    drawn = SimpleNamespace(usual_method="events", name="a function")
    assert _run._method(drawn, asked, Sizes(20, 30)) == Events(20, 30, (0.0, 1.0))
    canaries = SimpleNamespace(usual_method="guesses", name="canaries")
    for name, value in (
        ("region", (0.0, 1.0)),
        ("num_samples", 5),
        ("num_confirm", 5),
        ("num_draws", 5),
    ):
        asked = SimpleNamespace(**nothing, region=None)
        assert _run._method(canaries, asked, Sizes(20, 30)) == Guesses()
        setattr(asked, name, value)
        with pytest.raises(ValueError, match=f"{name} must be left out for canaries, which draws"):
            _run._method(canaries, asked, Sizes(20, 30))


def test_what_a_test_that_says_nothing_asks_for():
    asked = _run.Asked("a subject", None)
    assert (asked.notion, asked.claim, asked.region, asked.seconds) == (Epsilon(), None, None, None)
    assert (asked.confidence, asked.key, asked.has_sizes) == (_run.DEFAULT_CONFIDENCE, 0, False)
    for name in ("num_samples", "num_confirm", "num_draws"):
        assert _run.Asked("a subject", None, **{name: 5}).has_sizes


def answered(monkeypatch, **settings):
    """Return audits that are not run, with their arguments and results with given numbers."""
    asked = []

    def audit(source, given, method, key, execution=None):
        asked.append((source, given, method, key, execution))
        if execution is not None and execution.progress:
            for drawn in (0, 5, 9):
                execution.progress(drawn, 100)
        return SimpleNamespace(
            verdict="not refuted", settings=settings, num_samples=300, num_confirm=500
        )

    monkeypatch.setattr(_run, "_audit", audit)
    return asked


@pytest.mark.parametrize(
    ("drawn", "verdict", "few"),
    [(9999, "not refuted", True), (10_000, "not refuted", False), (9999, "violated", False),
     (9999, "not random", False), (20_000, "not refuted", False)],
)  # fmt: skip
def test_sequential_audits_in_a_time(monkeypatch, drawn, verdict, few):
    """Fewer than 20,000 draws on both sides are too few to pass."""
    now = iter([7.0, 8.0, 9.0])
    monkeypatch.setattr(_run, "time", SimpleNamespace(perf_counter=lambda: next(now)))
    asked = answered(monkeypatch, drawn=drawn)
    real = _run._audit
    monkeypatch.setattr(
        _run, "_audit", lambda *given: SimpleNamespace(**vars(real(*given)) | {"verdict": verdict})
    )
    ran = _run._sequential("source", _run.Asked("a subject", None, seconds=3.0, key=4), False)
    assert (ran.ready, ran.draws, ran.is_fewest) == (7.0, 2 * drawn, few)
    ((source, _, method, key, _),) = asked
    assert (source, method, key) == ("source", Sequential(seconds=3.0), 4)


def test_an_interrupted_audit_does_not_pass():
    calls = []

    def interrupted(database, num_samples, rng):
        calls.append(num_samples)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return rng.laplace(database, 1.0, num_samples)

    with pytest.raises(KeyboardInterrupt):
        assert_private(interrupted, epsilon=1.0, pairs=[(0.0, 1.0)], seconds=60)
    assert len(calls) == 9


@pytest.mark.parametrize(
    ("seconds", "num_pairs", "method"),
    [
        (0.5, 1, Sequential(10_000, 1.0)), (0.5, 50, Sequential(10_000, 1.0)),
        (0.5, 60, Sequential(12_000, 1.0)), (1.0, 1, Sequential(seconds=1.0)),
    ],
)  # fmt: skip
def test_a_small_share_of_the_budget_still_makes_some_draws(
    monkeypatch, seconds, num_pairs, method
):
    asked = answered(monkeypatch, drawn=10_000)
    given = _run.Asked("a subject", [(0, 1)] * num_pairs, seconds=seconds)
    ran = _run._sequential("source", given, True)
    assert asked[-1][2] == method
    assert ran.is_fewest is (method.num_draws is not None)
    # A time limit that the test passes applies as it is.
    _run._sequential("source", given, False)
    assert asked[-1][2] == Sequential(seconds=seconds)


def test_audits_with_sizes(monkeypatch):
    asked = answered(monkeypatch)
    monkeypatch.setattr(_run, "time", SimpleNamespace(perf_counter=lambda: 7.0))
    source = SimpleNamespace(usual_method="events", name="a function")
    for given, sizes in (
        ({}, None), ({"num_samples": 40}, 40), ({"num_samples": 40, "num_confirm": 50}, 40),
    ):  # fmt: skip
        ran = _run._with_sizes(source, _run.Asked("a subject", [(0, 1)] * 2, **given))
        usual = _run.sizes_of(_run.DEFAULT_DRAWS, 2)
        expected = Events(sizes or usual.num_samples, given.get("num_confirm", usual.num_confirm))
        assert asked[-1][2] == expected and asked[-1][4] is None
        assert (ran.ready, ran.draws, ran.is_fewest) == (7.0, 2 * (2 * 300 + 500), False)
    total = _run.Asked("a subject", [(0, 1)] * 2, num_draws=90, region=(0.0, 1.0))
    assert _run._with_sizes(source, total).draws == 2 * 90
    assert asked[-1][2] == Events(num_draws=90, region=(0.0, 1.0))


@pytest.mark.parametrize("sampler", [None, "compiled"])
@pytest.mark.parametrize("fewest", [False, True])
def test_audits_of_planned_sizes(monkeypatch, sampler, fewest):
    asked, told = answered(monkeypatch), []
    now = iter([7.0, 8.0])
    monkeypatch.setattr(_run, "time", SimpleNamespace(perf_counter=lambda: next(now)))

    def within(seconds, num_pairs, audit_of, key, *, compiled):
        told.append((seconds, num_pairs, key, compiled))
        audit_of(Sizes(10, 20), 5)
        return audit_of(Sizes(30, 40), key)

    monkeypatch.setattr(_run, "audit_within", within)
    least = Sizes(300, 500) if fewest else Sizes(301, 500)
    monkeypatch.setattr(_run, "fewest_sizes", lambda number, *, compiled: least)
    source = SimpleNamespace(usual_method="events", name="a function", sampler=sampler)
    ran = _run._within(source, _run.Asked("s", [(0, 1)] * 3, seconds=2.0, key=9, region=(0, 1)))
    assert told == [(2.0, 3, 9, sampler is not None)]
    assert [(method, key) for _, _, method, key, _ in asked] == [
        (Events(10, 20, (0, 1)), 5), (Events(30, 40, (0, 1)), 9),
    ]  # fmt: skip
    assert all(execution.layout == "gathered" for *_, execution in asked)
    assert (ran.ready, ran.draws, ran.is_fewest) == (7.0, 2 * (3 * 300 + 500), fewest)


@pytest.mark.parametrize(
    ("claim", "notion", "region", "possible"),
    [
        (1.0, Epsilon(), None, True), (None, Epsilon(), None, False),
        (1.0, TradeOff(), None, False), (1.0, Epsilon(), (0, 1), False), (0.0, Gdp(), None, True),
    ],
)  # fmt: skip
def test_which_audits_are_sequential(claim, notion, region, possible):
    asked = _run.Asked("s", None, claim=claim, notion=notion, region=region)
    assert _run._is_sequential(asked) is possible


@pytest.mark.parametrize(("limit", "seconds"), [(None, 7.0), (2.0, 2.0), (9.0, 7.0)])
def test_a_share_of_the_budget_is_within_the_time_limit_of_the_source(monkeypatch, limit, seconds):
    told = []

    def sequential(source, asked, budgeted):
        assert budgeted
        told.append(asked.seconds)
        raise InterruptedError

    session = SimpleNamespace(budget=100.0, next_share=lambda: 7.0)
    monkeypatch.setattr(_run._session, "CURRENT", session)
    monkeypatch.setattr(_run, "_sequential", sequential)
    source = dpjax.HostMechanism(lambda database, num_samples, rng: [], time_limit=limit)
    with pytest.raises(InterruptedError):
        _run.run(_run.Asked(source, [(0, 1)], claim=1.0))
    assert told == [pytest.approx(seconds, abs=0.5)]  # Checking the pairs takes a moment.


def test_notions_in_the_table():
    assert [_run._written(notion) for notion in (Epsilon(), Gdp(), Renyi(2.5))] == [
        "epsilon", "gdp", "renyi:2.5",
    ]  # fmt: skip


def test_the_time_of_a_test_includes_the_search_of_a_family(seconds_passed, slow_family):
    """The 12,000 draws of the search take 120 s of a simulated clock."""
    assert_private(slow_family, 3.0, [(0.0, 1.0)], seconds=200.0)
    assert seconds_passed[0] == pytest.approx(200.0, rel=0.1)
    assert_private(slow_family, 3.0, [(0.0, 1.0)], seconds=40.0)
    assert seconds_passed[0] == pytest.approx(240.0, rel=0.1)
    with pytest.raises(ValueError, match="seconds must be"):
        assert_private(slow_family, 3.0, [(0.0, 1.0)], seconds=-1.0)
