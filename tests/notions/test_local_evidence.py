"""Counts at the witness of a local search: bounds by hand, descriptions, and files."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax.inference import KernelSums, binomial_lower_bound
from dpjax.notions import RepeatedRuns, Terms, evidence_from_plain
from dpjax.notions.evidence._local import LocalSums


def category(densities=(0.5, 0.2), events=(520, 180), floor=0.01, size=1000):
    return LocalSums(np.array(densities), np.array(floor), np.array(events), None, size)


def kernel(total=(60.0, 20.0), squares=(30.0, 9.0)):
    """Return a kernel in one dimension with maximum 0.75, bandwidth 0.4 and 500 draws."""
    sums = KernelSums([*total], [*squares], 0.4, 0.75, 0.6, 1)
    return LocalSums(np.array([0.2, 0.5]), np.array(0.01), np.array([70, 25]), sums, 500)


def test_a_category_has_a_normal_bound():
    found = category()
    for sure in (0.8, 0.95):
        stated = found.state(dpjax.Epsilon(), sure)
        error = math.sqrt(0.48 / 520 + 0.82 / 180)
        assert stated.basis == "normal"
        assert stated.standard_error == pytest.approx(error)
        assert stated.estimate == pytest.approx(math.log(52 / 18))
        assert stated.lower_bound == pytest.approx(math.log(52 / 18) - stats.norm.ppf(sure) * error)
    # The direction is that of the search, and a bound is at least 0.
    other = category((0.2, 0.5)).state(dpjax.Epsilon(), 0.95)
    assert other.lower_bound == 0 and other.estimate == pytest.approx(math.log(52 / 18))
    claimed = found.state(dpjax.Epsilon(), 0.95, claim=0.9)
    assert claimed.smallest_error == pytest.approx(
        stats.norm.sf((math.log(52 / 18) - 0.9) / error), rel=0.02
    )


@pytest.mark.parametrize(
    ("densities", "size", "is_exact"),
    [((0.5, 0.025), 1000, False), ((0.5, 0.0249), 1000, True), ((0.5, 0.01), 9000, True),
     ((0.5, 0.0101), 9000, False), ((0.976, 0.5), 1000, True), ((0.974, 0.5), 1000, False)],
)  # fmt: skip
def test_a_rare_category_has_an_exact_bound(densities, size, is_exact):
    events = np.round(np.array(densities) * size).astype(int)
    stated = category(densities, events, size=size).state(dpjax.Epsilon(), 0.9)
    assert stated.basis == ("exact binomial" if is_exact else "normal")
    assert (stated.standard_error is None) == is_exact
    exact = float(binomial_lower_bound(*events, size, 0.9))
    assert (stated.lower_bound == pytest.approx(exact, rel=1e-9)) == is_exact


def test_without_draws_on_one_side_the_estimate_is_infinite():
    stated = category(events=(300, 0), floor=0.0).state(dpjax.Epsilon(), 0.95)
    assert (stated.estimate, stated.standard_error, stated.lower_bound) == (None, None, 0)


def test_densities_are_sums_of_a_kernel():
    found = kernel()
    bounds = found.bounds(0.9)
    np.testing.assert_allclose(bounds.densities, np.array([60.0, 20.0]) * 0.75 / (500 * 0.4))
    stated = found.state(dpjax.Epsilon(), 0.9)
    assert stated.estimate == pytest.approx(math.log(3))
    # In the search, the neighbor's density was larger.
    assert stated.lower_bound == 0 and stated.basis == "normal"
    right = replace(found, search_densities=found.search_densities[::-1])
    one = right.state(dpjax.Epsilon(), 0.9)
    z = stats.norm.ppf(0.9)
    assert one.lower_bound == pytest.approx(math.log(3) - z * one.standard_error)
    # The variance of kernel values follows from their mean square.
    variances = [s / t**2 - 1 / 500 for t, s in ((60, 30), (20, 9))]
    assert one.standard_error >= math.sqrt(sum(variances)) * (1 - 1e-9)


@pytest.mark.parametrize("floor", [0.01, 0.1999, 0.2, 0.3])
def test_an_estimate_at_the_floor_is_not_shown(floor):
    found = category(floor=floor)
    stated = found.state(dpjax.Epsilon(), 0.95)
    bound, estimate = found.rows(stated, "sure")
    assert bound == ("lower bound", f"{stated.lower_bound:.4f}, sure ({stated.basis})")
    # Counts are raised to the floor.
    exact = math.log(0.52 / max(0.18, floor))
    shown = f"{exact:.4f} (standard error {stated.standard_error or 0:.4f})"
    expected = shown if floor < 0.2 else "none because a density is at the floor"
    assert estimate == ("estimate", expected)
    assert found.table(stated, "sure")[1] == ("Estimate at the witness", f"{exact:.4f}")


@pytest.mark.parametrize("found", [category(), kernel(), category((0.5, 0.01))])
def test_what_is_kept_comes_back(found):
    plain = json.loads(json.dumps(found.to_plain()))
    again = evidence_from_plain(plain)
    assert again == found and again.events.dtype == np.int64
    assert again.search_densities.dtype == again.floor.dtype == np.float64
    assert again.state(dpjax.Epsilon(), 0.9) == found.state(dpjax.Epsilon(), 0.9)
    for changed in ({"events": [1, found.num_confirm + 1]}, {"events": [-1, 3]},
                    {"num_confirm": 0}):  # fmt: skip
        with pytest.raises(ValueError):
            evidence_from_plain(plain | changed)


def test_other_notions_need_counts_of_events():
    for notion in (dpjax.Gdp(), dpjax.Epsilon(0.1)):
        with pytest.raises(ValueError, match=f"so it cannot bound {notion.symbol}: use"):
            category().answer(notion, 0.9, 1, None)


@pytest.mark.parametrize(
    ("nats", "outputs", "is_fine"),
    [(0.5, 1, True), (1e-9, 3, True), (0.0, 3, False), (2.0, 0, False)],
)
def test_repeated_runs_have_a_positive_number_of_outputs(nats, outputs, is_fine):
    plain = RepeatedRuns("batches", outputs, nats).to_plain()
    if is_fine:
        assert evidence_from_plain(plain).to_plain() == plain
        return
    with pytest.raises(ValueError, match="outputs and nats above 0"):
        evidence_from_plain(plain)


def test_repeated_runs_in_words():
    found = RepeatedRuns("batches", 1234, 23.1)
    stated = found.state(dpjax.Epsilon(), 0.9)
    assert found.rows(stated, "sure") == [
        ("repeated", "the first 1234 outputs of two batches, in the same order"),
        ("chance", "below 1e-10 for independent draws"),
    ]
    assert found.table(stated, "sure") == [
        ("Outputs that two batches have in common", "1,234"),
        ("Bound on the probability that independent draws repeat so many outputs", "1e-10"),
    ]


def test_terms_are_equal_whatever_is_kept_for_them_and_have_the_layout_that_was_given():
    execution = dpjax.Execution(runs_at_once=3)
    terms = Terms(dpjax.Epsilon(), 1.0, 0.9, 1, 0, execution=execution)
    assert terms.layout is execution
    assert Terms(dpjax.Epsilon(), 1.0, 0.9, 1, 0).layout == dpjax.Execution()
    assert Terms(dpjax.Epsilon(), None, 0.1, 1, 0).own_confidence == 0.1
    other = replace(terms, kept={"a": 1})
    assert other == terms and "kept" not in repr(other)
    assert terms.plain_claim == terms.level == 1.0
    curve = Terms(dpjax.Profile(), [(1.0, 0.25), (0.5, 0.5)], 0.9, 1, 0)
    assert curve.plain_claim == [[0.5, 0.5], [1.0, 0.25]]
    assert Terms(dpjax.Epsilon(), None, 0.9, 1, 0).level is None
