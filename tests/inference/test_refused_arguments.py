"""Error messages of functions of inference that name the only wrong argument."""

import math

import numpy as np
import pytest

from dpjax.inference import (
    attack_roc,
    blind_spot,
    normal_lower_bound,
    plan,
    plan_finite,
    plan_safety,
    start,
    step,
)
from dpjax.inference._assumptions import check_order
from dpjax.inference._wealth import recounted

PLAN = plan(lipschitz=0.8, width=1.5, precision=1.0, confidence=0.8)
ROC = attack_roc([1.0, 3.0], [0.0, 2.0])
STATE = step(start(1, 2, 0.05), np.array([[6, 4]]), np.array([[3, 7]]))

REFUSED = {
    "order of a Renyi level, infinite": (lambda: check_order(math.inf), "order must be"),
    "order of a Renyi level, NaN": (lambda: check_order(math.nan), "order must be"),
    "order of a Renyi level, 1": (lambda: check_order(1.0), "order must be a number > 1"),
    "confidence": (lambda: normal_lower_bound(1.0, 0.1, 1.0), "confidence must"),
    "one confidence of two": (
        lambda: normal_lower_bound([1.0, 1.0], 0.1, np.array([0.9, 0.0])),
        "confidence must",
    ),
    "draws per second": (lambda: PLAN.seconds(0.0), "draws_per_second must be"),
    "largest number of samples": (
        lambda: plan_finite(
            num_outputs=3, least_probability=0.1, precision=0.5, confidence=0.9, max_samples=0
        ),
        "max_samples must be an integer >= 1",
    ),
    "rates above 1": (lambda: ROC.true_positive_at([0.5, 1.5]), "false_positive must"),
    "rates below 0": (lambda: ROC.true_positive_at(-0.1), "false_positive must"),
    "excess": (lambda: plan_safety(PLAN, probability=0.9, excess=-2.0), "excess must be"),
    "excess of 1": (
        lambda: plan_safety(PLAN, probability=0.9, excess=1.0),
        "excess must be a number > 1",
    ),
    "beta": (lambda: plan_safety(PLAN, probability=0.9, beta=1.0), "beta must lie strictly"),
    "unit of the blind spot": (lambda: blind_spot(10, "rows"), "'rows' is not known"),
    "recounted draws below 0": (lambda: recounted(STATE, [[11, -1]], [[3, 7]]), "first must"),
    "recounted draws that are fewer": (
        lambda: recounted(STATE, [[5, 4]], [[3, 7]]),
        "as many draws as the state",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_a_recount_keeps_all_but_the_cells():
    again = recounted(STATE, [[2, 4, 4]], [[3, 0, 7]])
    assert again.draws.tolist() == STATE.draws.tolist()
    assert again.first.tolist() == [[2, 4, 4]] and again.second.tolist() == [[3, 0, 7]]
    np.testing.assert_array_equal(again.log_mean, STATE.log_mean)


def test_truth_values_are_no_numbers():
    with pytest.raises(TypeError, match="lipschitz must be a number > 0, but was True"):
        plan(lipschitz=True, precision=1.0, confidence=0.8)
