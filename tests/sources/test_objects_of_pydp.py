"""PyDP objects: dpjax reads their claims and compares them with their outputs."""

import pytest

import dpjax
from dpjax import Epsilon, LibraryMechanism
from dpjax.sources import as_source

pytest.importorskip("pydp", reason="there are no wheels for this platform")
from pydp.algorithms import laplacian, numerical_mechanisms

CONFIDENCE = 1 - 1e-6
"""These draws cannot be seeded, so a correct mechanism may fail once in a million runs."""

SAFE = dpjax.Events(num_samples=5000, num_confirm=5000)
BOUNDS = {"lower_bound": 0, "upper_bound": 10}


def alone(subject):
    """Return the source without a time limit, which would make draws depend on the machine."""
    return LibraryMechanism(subject, time_limit=None)


def test_claims_and_neighbors_are_those_of_the_object():
    count = as_source(laplacian.Count(epsilon=0.5, linf_sensitivity=2, dtype="int"))
    assert count.stated == (Epsilon(), 0.5) and count.name == "PyDP Count"
    assert {abs(len(x) - len(y)) for x, y in count.usual_pairs} <= {0, 1, 2}
    values = [value for pair in count.usual_pairs for side in pair for value in side]
    assert all(isinstance(v, int) and -(2**31) <= v < 2**31 for v in values)
    noise = numerical_mechanisms.GaussianMechanism(epsilon=1.0, delta=1e-3, sensitivity=2.0)
    assert as_source(noise).stated == (Epsilon(1e-3), 1.0)
    assert max(abs(x - y) for x, y in as_source(noise).usual_pairs) == 2.0
    half = LibraryMechanism(noise, d_in=0.5)
    assert max(abs(x - y) for x, y in half.usual_pairs) == 0.5
    # A percentile has no limit on the number of records per user.
    median = laplacian.Percentile(epsilon=1.0, percentile=0.5, dtype="float", **BOUNDS)
    assert {abs(len(x) - len(y)) for x, y in as_source(median).usual_pairs} == {1}


@pytest.mark.parametrize(
    ("make", "pair"),
    [
        (lambda: laplacian.Count(epsilon=1.0, dtype="int"), ([0], [0, 0])),
        (lambda: laplacian.BoundedSum(epsilon=1.0, dtype="int", **BOUNDS), ([0], [0, 10])),
        (lambda: numerical_mechanisms.LaplaceMechanism(epsilon=1.0, sensitivity=2.0), (0.0, 2.0)),
    ],
)
def test_right_objects_are_not_refuted_and_a_third_of_their_claim_is(make, pair):
    """Laplace noise of level 1: in 200 audits of each object, bounds are above 2/3."""
    result = dpjax.audit(alone(make()), [pair], method=SAFE, confidence=CONFIDENCE)
    assert result.verdict == "not refuted" and result.claim == 1.0
    assert 1 / 3 < result.lower_bound <= 1


def test_floating_point_noise_is_refuted():
    noise = numerical_mechanisms.GaussianMechanism(epsilon=1.0, delta=1e-3, sensitivity=1.0)
    result = dpjax.audit(alone(noise), [(0.0, 1.0)], method=SAFE, confidence=CONFIDENCE)
    assert result.verdict == "violated" and result.lower_bound > 2


@pytest.mark.slow
def test_results_are_run_again_from_their_recipe():
    noise = numerical_mechanisms.LaplaceMechanism(epsilon=1.0, sensitivity=1.0)
    result = dpjax.audit(noise, [(0.0, 1.0)], method=SAFE)
    again = dpjax.rerun(result.from_json(result.to_json()), allow_import=["pydp"])
    assert (again.claim, again.mechanism) == (result.claim, result.mechanism)
    with pytest.raises(ValueError, match=r"allow_import=.'pydp'."):
        dpjax.rerun(result)


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        (laplacian.Count, "must be an instance, but was the class Count"),
        (
            numerical_mechanisms.ConfidenceInterval,
            "must be an instance, but was the class Confidence",
        ),
    ],
)
def test_refusals(subject, message):
    with pytest.raises(TypeError, match=message):
        dpjax.audit(subject)
