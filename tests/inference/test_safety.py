"""The safety check: simulated probability, p-value, power and planner."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import binom

from dpjax.inference import SafetyCheck, SafetyVerdict, plan, plan_finite, plan_safety, safety_check
from dpjax.reference import ExactTruncatedLaplace


def counts(rng, truth, inputs, num_intervals, num_samples, num_runs):
    """Return multinomial counts [num_runs, k, m] of a mechanism, from its exact distribution."""
    edges = np.linspace(0, 1, num_intervals + 1)
    rows = [
        rng.multinomial(num_samples, np.diff(truth.cdf(x, edges)), size=num_runs) for x in inputs
    ]
    return np.stack(rows, 1)


def test_limit_and_probability_are_theorem_3():
    planned = plan(lipschitz=0.8, width=1.5, precision=1.0, confidence=0.8)
    check = safety_check(planned, beta=0.1)
    w = 1.5 / planned.num_intervals
    tau, tau_1 = 1 / 1.5 - 0.8 * 1.5 / 2, 1 / 1.5 + 0.8 * 1.5 / 2
    assert check.limit == pytest.approx(0.8 * w**2 + 2 * 0.1 * w * tau_1)
    exponent = 0.01 * planned.num_samples * w * tau / 3
    assert check.probability == pytest.approx(1 - 4 * planned.num_intervals * math.exp(-exponent))


def test_true_claim_stays_within_the_limit_as_often_as_stated():
    """The fraction is far above the bound; false alarm below 1e-9."""
    truth = ExactTruncatedLaplace(1.0)
    planned = plan(lipschitz=truth.lipschitz, precision=1.0, confidence=0.8)
    _, check = plan_safety(planned, probability=0.5, beta=0.02)
    rng = np.random.default_rng(4)
    n = check.num_samples
    gaps = check.gaps(counts(rng, truth, (0.0, 1.0), planned.num_intervals, n, 2_000))
    assert np.mean(gaps <= check.limit) >= check.probability


def test_limit_is_tight_enough_to_be_broken_by_uneven_counts():
    """A distribution with the claimed slope; on one side, the deviation is just above beta."""
    check = SafetyCheck(4, 1000, 1, 0.1, 0.2, 0.9)
    assert check.gaps([[[300, 100, 300, 300]]]) == pytest.approx([0.2])
    assert check.verdict([[[300, 100, 300, 300]]]).num_within == 1
    assert check.verdict([[[300, 99, 301, 300]]]).num_within == 0


def test_p_value_is_the_binomial_tail():
    check = SafetyCheck(2, 10, 2, 0.1, 0.2, 0.9)
    fine, broken = [[5, 5], [6, 4]], [[5, 5], [9, 1]]
    verdict = check.verdict([fine] * 16 + [broken] * 4)
    assert (verdict.num_runs, verdict.num_within) == (20, 16)
    expected = sum(math.comb(20, i) * 0.9**i * 0.1 ** (20 - i) for i in range(17))
    assert verdict.p_value == pytest.approx(expected)
    assert not verdict.refuted(0.05)
    assert check.verdict([fine] * 12 + [broken] * 8).refuted(0.05)


def test_vacuous_bound_refutes_nothing():
    check = SafetyCheck(2, 10, 1, 0.1, 0.01, -3.0)
    assert check.verdict([[[10, 0]]]).p_value == 1.0


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_half_the_true_constant_is_refuted_and_the_true_one_is_not(scale):
    """There are 100 trials of 20 runs each; the level of the p-value is 5%."""
    truth = ExactTruncatedLaplace(scale)
    rng = np.random.default_rng(11)
    refuted = {}
    for share in (0.5, 1.0):
        claim = plan(lipschitz=share * truth.lipschitz, precision=1.0, confidence=0.8)
        raised, check = plan_safety(claim, probability=0.9)
        drawn = counts(
            rng, truth, (0.0, 1.0), raised.num_intervals, raised.num_samples, num_runs=2_000
        )
        trials = drawn.reshape(100, 20, 2, raised.num_intervals)
        refuted[share] = sum(check.verdict(trial).refuted(0.05) for trial in trials)
    assert refuted[0.5] >= 95
    assert refuted[1.0] <= 5


def test_planner_raises_the_number_of_samples_to_the_smallest_informative_one():
    planned = plan(lipschitz=0.8, precision=1.0, confidence=0.8)
    raised, check = plan_safety(planned, probability=0.9, beta=0.01)
    assert raised.num_samples > planned.num_samples
    assert check.probability >= 0.9
    fewer = dataclasses.replace(raised, num_samples=raised.num_samples - 1)
    assert safety_check(fewer, 0.01).probability < 0.9
    # The samples already suffice, so nothing is reduced.
    again, _ = plan_safety(raised, probability=0.9, beta=0.9)
    assert again.num_samples == raised.num_samples


def test_default_beta_puts_the_limit_at_the_stated_excess():
    planned = plan(lipschitz=0.8, precision=1.0, confidence=0.8)
    _, check = plan_safety(planned, excess=1.5)
    w = 1 / planned.num_intervals
    assert check.limit == pytest.approx(1.5 * 0.8 * w**2)


def test_least_beta_that_reaches_a_probability():
    planned = plan(lipschitz=0.8, precision=1.0, confidence=0.8)
    check = safety_check(planned, probability=0.97)
    assert check.probability == pytest.approx(0.97)
    assert safety_check(planned, 0.99 * check.beta).probability < 0.97
    few = dataclasses.replace(planned, num_samples=50)
    with pytest.raises(ValueError, match="plan must have more samples for a safety check"):
        safety_check(few, probability=0.97)


def test_wide_and_unsigned_counts_do_not_wrap():
    check = SafetyCheck(2, 10**10, 1, 0.1, 0.3, 0.9)
    assert check.gaps(np.array([[4 * 10**9, 6 * 10**9]], np.uint64)) == pytest.approx(0.2)


def test_refusals():
    planned = plan(lipschitz=0.8, precision=1.0, confidence=0.8)
    check = safety_check(planned, 0.1)
    with pytest.raises(ValueError, match=r"counts must have a shape ending in \[2, 8\]"):
        check.gaps(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="counts must sum to num_samples"):
        check.gaps(np.zeros((2, planned.num_intervals)))
    # One row is correct, and one is not.
    right = np.zeros((2, 8), np.int64)
    right[:, 0] = planned.num_samples
    with pytest.raises(ValueError, match="counts must sum to num_samples"):
        check.gaps(right - np.array([[0] * 8, [1] + [0] * 7]))
    with pytest.raises(ValueError, match="beta must lie strictly between 0 and 1"):
        safety_check(planned, 1.0)
    for beta in (0.0, -0.1, 1.0, 1e-9):
        words = "more than max_samples" if beta == 1e-9 else "beta must lie strictly between 0 and"
        with pytest.raises(ValueError, match=words):
            plan_safety(planned, beta=beta, max_samples=10**6)
    with pytest.raises(ValueError, match="excess must be a number > 1"):
        plan_safety(planned, excess=1.0)
    with pytest.raises(ValueError, match="more than max_samples = 1000"):
        plan_safety(planned, max_samples=1000)
    finite = plan_finite(num_outputs=2, least_probability=0.2, precision=1.0, confidence=0.8)
    with pytest.raises(TypeError, match="plan must assume Lipschitz densities"):
        safety_check(finite, 0.1)
    with pytest.raises(ValueError, match="significance must lie strictly between 0 and 1"):
        SafetyVerdict(20, 16, 0.9, 0.13).refuted(0.0)


def test_binomial_level():
    """The verdict is wrong with at most its significance, for every number of runs within."""
    for num_runs in (5, 20, 100):
        level = sum(
            binom.pmf(k, num_runs, 0.9)
            for k in range(num_runs + 1)
            if binom.cdf(k, num_runs, 0.9) <= 0.05
        )
        assert level <= 0.05


def test_a_check_is_passed_with_a_probability_of_95_percent_unless_another_is_given():
    """It has the smallest beta that reaches 95%, by Theorem 3; raising the samples uses 90%."""
    planned = plan(lipschitz=0.8, width=1.5, precision=1.0, confidence=0.95)
    check = safety_check(planned)
    assert check == safety_check(planned, probability=0.95)
    assert check.probability == pytest.approx(0.95, abs=1e-6) and check.probability >= 0.95
    raised, other = plan_safety(planned)
    assert other.probability == pytest.approx(0.9, abs=1e-6)
    assert raised.num_samples >= planned.num_samples


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.5, 1.9])
def test_probabilities_that_are_none_are_refused(probability):
    planned = plan(lipschitz=0.8, precision=1.0, confidence=0.8)
    with pytest.raises(ValueError, match="probability must lie strictly between 0 and 1"):
        safety_check(planned, probability=probability)
    with pytest.raises(ValueError, match="probability must lie strictly between 0 and 1"):
        plan_safety(planned, probability=probability)


def test_as_many_samples_as_are_enough_are_allowed():
    planned = plan(lipschitz=0.8, precision=1.0, confidence=0.8)
    raised, _ = plan_safety(planned)
    assert raised.num_samples > planned.num_samples
    assert plan_safety(planned, max_samples=raised.num_samples)[0] == raised
    with pytest.raises(ValueError, match=f"requires {raised.num_samples} draws per input"):
        plan_safety(planned, max_samples=raised.num_samples - 1)


@pytest.mark.parametrize("excess", [math.nan, "2", None, -1.0])
def test_an_excess_that_is_no_number_above_1(excess):
    planned = plan(lipschitz=0.8, precision=1.0, confidence=0.8)
    with pytest.raises((TypeError, ValueError), match="excess must be a"):
        plan_safety(planned, excess=excess)


@pytest.mark.parametrize(
    ("p_value", "significance", "refuted"),
    [(0.05, None, True), (0.0501, None, False), (0.2, 0.2, True), (0.2, 0.19, False)],
)
def test_claims_are_refuted_at_five_percent_unless_another_level_is_given(
    p_value, significance, refuted
):
    given = {} if significance is None else {"significance": significance}
    assert SafetyVerdict(20, 16, 0.9, p_value).refuted(**given) == refuted
