"""The front door of the histogram estimators: verdicts, assumptions, failures, refusals."""

import json

import jax
import numpy as np
import pytest

from dpjax import HistogramAudit, audit_histogram
from dpjax.mechanisms import Laplace, RandomizedResponse, TruncatedLaplace
from dpjax.reference import ExactTruncatedLaplace

LAW = ExactTruncatedLaplace(2.0)


def test_standard_pair_of_a_built_in_mechanism():
    found = audit_histogram(TruncatedLaplace(2.0), lipschitz=LAW.lipschitz, claim=0.5)
    assert found.status == "OK"
    assert found.lower_bound <= LAW.epsilon <= found.upper_bound
    assert found.precision == 0.5
    assert found.verdict == "not refuted"
    assert found.witness == [0.0, 1.0]
    assert found.safety_p_value == 1.0
    assert "cannot rule out" in found.blind_spot
    assert HistogramAudit.from_json(found.to_json()).to_dict() == found.to_dict()
    assert found.row()["mechanism"] == "truncated-laplace"
    row = json.loads(found.to_json())
    assert row["seed"] == 0 and row["parameters"] == {"scale": 2.0}
    assert row["settings"]["inputs"] == [0.0, 1.0]
    assert row["settings"]["output_interval"] == [0.0, 1.0]
    assert row["plan"]["num_intervals"] == 12
    assert "not refuted".upper() in str(found)


def test_what_is_no_result_is_refused():
    with pytest.raises(ValueError, match="not a histogram audit"):
        HistogramAudit.from_json("{}")


def test_the_confidence_of_a_precision_and_a_number_of_samples():
    found = audit_histogram(
        TruncatedLaplace(2.0),
        lipschitz=LAW.lipschitz,
        precision=0.5,
        num_samples=10_000,
        confidence=None,
    )
    assert 0.8 < found.confidence < 1


def test_all_inputs_of_an_interval_and_a_false_claim():
    found = audit_histogram(
        TruncatedLaplace(2.0),
        lipschitz=LAW.lipschitz,
        input_interval=(0.0, 1.0),
        input_lipschitz=LAW.input_lipschitz,
        precision=0.4,
        confidence=0.9,
        claim=0.05,
    )
    assert found.num_pairs == found.plan["num_inputs"] * (found.plan["num_inputs"] - 1) // 2
    assert found.lower_bound > 0.05
    assert found.verdict == "violated"
    assert "the claim or the assumption is false" in found.sentence


def test_renyi_and_finite_outputs_of_a_function():
    renyi = audit_histogram(
        TruncatedLaplace(3.0),
        lipschitz=ExactTruncatedLaplace(3.0).lipschitz,
        order=2.0,
        num_samples=500_000,
    )
    exact = ExactTruncatedLaplace(3.0).pair_renyi(0, 1, 2)
    assert renyi.lower_bound <= exact <= renyi.upper_bound

    def coin(key, x):
        return jax.random.bernoulli(key, 0.3 + 0.3 * x).astype(int)

    found = audit_histogram(
        coin, inputs=[0.0, 1.0], num_outcomes=2, least_probability=0.2, precision=0.1
    )
    assert found.lower_bound <= np.log(2) <= found.upper_bound
    assert found.safety_p_value is None
    whole = audit_histogram(RandomizedResponse(1.0, 3), least_probability=0.15, precision=0.2)
    assert whole.num_pairs == 3
    assert whole.lower_bound <= 1.0 <= whole.upper_bound


def test_an_assumption_that_the_counts_contradict_is_said():
    found = audit_histogram(
        TruncatedLaplace(0.3), lipschitz=0.3, precision=0.3, confidence=0.9, claim=0.5
    )
    assert found.safety_p_value <= 0.05
    assert found.verdict == "assumption refuted"
    assert "contradict the assumption that every density" in found.sentence


def test_a_failed_run_has_no_number():
    found = audit_histogram(
        RandomizedResponse(30.0, 2), least_probability=0.2, precision=0.5, claim=1.0
    )
    assert found.status == "EMPTY_INTERVAL"
    assert found.estimate is None and found.lower_bound is None and found.witness is None
    assert found.num_failed == 1
    assert "received no sample" in found.sentence
    assert json.loads(found.to_json())["estimate"] is None


@pytest.mark.parametrize(
    ("mechanism", "given", "message"),
    [
        (TruncatedLaplace(1.0), {}, "lipschitz must be given"),
        (RandomizedResponse(1.0), {}, "least_probability must be given"),
        (RandomizedResponse(1.0), {"least_probability": 0.1, "lipschitz": 1.0}, "has 2 outputs"),
        (TruncatedLaplace(2.0), {"lipschitz": 1.0, "least_probability": 0.1}, "finitely many"),
        (Laplace(1.0), {"lipschitz": 1.0}, "output_interval must be given"),
        (lambda key, x: x, {"lipschitz": 1.0}, r"inputs \(or input_interval\) must be given"),
        (
            TruncatedLaplace(1.0),
            {"lipschitz": 1.0, "inputs": [0, 1], "input_interval": (0, 1)},
            "inputs and input_interval are not accepted together",
        ),
        (
            TruncatedLaplace(1.0),
            {"lipschitz": 1.0, "input_interval": (0, 1)},
            "input_lipschitz and input_width are given together",
        ),
        (TruncatedLaplace(1.0), {"lipschitz": 1.0, "claim": -1.0}, "claim must be a number > 0"),
    ],
)
def test_refusals(mechanism, given, message):
    with pytest.raises(ValueError, match=message):
        audit_histogram(mechanism, **given)
