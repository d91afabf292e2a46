"""Calibration of noise for a query: distribution, scale and privacy level of the noise."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpjax.core import validate
from dpjax.core.errors import neutral
from dpjax.core.settings import own_settings
from dpjax.core.wording import BadValue, term
from dpjax.empirical._checks import check_independence
from dpjax.empirical._density import Density, check_density
from dpjax.empirical._distances import hausdorff_distance, wasserstein_infinity
from dpjax.empirical._figures import plot_empirical_noise
from dpjax.empirical._laplace import laplace_log_ratio
from dpjax.empirical._noise import (
    LAPLACE,
    LaplaceNoise,
    Noise,
    TaperedDeconvolution,
    released_log_ratio,
)
from dpjax.empirical._panel_tables import as_panel
from dpjax.empirical._parts import Calibrated
from dpjax.empirical._pieces import MAX_EPSILON
from dpjax.empirical._report import noise_document
from dpjax.empirical._samples import sample_query
from dpjax.report import Glance, Page, Shown, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISES, RULES = ("laplace", "deconvolution"), ("wasserstein", "hausdorff", "smallest")
"""Names of the kinds of noise, and of the rules for the noise scale."""

_BY_DISTANCE = term("rule='wasserstein'", "--noise-rule wasserstein")

_BLOCK = 1024

_FEW_DRAWS = 100_000


@dataclass(frozen=True, repr=False)
class NoiseCalibration(Calibrated, Shown):
    """Calibrated noise for a query, and the quantities from which the noise scale was computed.

    Attributes:
        query: Description of the query.
        epsilon: The requested privacy level.
        noise: Noise to add to a result.
        scale: Scale lambda of the noise, in the unit of the query.
        rule: Rule that determines the scale lambda: 'wasserstein', 'hausdorff' or 'smallest'.
        wasserstein_infinity: W_inf, in the unit of the query. W_inf is the largest value, over all
            individuals, of the infinity-Wasserstein distance between the results with and without
            the individual.
        hausdorff: Largest value, over all individuals, of the Hausdorff distance between the
            results with and without the individual. Burchard, Daoud, Dotterrer 2020 use the
            Hausdorff distance instead of W_inf.
        hausdorff_log_ratio: Log ratio, defined as for `achieved_log_ratio`, of Laplace noise with
            the paper's scale, hausdorff / epsilon.
        achieved_log_ratio: Log ratio that `noise` achieves. Let p and q be the densities of a noisy
            result with and without an individual. The log ratio is the maximum of |ln p - ln q|
            over all individuals and all noisy results.
        density: Description of the density estimate.
        expected_error: Expected absolute value of the noise.
        classical_error: Expected absolute value of the noise that the classical Laplace mechanism
            adds at `epsilon`.
        sensitivity: Sensitivity from which `classical_error` is computed.
        sensitivity_observed: True if `sensitivity` is the largest observed change of a result;
            False if it was passed as an argument. An observed sensitivity may be smaller than the
            true sensitivity.
        independence: Test of independence of the databases.
        notes: Important remarks about the data and the method, one sentence each.

    References:
        Burchard, Daoud, Dotterrer 2020, Section 6, with Proposition 1 corrected.
    """

    def _figure(self) -> "Figure":
        return plot_empirical_noise(self)

    def _small_figure(self) -> "Figure":
        return plot_empirical_noise(self, num_draws=_FEW_DRAWS)

    def _document(self, path: Path) -> tuple[Page, dict[Path, str | bytes]]:
        return noise_document(self, path)

    def _glance(self) -> Glance:
        title = f"Noise for the {self.query}"
        return Glance(title, Verdict("estimate", title, f"{self.noise}."), self.rows())

    def __repr__(self) -> str:
        return neutral(f"NoiseCalibration({self.query}, epsilon={self.epsilon:g}: {self.noise})")

    def __str__(self) -> str:
        enough = "suffices" if self.hausdorff_suffices else "does NOT suffice"
        which = "largest change seen" if self.sensitivity_observed else "sensitivity"
        lines = [
            f"Noise for {self.query} at epsilon = {self.epsilon:g}: {self.noise}",
            f"scale {self.scale:.6g} by the rule {self.rule!r} "
            f"(W_inf {self.wasserstein_infinity:.6g}, Hausdorff {self.hausdorff:.6g})",
            f"largest log ratio of releases: {self.achieved_log_ratio:.6g}",
            f"the scale Hausdorff / epsilon, which the paper uses, {enough}: largest log ratio "
            f"{self.hausdorff_log_ratio:.6g}",
            f"expected absolute error {self.expected_error:.6g}; classical Laplace mechanism "
            f"{self.classical_error:.6g} ({which} {self.sensitivity:.6g})",
            *(f"independence: {check}" for check in self.independence),
            *(f"note: {note}" for note in self.notes),
        ]
        return "\n".join(map(neutral, lines))


@own_settings()
def calibrate_noise(
    databases: object,
    query: object = "mean",
    *,
    epsilon: float,
    noise: str = "laplace",
    rule: str = "wasserstein",
    density: Density = Density(),  # noqa: B008 (frozen)
    sensitivity: float | None = None,
    tolerance: float = 0.01,
    key: int = 0,
) -> NoiseCalibration:
    """Calibrate noise that makes a query empirically private at level epsilon, with delta = 0.

    Args:
        databases: Databases, in any form that `empirical_privacy` accepts.
        query: Query that returns one number, in any form that `empirical_privacy` accepts.
        epsilon: Privacy level to reach, above 0 and at most 500.
        noise: 'laplace', which is safe for any kernel, or 'deconvolution', which adds less noise.
            Deconvolution of a Gaussian kernel is only approximate, so its log ratio is measured,
            and a log ratio above epsilon + tolerance raises an error.
        rule: Rule that determines the noise scale lambda. 'wasserstein' uses W_inf / epsilon, which
            always suffices. 'smallest' uses the smallest scale at which no log ratio of the given
            results exceeds epsilon. 'hausdorff' uses the paper's scale, hausdorff / epsilon, and
            raises an error if this scale does not suffice.
        density: Kernel and bandwidth of the densities, as in `empirical_privacy`; deconvolution
            requires a fixed bandwidth.
        sensitivity: Global sensitivity of the query, from which the error of the classical Laplace
            mechanism is computed, or None to use the largest observed change of a result.
        tolerance: Maximum amount by which the achieved log ratio may exceed epsilon.
        key: Seed for random queries.

    Returns:
        The calibrated noise, with a `release` method that adds a draw of the noise to a result.

    Raises:
        ValueError: If an argument is out of range, if the removal of some individual leaves the
            query undefined in some database, or if the achieved log ratio exceeds
            epsilon + tolerance.

    References:
        Burchard, Daoud, Dotterrer 2020, Proposition 1 (corrected) and Theorem 2.
    """
    validate.positive(epsilon=epsilon)
    if epsilon > MAX_EPSILON:
        raise BadValue(f"epsilon must be at most {MAX_EPSILON:g}, but was {epsilon!r}.")
    validate.non_negative(tolerance=tolerance)
    check_density(density)
    validate.one_of(NOISES, noise=noise)
    validate.one_of(RULES, rule=rule)
    if sensitivity is not None:
        validate.positive(sensitivity=sensitivity)
    panel = as_panel(databases)
    samples = sample_query(query, panel, key=key)
    if len(samples.names) != 1:
        raise BadValue(
            f"query must return one number, but returned {len(samples.names)}: calibrate noise for "
            "each number separately, and divide epsilon among the numbers."
        )
    fit = density.fit(samples.full, samples.database, samples.names)
    fitted = fit.density
    if noise == "deconvolution" and not fitted.scales:
        raise BadValue(
            f"{term('noise', '--noise-kind')} 'deconvolution' needs a kernel with a fixed "
            f"bandwidth, but the density is {fitted}; {LAPLACE} works for any density."
        )
    first, without = samples.full[:, 0], samples.without[:, :, 0]
    undefined = np.isnan(without).any(axis=1)
    if undefined.any():
        worst = int(np.argmax(np.isnan(without).sum(axis=1)))
        count = len(np.unique(samples.database[np.isnan(without[worst])]))
        raise BadValue(
            "query must stay defined no matter which individual is removed, but without "
            f"{panel.individuals[worst]!r} it is undefined in {count} of {panel.num_databases} "
            "databases. No noise can hide whether this individual is present: choose another query."
        )
    without = without[(without != first).any(axis=1)]
    gaps = np.array([wasserstein_infinity(first, results) for results in without])
    hausdorff = max((hausdorff_distance(first, results) for results in without), default=0.0)
    largest = float(gaps.max(initial=0.0))
    if rule == "smallest":
        scale = _smallest_scale(first, without[np.argsort(-gaps)], epsilon, largest / epsilon)
    else:
        scale = {"wasserstein": largest, "hausdorff": hausdorff}[rule] / epsilon
    chosen = _noise(noise, fitted, scale)
    # If W_inf is 0, the results with and without an individual are equal up to their order, so the
    # two densities are equal at any scale.
    achieved = _achieved(chosen, first, without, gaps) if largest else 0.0
    if achieved > epsilon + tolerance:
        raise BadValue(
            f"{term('noise', '--noise-kind')} {noise!r} with the rule {rule!r} achieves a "
            f"log ratio of {achieved:.4g}, which exceeds epsilon = {epsilon:g} by more than the "
            f"tolerance, {tolerance:g}: use {LAPLACE} with {_BY_DISTANCE}, whose log ratio "
            "never exceeds epsilon."
        )
    seen = float(np.max(np.abs(without - first), initial=0.0))
    used = seen if sensitivity is None else float(sensitivity)
    return NoiseCalibration(
        query=samples.names[0],
        epsilon=float(epsilon),
        noise=chosen,
        scale=scale,
        rule=rule,
        wasserstein_infinity=largest,
        hausdorff=hausdorff,
        hausdorff_log_ratio=_laplace_worst(first, without, hausdorff / epsilon) if largest else 0.0,
        achieved_log_ratio=achieved,
        density=str(fitted),
        expected_error=chosen.expected_error,
        classical_error=used / epsilon,
        sensitivity=used,
        sensitivity_observed=sensitivity is None,
        independence=check_independence(samples.per_database(), samples.names),
        notes=(*panel.notes, *samples.notes, *fit.notes),
    )


def _noise(noise: str, density: Density, scale: float) -> Noise:
    if noise == "deconvolution" and density.kernel == "laplace":
        return LaplaceNoise(scale, density.scales[0])
    if noise == "deconvolution" and scale:
        return TaperedDeconvolution(scale, density.scales[0])
    return LaplaceNoise(scale)


def _achieved(noise: Noise, first: np.ndarray, without: np.ndarray, gaps: np.ndarray) -> float:
    """Return the largest log ratio, over all individuals, of the densities of noisy results."""
    if isinstance(noise, TaperedDeconvolution):
        return _tapered_worst(noise, first, without, gaps)
    # For Laplace noise without deconvolution, the ratio is computed without the kernel, because
    # smoothing by the kernel can only reduce the ratio. For a deconvolution, the density of a noisy
    # result is exactly a mixture of Laplace kernels whose scale is the larger of the noise scale
    # and the bandwidth.
    return _laplace_worst(first, without, max(noise.scale, noise.bandwidth))


def _laplace_worst(first: np.ndarray, without: np.ndarray, scale: float) -> float:
    if scale == 0:
        return float("inf") if len(without) else 0.0
    blocks = (without[k : k + _BLOCK] for k in range(0, len(without), _BLOCK))
    return max((float(laplace_log_ratio(first, b, scale).max()) for b in blocks), default=0.0)


def _smallest_scale(first: np.ndarray, without: np.ndarray, epsilon: float, enough: float) -> float:
    """Return the smallest Laplace scale at which no log ratio exceeds epsilon.

    The largest log ratio decreases as the scale grows because a Laplace variable is the sum of a
    Laplace variable of smaller scale and independent noise. Bisection finds the scale at which the
    largest log ratio equals epsilon. The rows of `without` are sorted so that the first block of
    rows usually requires the largest scale. Each later block then needs only one evaluation.
    """
    scale = 1e-6 * enough
    for start in range(0, len(without), _BLOCK):
        block = without[start : start + _BLOCK]
        if _laplace_worst(first, block, scale) <= epsilon:
            continue
        low, scale = scale, enough
        while scale - low > 1e-9 * enough:
            middle = (low + scale) / 2
            if _laplace_worst(first, block, middle) <= epsilon:
                scale = middle
            else:
                low = middle
    return scale


def _tapered_worst(
    noise: TaperedDeconvolution, first: np.ndarray, without: np.ndarray, gaps: np.ndarray
) -> float:
    """Return the largest log ratio over all individuals.

    Individuals are processed in decreasing order of W_inf. The loop ends as soon as a bound shows
    that no remaining individual has a larger log ratio.
    """
    largest = 0.0
    check_at = 1
    for place, i in enumerate(np.argsort(-gaps)):
        if place == check_at:
            if noise.log_ratio_bound(float(gaps[i])) <= largest:
                break
            check_at *= 2
        largest = max(largest, released_log_ratio(noise, first, without[i]))
    return largest
