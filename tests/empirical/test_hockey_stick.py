"""delta of two samples compared with independent quadrature."""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq

from dpjax.empirical._ecdf import ecdf_pieces
from dpjax.empirical._joint import JointGrid, _edges
from dpjax.empirical._laplace import laplace_log_ratio, laplace_pieces
from dpjax.empirical._mixture import Mixture, mixture_pieces
from dpjax.empirical._pieces import hockey_stick, smallest_epsilon

EPSILONS = np.array([0.0, 0.05, 0.3, 1.0, 3.0])
POINT, WEIGHT = np.polynomial.legendre.leggauss(24)


def kernel_density(kernel, centers, widths):
    def density(x):
        z = (np.asarray(x)[..., None] - centers) / widths
        height = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) if kernel == "gaussian" else None
        if kernel == "laplace":
            height = np.exp(-np.abs(z)) / 2
        return np.mean(height / widths, axis=-1)

    return density


def integral_of_positive_part(excess, breaks):
    """Integrate by Gauss-Legendre between kinks and sign changes, found by a scan and brentq."""
    x = np.linspace(breaks[:-1], breaks[1:], 41).T
    values = excess(x)
    changes = np.nonzero(values[:, :-1] * values[:, 1:] < 0)
    roots = [
        brentq(lambda x: float(excess(x)), a, b, xtol=1e-14)
        for a, b in zip(x[:, :-1][changes], x[:, 1:][changes], strict=True)
    ]
    ends = np.unique(np.concatenate([breaks, roots, x[values == 0]]))
    half = np.diff(ends) / 2
    points = ends[:-1, None] + half[:, None] * (1 + POINT)
    return np.maximum((excess(points) * WEIGHT).sum(axis=1) * half, 0).sum()


def delta_by_quadrature(p, q, epsilons, centers, widths):
    reach = np.array([-40, -20, -10, -6, -4, -3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, 4, 6, 10, 20, 40])
    breaks = np.unique((centers[:, None] + widths[:, None] * reach).ravel())
    breaks = breaks[np.concatenate([[True], np.diff(breaks) > 1e-13])]
    return np.array(
        [
            max(
                integral_of_positive_part(lambda x, e=e: p(x) - np.exp(e) * q(x), breaks),
                integral_of_positive_part(lambda x, e=e: q(x) - np.exp(e) * p(x), breaks),
            )
            for e in epsilons
        ]
    )


def random_samples(seed):
    """Draw two samples of 1 to 7 points; rounding to few decimals makes many ties."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 8, 2)
    a = np.round(rng.normal(size=n), rng.integers(0, 4))
    b = np.round(a[rng.integers(0, n, m)] + 0.3 * rng.normal(size=m), rng.integers(0, 4))
    return a, b, float(np.exp(rng.normal() - 1)), rng


SMALL = {
    "one and one": ([0.3], [0.5]),
    "one and two": ([0.3], [0.3, 0.3]),
    "two and two": ([0.0, 1.0], [0.0, 1.5]),
    "all tied": ([1.0] * 5, [1.0] * 4 + [2.0]),
    "ties on both sides": ([0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 1.0]),
    "far apart": ([0.0, 1.0], [500.0, 501.0]),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
def test_small_samples(name, kernel):
    a, b = map(np.array, SMALL[name])
    p, q = (Mixture(kernel, s, np.full(len(s), 0.7)) for s in (a, b))
    truth = delta_by_quadrature(
        kernel_density(kernel, a, 0.7),
        kernel_density(kernel, b, 0.7),
        EPSILONS,
        np.concatenate([a, b]),
        np.full(len(a) + len(b), 0.7),
    )
    np.testing.assert_allclose(hockey_stick(mixture_pieces(p, q), EPSILONS)[0], truth, atol=1e-7)
    if kernel == "laplace":
        closed = hockey_stick(laplace_pieces(a, b[None], 0.7), EPSILONS)[0]
        np.testing.assert_allclose(closed, truth, atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_laplace_kernels_in_closed_form(seed):
    a, b, width, _ = random_samples(seed)
    truth = delta_by_quadrature(
        kernel_density("laplace", a, width),
        kernel_density("laplace", b, width),
        EPSILONS,
        np.concatenate([a, b]),
        np.full(len(a) + len(b), width),
    )
    closed = hockey_stick(laplace_pieces(a, b[None], width), EPSILONS)[0]
    np.testing.assert_allclose(closed, truth, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
@pytest.mark.parametrize("variable", [False, True])
def test_tabulated_mixtures(seed, kernel, variable):
    a, b, width, rng = random_samples(100 + seed)
    spread = 1.0 if variable else 0.0
    u, v = (width * np.exp(spread * rng.normal(size=len(s))) for s in (a, b))
    pieces = mixture_pieces(Mixture(kernel, a, u), Mixture(kernel, b, v))
    truth = delta_by_quadrature(
        kernel_density(kernel, a, u),
        kernel_density(kernel, b, v),
        EPSILONS,
        np.concatenate([a, b]),
        np.concatenate([u, v]),
    )
    np.testing.assert_allclose(hockey_stick(pieces, EPSILONS)[0], truth, atol=1e-7)
    assert 0.0 < pieces.error < 1e-6


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
def test_the_log_ratio_is_monotone_on_every_piece(kernel):
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=6), rng.normal(size=6)
    p, q = (Mixture(kernel, s, np.exp(0.5 * rng.normal(size=6) - 1)) for s in (a, b))
    pieces = mixture_pieces(p, q)
    near = np.abs(pieces.nodes) < 5
    for left, right in itertools.pairwise(pieces.nodes[near]):
        x = np.linspace(left, right, 9)
        steps = np.diff(p.log_density(x) - q.log_density(x))
        assert steps.min() > -1e-9 or steps.max() < 1e-9 or np.abs(steps).max() < 1e-7


def test_missing_results_are_left_out():
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=9), rng.normal(size=6)
    padded = np.concatenate([b[:2], [np.nan, np.nan], b[2:], [np.nan]])
    both = np.stack([padded, rng.normal(size=9)])
    whole = hockey_stick(laplace_pieces(a, both, 0.4), EPSILONS)
    alone = hockey_stick(laplace_pieces(a, b[None], 0.4), EPSILONS)
    np.testing.assert_allclose(whole[:1], alone, atol=1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_largest_log_ratio(seed):
    a, b, width, _ = random_samples(200 + seed)
    centers = np.concatenate([a, b])
    x = np.concatenate(
        [np.linspace(centers.min() - 20 * width, centers.max() + 20 * width, 200_001), centers]
    )
    ratio = np.log(kernel_density("laplace", a, width)(x) / kernel_density("laplace", b, width)(x))
    exact = laplace_log_ratio(a, b[None], width)[0]
    assert exact == pytest.approx(np.abs(ratio).max(), abs=1e-6)
    # delta is 0 from there on, and positive before.
    delta = hockey_stick(laplace_pieces(a, b[None], width), np.array([exact, 0.99 * exact]))[0]
    assert delta[0] <= 1e-15
    assert exact < 1e-9 or delta[1] > 0


def test_the_paper_s_proposition_1_fails_where_the_spec_says():
    a, b = np.array([0.0, 0.01, 1.0]), np.array([0.0, 1.0, 1.01])
    assert laplace_log_ratio(a, b[None], 0.01 / 0.1)[0] == pytest.approx(0.744323, abs=1e-6)
    assert laplace_log_ratio(a, b[None], 0.99 / 0.1)[0] <= 0.1


def test_delta_does_not_depend_on_unit_or_origin():
    a, b, width, _ = random_samples(7)
    one = hockey_stick(laplace_pieces(a, b[None], width), EPSILONS)
    other = hockey_stick(laplace_pieces(3 - 50 * a, 3 - 50 * b[None], 50 * width), EPSILONS)
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_far_away_points_and_huge_epsilon_stay_finite():
    pieces = laplace_pieces(np.array([0.0, 1e9]), np.array([[1e9, 1e9 + 1]]), 0.5)
    delta = hockey_stick(pieces, np.array([0.0, 1.0, 500.0]))[0]
    np.testing.assert_allclose(delta[1:], 0.5, atol=1e-12)
    assert 0.5 < delta[0] <= 1


def piecewise_constant_delta(a, b, epsilon):
    """A naive twin of the differenced distribution function, for samples without ties."""

    def density(sample):
        ordered = np.sort(sample)
        stride = max(1, round(len(sample) ** 0.5))
        ranks = sorted({*range(0, len(sample) - 1, stride), len(sample) - 1})
        pieces = [
            (ordered[r], ordered[s], (s - r) / (len(sample) - 1) / (ordered[s] - ordered[r]))
            for r, s in itertools.pairwise(ranks)
        ]
        return lambda x: sum(h for lo, hi, h in pieces if lo < x < hi)

    p, q = density(a), density(b)
    ends = np.unique(np.concatenate([a, b]))
    middles, lengths = (ends[1:] + ends[:-1]) / 2, np.diff(ends)
    sides = []
    for u, v in ((p, q), (q, p)):
        excess = [max(u(x) - np.exp(epsilon) * v(x), 0) for x in middles]
        sides.append(float(np.dot(excess, lengths)))
    return max(sides)


@pytest.mark.parametrize("seed", range(10))
def test_differenced_distribution_function(seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=rng.integers(2, 40))
    b = rng.normal(size=rng.integers(2, 40)) + 0.3
    delta = hockey_stick(ecdf_pieces(a, b), EPSILONS)[0]
    truth = [piecewise_constant_delta(a, b, e) for e in EPSILONS]
    np.testing.assert_allclose(delta, truth, atol=1e-10)


def test_masses_of_a_sample_with_ties_by_hand():
    """Knots 0, 0, 1, 5, 8 at shares 0, 4, 8, 12, 15 of 15: an atom of 4, then 4, 4 and 3 spread."""
    tied = np.array([0.0] * 8 + list(range(1, 9)))
    masses = np.sort(ecdf_pieces(tied, np.array([20.0])).mass_p[0])
    np.testing.assert_allclose(masses[masses > 0] * 15, [3, 4, 4, 4])


def test_ties_are_atoms_of_the_differenced_distribution_function():
    def delta(a, b):
        return hockey_stick(ecdf_pieces(np.array(a), np.array(b)), np.array([0.0]))[0, 0]

    assert delta([1.0], [1.0]) == 0
    assert delta([1.0], [1.0, 1.0, 1.0]) == 0
    assert delta([1.0], [2.0]) == 1
    # The knots are 0, 0, 1 (stride 2 of 4 points) and 0, 1: an atom of 1/2 at 0, and no atom.
    assert delta([0.0, 0.0, 0.0, 1.0], [0.0, 1.0]) == pytest.approx(2 / 3)


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
def test_joint_delta_within_its_stated_error(kernel):
    rng = np.random.default_rng(3)
    a = rng.normal(size=(5, 2))
    b = a + 0.5 * rng.normal(size=(5, 2))
    widths = [0.6, 0.9]
    delta, error = JointGrid(a, b, kernel, widths).delta(EPSILONS)
    # Use the midpoint rule on 1500 x 1500 cells, which is much finer and shares no code.
    x, y = (np.linspace(s.min() - 14 * w, s.max() + 14 * w, 1500) for s, w in zip(
        np.concatenate([a, b]).T, widths, strict=True))  # fmt: skip
    one = {"laplace": lambda z: np.exp(-np.abs(z)) / 2}.get(
        kernel, lambda z: np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    )
    p, q = (
        one((x[:, None] - s[:, 0]) / widths[0])
        @ one((y[:, None] - s[:, 1]) / widths[1]).T
        / (len(s) * widths[0] * widths[1])
        for s in (a, b)
    )
    area = (x[1] - x[0]) * (y[1] - y[0])
    for e, epsilon in enumerate(EPSILONS):
        truth = max(
            np.maximum(u - np.exp(epsilon) * v, 0).sum() * area for u, v in ((p, q), (q, p))
        )
        assert abs(delta[e] - truth) <= error[e] + 5e-5
        assert error[e] < 2e-3


def test_a_joint_query_of_independent_parts_composes():
    # Only the first coordinate differs, so the joint delta is the delta of the first coordinate.
    a, b = np.array([[0.0, 1.0]]), np.array([[0.5, 1.0]])
    delta, error = JointGrid(a, b, "laplace", [1.0, 1.0], cells=128).delta(EPSILONS)
    alone = hockey_stick(laplace_pieces(a[:, 0], b[:, :1].T, 1.0), EPSILONS)[0]
    assert (np.abs(delta - alone) <= error + 1e-9).all()
    a, b = (np.concatenate([s, [[2.0]]], axis=1) for s in (a, b))
    delta, error = JointGrid(a, b, "laplace", [1.0] * 3).delta(EPSILONS)
    assert (np.abs(delta - alone) <= error + 1e-9).all()


def test_smallest_epsilon_is_found_from_above():
    assert smallest_epsilon(lambda e: e < 2.5, 0.0) == pytest.approx(2.5, abs=1e-8)
    assert smallest_epsilon(lambda e: e < 2.5, 3.0) == 3.0
    assert smallest_epsilon(lambda e: True, 0.0) == np.inf


@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_edges_scale_with_the_results(kernel):
    first, second = np.random.default_rng(4).normal([0.0, 0.5], size=(20, 2)).T
    edges = _edges(first, second, kernel, 0.25, 64)
    np.testing.assert_array_equal(_edges(8 * first, 8 * second, kernel, 2.0, 64), 8 * edges)


def test_the_error_of_all_crossings_is_the_largest():
    a, b = np.array([0.0, 1.0]), np.array([0.3, 2.0])
    pieces = mixture_pieces(*(Mixture("gaussian", s, np.full(2, 0.5)) for s in (a, b)))
    assert pieces.error == 0.0
    pieces.errors.extend([1e-9, 3e-7, 2e-8])
    assert pieces.error == 3e-7
