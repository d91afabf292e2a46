"""Defaults of options, and the names of methods and notions."""

import dataclasses

import pytest

import dpjax
from dpjax.methods import LocalSearch
from dpjax.methods.histogram import Histogram, HistogramEstimate
from dpjax.notions import TotalVariation

LOCAL = {
    "num_samples": 20_000, "num_confirm": 50_000, "region": None, "bandwidth": "scott",
    "floor": None, "kernel": "gaussian", "density": "auto", "num_nodes": 512,
    "objective": "lower-bound", "undersmoothing": None,
}  # fmt: skip
METHODS = {
    dpjax.Events: ("events", True, {
        "num_samples": None, "num_confirm": None, "region": None, "num_draws": None, "also": False,
    }),
    dpjax.Sequential: ("sequential", True, {"num_draws": None, "seconds": None}),
    dpjax.Local: ("local", True, LOCAL),
    LocalSearch: ("local-search", False, LOCAL),
    dpjax.Guesses: ("guesses", True, {
        "num_in": None, "num_out": None, "reveal_fraction": 0.3, "num_calls": None,
    }),
    Histogram: ("histogram", True, {
        "lipschitz": None, "least_probability": None, "precision": None, "num_samples": None,
        "inputs": None, "input_interval": None, "input_lipschitz": None, "output_interval": None,
        "order": None, "bound": "all-intervals",
    }),
    HistogramEstimate: ("histogram-estimate", False, {"order": None}),
}  # fmt: skip


@pytest.mark.parametrize("kind", METHODS, ids=lambda kind: kind.__name__)
def test_methods_and_options_that_are_left_out(kind):
    name, bounded, options = METHODS[kind]
    assert (kind.name, kind.bounded) == (name, bounded)
    given = {
        field.name: field.default
        for field in dataclasses.fields(kind)
        if field.default is not dataclasses.MISSING
    }
    assert given == options


@pytest.mark.parametrize("bad", [{"reveal_fraction": 0.0}, {"reveal_fraction": 1.0}])
def test_shares_of_revealed_canaries_lie_inside(bad):
    with pytest.raises(ValueError, match="reveal_fraction"):
        dpjax.Guesses(**bad)
    dpjax.Guesses(reveal_fraction=0.001)
    dpjax.Guesses(reveal_fraction=0.999)


NOTIONS = {
    dpjax.Epsilon(): ("epsilon", True, 0.0), dpjax.Epsilon(0.1): ("epsilon", True, 0.1),
    dpjax.Gdp(): ("gdp", False, 0.0), dpjax.Renyi(2.0): ("renyi", False, 0.0),
    dpjax.Profile(): ("profile", False, 0.0), dpjax.TradeOff(): ("trade-off", False, 0.0),
    dpjax.Zcdp(): ("zcdp", False, 0.0), TotalVariation(): ("total-variation", False, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("notion", NOTIONS, ids=repr)
def test_names_of_notions(notion):
    assert (notion.name, notion.takes_delta, notion.delta) == NOTIONS[notion]
