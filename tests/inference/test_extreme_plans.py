"""Plans and levels at the limits of float64, and published plans that guarantee too little."""

import itertools

import numpy as np
import pytest

import dpjax
from dpjax.inference import InputInterval, plan, renyi_levels
from dpjax.mechanisms import RandomizedResponse, TruncatedLaplace
from dpjax.methods import HistogramEstimate


def test_lipschitz_constants_just_below_the_limit_are_refused():
    """The smallest density, 1 / W - C W / 2, is 0 after rounding."""
    for width in np.geomspace(1e-3, 1e3, 300).tolist():
        constant = np.nextafter(2 / width**2, 0).item()
        if 1 / width - constant * width / 2 <= 0:
            with pytest.raises(ValueError, match="lipschitz must be below 2 / width"):
                plan(lipschitz=constant, width=width, precision=0.5, confidence=0.9)


@pytest.mark.parametrize(
    "options",
    [{"precision": 5e-324}, {"precision": 1.0, "inputs": InputInterval(1e300, 1e300)}],
)
def test_infinitely_many_intervals_are_refused(options):
    with pytest.raises(ValueError, match="require infinitely many intervals or inputs"):
        plan(lipschitz=0.5, confidence=0.9, **options)


@pytest.mark.parametrize("shift", [1e-3, 1e-9, 1e-12, 1e-14, 2.2e-16])
@pytest.mark.parametrize("spread", [0.5, 0.01])
def test_renyi_levels_near_order_1_are_divergences(shift, spread):
    """They are above the KL divergence by at most (order - 1) times half the variance."""
    rng = np.random.default_rng(3)
    chances = rng.uniform(1, 2, 8)
    first, second = (
        rng.multinomial(10**6, weights / weights.sum())
        for weights in (chances, chances * np.exp(spread * rng.normal(size=8)))
    )
    p, q = first / first.sum(), second / second.sum()
    larger = max(np.sum(a * np.log(a / b)) for a, b in ((p, q), (q, p)))
    found = renyi_levels(np.stack([first, second]), [(0, 1)], 1 + shift)[0]
    largest = np.abs(np.log(p / q)).max()
    assert larger * (1 - 1e-9) <= found <= larger * (1 + 1e-9) + shift * largest**2


def test_published_plans_that_guarantee_too_little_are_refused():
    checked = 0
    for lipschitz, precision, confidence, inputs in itertools.product(
        (0.1, 1.0, 1.9), (0.5, 2, 20), (0.5, 0.9), (2, 1000)
    ):
        asked = dict(lipschitz=lipschitz, precision=precision, inputs=inputs)
        needed = plan(**asked, confidence=confidence).num_samples
        try:
            found = plan(**asked, confidence=confidence, bound="published").num_samples
        except ValueError as error:
            assert "bound must be 'all-intervals' for precision" in str(error)
            checked += 1
        else:
            assert found >= needed
    assert 0 < checked < 36


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"inputs": []}, "inputs must be a list of at least two inputs"),
        ({"inputs": "ab"}, "inputs must consist of numbers, .* but was 'ab'"),
        ({"output_interval": 3}, r"output_interval must be \(low, high\), but was 3"),
        ({"output_interval": (1, 0)}, "output_interval must"),
        ({"input_interval": (1, 2, 3), "input_lipschitz": 1.0}, r"must be \(low, high\), but was"),
    ],
)
def test_options_of_histograms_are_named(options, words):
    method = dpjax.Histogram(lipschitz=0.5, **options)
    with pytest.raises(ValueError, match=words):
        dpjax.audit(TruncatedLaplace(1.0), method=method)


def test_equal_databases_are_named():
    method = dpjax.Histogram(least_probability=0.2)
    with pytest.raises(ValueError, match="both are equal in every pair"):
        dpjax.audit(RandomizedResponse(1.0, 2), [(1, 1)], method=method)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"order": "2"}, TypeError, "order"),
        ({"order": float("inf")}, ValueError, "order"),
        ({"order": 1.0}, ValueError, "order"),
        ({"inputs": 3}, ValueError, "inputs must hold at least two numbers, but was 3"),
        ({"inputs": (0, float("nan"))}, ValueError, "inputs must be a number"),
        ({"inputs": ("a", "b")}, ValueError, "inputs must consist of numbers"),
    ],
)
def test_options_of_estimates_are_named(options, error, words):
    with pytest.raises(error, match=words):
        HistogramEstimate(**({"num_intervals": 4, "num_samples": 100, "inputs": (0, 1)} | options))


@pytest.mark.parametrize(
    ("precision", "intervals"), [(1e-300, r"\d\.\d\de\+\d+"), (1e-10, r"\d{11}")]
)
def test_absurdly_fine_precisions_are_refused_briefly(precision, intervals):
    """The message about a precision of 1e-300 used to have 300 digits."""
    message = rf"max_samples = {2**53} draws per input \({intervals} intervals\): ask for a coarser"
    with pytest.raises(ValueError, match=message):
        plan(lipschitz=0.64, width=1.0, precision=precision, confidence=0.9)
