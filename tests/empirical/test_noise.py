"""Noise: distances, densities, samplers, and the log ratio that releases achieve."""

import json

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import linprog

from dpjax.empirical import (
    Density,
    LaplaceNoise,
    TaperedDeconvolution,
    _calibrate,
    calibrate_noise,
    empirical_privacy,
    hausdorff_distance,
    wasserstein_infinity,
)
from dpjax.empirical._calibrate import _laplace_worst, _smallest_scale, _tapered_worst
from dpjax.empirical._laplace import laplace_log_ratio
from dpjax.empirical._noise import released_log_ratio

# False-alarm rate of each statistical test in this file.
RARE = 1e-5


def years(num_databases=15, num_individuals=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0, 3.0, num_individuals) * np.exp(
        0.3 * rng.normal(size=(num_databases, num_individuals))
    )


def naive_hausdorff(a, b):
    gaps = np.abs(a[:, None] - b)
    return max(gaps.min(axis=0).max(), gaps.min(axis=1).max())


def transport_exists(a, b, distance):
    """Return whether all mass can travel at most `distance`, by a linear program."""
    n, m = len(a), len(b)
    allowed = (np.abs(a[:, None] - b) <= distance).ravel()
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    found = linprog(
        np.zeros(n * m),
        A_eq=np.vstack([rows, columns]),
        b_eq=np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)]),
        bounds=[(0, 1 if ok else 0) for ok in allowed],
    )
    return found.status == 0


@pytest.mark.parametrize("seed", range(12))
def test_distances_against_naive_twins(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 7, 2)
    a = np.round(rng.normal(size=n), rng.integers(0, 3))
    b = np.round(rng.normal(size=m), rng.integers(0, 3))
    assert hausdorff_distance(a, b) == pytest.approx(naive_hausdorff(a, b), abs=1e-12)
    distance = wasserstein_infinity(a, b)
    assert wasserstein_infinity(b, a) == distance
    assert transport_exists(a, b, distance + 1e-9)
    assert distance < 1e-9 or not transport_exists(a, b, distance - 1e-6)


def test_the_spec_s_counter_example():
    a, b = np.array([0.0, 0.01, 1.0]), np.array([0.0, 1.0, 1.01])
    assert hausdorff_distance(a, b) == pytest.approx(0.01)
    assert wasserstein_infinity(a, b) == pytest.approx(0.99)
    assert laplace_log_ratio(a, b[None], 0.01 / 0.1)[0] == pytest.approx(0.744, abs=5e-4)
    assert laplace_log_ratio(a, b[None], 0.99 / 0.1)[0] <= 0.1


@pytest.mark.parametrize("seed", range(30))
def test_the_wasserstein_scale_suffices_whatever_the_samples(seed):
    rng = np.random.default_rng(seed)
    a = np.round(rng.standard_t(1, rng.integers(1, 9)), rng.integers(0, 4))
    b = np.round(rng.standard_t(1, rng.integers(1, 9)), rng.integers(0, 4))
    distance = wasserstein_infinity(a, b)
    for epsilon in (0.01, 0.5, 3.0):
        if distance:
            assert laplace_log_ratio(a, b[None], distance / epsilon)[0] <= epsilon + 1e-9


def convolution(noise, kernel_density, x, reach):
    """Return the density at x of kernel plus noise, by brute force."""
    y = np.linspace(-reach, reach, 100_001)
    smooth = np.array([np.trapezoid(kernel_density(v - y) * noise.density(y), y) for v in x])
    return noise.atom * kernel_density(x) + smooth


def test_laplace_deconvolution_is_exact():
    noise = LaplaceNoise(scale=1.3, bandwidth=0.5)
    x = np.array([0.0, 0.3, -1.0, 4.0])
    released = convolution(noise, stats.laplace(scale=0.5).pdf, x, 30)
    np.testing.assert_allclose(released, stats.laplace(scale=1.3).pdf(x), rtol=1e-6)
    assert noise.expected_error == pytest.approx((1 - (0.5 / 1.3) ** 2) * 1.3)


def test_tapered_deconvolution_is_the_density_that_it_says():
    noise = TaperedDeconvolution(scale=1.0, bandwidth=0.3)
    y = np.linspace(-45, 45, 900_001)
    assert np.trapezoid(noise.density(y), y) == pytest.approx(1, abs=1e-6)
    mean = np.trapezoid(np.abs(y) * noise.density(y), y)
    assert noise.expected_error == pytest.approx(mean, abs=1e-4)
    x = np.array([0.0, 0.2, -0.9, 1.5, 3.8, 4.5, 9.0])
    released = convolution(noise, stats.norm(scale=0.3).pdf, x, 40)
    np.testing.assert_allclose(noise.log_released(x), np.log(released), atol=2e-4)


NOISES = {
    "laplace": LaplaceNoise(2.0),
    "mixture": LaplaceNoise(2.0, 0.7),
    "tapered": TaperedDeconvolution(2.0, 0.7),
}


def test_tapered_deconvolution_is_the_tapered_quotient():
    scale, width = 1.0, 0.3
    cut = np.sqrt(2 / width**2 - 1 / scale**2)

    def inverse(x):
        def integrand(w):
            quotient = np.exp((width * w) ** 2 / 2) / (1 + (scale * w) ** 2)
            return quotient * np.cos(np.pi * w / (2 * cut)) ** 2 * np.cos(w * x) / np.pi

        return quad(integrand, 0, cut, limit=200, epsabs=1e-12)[0]

    noise = TaperedDeconvolution(scale, width)
    x = np.array([0.0, 0.1, 0.45, -0.8])
    truth = np.array([inverse(v) for v in x])
    density = noise.density(x)
    np.testing.assert_allclose(density / density[0], truth / truth[0], rtol=1e-4)
    # Beyond the core: Laplace, divided by the factor that the kernel restores.
    tail = np.exp(-(width**2) / 2 - 2.5) / 2
    assert noise.density(np.array(2.5)) / density[0] == pytest.approx(tail / truth[0], rel=1e-4)


@pytest.mark.parametrize("name", NOISES)
def test_samplers_draw_from_their_densities(name):
    noise = NOISES[name]
    draws = noise.sample(50_000, np.random.default_rng(1))
    zeros = np.count_nonzero(draws == 0)
    assert stats.binomtest(zeros, len(draws), noise.atom).pvalue > RARE
    moved = draws[draws != 0]
    y = np.linspace(-80, 80, 200_001)
    density = noise.density(y) / (1 - noise.atom)
    cdf = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(y))])

    def distribution(x, stretch=1.0):
        return np.interp(x / stretch, y, cdf)

    assert stats.kstest(moved, distribution).pvalue > RARE
    # The test is sensitive: it rejects scales that are wrong by a third or more.
    assert stats.kstest(moved, distribution, args=(1.5,)).pvalue < RARE
    assert stats.kstest(moved, distribution, args=(2 / 3,)).pvalue < RARE
    # Allow 4.5 standard errors; the false-alarm rate is 7e-6.
    error = np.abs(draws).std() / np.sqrt(len(draws))
    assert np.abs(draws).mean() == pytest.approx(noise.expected_error, abs=4.5 * error)


def test_log_ratio_bound_of_the_tapered_inverse():
    noise = TaperedDeconvolution(1.0, 0.3)
    x = np.linspace(-10, 10, 2001)
    log_r = noise.log_released(x)
    for distance in (0.05, 0.4, 1.7):
        near = np.abs(x[:, None] - x) <= distance
        naive = np.where(near, np.abs(log_r[:, None] - log_r), 0).max()
        assert noise.log_ratio_bound(distance) == pytest.approx(naive, abs=5e-3)
        rng = np.random.default_rng(0)
        a = rng.normal(size=6)
        b = a + distance * rng.uniform(-1, 1, 6)
        assert released_log_ratio(noise, a, b) <= noise.log_ratio_bound(distance) + 1e-3


def released_density(calibration, sample, kernel, width):
    """Return the log density of a smoothed sample plus noise on a grid, by brute force."""
    noise = calibration.noise
    reach = 12 * max(calibration.scale, width)
    y = np.linspace(-4 * reach, 4 * reach, 6_001)
    k = (stats.laplace if kernel == "laplace" else stats.norm)(scale=width).pdf(y)
    # All terms of the sum are positive, so it is exact to rounding, even in the tails.
    one = noise.atom * k + np.convolve(k, noise.density(y), "same") * (y[1] - y[0])
    x = np.linspace(sample.min() - reach, sample.max() + reach, 1001)
    return lambda s: np.log(np.mean([np.interp(x - v, y, one) for v in s], axis=0))


@pytest.mark.parametrize("noise", ["laplace", "deconvolution"])
@pytest.mark.parametrize("rule", ["wasserstein", "smallest"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_released_values_keep_to_epsilon_with_laplace_kernels(noise, rule, epsilon):
    values = years(6, 4)
    calibration = calibrate_noise(
        values,
        "mean",
        epsilon=epsilon,
        noise=noise,
        rule=rule,
        density=Density(bandwidth=0.3),
        tolerance=0.0,
    )
    full = values.mean(axis=1)
    without = np.stack([np.delete(values, i, 1).mean(axis=1) for i in range(4)])
    # Compare with the closed form: with this noise, releases are mixtures of Laplace(lambda).
    exact = laplace_log_ratio(full, without, max(calibration.scale, 0.3)).max()
    assert exact <= epsilon + 1e-6
    assert calibration.achieved_log_ratio <= epsilon + 1e-6
    # Also compare with brute force, from the density of the noise.
    log_density = released_density(calibration, full, "laplace", 0.3)
    base = log_density(full)
    worst = max(np.abs(base - log_density(q)).max() for q in without)
    assert worst <= epsilon + 1e-3
    if rule == "smallest" and calibration.scale > 0.3:
        assert calibration.achieved_log_ratio == pytest.approx(epsilon, abs=1e-5)


def test_the_gaussian_case_reports_what_it_achieves_or_refuses():
    values = years(6, 4)
    full = values.mean(axis=1)
    without = [np.delete(values, i, 1).mean(axis=1) for i in range(4)]
    good = calibrate_noise(
        values, "mean", epsilon=1.0, noise="deconvolution", density=Density("gaussian", 0.1)
    )
    log_density = released_density(good, full, "gaussian", 0.1)
    worst = max(np.abs(log_density(full) - log_density(q)).max() for q in without)
    assert good.achieved_log_ratio == pytest.approx(worst, abs=5e-3)
    assert good.achieved_log_ratio <= 1.01
    # If all mass is at one point, W_inf is attained, and a wide kernel's ringing exceeds epsilon.
    atoms = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1e-6]])
    with pytest.raises(ValueError, match=r"achieves a log ratio of .* never exceeds epsilon"):
        calibrate_noise(
            atoms, "sum", epsilon=1.0, noise="deconvolution", density=Density("gaussian", 0.7)
        )
    with pytest.raises(ValueError, match=r"below sqrt\(2\) times"):
        calibrate_noise(
            atoms, "sum", epsilon=1.0, noise="deconvolution", density=Density("gaussian", 1.5)
        )


def test_the_paper_s_scale_is_reported_and_refused_where_it_fails():
    # The counterexample as a sum: one individual takes the results from B to A, and a thousand
    # others share B equally, so that none of them matters.
    a, b = np.array([0.0, 0.01, 1.0]), np.array([0.0, 1.0, 1.01])
    panel = np.column_stack([a - b, np.tile(b[:, None] / 1000, 1000)])
    calibration = calibrate_noise(panel, "sum", epsilon=0.1, density=Density(bandwidth=0.5))
    assert calibration.hausdorff == pytest.approx(0.01)
    assert calibration.wasserstein_infinity == pytest.approx(0.99)
    assert calibration.hausdorff_log_ratio == pytest.approx(0.744323, abs=1e-6)
    assert not calibration.hausdorff_suffices and "does NOT suffice" in str(calibration)
    assert calibration.achieved_log_ratio <= 0.1 + 1e-9
    with pytest.raises(ValueError, match=r"rule 'hausdorff' achieves a log ratio of 0\.7443"):
        calibrate_noise(panel, "sum", epsilon=0.1, rule="hausdorff", density=Density(bandwidth=0.5))


def test_figures_of_a_calibration():
    values = years()
    calibration = calibrate_noise(values, "mean", epsilon=0.5)
    full = values.mean(axis=1)
    rest = np.stack([np.delete(values, i, 1).mean(axis=1) for i in range(8)])
    gaps = np.abs(np.sort(rest, axis=1) - np.sort(full)).max(axis=1)
    assert calibration.wasserstein_infinity == pytest.approx(gaps.max(), abs=1e-12)
    assert calibration.expected_error == pytest.approx(2 * gaps.max())
    assert calibration.sensitivity == pytest.approx(np.abs(rest - full).max())
    assert calibration.classical_error == pytest.approx(2 * np.abs(rest - full).max())
    given = calibrate_noise(values, "mean", epsilon=0.5, sensitivity=7.0)
    assert given.classical_error == 14.0 and "(sensitivity 7)" in str(given)
    np.testing.assert_array_equal(calibration.sample(3, key=1), calibration.sample(3, key=1))
    assert calibration.release(5.0) != calibration.release(5.0)
    assert calibration.to_dict()["noise"].startswith("Laplace noise")


def test_the_density_of_a_result_is_asked_for_again():
    values = years()
    result = empirical_privacy(values, "mean", epsilon=0.5, density=Density("likelihood"))
    again = empirical_privacy(values, "mean", epsilon=0.5, density=result.density)
    assert again.density == result.density
    np.testing.assert_array_equal(again.deltas, result.deltas)
    noise = calibrate_noise(values, "mean", epsilon=0.5, density=result.density)
    assert noise.density == str(result.density)


def test_nothing_to_hide_needs_no_noise():
    same = calibrate_noise(np.ones((5, 3)), "max", epsilon=0.1, density=Density(bandwidth=1.0))
    assert same.scale == 0 and same.expected_error == 0
    assert same.release(3.0) == 3.0
    # A kernel wider than lambda hides every individual without noise.
    wide = calibrate_noise(
        years(), "mean", epsilon=1.0, noise="deconvolution", density=Density(bandwidth=50.0)
    )
    assert wide.noise.atom == 1 and wide.expected_error == 0 and "no noise" in str(wide)
    assert wide.achieved_log_ratio <= 1.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0.0}, "epsilon must be a number > 0"),
        ({"noise": "gaussian"}, "noise 'gaussian' is not known"),
        ({"rule": "largest"}, "rule 'largest' is not known"),
        ({"query": ("mean", "max")}, "query must return one number"),
        ({"sensitivity": -1.0}, "sensitivity must be"),
        (
            {"noise": "deconvolution", "density": Density(bandwidth="variable")},
            "needs a kernel with a fixed",
        ),
        ({"databases": np.array([[1.0], [2.0]])}, "0 it is undefined in 2 of 2 databases"),
        ({"databases": np.array([[1.0, 2], [2.0, np.nan]])}, "0 it is undefined in 1 of 2 da"),
    ],
)
def test_bad_arguments_are_named(change, words):
    arguments = {"databases": years(), "query": "mean", "epsilon": 0.5} | change
    with pytest.raises(ValueError, match=words):
        calibrate_noise(**arguments)


def test_results_that_only_change_places_need_no_noise():
    # The sums are 1, 0, -1; 0, 1, -1 without the first individual; 1, -1, 0 without the second.
    found = calibrate_noise(
        np.array([[1.0, 0], [-1, 1], [0, -1]]), "sum", epsilon=1, density=Density(bandwidth=1.0)
    )
    assert found.wasserstein_infinity == found.scale == found.expected_error == 0
    assert found.hausdorff_log_ratio == 0 and found.hausdorff_suffices


def test_noise_is_strict_json_where_a_ratio_is_infinite():
    # The minima 0, 0, 1, and 0, 1, 1 without the first, are equal as sets: the paper's scale is 0.
    minima = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    found = calibrate_noise(minima, "min", epsilon=1.0, density=Density(bandwidth=1.0))
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["hausdorff_log_ratio"] == "inf" and told["hausdorff_suffices"] is False
    for noise in ("laplace", "deconvolution"):
        with pytest.raises(ValueError, match=r"achieves a log ratio of .* never exceeds epsilon"):
            calibrate_noise(
                minima, "min", epsilon=0.1, rule="hausdorff", noise=noise,
                density=Density(bandwidth=1.0),
            )  # fmt: skip


def test_without_a_difference_the_scale_is_a_millionth_of_what_is_enough():
    first = np.array([1.0, 2.0, 4.0])
    assert _smallest_scale(first, first[None], 0.1, 2.0) == 2e-6
    # A single result at distance 1 needs a scale of at most about 1 / 0.1.
    scale = _smallest_scale(np.zeros(1), np.ones((1, 1)), 0.1, 10.0)
    assert scale == pytest.approx(10.0, rel=1e-8)


def test_the_worst_individual_of_tapered_noise_is_that_of_all():
    """The largest gaps come first; other individuals are omitted only if their bound is smaller."""
    values = years()
    first = values.mean(axis=1)
    without = np.stack([np.delete(values, i, 1).mean(axis=1) for i in range(8)])
    gaps = np.abs(np.sort(without, axis=1) - np.sort(first)).max(axis=1)
    noise = TaperedDeconvolution(2 * gaps.max(), 0.3)
    each = [released_log_ratio(noise, first, second) for second in without]
    for order in (np.argsort(gaps), np.argsort(-gaps)):
        found = _tapered_worst(noise, first, without[order], gaps[order])
        assert found == pytest.approx(max(each), rel=1e-12)
    assert max(each) > 1.2 * np.median(each)


def test_noise_of_wide_kernels_is_an_atom_and_noise_has_words():
    wide = LaplaceNoise(1.0, 2.0)
    assert wide.atom == 1 and wide.density(np.array([0.0, 1.0])).tolist() == [0, 0]
    said = str(TaperedDeconvolution(2.0, 0.5))
    assert said == (
        "noise that approximately turns a Gaussian kernel of bandwidth 0.5 into a Laplace kernel "
        "of scale 2"
    )


@pytest.mark.parametrize("block", [1, 2, 3, 5, 99])
@pytest.mark.parametrize("place", range(5))
def test_the_row_that_needs_the_largest_scale_may_be_in_any_block(monkeypatch, block, place):
    """For one result with and one without an individual, the scale is the distance over epsilon."""
    monkeypatch.setattr(_calibrate, "_BLOCK", block)
    without = np.full((5, 1), 0.5)
    without[place] = 2.0
    assert _smallest_scale(np.zeros(1), without, 0.1, 40.0) == pytest.approx(20.0, rel=1e-6)
    assert _laplace_worst(np.zeros(1), without, 20.0) == pytest.approx(0.1)
    assert _laplace_worst(np.zeros(1), without, 0.0) == np.inf
    assert _laplace_worst(np.zeros(1), without[:0], 0.0) == 0.0


@pytest.mark.parametrize(
    ("result", "error", "words"),
    [
        (np.nan, ValueError, "result must be a number .finite., but was nan"),
        (10**400, ValueError, "result must be a number .* was larger"),
        (np.array([1.0, 2.0]), TypeError, "result must be one number, but was array"),
        ("3", TypeError, "result must be a number, but was '3'"),
        (None, TypeError, "result must be a number, but was None"),
    ],
    ids=["nan", "overflow", "array", "text", "None"],
)
def test_only_a_finite_number_can_be_released(result, error, words):
    noise = calibrate_noise(years(), "mean", epsilon=1.0)
    with pytest.raises(error, match=words):
        noise.release(result)


def test_the_number_of_draws_and_the_seed_are_checked():
    noise = calibrate_noise(years(), "mean", epsilon=1.0)
    with pytest.raises(ValueError, match="size must be an integer >= 0, but was -1"):
        noise.sample(-1)
    with pytest.raises(TypeError, match="key must be an integer >= 0, but was 'a'"):
        noise.sample(2, key="a")
    assert noise.sample(0).shape == (0,)
