"""Notions computed from one band: group privacy, claims in all forms, and rejected values."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax.inference import Rivals, choose_event, known_band
from dpjax.notions import (
    NOTIONS,
    ChainCounts,
    HistogramLevel,
    Statement,
    Terms,
    evidence_from_plain,
)
from dpjax.notions._claims import epsilon_at
from dpjax.partitions import Budget, Outputs, Search, lay
from dpjax.results.recipes import notion_from_plain, notion_to_plain

EVERY = [
    dpjax.Epsilon(), dpjax.Epsilon(0.01), dpjax.Profile(), dpjax.TradeOff(), dpjax.Gdp(),
    dpjax.Renyi(2.5), dpjax.Zcdp(), dpjax.TotalVariation(),
]  # fmt: skip


def normal(shift, step=0.02):
    """Return the band of N(0, 1) and N(shift, 1) on fine cells."""
    edges = np.concatenate([[-np.inf], np.arange(-3.5, 3.5 + shift, step), [np.inf]])
    return known_band([np.diff(stats.norm.cdf(edges - x)) for x in (0.0, shift)])


def delta_of(mu, epsilon):
    """Return the delta of N(0, 1) and N(mu, 1)."""
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return stats.norm.cdf(a) - math.exp(epsilon) * stats.norm.cdf(b)


@pytest.mark.parametrize("notion", EVERY)
def test_notions_are_plain_values(notion):
    assert notion_from_plain(notion_to_plain(notion)) == notion
    assert NOTIONS[notion.name] is type(notion) and notion.symbol


@pytest.mark.parametrize("distance", [2, 3])
def test_bounds_of_one_record_from_pairs_that_differ_in_several(distance):
    """For shifts of k, one record moves by 1; bounds are below the true level of one record."""
    there = normal(float(distance))
    assert dpjax.Gdp().of_band(there, distance) == pytest.approx(1.0, abs=0.01)
    rho = dpjax.Zcdp().of_band(there, distance)
    assert 0.4 < rho <= 0.5 + 1e-6
    assert dpjax.TotalVariation().of_band(there, distance) == pytest.approx(
        (2 * stats.norm.cdf(distance / 2) - 1) / distance, abs=1e-6
    )
    # For curves, the number is the total variation of one record.
    for curve in (dpjax.Profile(), dpjax.TradeOff()):
        assert curve.of_band(there, distance) == pytest.approx(
            (2 * stats.norm.cdf(distance / 2) - 1) / distance, abs=1e-6
        )
    whole = dpjax.Epsilon().of_band(there)
    assert dpjax.Epsilon().of_band(there, distance) == pytest.approx(whole / distance)
    # (e, d) of one record leads to (k e, d (e^(k e) - 1) / (e^e - 1)) for k records.
    e = dpjax.Epsilon(0.01).of_band(there, distance)
    group = 0.01 * sum(math.exp(i * e) for i in range(distance))
    assert delta_of(distance, distance * e) == pytest.approx(group, rel=0.02)
    assert delta_of(1.0, e) >= 0.01
    # This is the profile at epsilon 1.
    columns = dpjax.Profile().columns(there, distance)
    shown = np.interp(1.0, columns["epsilon"], columns["delta"])
    expected = delta_of(distance, distance) / sum(math.exp(i) for i in range(distance))
    assert shown == pytest.approx(expected, rel=0.02) and expected <= delta_of(1.0, 1.0)
    renyi = dpjax.Renyi(16).of_band(there, distance)
    halvings = 2 if distance == 3 else 1
    assert renyi <= dpjax.Renyi(16 / 2**halvings).of_band(there) / 3**halvings + 1e-9
    assert 0 < renyi <= 16 / 2


def terms(notion, claim=None, distance=1):
    return Terms(notion, claim, 0.9, num_claims=1, key=0, distance=distance)


class Curve:
    """A privacy curve of Gaussian noise, in the form that libraries use."""

    def get_delta_for_epsilon(self, epsilon):
        return delta_of(1.0, epsilon)

    def get_epsilon_for_delta(self, delta):
        return 4.377178 if delta == 1e-5 else math.nan


class Opened:
    """The other form of a privacy curve."""

    def delta(self, epsilon):
        return delta_of(1.0, epsilon)

    def epsilon(self, delta):
        return 4.377178


CURVES = [
    Curve(), Opened(), lambda epsilon: delta_of(1.0, epsilon),
    [(e, delta_of(1.0, e)) for e in np.linspace(0, 6, 100)],
]  # fmt: skip


@pytest.mark.parametrize("claim", CURVES)
def test_a_claim_may_be_a_curve_in_any_form(claim):
    points = np.array(terms(dpjax.Profile(), claim).claimed)
    np.testing.assert_allclose(points[:, 1], [delta_of(1.0, e) for e in points[:, 0]])
    epsilon = terms(dpjax.Epsilon(1e-5), claim).claimed
    assert 4.377 <= epsilon <= 4.44


def test_a_claim_of_dp_accounting():
    accounting = pytest.importorskip("dp_accounting")
    loss = accounting.pld.privacy_loss_distribution.from_gaussian_mechanism(1.0)
    points = np.array(terms(dpjax.Profile(), loss).claimed)
    np.testing.assert_allclose(points[:, 1], [delta_of(1.0, e) for e in points[:, 0]], atol=1e-4)
    assert terms(dpjax.Epsilon(1e-5), loss).claimed == pytest.approx(4.377178, abs=1e-3)


def test_points_claim_epsilon_where_their_delta_is_small_enough():
    claim = [(0.5, 0.1), (1.0, 0.01), (3.0, 0.0)]
    assert epsilon_at(claim, 0.05) == 1.0 and epsilon_at(claim, 0.1) == 0.5
    with pytest.raises(ValueError, match="a delta of at most 0"):
        epsilon_at(claim[:2], 0.0)


@pytest.mark.parametrize(
    ("notion", "claim", "sentence"),
    [
        (dpjax.Gdp(), [(0, 1)], "claim must be a number for mu of Gaussian"),
        (dpjax.Gdp(), -1.0, "claim must be a number >= 0"),
        (dpjax.Profile(), 1.0, r"a list of \(epsilon, delta\) pairs, a function epsilon -> delta"),
        (dpjax.Profile(), [(0, 2.0)], "deltas in"),
        (dpjax.Profile(), "1.0", "claim must be a list of"),
        (dpjax.Profile(), [(1, 2, 3)], "claim must be a list of"),
        (dpjax.TradeOff(), [(0.1, 2.0)], "unit square"),
        (dpjax.Epsilon(), lambda epsilon: 0.5, "must fall to delta"),
    ],
)
def test_claims_that_are_none(notion, claim, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        terms(notion, claim)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: dpjax.Renyi(1), "order must be a number > 1"),
        (lambda: dpjax.Renyi(math.inf), "use dpjax.Epsilon"),
        (lambda: dpjax.Renyi(math.nan), "order must be"),
        (lambda: dpjax.Renyi("2"), "order must be"),
        (lambda: dpjax.Epsilon(1.0), "delta must lie in"),
        (lambda: terms(dpjax.Renyi(3), distance=2), "order must be at least 4"),
        (lambda: terms(dpjax.Renyi(7), distance=3), "order must be at least 8"),
        (lambda: terms(dpjax.TradeOff(), distance=2), "distance must be 1 for a trade-off"),
        (lambda: terms(dpjax.Gdp(), distance=0), "distance"),
        (lambda: terms(0.5), "notion must be"),
    ],
)
def test_what_is_refused(make, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        make()


def evidence():
    counts = np.array([[300, 800, 1500, 1900], [50, 300, 900, 1600]])
    return ChainCounts(counts, (2000, 2000), (4, 0))


@pytest.mark.parametrize("notion", EVERY)
def test_statements_of_a_chain(notion):
    found = evidence()
    assert evidence_from_plain(found.to_plain()).to_plain() == found.to_plain()
    tight, loose = (found.state(notion, sure) for sure in (0.8, 0.999))
    assert 0 < loose.lower_bound < tight.lower_bound < tight.estimate
    assert tight.basis == "simultaneous band"


@pytest.mark.parametrize("notion", [n for n in EVERY if not n.name.startswith(("pro", "trade"))])
def test_the_smallest_error_is_where_the_bound_is_the_claim(notion):
    found = evidence()
    claim = found.state(notion, 0.99).lower_bound
    error = found.state(notion, 0.99, 1, claim - 1e-9).smallest_error
    assert error == pytest.approx(0.01, rel=0.02)


def test_curves_are_crossed_where_the_claim_is_exceeded_most():
    found = evidence()
    shown = found.state(dpjax.Profile(), 0.95).curve
    deltas = np.maximum(shown["delta"], shown["reverse_delta"])
    above = [(e, d + 0.01) for e, d in zip(shown["epsilon"], deltas.tolist(), strict=True)]
    stated = found.state(dpjax.Profile(), 0.95, 1, tuple(above))
    assert stated.crossing is None and (stated.smallest_error or 1) > 0.05
    claim = list(above)
    claim[40] = (claim[40][0], claim[40][1] - 0.02)
    crossed = found.state(dpjax.Profile(), 0.95, 1, tuple(claim))
    assert crossed.crossing[0] == claim[40][0] and crossed.smallest_error < 0.05
    assert crossed.crossing[1] - crossed.crossing[2] == pytest.approx(0.01, abs=1e-6)
    # These are tests in both directions.
    curve = found.state(dpjax.TradeOff(), 0.95).curve
    level, error = np.array(curve["level"]), np.array(curve["error"])
    for x in (0.1, 0.4, 0.8):
        least = min(np.interp(x, level, error), np.interp(x, error[::-1], level[::-1]))
        for change, refuted in ((1e-3, True), (-1e-3, False)):
            stated = found.state(dpjax.TradeOff(), 0.95, 1, ((x, float(least) + change),))
            assert (stated.crossing is not None) == refuted


@pytest.mark.parametrize("ordered", [True, False])
def test_codes_are_chosen_as_codes_and_counts_as_counts(ordered):
    """Choices and predictions use the order of cells that the partition states."""
    law = np.full((2, 12), 0.09)
    law[:, 3] = 0.012, 0.003
    halves = np.random.default_rng(4).multinomial(3_000, law / law.sum(axis=1)[:, None], (2, 2))
    # Two separate cells, and one beyond each end.
    halves = np.pad(halves, [(0, 0), (0, 0), (3, 1)])
    codes = Outputs(np.zeros(12, np.int32), np.arange(12.0)[:, None], np.zeros(12, bool))
    partition = lay([codes, codes], [""], outcomes=12, ordered=ordered, whole=True)
    terms = {"num_confirm": 9_000, "confidence": 0.95}

    def promised(flag, **ways):
        lines = partition.positions()
        options = {"judge": halves[1], "positions": lines, "ordered": flag, "rivals": Rivals(4)}
        return float(choose_event(halves[0], **options, **ways, **terms).predicted)

    event = dpjax.Epsilon().choose(Search(partition, halves, None), Budget(**terms, num_rivals=4))
    assert event.predicted == promised(ordered, coarser=partition.coarser())
    pair = dpjax.Epsilon().promise(Search(partition, halves, None), Budget(**terms, num_rivals=4))
    assert pair == promised(ordered) != promised(not ordered)


def test_functions_are_evaluated_on_a_grid_that_is_fine_where_curves_bend():
    epsilons = [epsilon for epsilon, _ in terms(dpjax.Profile(), lambda epsilon: 0.0).claimed]
    assert (epsilons[0], epsilons[-1]) == (0, 40)
    for last, step in ((4, 0.02), (12, 0.1), (40, 1)):
        below = [epsilon for epsilon in epsilons if epsilon <= last]
        assert below[-1] == pytest.approx(last) and np.max(np.diff(below)) <= step + 1e-9


def test_evidence_is_equal_where_its_counts_are():
    first, same, other = (
        ChainCounts(np.array([[k, 9], [2, 8]]), (10, 10), (2, 0)) for k in (4, 4, 5)
    )
    assert first == same and not first != same
    assert first != other and not first == other and first != "chain"


WORDS = {
    "epsilon": (dpjax.Epsilon(), "epsilon", "epsilon", "epsilon"),
    "at a delta": (
        dpjax.Epsilon(0.01), "epsilon at delta = 0.01", "epsilon", "epsilon at delta = 0.01",
    ),
    "profile": (dpjax.Profile(), *["delta at epsilon = 0"] * 2, "the privacy profile"),
    "trade-off": (dpjax.TradeOff(), *["total variation"] * 2, "the trade-off curve"),
    "gdp": (dpjax.Gdp(), *["mu of Gaussian differential privacy"] * 3),
    "total variation": (dpjax.TotalVariation(), *["total variation"] * 3),
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_notions_in_words(name):
    notion, symbol, quantity, claimable = WORDS[name]
    assert (notion.symbol, notion.quantity, notion.claimable) == (symbol, quantity, claimable)


def test_points_of_curves_in_words():
    said = "delta is at least 0.25 at epsilon = 1.5"
    assert dpjax.Profile().point(1.5, 0.25) == said
    said = "a test of level 0.1 has a power of at least 0.3333"
    assert dpjax.TradeOff().point(0.1, 1 / 3) == said


def test_a_trade_off_is_claimed_by_a_function_of_the_level():
    claimed = np.array(terms(dpjax.TradeOff(), lambda level: (1 - level) ** 2).claimed)
    np.testing.assert_allclose(claimed[:, 0], np.arange(201) / 200, atol=1e-12)
    np.testing.assert_allclose(claimed[:, 1], (1 - claimed[:, 0]) ** 2)


@pytest.mark.parametrize("distance", [2, 4])
def test_an_estimate_at_a_delta_and_a_distance_solves_the_group_inequality(distance):
    """p = e^(k e) q + delta (1 + e^e + ... + e^((k - 1) e)); 0 if p is below its value at 0."""
    notion, p, q = dpjax.Epsilon(0.01), np.array([0.4, 0.3, 0.9]), np.array([0.02, 0.29, 0.1])
    found = notion.of_shares(p, q, distance)
    assert found.shape == p.shape and found[1] == pytest.approx(0, abs=1e-9)
    for e, more, less in zip(found[[0, 2]], p[[0, 2]], q[[0, 2]], strict=True):
        added = 0.01 * sum(math.exp(i * e) for i in range(distance))
        assert math.exp(distance * e) * less + added == pytest.approx(more, rel=1e-9)


PLAN = {
    "order": None, "precision": 0.2, "num_samples": 900, "num_inputs": 2, "num_intervals": 5,
    "bound": "all-intervals", "confidence": 0.9,
}  # fmt: skip


def histogram(estimate, p_value=None, **changed):
    plan = PLAN | changed
    return HistogramLevel(estimate, "it", p_value, "ok", plan, num_pairs=3, num_failed=1)


def test_a_histogram_states_its_estimate_give_or_take_the_precision():
    for estimate, low, high in ((0.7, 0.5, 0.9), (0.1, 0.0, 0.3), (0.0, 0.0, 0.2)):
        found = histogram(estimate).state(dpjax.Epsilon(), 0.9)
        assert (found.lower_bound, found.estimate) == (pytest.approx(low), estimate)
        assert found.upper_bound == pytest.approx(high)
    nothing = histogram(None).state(dpjax.Epsilon(), 0.9)
    assert (nothing.lower_bound, nothing.estimate, nothing.upper_bound) == (0, None, None)
    renyi = histogram(0.7, order=3.0)
    assert renyi.state(dpjax.Renyi(3.0), 0.9).lower_bound == pytest.approx(0.5)
    for evidence, notion in ((renyi, dpjax.Epsilon()), (histogram(0.7), dpjax.Renyi(3.0))):
        with pytest.raises(ValueError, match="counted no event"):
            evidence.state(notion, 0.9)
    with pytest.raises(ValueError, match="precision must be a number > 0"):
        evidence_from_plain({**histogram(0.7).to_plain(), "plan": PLAN | {"precision": -1.0}})


@pytest.mark.parametrize(("p_value", "refuted"), [(None, False), (0.05, True), (0.051, False)])
def test_a_histogram_is_refuted_at_5_percent(p_value, refuted):
    assert histogram(0.7, p_value).refuted == refuted


@pytest.mark.parametrize(("p_value", "refuted"), [(0.0099, True), (0.0101, False)])
def test_a_smallest_count_refutes_at_the_confidence(p_value, refuted):
    found = histogram(0.7, p_value, confidence=0.99)
    assert replace(found, tested_by="rarest count").refuted == refuted


def test_a_histogram_in_words():
    found = histogram(0.7, 0.5)
    statement = found.interval()
    rows = dict(found.rows(statement, "confidence 0.9"))
    assert rows == {
        "estimate": "0.7000 in [0.5000, 0.9000], confidence 0.9 (histogram)",
        "assumed": "it",
        "draws": "900 for each of 2 inputs, 5 intervals; 1 of 3 pairs failed",
        "safety check": "p = 0.5 for the assumption",
    }
    assert found.table(statement, "sure") == [
        ("LDP epsilon, estimate", "0.7000"), ("Interval, sure", "0.5000 to 0.9000"),
        ("Precision", "0.2"),
    ]  # fmt: skip
    assert "safety check" not in dict(histogram(0.7).rows(statement, ""))
    for p_value, said in (
        (0.01, "p = 0.01: the counts contradict the assumption"),
        (0.5, "p = 0.5: the counts do not contradict the assumption"),
        (None, "none"),
    ):
        rows = [row for part in histogram(0.7, p_value).parts() for row in part.rows]
        assert ("Test of the assumption (safety check)", said) in rows
    failed = histogram(None, order=2.5)
    assert failed.table(failed.interval(), "sure")[0] == (
        "Renyi level of order 2.5, estimate", "none: the run failed",
    )  # fmt: skip


def test_rows_of_a_chain_in_words():
    chain = ChainCounts(np.array([[4, 9], [2, 8]]), (10, 10), (2, 0))
    for estimate, error, text in (
        (0.5, None, "0.5000"),
        (None, None, "infinite"),
        (0.5, 0.1, "0.5000 (standard error 0.1000)"),
    ):
        found = Statement(0.25, estimate, "a band", standard_error=error)
        assert chain.rows(found, "sure") == [
            ("lower bound", "0.2500, sure (a band)"), ("estimate", text),
        ]  # fmt: skip


@pytest.mark.parametrize("notion", EVERY)
def test_pairs_differ_in_one_record_unless_another_distance_is_given(notion):
    there = normal(1.0)
    assert notion.hypothesis() == notion.hypothesis(1)
    assert notion.of_band(there) == notion.of_band(there, 1)
    assert Terms(notion, None, 0.9, num_claims=1, key=0).distance == 1


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.999, 1 - 1e-6])
@pytest.mark.parametrize("number", [1, 2, 3, 40, 10**6, 10**9, 3 * 10**9])
def test_the_errors_of_all_claims_add_up_to_at_most_the_joint_error(number, confidence):
    asked = Terms(dpjax.Epsilon(), None, confidence, num_claims=number, key=0)
    error = Fraction(1 - confidence) / number
    assert 0 <= error - (1 - Fraction(asked.own_confidence)) <= max(error * 1e-15, 1.2e-16)


@pytest.mark.parametrize("number", [1, 2, 3, 40])
def test_each_of_several_claims_has_its_share_of_the_error(number):
    asked = Terms(dpjax.Epsilon(), None, 0.9, num_claims=number, key=0)
    assert 1 - asked.own_confidence == pytest.approx(0.1 / number, rel=1e-12)
    notes = asked.notes()
    assert len(notes) == (number > 1)
    if notes:
        assert f"all {number} such bounds hold with confidence 0.9" in notes[0]
        said = f"with a probability of at most {0.1 / number:.3g}. Together, all {number} such"
        assert said in notes[0]
