"""Verdicts, findings, rows and planned sizes of histograms for given levels and counts."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax.core.errors import Status
from dpjax.core.types import FiniteSpace, IntegerSpace, RealSpace
from dpjax.inference import InputInterval, plan, plan_finite
from dpjax.methods.histogram import Histogram, HistogramEstimate, HistogramResult, midpoints
from dpjax.methods.histogram._counts import output_interval_of
from dpjax.methods.histogram._estimate import Unplanned
from dpjax.methods.histogram._findings import _assumption, _judge, _test, finding_of, rows_of
from dpjax.methods.histogram._levels import _pairs, compared
from dpjax.notions import HistogramLevel, Terms

PLAN = plan(lipschitz=0.5, precision=0.25, confidence=0.9, inputs=3)
FINITE = plan_finite(num_outputs=2, least_probability=0.125, precision=0.25, confidence=0.9,
                     num_inputs=3)  # fmt: skip
PAIRS = np.array([[0, 1], [0, 2], [1, 2]])


def result(levels, failed=(), planned=FINITE, order=None):
    """Return levels of three pairs in one or more runs, some of which failed."""
    levels = np.atleast_2d(levels).astype(float)
    mask = np.zeros(levels.shape, bool)
    for place in failed:
        mask[place] = True
    each = planned.num_samples // planned.num_intervals
    counts = np.full((len(levels), 3, planned.num_intervals), each)
    counts[..., -1] += planned.num_samples - each * planned.num_intervals
    inputs = np.array([0.5, 1.5, 3.0])
    return HistogramResult(inputs, PAIRS, np.ma.array(levels, mask=mask), counts, planned, order)


def terms(claim=None, **options):
    return Terms(dpjax.Epsilon(), claim, 0.9, options.pop("num_claims", 1), 3)


def test_estimates_of_runs():
    found = result([[0.5, 1.5, 1.0], [9.0, 9.0, 9.0], [0.5, 1.5, 9.0]],
                   [(1, 0), (1, 1), (1, 2), (2, 2)])  # fmt: skip
    assert found.estimates.tolist() == [1.5, None, 1.5]
    assert (found.num_runs, found.num_failed, found.status) == (3, 1, Status.OK)
    assert found.witness(0) == (0.5, 3.0) == found.witness(2) and found.witness(1) is None
    assert found.confidence == FINITE.confidence
    assert result([[1, 2, 3]], planned=Unplanned(2, 9)).confidence is None
    alone = found.of_run(1)
    assert alone.status is Status.EMPTY_INTERVAL and alone.num_runs == 1
    rows = rows_of(found)
    assert [(row.statement.estimate, row.pair, row.status) for row in rows] == [
        (1.5, 1, "OK"), (None, 0, "EMPTY_INTERVAL"), (1.5, 1, "OK"),
    ]  # fmt: skip
    assert all(row.statement.lower_bound == 0 for row in rows)
    assert {row.statement.basis for row in rows} == {"histogram"}
    infinite = rows_of(result([[1.0, math.inf, 2.0]]))
    assert infinite[0].statement.estimate is None and infinite[0].pair == 1


def test_the_finding_of_a_run():
    found = finding_of(result([[0.5, 1.5, 1.0]], [(0, 2)]), FINITE, terms(1.0, num_claims=2))
    counted, stated, evidence = found.evidence.counted, found.statement, found.evidence
    assert (counted.estimate, counted.num_pairs, counted.num_failed) == (1.5, 3, 1)
    assert (counted.status, counted.p_value) == ("OK", 1.0) and counted.plan == FINITE.to_dict()
    assert counted.assumed == "every output has probability at least 0.125"
    assert (stated.lower_bound, stated.upper_bound, stated.estimate) == (1.25, 1.75, 1.5)
    assert (stated.verdict, stated.level, stated.claim) == ("violated", "LDP epsilon", 1.0)
    assert evidence.num_samples == FINITE.num_samples and evidence.num_confirm is None
    assert evidence.settings["inputs"] == [0.5, 1.5, 3.0] and len(evidence.settings) > 1
    assert evidence.pair_scores == (("0.5 and 3.0", 1.5), ("0.5 and 1.5", 0.5))
    witness = found.witness
    assert (witness.pair, witness.database, witness.neighbor) == ("0.5 and 3.0", 0.5, 3.0)
    assert found.pairs.labels == ("0.5 and 1.5", "0.5 and 3.0", "1.5 and 3.0")
    assert found.pairs.sides == ([0.5, 0.5, 1.5], [1.5, 3.0, 3.0])
    assert len(found.notes) == 1
    none = finding_of(result([[1, 1, 1]], [(0, 0), (0, 1), (0, 2)]), FINITE, terms())
    assert none.witness is None and none.evidence.pair_scores == ()
    assert (none.statement.verdict, none.statement.sentence) == (
        "no claim", Status.EMPTY_INTERVAL.sentence,
    )  # fmt: skip
    assert none.evidence.counted.num_failed == 3 and none.statement.lower_bound == 0.0


def counted(estimate, p_value=None, assumed="it"):
    return HistogramLevel(estimate, assumed, p_value, "OK", FINITE.to_dict(), 3, 0)


SURE = "If it, then, with confidence 0.9, the level lies in [1.2500, 1.7500]"


@pytest.mark.parametrize(
    ("claim", "verdict", "end"),
    [
        (None, "no claim", "; there was no claim to test."),
        (1.0, "violated", ", above the claimed 1: the claim or the assumption is false."),
        (1.25, "not refuted", "; no proof of the claimed 1.25."),
        (9.0, "not refuted", "; no proof of the claimed 9."),
    ],
)
def test_verdicts(claim, verdict, end):
    assert _judge(counted(1.5), FINITE, claim) == (verdict, SURE + end)
    failed = _judge(counted(None), FINITE, claim)
    assert failed == (
        "no claim" if claim is None else "not refuted", Status.EMPTY_INTERVAL.sentence,
    )  # fmt: skip
    refuted, sentence = _judge(counted(1.5, 1e-9), FINITE, claim)
    assert refuted == "assumption refuted" and sentence == (
        "The counts contradict the assumption that it (p = 1e-09), so the interval [1.2500, "
        "1.7500] cannot be trusted: assume a smaller probability, or use method=Events(), which "
        "needs no assumption."
    )
    # Without an assumed interval, the counts may still contradict the assumption.
    verdict, sentence = _judge(counted(None, 1e-9), FINITE, claim)
    assert verdict == "assumption refuted" and "so the interval cannot be trusted" in sentence


def test_the_smallest_count_is_tested():
    """The p-value is a binomial tail, multiplied by the six counts of three inputs."""
    size, least = FINITE.num_samples, 0.125
    for count in (0, size // 12, size // 10, size // 8):
        given = result([[1, 1, 1]])
        given.counts[0, 2] = count, size - count
        p_value, tested_by = _test(given.of_run(0), FINITE)
        ways = sum(math.comb(size, k) * 7 ** (size - k) for k in range(count + 1))
        assert p_value == pytest.approx(min(1.0, 6 * float(Fraction(ways, 8**size))), rel=1e-9)
        assert tested_by == "rarest count"
        refuted = finding_of(given, FINITE, terms(claim=1.0)).statement.verdict
        assert (refuted == "assumption refuted") == (p_value <= 0.1)
    assert least == FINITE.least_probability
    # Under a Lipschitz assumption, an empty interval also contradicts the assumption.
    given = result([[1, 1, 1]], planned=PLAN)
    assert _test(given.of_run(0), PLAN)[1] == "safety check"
    given.counts[0, 1, 3] = 0
    p_value, tested_by = _test(given.of_run(0), PLAN)
    assert p_value <= 0.1 and tested_by == "rarest count"


def test_assumptions_in_words():
    both = plan(lipschitz=0.5, precision=0.25, confidence=0.9, inputs=InputInterval(2.0, 0.75))
    assert _assumption(FINITE) == "every output has probability at least 0.125"
    assert _assumption(PLAN) == "every density is 0.5-Lipschitz in the output"
    assert _assumption(both) == (
        "every density is 0.5-Lipschitz in the output and 0.75-Lipschitz in the input"
    )


def test_inputs_are_midpoints():
    assert midpoints(1.0, 3.0, 4).tolist() == [1.25, 1.75, 2.25, 2.75]
    assert midpoints(0.0, 1.0, 1).tolist() == [0.5]


def test_pairs_of_inputs():
    assert _pairs(None, 3).tolist() == PAIRS.tolist()
    assert _pairs([(2, 0)], 3).tolist() == [[2, 0]]
    for pairs, said in (
        ([(0, 3)], "indices >= 0 and < 3"), ([(-1, 0)], "indices >= 0 and < 3"),
        ([0, 1], "a list of"), ([(0, 1, 2)], "a list of"), ([(0.0, 1.0)], "a list of"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"pairs must .*{said}"):
            _pairs(pairs, 3)
    counts = np.array([[[30, 70], [60, 40], [50, 50]]])
    found = compared(np.arange(3), counts, FINITE, None, [(0, 1), (2, 0)])
    expected = [math.log(2), math.log(5 / 3)]
    assert found.levels[0].tolist() == pytest.approx(expected)
    assert found.pairs.tolist() == [[0, 1], [2, 0]] and found.order is None
    # This is the Renyi level of order 2 in the worse direction.
    renyi = compared(np.arange(3), counts, FINITE, 2.0, [(0, 1)])
    ways = [math.log(sum(p**2 / q for p, q in zip(a, b, strict=True)))
            for a, b in (((0.3, 0.7), (0.6, 0.4)), ((0.6, 0.4), (0.3, 0.7)))]  # fmt: skip
    assert renyi.levels[0].tolist() == pytest.approx([max(ways)]) and renyi.order == 2.0


def mechanism(space):
    return SimpleNamespace(output_space=space)


def test_output_intervals():
    reals, sizes = RealSpace(0.0, 2.0), Unplanned(5, 9)
    assert output_interval_of(mechanism(reals), sizes, None) == (0.0, 2.0)
    assert output_interval_of(mechanism(reals), sizes, (1, 4)) == (1.0, 4.0)
    assert output_interval_of(mechanism(FiniteSpace(5)), sizes, None) is None
    assert output_interval_of(mechanism(RealSpace(0.0, 1.0)), PLAN, None) == (0.0, 1.0)
    near = output_interval_of(mechanism(RealSpace(0.0, 1.0 + 5e-7)), PLAN, None)
    assert near == (0.0, 1.0 + 5e-7)
    for space, planned, given, error, said in (
        (FiniteSpace(6), sizes, None, ValueError, "must have num_intervals = 6, .* but had 5"),
        (IntegerSpace(), sizes, None, TypeError, "must have real outputs or finitely many"),
        (RealSpace(), sizes, None, ValueError, "output_interval must be given"),
        (RealSpace(low=0.0), sizes, None, ValueError, "output_interval must be given"),
        (RealSpace(high=0.0), sizes, None, ValueError, "output_interval must be given"),
        (reals, sizes, (3.0, 1.0), ValueError, "output_interval"),
        (reals, sizes, (0.0, math.inf), ValueError, "output_interval"),
        (reals, PLAN, None, ValueError, "interval of width 2, but is for width 1"),
        (RealSpace(0.0, 1.0 + 3e-6), PLAN, None, ValueError, "an output interval of width 1"),
    ):
        with pytest.raises(error, match=said):
            output_interval_of(mechanism(space), planned, given)


INTERVAL = mechanism(RealSpace(0.0, 1.0))
GIVEN = np.arange(3.0)


def test_plans_of_options():
    """The default precision is 0.5, unless the number of draws or a precision is given."""
    planned = Histogram(lipschitz=0.5)._planned(INTERVAL, GIVEN, 0.9)
    assert (planned.precision, planned.confidence, planned.num_inputs) == (0.5, 0.9, 3)
    few = Histogram(lipschitz=0.5, num_samples=10**6)._planned(INTERVAL, GIVEN, 0.9)
    assert few.num_samples == 10**6 and few.precision != 0.5 and few.confidence == 0.9
    both = Histogram(lipschitz=0.5, num_samples=10**7, precision=0.5)
    assert both._planned(INTERVAL, GIVEN, 0.9).confidence > 0.9
    with pytest.raises(ValueError, match=r"num_samples = 5000 draws reach the precision 0.5 only"):
        Histogram(lipschitz=0.5, num_samples=5000, precision=0.5)._planned(INTERVAL, GIVEN, 0.9)
    wide = Histogram(lipschitz=0.25, output_interval=(1.0, 3.0))._planned(
        mechanism(RealSpace()), GIVEN, 0.9
    )
    assert wide.assumption.width == 2.0
    ends = Histogram(lipschitz=0.5, input_interval=(1.0, 3.0), input_lipschitz=0.75)
    assert ends._planned(INTERVAL, None, 0.9).assumption.inputs == InputInterval(2.0, 0.75)
    finite = Histogram(least_probability=0.125)._planned(mechanism(FiniteSpace(4)), GIVEN, 0.9)
    assert (finite.num_intervals, finite.num_inputs, finite.precision) == (4, 3, 0.5)
    renyi = Histogram(lipschitz=0.5, order=2.0)._planned(INTERVAL, GIVEN, 0.9)
    assert renyi.order == 2.0


def test_inputs_of_options():
    pairs = dpjax.Pairs(np.array([3.0, 0.0, 1.0]), np.array([1.0, 3.0, 2.0]))
    method = Histogram(lipschitz=0.5)
    built_in = SimpleNamespace(standard_pairs=lambda: pairs)
    for inputs, places in (method._inputs(None, pairs), method._inputs(built_in, None)):
        assert inputs.tolist() == [0.0, 1.0, 2.0, 3.0]
        assert places.tolist() == [[0, 3], [1, 2], [1, 3]]
    inputs, places = Histogram(inputs=[2.0, 1.0])._inputs(None, None)
    assert inputs.tolist() == [2.0, 1.0] and places is None
    assert Histogram(input_interval=(0.0, 1.0))._inputs(None, None) == (None, None)
    for given, options, said in (
        (pairs, {"inputs": [1]}, "only one of .* is accepted"),
        (None, {"inputs": [1], "input_interval": (0.0, 1.0)}, "only one of .* is accepted"),
        (None, {"input_interval": (1.0, 0.0)}, "input_interval"), (None, {}, "must be given"),
        (None, {"input_interval": ((0, 1), 2)}, r"input_interval must be \(low, high\), but was"),
        (None, {"input_interval": 3.0}, r"input_interval must be \(low, high\), but was 3.0"),
        (None, {"inputs": [[0, 1], 2]}, "inputs must consist of numbers, in lists of equal length"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            Histogram(**options)._inputs(None, given)


def test_databases_of_different_shapes_are_not_compared():
    different = dpjax.Pairs(np.zeros((1, 2)), np.zeros((1, 3)))
    for pairs in (different, dpjax.Pairs({"a": np.zeros(1)}, {"a": np.ones(1)})):
        with pytest.raises(ValueError, match="pairs must hold arrays of equal shape for a histog"):
            Histogram(lipschitz=0.5)._inputs(None, pairs)


def test_estimates_are_of_numbers():
    method = HistogramEstimate(4, 100, [0, 1.5], 2)
    assert method.inputs == (0.0, 1.5) and method.order == 2
    assert not method.bounded and method.name == "histogram-estimate"
    source = SimpleNamespace(sampler=None, name="it")
    assert "but it is not a JAX mechanism" in method.accepts(source)
    assert method.accepts(SimpleNamespace(sampler=3)) is None


def test_inputs_are_the_different_databases_of_all_pairs():
    """Vectors are compared as a whole: two of them share an entry."""
    pairs = [([1.0, 2.0], [1.0, 3.0]), ([1.0, 3.0], [0.0, 2.0]), ([1.0, 2.0], [0.0, 2.0])]
    inputs, places = Histogram()._inputs(None, pairs)
    assert inputs.tolist() == [[0.0, 2.0], [1.0, 2.0], [1.0, 3.0]]
    assert places.tolist() == [[0, 1], [0, 2], [1, 2]]
