"""Layouts and union bounds of histogram plans by their formulas, and descriptions of plans."""

import math
from dataclasses import asdict

import pytest
from scipy import stats

from dpjax.inference import FiniteOutputs, InputInterval, LipschitzOutputs, plan, plan_finite
from dpjax.inference._assumptions import _whole
from dpjax.inference._chernoff import UnionBound, log_chernoff_tail

ORDERS = [None, 1.5, 4.0]


@pytest.mark.parametrize("inputs", [2, 5, InputInterval(width=1.5, lipschitz=2.0)])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("width", [1.0, 0.5])
def test_layouts_of_densities(width, order, inputs):
    """Algorithms 1 to 4, with K and K' as in the paper."""
    outputs, gamma = LipschitzOutputs(1.3, width, inputs), 0.7
    tau, tau_1 = 1 / width - 1.3 * width / 2, 1 / width + 1.3 * width / 2
    assert (outputs.lower_density, outputs.upper_density) == pytest.approx((tau, tau_1))
    is_interval = isinstance(inputs, InputInterval)
    of_pair = gamma / 3 if is_interval else gamma
    if order is None:
        number, deviation, enough = 6 * 1.3 * width / tau / of_pair, of_pair / 12, of_pair / 3
        scale = 3.0
    else:
        big, small = 2 * tau_1**order / tau ** (order - 1), tau**order / tau_1 ** (order - 1)
        loss = big / (2 * small) * (2 * order - 1) / (order - 1)
        number = 2 * 1.3 * width / tau * loss / of_pair
        deviation = enough = min(of_pair / (4 * loss), math.log(2) / (2 * order - 1))
        scale = 3 * loss
    found = outputs.layout(gamma, order)
    assert found.num_intervals == math.ceil(number)
    assert (found.deviation, found.enough) == pytest.approx((deviation, enough))
    assert found.least_probability == pytest.approx(width / math.ceil(number) * tau)
    expected = math.ceil(scale * 3.0 / (tau * gamma)) if is_interval else inputs
    assert found.num_inputs == expected
    assert found.all_pairs is (is_interval or inputs > 2)
    assert found.all_counts_used is (order is not None)
    # Two counts of each of m intervals, or all counts of k inputs; two tails, except for Renyi.
    m = found.num_intervals
    published, whole = found.published(), found.all_intervals()
    assert published == UnionBound(found.least_probability, found.deviation, 2 * m,
                                   4 if order is None else 2 * m)  # fmt: skip
    counts = expected * m
    assert whole == UnionBound(found.least_probability, found.enough, counts,
                               2 * counts if order is None else counts)  # fmt: skip


def test_an_interval_of_inputs_has_at_least_two_midpoints():
    outputs = LipschitzOutputs(0.1, 1.0, InputInterval(width=0.01, lipschitz=0.1))
    assert outputs.layout(3.0, None).num_inputs == 2
    # The limit of the tolerance for large losses of precision.
    assert LipschitzOutputs(0.01).layout(50.0, 2.0).deviation == pytest.approx(math.log(2) / 3)


@pytest.mark.parametrize(
    ("value", "whole"),
    [(6 / (0.6 / 3), 30), (30.0, 30), (30 + 1e-10, 30 + (30 * 1e-12 < 1e-10)), (29.5, 30),
     (30.001, 31), (0.2, 1)],
)  # fmt: skip
def test_rounding_up_forgives_floating_point(value, whole):
    assert _whole(value) == whole


def test_orders_are_limited_by_what_a_float_holds():
    outputs = LipschitzOutputs(1.0)
    # ln(3) (2 a - 1) = 600.
    most = (600 / math.log(3) + 1) / 2
    assert outputs.layout(0.5, most * 0.999).num_intervals > 10**200
    with pytest.raises(ValueError, match=r"does not overflow, but was .* tau_1 / tau = 3"):
        outputs.layout(0.5, most * 1.001)


@pytest.mark.parametrize(("n", "p", "z"), [(50, 0.1, 0.5), (700, 0.02, 0.3), (9, 0.5, 1.2)])
def test_tails_are_above_those_of_the_binomial_law(n, p, z):
    """Lemma 2, by its formula and by exact summation."""
    above = -n * p * (math.exp(z) - 1) ** 2 / (1 + math.exp(z))
    below = -n * p * (1 - math.exp(-z)) ** 2 / 2
    seen = 1 - (1 - p) ** n
    expected = (math.exp(above) + math.exp(below)) / seen
    assert math.exp(log_chernoff_tail(n, p, z)) == pytest.approx(expected)
    law = stats.binom(n, p)
    far = sum(law.pmf(k) for k in range(1, n + 1) if abs(math.log(k / (n * p))) >= z)
    assert far / seen <= expected
    union = UnionBound(p, z, 3, 7)
    assert union.shortfall(n) == pytest.approx(3 * (1 - p) ** n + 7 * expected)


@pytest.mark.parametrize("allowed", [0.3, 0.01])
@pytest.mark.parametrize("p", [0.3, 0.01])
def test_the_smallest_number_of_samples(p, allowed):
    union = UnionBound(p, 0.4, 4, 6)
    found = union.smallest_num_samples(allowed, 10**9)
    assert union.shortfall(found) <= allowed < union.shortfall(found - 1)
    assert union.smallest_num_samples(allowed, found) == found
    assert union.smallest_num_samples(allowed, found + 1) == found
    assert union.smallest_num_samples(allowed, found - 1) is None
    assert UnionBound(0.999999, 50.0, 1, 1).smallest_num_samples(2.5, 10) == 1
    assert UnionBound(1e-9, 1e-9, 1, 1).shortfall(1) > 1e8


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("order", [None, 2.0])
def test_plans_in_words(finite, order):
    if finite:
        planned = plan_finite(num_outputs=30, least_probability=0.02, precision=0.25,
                              confidence=0.9, order=order, num_inputs=3)  # fmt: skip
    else:
        planned = plan(lipschitz=1.0, precision=0.25, confidence=0.9, order=order, inputs=3)
    n, m = planned.num_samples, planned.num_intervals
    rows = [
        ("estimate of", "LDP epsilon" if order is None else "Renyi level of order 2"),
        ("precision", "0.25"), ("confidence", "0.9"),
        ("outputs" if finite else "intervals", str(m)), ("inputs", "3"),
        ("samples per input", f"{n:,}"), ("samples in total", f"{3 * n:,}"),
        ("union bound", "all-intervals"),
    ]  # fmt: skip
    assert planned.rows() == rows
    assert str(planned) == "\n".join(f"{name:17}  {value}" for name, value in rows)
    html = planned._repr_html_()
    assert "Plan of a histogram estimate" in html and all(value in html for _, value in rows)
    plain = planned.to_dict()
    assert plain.pop("assumption") == asdict(planned.assumption)
    assert plain == {
        "num_intervals": m, "num_samples": n, "num_inputs": 3, "precision": 0.25,
        "confidence": 0.9, "order": order, "bound": "all-intervals", "total_samples": 3 * n,
    }  # fmt: skip
    least = planned.assumption.layout(0.25, order).least_probability
    assert planned.least_probability == least
    assert planned.seconds(7.0) == pytest.approx(3 * n / 7)
    with pytest.raises(ValueError, match="draws_per_second"):
        planned.seconds(0.0)


def test_the_finest_precision_is_searched_up_to_100_nats():
    """A precision of 64 nats is tried last; all precisions need counts that are not 0."""
    coarse = plan_finite(num_outputs=2, least_probability=0.4, num_samples=30, confidence=0.5)
    assert 0.5 < coarse.precision < 100
    finer = plan_finite(num_outputs=2, least_probability=0.4, precision=coarse.precision,
                        num_samples=30)  # fmt: skip
    assert finer.confidence == pytest.approx(0.5, abs=1e-6) and finer.confidence >= 0.5
    with pytest.raises(
        ValueError, match="too small to reach even the coarsest supported precision, 100, with"
    ):
        plan_finite(num_outputs=2, least_probability=0.4, num_samples=5, confidence=0.9)


@pytest.mark.parametrize(
    ("order", "num_inputs", "is_valid"), [(2.0, 2, True), (None, 2, False), (2.0, 3, False)]
)
def test_the_published_bound_holds_for_finite_outputs_of_one_pair_and_renyi(
    order, num_inputs, is_valid
):
    asked = {"num_outputs": 4, "least_probability": 0.1, "precision": 0.5, "confidence": 0.9,
             "order": order, "num_inputs": num_inputs}  # fmt: skip
    whole = plan_finite(**asked)
    if not is_valid:
        with pytest.raises(ValueError, match="covers only four counts"):
            plan_finite(**asked, bound="published")
        return
    found = plan_finite(**asked, bound="published")
    assert found.num_samples == whole.num_samples and found.bound == "published"


def test_probabilities_of_finite_outputs_may_be_all_equal():
    for number in (3, 7, 10):
        assert FiniteOutputs(number, 1 / number).least_probability == 1 / number
        with pytest.raises(ValueError, match="must be at most 1 / num_outputs"):
            FiniteOutputs(number, 1 / number * (1 + 1e-9))


@pytest.mark.parametrize(("precision", "confidence"), [(0.5, 0.8), (0.05, 0.999), (3.0, 0.3)])
@pytest.mark.parametrize("bound", ["published", "all-intervals"])
def test_the_confidence_of_all_pairs_is_a_product_for_the_published_bound(
    bound, precision, confidence
):
    asked = {"lipschitz": 0.9, "inputs": 4, "bound": bound}
    planned = plan(**asked, precision=precision, confidence=confidence)
    layout = planned.assumption.layout(precision, None)
    union = layout.published() if bound == "published" else layout.all_intervals()
    of_pair = 1 - union.shortfall(planned.num_samples)
    expected = of_pair**2 if bound == "published" else of_pair
    again = plan(**asked, precision=precision, num_samples=planned.num_samples)
    assert again.confidence == pytest.approx(expected, abs=1e-12) and expected >= confidence
    few = 1 - union.shortfall(planned.num_samples - 1)
    assert (few**2 if bound == "published" else few) < confidence


def test_precisions_whose_exponentials_overflow():
    """From e^(precision / 12) = e^83 on, the tail bounds do not change in float64."""
    plans = [plan(lipschitz=1.0, precision=p, confidence=0.9) for p in (1e3, 1e5, 1e300)]
    assert len({found.num_samples for found in plans}) == 1


def test_densities_that_are_almost_constant():
    """For C near 0, the probability 1 - C / 2 of the only interval is rounded to 1."""
    sizes = {plan(lipschitz=c, precision=0.5, confidence=0.9).num_samples for c in (1e-9, 1e-300)}
    assert len(sizes) == 1


def test_widths_whose_squares_are_no_float64_numbers_are_refused():
    for width in (1e-300, 1e300):
        with pytest.raises(ValueError, match=r"^width must be a number from 1e-100 to 1e\+100"):
            plan(lipschitz=1e-5, width=width, precision=0.5, confidence=0.9)
