"""The smooth loss along a line: fit, errors, and chosen half-lines."""

import numpy as np
import pytest
import scipy
from scipy import stats

from dpjax.inference import Ratio, Shared, choose_event
from dpjax.inference._events import best_ratio, expected_bound
from dpjax.inference._smooth import Smooth, _grouped
from dpjax.inference._smooth_choice import _FEWEST_TO_SMOOTH, _LEAST_GAIN
from dpjax.inference._spline import ENDS, KNOTS, SCALES, basis, fitted

EDGES = np.linspace(-4, 5, 180)
SIDES = {
    "Gaussian": (stats.norm(0), stats.norm(1)),
    "Laplace": (stats.laplace(0), stats.laplace(1)),
}


def law_of(name):
    """Return probabilities [2, cells] of bins."""
    return np.stack([np.diff(side.cdf(EDGES), prepend=0, append=1) for side in SIDES[name]])


def drawn(law, size, runs, seed=0):
    """Return counts [runs, 2, cells]."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.multinomial(size, side, runs) for side in law], axis=1)


@pytest.mark.parametrize("name", SIDES)
def test_the_fit_is_the_maximum_of_the_marginal_likelihood(name):
    """Compared with a general optimizer and an independent implementation of the likelihood."""
    counts = drawn(law_of(name), 2_000, 1)
    grouped = _grouped(counts)[1][0]
    ends = np.concatenate([[0], ENDS, [1]])
    score = stats.norm.ppf((ends[:-1] + ends[1:]) / 2)
    bends = np.stack([np.abs(score - knot) for knot in KNOTS], axis=1)
    terms = np.column_stack([np.ones(len(score)), score, bends])
    found = []
    for scale in SCALES:
        variance = np.concatenate([[1e6, 100], np.full(len(KNOTS), scale**2)])

        # Use units of the prior's standard deviations, which helps the optimizer.
        scaled = terms * np.sqrt(variance)

        def loss(beta, scaled=scaled):
            odds = scaled @ beta
            log = grouped[0] @ odds - grouped.sum(axis=0) @ np.logaddexp(0, odds)
            residual = grouped[0] - grouped.sum(axis=0) * scipy.special.expit(odds)
            return beta @ beta / 2 - log, beta - scaled.T @ residual

        best = scipy.optimize.minimize(
            loss, np.zeros(len(variance)), jac=True, method="BFGS", options={"gtol": 1e-4}
        )
        odds = scaled @ best.x
        share = scipy.special.expit(odds)
        weights = grouped.sum(axis=0) * share * (1 - share)
        precision = terms.T @ np.diag(weights) @ terms + np.diag(1 / variance)
        marginal = -best.fun - np.linalg.slogdet(precision @ np.diag(variance))[1] / 2
        found.append((marginal, odds, np.linalg.inv(precision)))
    _, odds, covariance = max(found, key=lambda fit: fit[0])
    ours, ours_covariance = fitted(_grouped(counts)[1])
    np.testing.assert_allclose(ours[0], odds, atol=2e-3)
    errors, ours_errors = (
        np.einsum("gk,kl,gl->g", of_group, of, of_group)
        for of_group, of in ((terms, covariance), (basis().of_group, ours_covariance[0]))
    )
    np.testing.assert_allclose(ours_errors, errors, rtol=0.01)


def test_cells_are_grouped_by_their_middle():
    """A cell has 80% of the draws, and 60% of the draws lie before its middle."""
    grouped = _grouped(np.array([[[20, 80], [20, 80]]]))[1][0]
    places = [np.count_nonzero(ENDS < share) for share in (0.1, 0.6)]
    assert np.flatnonzero(grouped[0]).tolist() == places
    assert grouped[0][places].tolist() == [20, 80]


def test_variation_that_is_not_smooth_increases_the_errors():
    """Counts times 10 have 10 times the variance, which the fit attributes to roughness."""
    counts = 10 * drawn(law_of("Gaussian"), 2_000, 50)
    stated = fitted(_grouped(counts)[1])[1]
    excess = Smooth.of(counts).covariance[:, 0, 0] / stated[:, 0, 0]
    assert 7 < excess.mean() < 13


def test_half_lines_from_both_ends_have_all_draws():
    counts = drawn(law_of("Laplace"), 3_000, 4)
    fit = Smooth.of(counts)
    pooled = np.cumsum(counts.sum(axis=1), axis=-1)[:, 20:150:10]
    start, end = (
        fit.half_lines(draws, np.arange(4)[:, None], from_end=side)
        for draws, side in ((pooled, False), (6_000 - pooled, True))
    )
    np.testing.assert_allclose(start.counts + end.counts, 3_000, atol=0.5)
    np.testing.assert_allclose(start.counts.sum(axis=0), pooled, rtol=1e-9)
    assert np.all(start.worth >= 1)
    assert np.all(end.worth >= 1)


def test_the_whole_line_has_all_smoothed_draws_also_of_a_group_with_one():
    """The last of 200,001 draws is the only one in the last group."""
    counts = np.array([[[60_000, 39_999, 1], [50_000, 50_000, 0]]])
    assert _grouped(counts)[1][0, :, -1].tolist() == [1, 0]
    fit = Smooth.of(counts)
    whole = fit.half_lines(np.array([[200_000]]), np.zeros((1, 1), int), from_end=False)
    assert whole.counts[0, 0, 0] == pytest.approx(fit.first[0, -1], rel=1e-12)
    assert fit.first[0, -1] == pytest.approx(100_000, abs=0.5)


def test_the_fit_of_a_run_does_not_depend_on_the_other_runs():
    """Sweeps and audits have the same bits."""
    counts = drawn(law_of("Gaussian"), 1_000, 9)
    for whole, alone in zip(Smooth.of(counts), Smooth.of(counts[4:5]), strict=True):
        np.testing.assert_array_equal(whole[4], alone[0])
        assert len(whole) == 9 and len(alone) == 1
    groups = np.arange(1.0, 2 * len(ENDS) + 3).reshape(1, 2, -1)
    assert {len(part) for part in fitted(groups)} == {1}


def test_the_errors_of_a_tail_are_those_of_many_searches():
    """A tail has 3 and 93 draws of 20,000; in 400 searches, a factor of 1.5 is 8 errors."""
    law, runs = law_of("Gaussian"), 400
    fit = Smooth.of(drawn(law, 20_000, runs, seed=3))
    tail = slice(np.searchsorted(EDGES, 3.6), None)
    shares = law[:, tail].sum(axis=1)
    pooled = np.full((runs, 1), 20_000 * shares.sum())
    found = fit.half_lines(pooled, np.arange(runs)[:, None], from_end=True)
    ratios = np.log(found.counts[1, :, 0] / found.counts[0, :, 0])
    claimed = np.sqrt(np.mean((1 / found.counts).sum(axis=0) / found.worth))
    # The counts themselves have a standard error of about 0.57.
    assert claimed < 0.25
    assert ratios.std() < 1.5 * claimed
    assert abs(ratios.mean() - np.log(shares[1] / shares[0])) < 0.15


def expected(law, event, size):
    """Return the expected bounds [runs] of the chosen events for known distributions."""
    shares = np.einsum("sc,rc->sr", law, event.cells)
    runs = np.arange(len(event.larger))
    sides = shares[event.larger, runs], shares[1 - event.larger, runs]
    return expected_bound(*sides, Shared(size), 0.95, Ratio(1e-5))


@pytest.mark.parametrize(("name", "least"), [("Gaussian", 2.86), ("Laplace", 0.978)])
def test_half_lines_are_nearly_the_best(name, least):
    """With counts alone, the means are 2.74 and 0.974; the best half-lines have 2.881 and 0.984."""
    law, size, runs = law_of(name), 50_000, 100
    halves = [drawn(law, 10_000, runs, seed=seed) for seed in (1, 2)]
    event = choose_event(
        halves[0], Shared(size), 0.95, hypothesis=Ratio(1e-5), judge=halves[1],
        positions=[np.arange(len(EDGES) + 1)],
    )  # fmt: skip
    assert expected(law, event, size).mean() > least


def test_sizes_fit_the_smoothed_shares():
    """Counts alone, shrunk by their larger errors, predict a larger fraction on the rare side."""
    law, fresh = law_of("Gaussian"), Shared(50_000)
    halves = [drawn(law, 10_000, 50, seed=seed) for seed in (1, 2)]
    event = choose_event(
        halves[0], fresh, 0.95, hypothesis=Ratio(1e-5), judge=halves[1],
        positions=[np.arange(len(EDGES) + 1)],
    )  # fmt: skip
    shares = np.einsum("sc,rc->sr", law, event.cells)
    best = best_ratio(shares[1], shares[0], fresh, 0.95, Ratio(1e-5))
    assert np.median(event.ratio / best) > 0.9


def test_weak_evidence_is_judged_by_own_counts():
    """If the smooth loss predicts little, its mean is 0.10, but with counts, the mean is 0.12."""
    sides = [stats.laplace.cdf(EDGES, shift) for shift in (0, 0.2)]
    law = np.stack([np.diff(side, prepend=0, append=1) for side in sides])
    halves = [drawn(law, 500, 300, seed=seed) for seed in (1, 2)]
    event = choose_event(
        halves[0], Shared(2_500), 0.95, judge=halves[1], positions=[np.arange(len(EDGES) + 1)]
    )
    assert expected(law, event, 2_500).mean() > 0.115


def test_the_gain_is_twice_the_difference_of_log_likelihoods():
    """Computed for groups of equal cells by the binomial distribution."""
    counts = drawn(law_of("Laplace"), 300, 3)
    grouped = _grouped(counts)[1]
    odds = fitted(grouped)[0]
    first, pooled = grouped[:, 0], grouped.sum(axis=1)
    of_fit, of_none = (
        stats.binom.logpmf(first, pooled, share).sum(axis=-1)
        for share in (scipy.special.expit(odds), 0.5)
    )
    np.testing.assert_allclose(Smooth.of(counts).gain, 2 * (of_fit - of_none), rtol=1e-9)


def test_a_weak_loss_is_judged_by_own_counts(monkeypatch):
    """With the smooth loss, the mean expected bound of 4,000 searches is lower by 0.0035."""
    sides = [stats.laplace.cdf(EDGES, shift) for shift in (0, 0.2)]
    counts = drawn(np.stack([np.diff(side, prepend=0, append=1) for side in sides]), 250, 100)
    weak = Smooth.of(counts).gain < _LEAST_GAIN
    assert weak.mean() > 0.5

    def chosen(name, value):
        monkeypatch.setattr(f"dpjax.inference._smooth_choice.{name}", value)
        return choose_event(counts, Shared(1_250), 0.95, positions=[np.arange(len(EDGES) + 1)])

    by_fit, found, by_own = (
        chosen("_LEAST_GAIN", 0.0).cells,
        chosen("_LEAST_GAIN", _LEAST_GAIN).cells,
        chosen("_FEWEST_TO_SMOOTH", np.inf).cells,
    )
    np.testing.assert_array_equal(found[weak], by_own[weak])
    np.testing.assert_array_equal(found[~weak], by_fit[~weak])
    assert np.any(by_fit[weak] != by_own[weak])


def test_a_rare_leak_in_a_tail_is_judged_by_its_own_counts(monkeypatch):
    """If 0.1% of the outputs of one side are beyond 8, 4% more searches choose this tail."""
    edges = np.linspace(-4, 9, 261)
    sides = [np.diff(stats.laplace.cdf(edges, shift), prepend=0, append=1) for shift in (0, 1)]
    law = np.stack([sides[0], 0.999 * sides[1]])
    law[1, 241:-1] += 0.001 / 20
    halves = [drawn(law, 10_000, 400, seed=seed) for seed in (1, 2)]

    def mean():
        event = choose_event(
            halves[0], Shared(50_000), 0.95, judge=halves[1], positions=[np.arange(len(edges) + 1)]
        )
        return expected(law, event, 50_000).mean()

    with_rule = mean()
    monkeypatch.setattr("dpjax.inference._smooth_choice._FAR_BETTER", np.inf)
    assert with_rule > mean() + 0.01


def test_a_loss_that_is_not_smooth_is_found_by_its_own_counts():
    """There is a narrow atom in a tail, which a smooth loss cannot represent."""
    law = law_of("Laplace")
    law[:, -2:] = [[1e-5, 1e-5], [0.0, 0.02]]
    law /= law.sum(axis=1, keepdims=True)
    halves = [drawn(law, 10_000, 20, seed=seed) for seed in (1, 2)]
    event = choose_event(
        halves[0], Shared(50_000), 0.95, judge=halves[1], positions=[np.arange(len(EDGES) + 1)]
    )
    assert expected(law, event, 50_000).min() > 3


def test_few_draws_are_not_smoothed(monkeypatch):
    def fails(counts):
        raise AssertionError

    monkeypatch.setattr("dpjax.inference._smooth_choice.Smooth.of", fails)
    law, line = law_of("Laplace"), [np.arange(len(EDGES) + 1)]
    few = drawn(law, _FEWEST_TO_SMOOTH // 2 - 1, 1)
    choose_event(few, Shared(500), 0.95, positions=line)
    # If adjacent cells are not similar, there is no smooth loss.
    many = drawn(law, 10_000, 1)
    choose_event(many, Shared(500), 0.95, positions=line, ordered=False)
    with pytest.raises(AssertionError):
        choose_event(many, Shared(500), 0.95, positions=line)
