"""Audits with the histogram method: verdicts, assumptions, failures, and rejected inputs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax
from dpjax.mechanisms import Laplace, RandomizedResponse, TruncatedGeometric, TruncatedLaplace
from dpjax.reference import ExactTruncatedLaplace

LAW = ExactTruncatedLaplace(2.0)


def audited(mechanism, pairs=None, claim=None, confidence=0.8, **options):
    return dpjax.audit(
        mechanism, pairs, method=dpjax.Histogram(**options), claim=claim, confidence=confidence
    )


@pytest.fixture(scope="module")
def standard():
    return audited(TruncatedLaplace(2.0), lipschitz=LAW.lipschitz, claim=0.5)


def test_standard_pair_of_a_built_in_mechanism(standard):
    assert standard.lower_bound <= LAW.epsilon <= standard.upper_bound
    assert standard.verdict == "not refuted" and standard.basis == "histogram"
    assert standard.level == "LDP epsilon" and standard.num_confirm is None
    assert (standard.witness.database, standard.witness.neighbor) == (0.0, 1.0)
    assumed = standard.evidence.counted
    assert assumed.status == "OK" and assumed.p_value == 1.0
    assert (assumed.num_pairs, assumed.num_failed) == (1, 0)
    # 0.5 is the default precision.
    assert assumed.plan["precision"] == 0.5 and assumed.plan["num_intervals"] == 12
    assert standard.upper_bound == pytest.approx(standard.estimate + 0.5)
    assert standard.settings["inputs"] == [0.0, 1.0]
    assert standard.recipe["method"] == {
        "name": "histogram", "lipschitz": LAW.lipschitz, "bound": "all-intervals"
    }  # fmt: skip
    text = str(standard)
    assert "NOT REFUTED" in text and "safety check" in text and assumed.assumed in text


def test_a_plan_covers_as_many_inputs_as_are_given():
    found = audited(TruncatedLaplace(2.0), lipschitz=LAW.lipschitz, inputs=[0.0, 0.5, 1.0])
    assert found.evidence.counted.plan["num_inputs"] == 3
    assert found.evidence.counted.num_pairs == 3


def test_only_the_given_pairs_are_compared():
    """The counts 0 and 10 are not neighbors: their level is about ten times that of a pair."""
    mechanism = TruncatedGeometric(1.0, 4)
    options = {"least_probability": 0.02, "precision": 0.3}
    found = audited(mechanism, claim=mechanism.level, **options)
    assert found.evidence.counted.num_pairs == 4 and found.verdict == "not refuted"
    assert found.lower_bound <= mechanism.level <= found.upper_bound
    method = dpjax.Histogram(**options)
    some = dpjax.audit(mechanism, [(3, 2), (2, 3), (1, 1), (0, 1)], method=method)
    assert some.settings["inputs"] == [0, 1, 2, 3]
    assert sorted(label for label, _ in some.pair_scores) == ["0 and 1", "2 and 3"]
    far = audited(mechanism, inputs=[0, 4], claim=mechanism.level, **options)
    assert far.verdict == "violated"


def test_confidence_is_of_the_plan():
    both = audited(
        TruncatedLaplace(2.0), lipschitz=LAW.lipschitz, precision=0.5, num_samples=10_000
    )
    assert 0.8 < both.evidence.counted.plan["confidence"] < 1
    with pytest.raises(
        ValueError, match=r"the precision 0\.5 only with confidence .*, which is below"
    ):
        audited(
            TruncatedLaplace(2.0), lipschitz=LAW.lipschitz, precision=0.5, num_samples=10_000,
            confidence=1 - 1e-9,
        )  # fmt: skip
    few, many = (
        dpjax.audit(
            RandomizedResponse(1.0), method=dpjax.Histogram(least_probability=0.2),
            confidence=confidence, num_claims=claims,
        )
        for confidence, claims in ((0.99, 1), (0.95, 5))
    )  # fmt: skip
    assert few.num_samples == many.num_samples
    assert few.estimate == many.estimate and any("5 such bounds" in note for note in many.notes)


def test_all_inputs_of_an_interval_and_a_false_claim():
    found = audited(
        TruncatedLaplace(2.0),
        lipschitz=LAW.lipschitz,
        input_interval=(0.0, 1.0),
        input_lipschitz=LAW.input_lipschitz,
        precision=0.4,
        claim=0.05,
    )
    inputs = found.evidence.counted.plan["num_inputs"]
    assert found.evidence.counted.num_pairs == inputs * (inputs - 1) // 2
    assert found.verdict == "violated" and found.lower_bound > 0.05
    assert found.lower_bound == pytest.approx(found.estimate - 0.4)
    assert "the claim or the assumption is false" in found.sentence
    labels = [label for label, _ in found.pair_scores]
    assert found.witness.pair == labels[0] and len(labels) == found.evidence.counted.num_pairs


def test_renyi_and_finite_outputs_of_a_function():
    renyi = audited(
        TruncatedLaplace(3.0),
        lipschitz=ExactTruncatedLaplace(3.0).lipschitz,
        order=2.0,
        num_samples=500_000,
    )
    exact = ExactTruncatedLaplace(3.0).pair_renyi(0, 1, 2)
    assert renyi.lower_bound <= exact <= renyi.upper_bound
    assert renyi.level == "Renyi level of order 2"

    def coin(key, x):
        return jax.random.bernoulli(key, 0.3 + 0.3 * x).astype(int)

    found = audited(
        dpjax.from_function(coin, 0.0, num_outcomes=2),
        inputs=[0.0, 1.0],
        least_probability=0.2,
        precision=0.2,
    )
    assert found.lower_bound <= np.log(2) <= found.upper_bound
    assert found.evidence.counted.p_value == 1.0 and "rarest count" in str(found)
    whole = audited(RandomizedResponse(1.0, 3), least_probability=0.15, precision=0.2)
    assert whole.evidence.counted.num_pairs == 3
    assert whole.lower_bound <= 1.0 <= whole.upper_bound


def test_an_assumption_that_the_counts_contradict_is_said():
    found = audited(TruncatedLaplace(0.3), lipschitz=0.3, precision=0.3, confidence=0.9, claim=0.5)
    assert found.evidence.counted.p_value <= 0.05
    assert found.verdict == "assumption refuted"
    assert "contradict the assumption that every density" in found.sentence


@pytest.mark.parametrize("pairs", [[(0, 1)], [(0, 1), (1, 2)]])
def test_an_output_that_never_occurs_contradicts_its_probability(pairs):
    """The pair (1, 2) is private, and the pair (0, 1) has no finite level."""

    def draw(key, x):
        return jax.random.choice(key, 3, p=jnp.where(x == 0, jnp.array([0.5, 0.5, 0.0]), 1 / 3))

    mechanism = dpjax.from_function(draw, 0.0, num_outcomes=3)
    found = audited(mechanism, pairs, least_probability=0.2, precision=0.3, claim=0.5)
    assert found.verdict == "assumption refuted"
    assert "contradict the assumption that every output has probability at least 0.2" in (
        found.sentence
    )


def test_a_probability_that_is_too_large_is_refuted():
    """The rarest of three outputs has probability 0.047, so no level above ln(0.55 / 0.45) fits."""
    found = audited(RandomizedResponse(3.0, 2), least_probability=0.45, confidence=0.99)
    assert found.verdict == "assumption refuted"


def test_a_failed_run_has_no_number():
    found = audited(RandomizedResponse(30.0, 2), least_probability=0.2, claim=1.0, confidence=0.99)
    assumed = found.evidence.counted
    assert (assumed.status, assumed.num_failed) == ("EMPTY_INTERVAL", 1)
    assert found.estimate is None and found.upper_bound is None and found.lower_bound == 0
    assert found.verdict == "assumption refuted" and found.pair_scores == ()
    assert "estimate     none" in str(found)
    assert found.row()["estimate"] is None


BOTH = {"lipschitz": 1.0, "inputs": [0, 1], "input_interval": (0, 1)}
WIDE = {"lipschitz": 1.0, "input_interval": (0, 1)}
SMOOTH = {"lipschitz": 1.0}


@pytest.mark.parametrize(
    ("mechanism", "given", "message"),
    [
        (TruncatedLaplace(1.0), {}, "lipschitz must be given"),
        (RandomizedResponse(1.0), {}, "least_probability must be given"),
        (RandomizedResponse(1.0), {"least_probability": 0.1, "lipschitz": 1.0}, "has 2 outputs"),
        (
            RandomizedResponse(1.0),
            {"least_probability": 0.1, "input_interval": (0, 1)},
            "input_interval is not accepted for finitely many outputs",
        ),
        (TruncatedLaplace(2.0), {**SMOOTH, "least_probability": 0.1}, "finitely many"),
        (Laplace(1.0), SMOOTH, "output_interval must be given"),
        (lambda key, x: x, SMOOTH, "pairs, inputs or input_interval must be given for a mech"),
        (TruncatedLaplace(1.0), BOTH, "only one of pairs, inputs and input_interval is accepted"),
        (TruncatedLaplace(1.0), WIDE, "input_lipschitz and input_interval must be given"),
        (TruncatedLaplace(1.0), {**SMOOTH, "claim": -1.0}, "claim must be a number >= 0"),
        (TruncatedLaplace(1.0), {**SMOOTH, "bound": "publishd"}, "bound 'publishd' is not known"),
    ],
)
def test_refusals(mechanism, given, message):
    with pytest.raises(ValueError, match=message):
        audited(mechanism, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lipschitz": -1.0}, "lipschitz must be a number > 0"),
        ({"least_probability": 0.0}, "least_probability must be a number > 0"),
        ({"lipschitz": 1.0, "precision": float("nan")}, "precision must be a number > 0"),
        ({"lipschitz": 1.0, "input_lipschitz": 0}, "input_lipschitz must be a number > 0"),
        ({"lipschitz": 1.0, "num_samples": 0}, "num_samples must be an integer >= 1"),
        ({"lipschitz": 1.0, "order": 1}, "order must be a number > 1"),
    ],
)
def test_options_are_validated_before_an_audit(given, message):
    """A sweep would otherwise create a store for entries that must fail."""
    with pytest.raises(ValueError, match=message):
        dpjax.Histogram(**given)


def test_what_it_is_not_for():
    method = dpjax.Histogram(lipschitz=1.0)
    with pytest.raises(
        TypeError, match=r"Histogram audits only JAX mechanisms .* recorded outputs is"
    ):
        dpjax.audit(dpjax.Recorded([1.0] * 50, [2.0] * 50), method=method)
    with pytest.raises(TypeError, match="Histogram audits only JAX mechanisms"):
        host = dpjax.HostMechanism(lambda d, n, rng: rng.laplace(d, 1, n))
        dpjax.audit(host, [(0.0, 1.0)], method=method)
    with pytest.raises(ValueError, match=r"delta must be 0 for a histogram, but was 0\.1"):
        dpjax.audit(TruncatedLaplace(1.0), method=method, notion=dpjax.Epsilon(0.1))
