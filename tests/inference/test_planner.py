"""The planner: published tables, minimality, monotonicity and rejected arguments."""

import dataclasses
import json
import math

import numpy as np
import pytest
from scipy.stats import binom

from dpjax.inference import FiniteOutputs, InputInterval, plan, plan_finite
from dpjax.inference._chernoff import log_chernoff_tail


def laplace_lipschitz(scale):
    return 1 / (scale**2 * (1 - math.exp(-1 / scale)))


# (epsilon, precision, num_samples and its printed digits, num_intervals).
TABLE_3 = [
    (0.5, 1.0, "9588", 6),
    (0.5, 0.5, "75618", 12),
    (0.5, 0.1, "8.7e6", 56),
    (0.5, 0.05, "7e7", 112),
    (0.7, 1.0, "25488", 12),
    (0.7, 0.5, "1.9e5", 23),
    (0.7, 0.1, "2.4e7", 114),
    (0.7, 0.05, "1.9e8", 228),
    (1.0, 1.0, "2.4e5", 46),
    (1.0, 0.5, "1.9e6", 91),
    (1.0, 0.1, "2.3e8", 455),
    (1.0, 0.05, "1.9e9", 909),
]
# (scale, precision, num_samples, num_intervals), order 2.
TABLE_5 = [
    (5.0, 1.0, "17794", 3),
    (5.0, 0.5, "1.6e5", 6),
    (5.0, 0.1, "2.5e7", 29),
    (3.0, 1.0, "2.3e5", 10),
    (3.0, 0.5, "2.1e6", 20),
    (3.0, 0.1, "3.1e8", 97),
    (2.0, 1.0, "6.7e6", 41),
    (2.0, 0.5, "5.7e7", 81),
    (2.0, 0.1, "8.6e9", 403),
    (1.5, 1.0, "3.4e8", 195),
    (1.5, 0.5, "3.0e9", 389),
    (1.5, 0.1, "4.3e11", 1945),
]


def agrees(num_samples, printed):
    """Return whether numbers agree within 1, or after rounding to the printed digits."""
    if "e" not in printed:
        return abs(num_samples - int(printed)) <= 1
    digits = len(printed.split("e")[0].replace(".", ""))
    return float(f"{num_samples:.{digits - 1}e}") == float(printed)


@pytest.mark.parametrize(("epsilon", "precision", "num_samples", "num_intervals"), TABLE_3)
def test_table_3(epsilon, precision, num_samples, num_intervals):
    planned = plan(
        lipschitz=laplace_lipschitz(1 / epsilon),
        precision=precision,
        confidence=0.8,
        bound="published",
    )
    assert planned.num_intervals == num_intervals
    assert agrees(planned.num_samples, num_samples)


@pytest.mark.parametrize(("scale", "precision", "num_samples", "num_intervals"), TABLE_5)
def test_table_5(scale, precision, num_samples, num_intervals):
    planned = plan(lipschitz=laplace_lipschitz(scale), precision=precision, confidence=0.9, order=2)
    assert planned.num_intervals == num_intervals
    assert agrees(planned.num_samples, num_samples)


def test_worked_example_of_algorithms_1_and_2():
    asked = {"lipschitz": 1.58, "precision": 0.5, "confidence": 0.8, "bound": "published"}
    planned = plan(**asked)
    assert planned.num_intervals == 91
    assert abs(planned.num_samples - 1_863_132) <= 1
    everywhere = plan(**asked, inputs=InputInterval(width=1.0, lipschitz=3.16))
    assert everywhere.num_inputs == 91


def published_shortfall(planned, n, tails, deviation=None):
    """Return the published condition, implemented a second time without logarithms."""
    p = planned.least_probability
    empty = 2 * planned.num_intervals * (1 - p) ** n
    deviation = deviation or planned_deviation(planned)
    return empty + tails * math.exp(log_chernoff_tail(n, p, deviation))


def planned_deviation(planned):
    gamma, alpha = planned.precision, planned.order
    if alpha is None:
        return gamma / 12
    tau = 1 - planned.assumption.lipschitz / 2
    tau_1 = 2 - tau
    big = 2 * tau_1**alpha / tau ** (alpha - 1)
    small = tau**alpha / tau_1 ** (alpha - 1)
    first = gamma * small * (alpha - 1) / (2 * big * (2 * alpha - 1))
    return min(first, math.log(2) / (2 * alpha - 1))


@pytest.mark.parametrize(
    ("lipschitz", "order"),
    [(0.05, None), (1.58, None), (1.9, None), (0.05, 1.5), (1.58, 1.5), (0.05, 4.0), (0.6, 4.0)],
)
@pytest.mark.parametrize("precision", [0.05, 0.7, 3.0])
def test_one_sample_less_fails(lipschitz, precision, order):
    planned = plan(
        lipschitz=lipschitz, precision=precision, confidence=0.95, order=order, bound="published"
    )
    tails = 4 if order is None else 2 * planned.num_intervals
    n = planned.num_samples
    # Near the root, the condition changes by less than float64 from one n to the next.
    slack = 1e-9 * 0.05
    assert published_shortfall(planned, n, tails) <= 0.05 + slack
    assert published_shortfall(planned, n - 1, tails) > 0.05 - slack
    if n < 10**6:
        assert (
            published_shortfall(planned, n - 1, tails)
            > 0.05
            >= published_shortfall(planned, n, tails)
        )


@pytest.mark.parametrize("order", [None, 2.0])
def test_intervals_of_another_width_are_the_same_problem_rescaled(order):
    """Outputs times 4 have a quarter of the density and a sixteenth of the slope."""
    unit = plan(lipschitz=0.8, precision=0.4, confidence=0.9, order=order)
    wide = plan(lipschitz=0.8 / 16, width=4.0, precision=0.4, confidence=0.9, order=order)
    assert (wide.num_intervals, wide.num_samples) == (unit.num_intervals, unit.num_samples)


def test_more_is_asked_for_more():
    base = {"lipschitz": 1.0, "precision": 0.5, "confidence": 0.8}
    n = plan(**base).num_samples
    assert plan(**{**base, "lipschitz": 1.2}).num_samples > n
    assert plan(**{**base, "precision": 0.4}).num_samples > n
    assert plan(**{**base, "confidence": 0.9}).num_samples > n
    assert plan(**base, inputs=5).num_samples > n
    assert plan(**base, order=3).num_samples > plan(**base, order=2).num_samples


def test_all_pairs_spend_a_third_of_the_precision_and_the_root_of_the_confidence():
    def published(**asked):
        return plan(**asked, bound="published")

    inputs = InputInterval(width=1.5, lipschitz=2.0)
    everywhere = published(lipschitz=1.0, precision=0.6, confidence=0.81, inputs=inputs)
    inside = published(lipschitz=1.0, precision=0.2, confidence=0.9)
    assert everywhere.num_intervals == inside.num_intervals
    assert abs(everywhere.num_samples - inside.num_samples) <= 1
    assert everywhere.num_inputs == math.ceil(3 * 2.0 * 1.5 / (0.5 * 0.6))
    inputs = InputInterval(width=1, lipschitz=1)
    renyi = published(lipschitz=0.5, precision=0.6, confidence=0.81, order=2, inputs=inputs)
    inside = published(lipschitz=0.5, precision=0.2, confidence=0.9, order=2)
    assert renyi.num_intervals == inside.num_intervals
    assert abs(renyi.num_samples - inside.num_samples) <= 1
    tau, tau_1 = 0.75, 1.25
    ratio = (2 * tau_1**2 / tau) / (tau**2 / tau_1)
    assert renyi.num_inputs == math.ceil(3 * 3 * ratio * 1 / (2 * tau * 0.6))


def test_all_intervals_puts_4m_in_the_place_of_4_at_a_third_of_the_precision():
    planned = plan(lipschitz=1.0, precision=0.5, confidence=0.8)
    tails, n = 4 * planned.num_intervals, planned.num_samples
    enough, too_few = (published_shortfall(planned, k, tails, 0.5 / 3) for k in (n, n - 1))
    assert enough <= 0.2 < too_few
    renyi = {"lipschitz": 1.0, "precision": 0.5, "confidence": 0.8, "order": 2}
    assert plan(**renyi, bound="published").num_samples == plan(**renyi).num_samples


def test_an_interval_tells_its_densities_to_a_sixth_of_the_precision():
    """The steepest allowed density is compared with its integral over each interval."""
    for lipschitz, precision in ((1.0, 0.5), (1.9, 0.3), (0.2, 2.0)):
        planned = plan(lipschitz=lipschitz, precision=precision, confidence=0.8)
        ends = np.linspace(0, 1, planned.num_intervals + 1)
        # Lemma 1 is tight for the density f(y) = 1 - C / 2 + C y.
        density = 1 - lipschitz / 2 + lipschitz * ends
        shares = (density[1:] + density[:-1]) / 2
        for side in (density[1:], density[:-1]):
            assert np.abs(np.log(shares / side)).max() <= precision / 6


@pytest.mark.parametrize("confidence", [0.05, 0.8, 0.999])
@pytest.mark.parametrize("inputs", [2, InputInterval(width=1.0, lipschitz=2.0)])
@pytest.mark.parametrize("lipschitz", [0.05, 1.0, 1.95])
@pytest.mark.parametrize("precision", [0.01, 0.5, 3.0])
def test_the_published_samples_are_enough_to_cover_every_count(
    confidence, inputs, lipschitz, precision
):
    asked = {"lipschitz": lipschitz, "precision": precision, "confidence": confidence}
    asked["inputs"] = inputs
    assert plan(**asked).num_samples <= plan(**asked, bound="published").num_samples


@pytest.mark.parametrize("order", [None, 2.0])
@pytest.mark.parametrize("bound", ["published", "all-intervals"])
@pytest.mark.parametrize("inputs", [2, InputInterval(width=1.0, lipschitz=2.0)])
def test_inverse_questions_lead_back(order, bound, inputs):
    asked = {"lipschitz": 0.9, "order": order, "bound": bound, "inputs": inputs}
    planned = plan(**asked, precision=0.5, confidence=0.8)
    confident = plan(**asked, precision=0.5, num_samples=planned.num_samples)
    assert 0.8 <= confident.confidence < 0.8001
    precise = plan(**asked, confidence=0.8, num_samples=planned.num_samples)
    assert precise.precision == pytest.approx(0.5, rel=1e-4)
    assert precise.precision <= 0.5
    finer = precise.precision * (1 - 1e-6)
    assert plan(**asked, precision=finer, confidence=0.8).num_samples > planned.num_samples


def test_finite_outputs_hold_by_exact_enumeration():
    """Two outputs: the probability of an error within the precision, summed exactly."""
    p, q, precision = 0.3, 0.5, 0.4
    planned = plan_finite(num_outputs=2, least_probability=0.3, precision=precision, confidence=0.9)
    n = planned.num_samples
    truth = max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))
    probability_p, probability_q = binom.pmf(range(n + 1), n, p), binom.pmf(range(n + 1), n, q)
    i, j = np.arange(1, n), np.arange(1, n)[:, None]
    estimate = np.maximum(np.abs(np.log(i / j)), np.abs(np.log((n - i) / (n - j))))
    both = probability_p[1:n] * probability_q[1:n, None]
    hit = both[np.abs(estimate - truth) <= precision].sum()
    assert 0.9 <= hit <= 1


@pytest.mark.parametrize(("order", "share", "tails"), [(None, 1 / 2, 16), (3.0, 2 / 5, 8)])
def test_finite_outputs_give_the_whole_precision_to_the_counts(order, share, tails):
    planned = plan_finite(
        num_outputs=4, least_probability=0.1, precision=0.3, confidence=0.9, order=order
    )

    def shortfall(n):
        return 8 * 0.9**n + tails * math.exp(log_chernoff_tail(n, 0.1, 0.3 * share))

    assert shortfall(planned.num_samples) <= 0.1 < shortfall(planned.num_samples - 1)


@pytest.mark.parametrize(
    ("num_inputs", "num_outputs", "precision", "confidence"),
    [(2, 10_000, 1.0, 0.5), (200, 200, 0.5, 0.95)],
)
def test_finite_outputs_hold_where_many_counts_could_be_the_largest(
    num_inputs, num_outputs, precision, confidence
):
    """All inputs alike, so that the truth is 0 and every ratio of counts is a chance to miss it.

    With samples for four counts, as published, all and two thirds of the runs would miss it.
    """
    planned = plan_finite(
        num_outputs=num_outputs,
        least_probability=1 / num_outputs,
        num_inputs=num_inputs,
        precision=precision,
        confidence=confidence,
    )
    rng, misses, runs = np.random.default_rng(7), 0, 60
    for _ in range(runs):
        counts = rng.multinomial(
            planned.num_samples, np.full(num_outputs, 1 / num_outputs), size=num_inputs
        )
        logs = np.log(counts)
        misses += (logs.max(axis=0) - logs.min(axis=0)).max() > planned.precision
    # For 1e-5 of all seeds, more runs miss, even if each run misses as often as allowed.
    assert misses <= binom.ppf(1 - 1e-5, runs, 1 - confidence)


def test_a_bound_that_is_none_is_refused():
    with pytest.raises(ValueError, match="bound 'none' is not known"):
        plan(lipschitz=1.0, precision=0.5, confidence=0.9, bound="none")


def test_the_published_bound_is_refused_for_finite_outputs():
    with pytest.raises(ValueError, match="bound must be 'all-intervals' for finitely many"):
        plan_finite(
            num_outputs=2,
            least_probability=0.3,
            precision=0.5,
            confidence=0.9,
            bound="published",
        )


def test_plan_says_what_it_costs():
    planned = plan(lipschitz=1.0, precision=0.5, confidence=0.8, inputs=4)
    assert planned.total_samples == 4 * planned.num_samples
    assert planned.seconds(1e6) == pytest.approx(planned.total_samples / 1e6)
    row = json.loads(json.dumps(planned.to_dict()))
    assert row["num_inputs"] == 4
    assert row["num_samples"] == planned.num_samples
    assert row["assumption"]["lipschitz"] == 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        planned.num_samples = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"lipschitz": 2.0}, r"lipschitz must be below 2 / width\^2 = 2, but was 2.0"),
        ({"width": 2.0}, r"lipschitz must be below 2 / width\^2 = 0.5"),
        ({"lipschitz": 0.0}, "lipschitz must be a number > 0"),
        ({"precision": 0.0}, "precision must be a number > 0"),
        ({"precision": math.nan}, "precision must be a number > 0"),
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1"),
        ({"order": 1.0}, "order must be a number > 1"),
        ({"order": 1e5}, "order must be small enough that"),
        ({"bound": "publishd"}, "did you mean 'published'"),
        ({"inputs": 1}, "inputs must be an integer >= 2"),
        ({"max_samples": 1000}, "more than max_samples = 1000 draws"),
        ({"precision": 1e-9}, "more than max_samples"),
        ({"num_samples": 100}, "exactly two of precision, confidence and num_samples"),
        ({"precision": None}, "must be given, but one was given"),
        ({"confidence": None, "num_samples": 3}, "num_samples 3 is too small for a confidence"),
        ({"precision": None, "num_samples": 1}, "num_samples 1 is too small to reach even"),
    ],
)
def test_refusals_name_argument_value_and_what_is_accepted(changed, message):
    asked = {"lipschitz": 1.0, "precision": 0.5, "confidence": 0.8, **changed}
    with pytest.raises(ValueError, match=message):
        plan(**asked)


@pytest.mark.parametrize("given", range(8))
def test_exactly_two_of_three_numbers_make_the_third(given):
    numbers = {"precision": 0.5, "confidence": 0.8, "num_samples": 100_000}
    asked = {name: value for i, (name, value) in enumerate(numbers.items()) if given >> i & 1}
    if len(asked) != 2:
        with pytest.raises(ValueError, match="exactly two of precision, confidence and num_samp"):
            plan(lipschitz=1.0, **asked)
        return
    found = plan(lipschitz=1.0, **asked)
    assert {name: getattr(found, name) for name in asked} == asked
    # The three numbers belong together: any two of them give the third one, or a better one.
    again = plan(lipschitz=1.0, precision=found.precision, num_samples=found.num_samples)
    assert again.confidence >= found.confidence - 1e-9


def test_types_are_refused():
    with pytest.raises(ValueError, match="input_lipschitz must be a number > 0"):
        InputInterval(width=1.0, lipschitz=0.0)
    with pytest.raises(TypeError, match="inputs must be an integer >= 2"):
        plan(lipschitz=1.0, precision=0.5, confidence=0.8, inputs=(0.0, 1.0))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="lipschitz must be a number > 0"):
        plan(lipschitz="1", precision=0.5, confidence=0.8)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="num_samples must be an integer"):
        plan(lipschitz=1.0, precision=0.5, num_samples=1e6)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="least_probability must be at most 1 / num_outputs"):
        plan_finite(num_outputs=4, least_probability=0.3, precision=0.1, confidence=0.9)


@pytest.mark.parametrize(
    ("changed", "kind", "name"),
    [
        ({"num_outputs": 1}, ValueError, "num_outputs"),
        ({"num_outputs": 2.5}, TypeError, "num_outputs"),
        ({"num_inputs": 1}, ValueError, "num_inputs"),
        ({"least_probability": 0.0}, ValueError, "least_probability must be a number > 0"),
        ({"least_probability": -0.1}, ValueError, "least_probability must be a number > 0"),
        ({"least_probability": math.nan}, ValueError, "least_probability"),
        ({"least_probability": None}, TypeError, "least_probability .* but was not given"),
        ({"least_probability": "1"}, TypeError, "least_probability"),
        ({"least_probability": 0.51}, ValueError, "must be at most 1 / num_outputs = 0.5"),
    ],
)
def test_finite_outputs_that_are_none_are_refused(changed, kind, name):
    right = {"num_outputs": 2, "least_probability": 0.5, "num_inputs": 2}
    assert FiniteOutputs(**right).layout(0.5, None).num_intervals == 2
    with pytest.raises(kind, match=name):
        FiniteOutputs(**(right | changed))


def test_one_input_is_nothing_to_compare():
    asked = {"lipschitz": 1.0, "precision": 0.5, "confidence": 0.8}
    with pytest.raises(ValueError, match="inputs must be an integer >= 2"):
        plan(**asked, inputs=1)
    assert plan(**asked, inputs=3).num_samples > plan(**asked, inputs=2).num_samples


@pytest.mark.parametrize(("order", "share"), [(None, 1 / 2), (2.0, 1 / 3), (11.0, 10 / 21)])
def test_the_precision_of_finite_outputs_goes_to_their_counts(order, share):
    """Two counts of a log-ratio, or 2 alpha - 1 over alpha - 1 of a divergence; no other error."""
    layout = FiniteOutputs(2, 0.5).layout(0.3, order)
    assert layout.deviation == layout.enough == pytest.approx(0.3 * share)
