"""Mechanisms of peers compared with their definitions and with integrals."""

import itertools
import math

import jax
import numpy as np
import pytest
from scipy import integrate, stats

from benchmarks.peers import auditorium, statdp
from benchmarks.peers.auditorium import Mean, Scales, SparseVector
from benchmarks.peers.cases import Found, audited, row_of

KEY, RATE = jax.random.key(31), 1e-5


def _close(successes: float, chance: float, draws: int, tests: int = 1) -> bool:
    """Return whether a binomial count is likely, with a false-alarm rate of `RATE` in all tests."""
    tail = min(
        stats.binom.cdf(successes, draws, chance), stats.binom.sf(successes - 1, draws, chance)
    )
    return tail > RATE / (2 * tests)


def _differing_by_hand(reports: list[bool], length: int) -> int:
    wanted = [i < length // 2 for i in range(length)]
    both = itertools.zip_longest(wanted, reports)
    return sum(1 for want, report in both if want is not report)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("length", statdp.LENGTHS)
@pytest.mark.parametrize("name", ["svt4", "svt5", "svt6"])
def test_the_number_of_differing_reports(name, length):
    technique = statdp.find_mechanism(name)(epsilon=0.7, num_queries=length)
    answers = np.linspace(0.0, 2.0, length)
    outputs = np.asarray(technique.sample(KEY, answers, 500))
    if name == "svt4":  # The output is the index of the first positive, or k.
        reports = [[False] * i + [True] * (i < length) for i in outputs.tolist()]
    else:  # Bit i of the output is set if query i is positive.
        reports = [[bool(code >> i & 1) for i in range(length)] for code in outputs.tolist()]
    expected = [_differing_by_hand(each, length) for each in reports]
    counted = statdp.Differing(technique).sample(KEY, answers, 500)
    assert np.asarray(counted).tolist() == expected
    assert len(set(expected)) > 1


def test_the_shipped_private_mean_is_exact_where_its_count_is_negative():
    """For one record, P(count < 0) = P(Laplace(2) < -1) = exp(-1/2) / 2."""
    draws = 100_000
    for gaussian in (False, True):
        shipped = Mean(True, True, gaussian).sample(KEY, np.zeros(1), draws)
        assert _close(int(np.sum(np.abs(shipped) < 1e-9)), math.exp(-0.5) / 2, draws)
        mended = Mean(True, True, gaussian, positive=True).sample(KEY, np.zeros(1), draws)
        # Noise of scale 2 or more, divided by a count of at most 40, is rarely so small.
        assert np.sum(np.abs(mended) < 1e-9) == 0


def test_the_noise_of_the_mean_with_true_counts():
    """Laplace and Gaussian noise exceeds twice its scale with known probabilities."""
    draws, records = 100_000, np.array([0.25, -1.0, 0.75, 3.0])
    for gaussian, chance in ((False, math.exp(-2)), (True, 2 * stats.norm.sf(2))):
        factor = math.sqrt(2 * math.log(1.25e5)) if gaussian else 1.0
        outputs = np.asarray(Mean(False, False, gaussian).sample(KEY, records, draws))
        beyond = np.abs(outputs - 2.0 / 4) > 2 * factor / 4
        assert _close(int(beyond.sum()), chance, draws)


def _chance(scales: Scales, answers: list[float], reports: tuple[int, ...]) -> float:
    """Return the probability of the reports, integrated over the threshold; no noisy answers."""

    def density(threshold: float) -> float:
        found = stats.laplace.pdf(threshold, 0.5, scales.threshold)
        for answer, report in zip(answers, reports, strict=True):
            above = stats.laplace.sf(threshold, answer, scales.query)
            found *= (1.0, above, 1 - above)[report]
        return found

    edges = sorted({0.5, *answers})
    spans = itertools.pairwise([-np.inf, *edges, np.inf])
    return sum(integrate.quad(density, *span, epsabs=1e-12)[0] for span in spans)


def _possible(length: int) -> list[tuple[int, ...]]:
    """Return all possible reports: 1 and 2 until the second 1, and then 0."""
    return [
        reports
        for reports in itertools.product((0, 1, 2), repeat=length)
        if all((report == 0) == (reports[:i].count(1) >= 2) for i, report in enumerate(reports))
    ]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("title", ["SVT1", "SVT2", "SVT4 (wrong)", "SVT6 (wrong)"])
@pytest.mark.parametrize("reveals", [False, True])
def test_sparse_vector_against_integrals(title, reveals):
    technique, draws = SparseVector(auditorium.SCALES[title], reveals), 20_000
    databases = np.array([0.0, 1.0]), np.array([0.0, 1.0, 0.0 if reveals else 1.0])
    answers = ([1.0, 1.0, 0.0], [0.0, 0.0, 1.0]) if reveals else ([1.0] * 3, [2.0] * 3)
    chances = [
        [_chance(technique.scales, answer, reports) for reports in _possible(3)]
        for answer in answers
    ]
    losses = np.abs(np.log(chances[0]) - np.log(chances[1]))
    assert losses.max() <= technique.level + 1e-9
    for database, expected in zip(databases, chances, strict=True):
        assert sum(expected) == pytest.approx(1, abs=1e-8)
        codes = np.asarray(technique.sample(KEY, database, draws))
        for reports, chance in zip(_possible(3), expected, strict=True):
            code = sum(3**i * report for i, report in enumerate(reports))
            assert _close(int(np.sum(codes == code)), chance, draws, tests=8 * 2 * len(expected))


def test_told_answers_are_the_noisy_answers():
    technique = SparseVector(Scales(1e-6, 1e-6, told=True), reveals=True)
    outputs = np.asarray(technique.sample(KEY, np.array([0.25, 0.75]), 100))
    # The answers 0.75, 0.75 and 0.25 are compared with 0.5; the second positive is the last report.
    np.testing.assert_allclose(outputs, np.tile([0.75, 0.75, 0.0], (100, 1)), atol=1e-4)


def test_gumbel_noise_chooses_by_the_exponential_mechanism():
    """Three records against one: the odds are exp((3 - 1) / 2) at epsilon 1."""
    draws = 100_000
    chosen = auditorium.GumbelMax(2).sample(KEY, np.array([0.0, 0.0, 1.0, 0.0]), draws)
    assert _close(int(np.sum(np.asarray(chosen) == 0)), 1 / (1 + math.exp(-1)), draws)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [*statdp.cases(), *auditorium.cases()], ids=lambda case: case.title
)
def test_true_claims_are_not_refuted(case):
    if case.level is not None and case.level <= case.claim:
        few = {"num_samples": 2_000, "num_confirm": 5_000}
        found = audited(case._replace(draws=(few, few)), True, confidence=1 - 1e-7)
        assert not found.refuted


def test_a_line_of_the_table():
    case = statdp.cases()[0]
    line = row_of(case, Found(0.125, False, 1.26), Found(0.5, True, 0.04))
    assert line == (
        "| noisy max, index, Laplace | 5 | 0.2 | 0.2 | 0.1 | 0.125, not refuted | "
        "0.500, refuted | 1.3, 0.0 |"
    )
