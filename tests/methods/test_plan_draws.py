"""The number of draws with which an audit probably refutes a claim."""

import math

import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax import plan_draws
from dpjax.inference import Ratio, Shared, best_ratio, divided, event_lower_bound
from dpjax.mechanisms import Laplace, RandomizedResponse
from dpjax.sources import rounds_within
from dpjax.sweeps import Entry, compute


@pytest.mark.parametrize("confidence", [0.95, 0.999])
@pytest.mark.parametrize("q", [0.3, 0.05, 0.001])
def test_many_draws_are_those_of_a_normal_estimate_of_the_log_ratio(q, confidence):
    """With N1 + N2 = 2 N, the variance is at least (s1 + s2)^2 / (2 N).

    A plan is this number, up to 1%, rounded up to two digits.
    """
    claim, epsilon, power = 0.5, 0.52, 0.8
    p = math.exp(epsilon) * q
    spread = math.sqrt(1 / p - 1) + math.sqrt(1 / q - 1)
    reach = stats.norm.ppf(confidence) + stats.norm.ppf(power)
    confirmed = (reach * spread / (epsilon - claim)) ** 2 / 2
    number = plan_draws(claim, epsilon, probability=q, confidence=confidence, power=power)
    assert rounds_within(1, number).num_confirm > 0.99 * confirmed
    before = number - 10 ** (len(str(number)) - 2)
    assert rounds_within(1, before).num_confirm < 1.01 * confirmed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "epsilon", "q", "delta"),
    [(1.0, 1.2, 0.15, 0.0), (0.0, 0.3, 0.4, 0.0), (2.0, 2.5, 0.02, 0.0), (0.5, 1.0, 0.1, 0.05)],
)
def test_bounds_from_so_many_draws_exceed_the_claim_as_often_as_planned(claim, epsilon, q, delta):
    """False alarms: 1e-5 for each of four cases, besides 4% for the approximation."""
    power, runs, hypothesis = 0.9, 1500, Ratio(delta)
    number = plan_draws(claim, epsilon, probability=q, delta=delta, confidence=0.99)
    confirmed = Shared(rounds_within(1, number).num_confirm)
    p = math.exp(epsilon) * q + delta
    trials = [
        int(n) for n in divided(best_ratio(p, q, confirmed, 0.99, hypothesis), confirmed.mean)
    ]
    rng = np.random.default_rng(3)
    counts = [rng.binomial(n, share, runs) for n, share in zip(trials, (p, q), strict=True)]
    refuted = event_lower_bound(*counts, *trials, 0.99, hypothesis) > claim
    spread = stats.norm.isf(5e-6) * math.sqrt(power * (1 - power) / runs)
    assert abs(refuted.mean() - power) < 0.04 + spread


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "pair", "claim", "q", "times"),
    [
        (RandomizedResponse(1.2), (0, 1), 1.0, 1 / (1 + math.exp(1.2)), 1),
        (RandomizedResponse(0.5), (0, 1), 0.2, 1 / (1 + math.exp(0.5)), 1),
        (RandomizedResponse(0.3), (0, 1), 0.0, 1 / (1 + math.exp(0.3)), 1),
        (Laplace(1.2), (0.0, 1.0), 1.0, math.exp(-1.2) / 2, 2),
        (Laplace(0.3), (0.0, 1.0), 0.0, math.exp(-0.3) / 2, 2),
    ],
)
def test_audits_refute_as_often_as_promised(mechanism, pair, claim, q, times):
    """If the outputs are numbers, the promise is about twice the number. False alarms: 1e-5."""
    power, runs = 0.9, 1000
    number = times * plan_draws(claim, mechanism.epsilon, probability=q, confidence=0.999)
    method, pairs = dpjax.Events(num_draws=number), dpjax.Pairs([pair[0]], [pair[1]])
    entry = Entry(mechanism, method, pairs, claim=claim, confidence=0.999, num_runs=runs)
    verdicts = np.array(compute(entry, range(runs), 7)["verdict"])
    refuted = np.isin(verdicts, ["violated", "not random"]).mean()
    assert refuted > power - stats.norm.isf(1e-5) * math.sqrt(power * (1 - power) / runs)


def test_harder_tasks_need_more_draws():
    usual = plan_draws(1.0, 1.3)
    assert usual == plan_draws(1.0, 1.3, probability=0.1, confidence=0.999, power=0.9)
    for harder in ({"probability": 0.01}, {"confidence": 0.9999}, {"power": 0.99},
                   {"num_claims": 10}):  # fmt: skip
        assert plan_draws(1.0, 1.3, **harder) > usual
    assert plan_draws(1.0, 1.2) > usual > plan_draws(1.0, 1.6)
    falling = [plan_draws(1.0, 1.3, confidence=level) for level in (0.9, 0.6, 0.3, 0.01, 1e-15)]
    assert falling == sorted(falling, reverse=True)
    assert usual < 100 or usual % 10 ** (len(str(usual)) - 2) == 0
    dpjax.Events(num_draws=plan_draws(0.0, 2.0, power=0.01, confidence=0.5))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((1.0, 1.0), ValueError, "epsilon must be above the claim, 1, because .* but was 1"),
        ((-1.0, 1.0), ValueError, "claim must be a number >= 0"),
        ((1.0, math.inf), ValueError, "epsilon must be"),
        (("1", 2.0), TypeError, "claim must be"),
        ((1.0, 1.0 + 1e-9), ValueError, "to tell epsilon 1.000000001 from the claim 1 if"),
    ],
)
def test_refused_levels(given, error, message):
    with pytest.raises(error, match=message):
        plan_draws(*given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"probability": 0.5}, r"probability must be at most .* 0.367879, but was 0.5"),
        ({"probability": 0.3, "delta": 0.2}, "must be at most .* 0.294304, but was 0.3"),
        ({"probability": 0}, "probability must lie strictly between 0 and 1"),
        ({"delta": 1.0}, r"delta must lie in \[0, 1\)"),
        ({"power": 1.0}, "power must lie strictly"),
        ({"confidence": 2.0}, "confidence must lie strictly"),
        ({"num_claims": 0}, "num_claims must be an integer >= 1"),
        ({"num_claims": 10**14}, "num_claims must be smaller, .* of each bound, 1e-17, is too"),
        ({"num_claims": 10**18}, "num_claims must be smaller, .* of each bound, 1e-21, is too"),
    ],
)
def test_refused_options(options, message):
    with pytest.raises(ValueError, match=message):
        plan_draws(0.5, 1.0, **options)
