"""What a test-suite's audit reports about itself: numbers of draws, of pairs, and levels."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpjax import Epsilon, Events, Gdp, Guesses, Pairs, TradeOff
from dpjax.testing import _run
from dpjax.testing._budget import Sizes


@pytest.mark.parametrize(
    ("notion", "claim", "num_confirm", "known"),
    [
        (Epsilon(), 1.0, 500, True), (Epsilon(0.1), 1.0, 500, True), (Epsilon(), None, 500, False),
        (Epsilon(), [(0.0, 0.1)], 500, False), (Epsilon(), 1.0, None, False),
        (Gdp(), 1.0, 500, False), (TradeOff(), 1.0, 500, False),
    ],
)  # fmt: skip
def test_levels_that_an_audit_would_refute(monkeypatch, notion, claim, num_confirm, known):
    """For epsilon alone, and claims that are numbers."""
    asked = []
    monkeypatch.setattr(_run, "detectable_epsilon", lambda *given: asked.append(given) or 1.25)
    result = SimpleNamespace(notion=notion, claim=claim, num_confirm=num_confirm)
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
    asked = SimpleNamespace(num_samples=None, num_confirm=None, region=(0.0, 1.0))
    drawn = SimpleNamespace(usual_method="events", name="a function")
    assert _run._method(drawn, asked, Sizes(20, 30)) == Events(20, 30, (0.0, 1.0))
    canaries = SimpleNamespace(usual_method="guesses", name="canaries")
    for name, value in (("region", (0.0, 1.0)), ("num_samples", 5), ("num_confirm", 5)):
        asked = SimpleNamespace(num_samples=None, num_confirm=None, region=None)
        assert _run._method(canaries, asked, Sizes(20, 30)) == Guesses()
        setattr(asked, name, value)
        with pytest.raises(ValueError, match=f"{name} must be left out for canaries, which draws"):
            _run._method(canaries, asked, Sizes(20, 30))


def test_what_a_test_that_says_nothing_asks_for():
    asked = _run.Asked("a subject", None)
    assert (asked.notion, asked.claim, asked.region, asked.seconds) == (Epsilon(), None, None, None)
    assert (asked.confidence, asked.key, asked.has_sizes) == (_run.DEFAULT_CONFIDENCE, 0, False)
    for name in ("num_samples", "num_confirm"):
        assert _run.Asked("a subject", None, **{name: 5}).has_sizes
