"""Data for which deltas were once wrong: clusters, ties, rounding errors, undefined results."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad

from dpjax import calibrate_noise, empirical_privacy
from dpjax.empirical import Adversary, Density, RegressionCoefficient, panel_from_array
from dpjax.empirical._ecdf import ecdf_pieces
from dpjax.empirical._joint import JointGrid
from dpjax.empirical._laplace import laplace_pieces
from dpjax.empirical._mixture import Mixture, mixture_pieces
from dpjax.empirical._pieces import hockey_stick
from dpjax.empirical._samples import sample_query

EPSILONS = np.array([0.0, 0.3, 1.0, 3.0])


def laplace(points, width):
    return lambda x: float(np.mean(np.exp(-abs(x - points) / width)) / (2 * width))


def delta_of(p, q, undefined, epsilon, kinks):
    """Return the integral of the larger excess, with an atom of the given mass on the side of q."""
    price, rest = np.exp(epsilon), 1 - undefined
    limits = {"a": -60, "b": 60, "points": kinks, "limit": 2000, "epsabs": 1e-10}
    forward = quad(lambda x: max(p(x) - price * rest * q(x), 0), **limits)[0]
    backward = quad(lambda x: max(rest * q(x) - price * p(x), 0), **limits)[0]
    return max(forward, undefined + backward)


@pytest.mark.parametrize("undefined", [0.1, 0.5, 29 / 30])
def test_undefined_results_are_results_of_their_own(undefined):
    rng = np.random.default_rng(3)
    a, b, width = rng.normal(size=5), rng.normal(size=4), 0.7
    kinks = np.sort(np.concatenate([a, b]))
    truth = [delta_of(laplace(a, width), laplace(b, width), undefined, e, kinks) for e in EPSILONS]
    shares = np.array([undefined])
    closed = hockey_stick(laplace_pieces(a, b[None], width), EPSILONS, shares)[0]
    np.testing.assert_allclose(closed, truth, atol=1e-7)
    pieces = mixture_pieces(*(Mixture("laplace", s, np.full(len(s), width)) for s in (a, b)))
    np.testing.assert_allclose(hockey_stick(pieces, EPSILONS, undefined)[0], truth, atol=1e-7)
    # The second query is the constant 0 on both sides, so it reveals nothing.
    pairs = [np.stack([s, np.zeros(len(s))], axis=1) for s in (a, b)]
    joint, error = JointGrid(*pairs, "laplace", [width, 1.0]).delta(EPSILONS, undefined)
    assert np.all(np.abs(joint - truth) <= error + 1e-9) and error.max() < 0.01


def test_undefined_results_beside_atoms():
    """P is 0 or 1 with probability 1/2; Q is undefined with probability 1/4, and otherwise 0."""
    pieces = ecdf_pieces(np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.zeros(3))
    p = pieces.mass_p[0] @ (pieces.mass_q[0] > 0)
    found = hockey_stick(pieces, EPSILONS, 0.25)[0]
    forward = np.maximum(p - 0.75 * np.exp(EPSILONS), 0) + (1 - p)
    backward = 0.25 + np.maximum(0.75 - np.exp(EPSILONS) * p, 0)
    np.testing.assert_allclose(found, np.maximum(forward, backward), atol=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("lost", [30, 29, 15, 1])
@pytest.mark.parametrize("density", [Density(), Density("ecdf"), Density("gaussian", "variable")])
def test_delta_is_at_least_the_share_of_undefined_results(lost, density):
    rng = np.random.default_rng(0)
    values = np.full((30, 3), np.nan)
    values[:, 0] = rng.normal(size=30)
    values[lost:, 1:] = rng.normal(size=(30 - lost, 2))
    found = empirical_privacy(values, "mean", epsilon=[0.0, 5.0, 500.0], density=density)
    assert np.all(found.deltas[0] >= lost / 30) and np.isinf(found.epsilon_at_zero)
    assert np.all(found.deltas[1:] < 0.9 * (1 - lost / 30) + 1e-9)
    joint = empirical_privacy(values, ("mean", "sum"), epsilon=[0.0, 5.0])
    assert np.all(joint.deltas[0] >= lost / 30)
    with pytest.raises(ValueError, match=f"without 0 it is undefined in {lost} of 30 databases"):
        calibrate_noise(values, "mean", epsilon=0.5, density=Density(bandwidth=1.0))


@pytest.mark.parametrize("distance", [1e2, 3e3, 1e6])
def test_bandwidths_of_clusters_do_not_depend_on_their_distance(distance):
    rng = np.random.default_rng(1)
    level = rng.permutation(np.repeat([0.0, distance], 20))
    values = level[:, None] / 10 + rng.normal(size=(40, 10)) * 0.3
    values[:, 3] += 3
    found = empirical_privacy(values, "sum", epsilon=1.0)
    gaps = np.abs(np.subtract.outer(*[values.sum(axis=1)] * 2))

    def likelihood(width):
        kernels = np.exp(-gaps / width) / (2 * width)
        np.fill_diagonal(kernels, 0)
        return np.log(kernels.sum(axis=1) / 39).mean()

    best = max(likelihood(width) for width in np.geomspace(0.05, 5, 500))
    assert best - 1e-6 < likelihood(found.density.scales[0]) < best + 1e-3
    assert found.delta[0] > 0.8 and not any("rule of thumb" in note for note in found.notes)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kernel", ["laplace", "gaussian", "likelihood"])
@pytest.mark.parametrize("share", [0.02, 0.12])
def test_variable_bandwidths_follow_the_unit(kernel, share):
    values = (np.random.default_rng(1).random((100, 6)) < share).astype(float)
    density = Density(kernel, "variable" if kernel != "likelihood" else "likelihood")
    one, *others = (
        empirical_privacy(unit * values, "max", epsilon=[0.0, 0.3], density=density)
        for unit in (1.0, 1e-6, 1e6)
    )
    for other in others:
        np.testing.assert_allclose(other.deltas, one.deltas, atol=1e-6)
    with_all, worst = values.max(axis=1).mean(), one.worst_individual
    truth = with_all - np.delete(values, worst, axis=1).max(axis=1).mean()
    assert 0.5 * truth < one.delta[0] < 1.5 * truth


@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 20), marks=pytest.mark.slow)])
@pytest.mark.parametrize("density", [Density("ecdf"), Density(bandwidth=1e-3), Density()])
def test_rounding_errors_reveal_nothing(density, seeds):
    """Sums of multiples of 0.1 are not multiples of 0.1, and depend on the order of addition."""
    for seed in seeds:
        values = np.random.default_rng(seed).integers(0, 2, (41, 20)).astype(float)
        values[:, 7] = 0
        exact, rounded = (
            empirical_privacy(unit * values, "sum", epsilon=1.0, density=density)
            for unit in (1.0, 0.1)
        )
        assert exact.deltas[7, 0] == rounded.deltas[7, 0] == 0
        if density.kernel == "ecdf":
            np.testing.assert_allclose(rounded.deltas, exact.deltas, atol=1e-9)


def test_results_that_differ_only_by_rounding_do_not_vary():
    values = np.full((30, 40), 0.1)
    values[np.random.default_rng(1).random(values.shape) < 0.3] = np.nan
    with pytest.raises(ValueError, match=r"query 'mean' was 0\.1 in every database"):
        empirical_privacy(values, "mean", epsilon=1.0)


def test_results_beside_a_huge_one_are_not_merged():
    values = np.random.default_rng(2).normal(size=(20, 5))
    values[0, 0] = 1e18
    found = sample_query("max", panel_from_array(values))
    np.testing.assert_array_equal(found.full[:, 0], values.max(axis=1))


@pytest.mark.parametrize("mean", [lambda v: (v.sort(), v[-1])[1], lambda v: v.__imul__(2)[-1] / 2])
def test_queries_may_change_their_argument(mean):
    values = np.random.default_rng(4).gamma(2.0, size=(20, 6))
    panel = panel_from_array(values)
    expected = sample_query(lambda v: float(mean(v.copy())), panel)
    found = sample_query(mean, panel)
    np.testing.assert_array_equal(found.without, expected.without)
    np.testing.assert_array_equal(panel.values[:, 0], values.ravel())


@pytest.mark.parametrize(
    "result",
    [[], "3.5", b"1", datetime.date(2020, 1, 1), np.timedelta64(5, "s"), 1j, np.complex128(2),
     {"a": 1}, [1, [2]], 10**400, [None, "a"]],
    ids=repr,
)  # fmt: skip
def test_results_that_are_not_numbers_are_refused(result):
    with pytest.raises(ValueError, match=r"must return a number or have shape .*, but returned"):
        sample_query(lambda values: result, panel_from_array(np.ones((2, 2))))


@pytest.mark.parametrize("kind", [bool, int, float, Fraction, Decimal, np.float32, np.int8])
def test_results_may_be_numbers_of_any_kind(kind):
    panel = panel_from_array(np.ones((3, 4)))
    found = sample_query(lambda values: kind(len(values)) if len(values) > 3 else None, panel)
    assert found.full.tolist() == [[float(kind(4))]] * 3 and np.isnan(found.without).all()


def test_regressions_need_a_column():
    with pytest.raises(ValueError, match="on must name at least one explanatory column"):
        RegressionCoefficient("value", ())


def test_masked_entries_are_missing():
    values = np.random.default_rng(5).normal(size=(30, 8))
    hidden = values > 1.5
    masked = np.ma.MaskedArray(np.where(hidden, 1e6, values), hidden)
    found, expected = (
        empirical_privacy(given, "mean", epsilon=1.0)
        for given in (masked, np.where(hidden, np.nan, values))
    )
    np.testing.assert_array_equal(found.deltas, expected.deltas)


def test_notes_on_the_density_of_each_bucket():
    values = np.random.default_rng(6).integers(0, 3, (24, 4)).astype(float)
    known = np.repeat(["a", "b", "c"], [6, 6, 12])
    found = empirical_privacy(values, "count", epsilon=1.0, density=Density(bandwidth=1.0),
                              adversary=Adversary(known))  # fmt: skip
    assert [note[:70] for note in found.notes if "mostly" in note] == [
        f"A density estimated from 6 databases in the bucket 'adversary value {label}'"[:70]
        for label in "ab"
    ]
    ties = np.tile([[0.0, 1.0], [1.0, 1.0]], (12, 1))
    found = empirical_privacy(ties, "sum", epsilon=1.0, adversary=Adversary(known))
    assert sum("rule of thumb" in note for note in found.notes) == 1


def test_errors_name_the_bucket():
    values = np.random.default_rng(7).normal(size=(20, 4))
    values[:10, 0] = np.nan
    with pytest.raises(ValueError, match="3 in every database of the bucket 'adversary value a'"):
        empirical_privacy(
            values, "count", epsilon=1.0, adversary=Adversary(["a"] * 10 + ["b"] * 10)
        )


def test_the_jackknife_leaves_out_no_whole_bucket():
    rng = np.random.default_rng(8)
    values, known = rng.gamma(2.0, size=(200, 3)), np.full(200, "many")
    known[rng.choice(200, 4, replace=False)] = "few"
    asked = {"epsilon": 0.1, "density": Density(bandwidth=1.0), "adversary": Adversary(known)}
    found = [
        empirical_privacy(values, "sum", uncertainty=True, key=key, **asked) for key in range(3)
    ]
    # A bucket without databases would have delta 1 in one replicate.
    assert all(result.delta_error[0] < 0.2 for result in found)


@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_bandwidths_below_the_precision_of_floats_are_refused(kernel):
    """Floats cannot represent nodes between the points, and delta must not be 0 for this reason."""
    a, b = np.array([0.1, 0.2]), np.array([0.3, 0.4])

    def delta(width):
        pieces = mixture_pieces(*(Mixture(kernel, s, np.full(2, width)) for s in (a, b)))
        return hockey_stick(pieces, EPSILONS)[0]

    # The two mixtures are far apart in units of the bandwidth, so every delta is 1.
    np.testing.assert_allclose(delta(1e-14), 1.0, atol=1e-12)
    for width in (1e-18, 1e-20, 1e-100):
        with pytest.raises(ValueError, match=r"bandwidth must be at least .* but was 1e-"):
            delta(width)


def test_rounding_errors_do_not_add_up_over_many_close_results():
    """The differences between adjacent results are below the rounding limit of 2^-46 = 1.4e-14."""
    steps = np.arange(10_000.0)
    array = np.stack([np.full(10_000, 1e12), steps / 1000], axis=1)
    samples = sample_query("sum", panel_from_array(array))
    np.testing.assert_allclose(samples.full[:, 0], 1e12 + steps / 1000, rtol=2.0**-46)
    assert np.ptp(samples.full) > 9.9
