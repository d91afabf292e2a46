"""What dpjax reads from OpenDP measurements, tested with stand-ins that need no library."""

import re
import types

import pytest

from dpjax.notions import Epsilon, Profile, Renyi, Zcdp
from dpjax.sources.libraries import _opendp


def stated(measure, level):
    return types.SimpleNamespace(output_measure=measure, map=lambda d_in: level)


@pytest.mark.parametrize(
    ("measure", "level", "notion", "claim"),
    [
        ("MaxDivergence", 1, Epsilon(), 1.0),
        ("Approximate(MaxDivergence)", (1.5, 1e-6), Epsilon(1e-6), 1.5),
        ("ZeroConcentratedDivergence", 0.5, Zcdp(), 0.5),
        ("SmoothedMaxDivergence", "curve", Profile(), "curve"),
        ("Approximate(ZeroConcentratedDivergence)", (0.25, 0.0), Zcdp(), 0.25),
        ("RenyiDivergence", lambda order: order / 4, Renyi(2.0), 0.5),
    ],
)
def test_claims_of_measurements(measure, level, notion, claim):
    assert _opendp._claim_of(stated(measure, level), 3) == (notion, claim)


INFINITE = float("inf")


@pytest.mark.parametrize(
    ("measure", "level"),
    [
        ("MaxDivergence", INFINITE), ("Approximate(MaxDivergence)", (INFINITE, 0.1)),
        ("ZeroConcentratedDivergence", INFINITE), ("MaxDivergence", float("nan")),
        ("Approximate(ZeroConcentratedDivergence)", (INFINITE, 0.0)),
        ("RenyiDivergence", lambda order: INFINITE),
    ],
)  # fmt: skip
def test_claims_that_are_infinite(measure, level):
    with pytest.raises(ValueError, match=rf"a finite {re.escape(measure)} at d_in = 3, but"):
        _opendp._claim_of(stated(measure, level), 3)


@pytest.mark.parametrize(
    ("measure", "level"),
    [("Approximate(ZeroConcentratedDivergence)", (0.25, 0.1)), ("Other", 1.0)],
)
def test_measures_without_a_notion(measure, level):
    with pytest.raises(ValueError, match=rf"but states {re.escape(measure)}: convert"):
        _opendp._claim_of(stated(measure, level), 1)


@pytest.mark.parametrize(
    ("carrier", "bounds", "size", "values"),
    [
        ("f64", None, None, [0.0, 1.0, 2.0, 3.0, 4.0]), ("i32", None, None, [0, 1, 2, 3, 4]),
        ("bool", None, 3, [True, False, True]), ("String", None, 7, list("abacaab")),
        ("f32", (1.0, 3.0), None, [1.0, 1.5, 2.0, 2.5, 3.0]), ("i32", (1, 3), None,
         [1, 1, 2, 2, 3]),
        ("f64", (-1.0, 1.0), 2, [-1.0, -0.5]),
    ],
)  # fmt: skip
def test_examples_of_carriers(carrier, bounds, size, values):
    found = _opendp._example(carrier, bounds, size)
    assert found == values and list(map(type, found)) == list(map(type, values))
