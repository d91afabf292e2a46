"""Figures of empirical privacy: privacy curves, densities and noise.

matplotlib is imported only when a figure is drawn, and its global state is never used.
"""

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from dpjax.empirical._ecdf import ecdf_knots
from dpjax.empirical._mixture import Mixture
from dpjax.empirical._parts import Calibrated, Estimated
from dpjax.plotting import DATABASE, NEIGHBOR, QUIET, WIDTH, legend_above, literal, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WITH, _WITHOUT = DATABASE, NEIGHBOR


def plot_empirical_curves(result: Estimated) -> "Figure":
    """Plot delta and the total risk against epsilon.

    Args:
        result: Result of `empirical_privacy` for multiple values of epsilon.

    Returns:
        A matplotlib Figure.

    References:
        Burchard, Daoud, Dotterrer 2020, Figures 3 and 4.
    """
    figure, panels = new_figure(2, 1, size=(WIDTH, 5))
    order = np.argsort(result.epsilons)
    shown = ((result.delta, "delta (worst individual)"), (result.total_risk, "total risk"))
    for axes, (values, name) in zip(panels, shown, strict=True):
        axes.plot(result.epsilons[order], values[order], ".-", color=_WITH, markersize=3)
        if result.delta_error is not None and values is result.delta:
            error = 2 * result.delta_error[order]
            low, high = np.maximum(values[order] - error, 0), values[order] + error
            x, style = result.epsilons[order], {"alpha": 0.2, "linewidth": 0}
            axes.fill_between(x, low, high, color=_WITH, label="2 standard errors", **style)
        if np.isfinite(result.epsilon_at_zero) and result.epsilon_at_zero <= result.epsilons.max():
            zero = result.epsilon_at_zero
            axes.axvline(zero, color=QUIET, linestyle=":", label=f"delta vanishes at {zero:.3g}")
        axes.set(xlabel="epsilon", ylabel=name, ylim=(0, None))
        legend_above(axes)
        _tidy(axes)
    title = literal(f"Empirical privacy of {' and '.join(result.queries)}")
    figure.suptitle(fill(title, 54), fontsize="medium")
    return figure


def plot_empirical_densities(result: Estimated) -> "Figure":
    """Plot the densities of query results with and without the individual whose delta is largest.

    Args:
        result: Result for a single query, without an adversary.

    Returns:
        A matplotlib Figure.

    Raises:
        ValueError: If the result is for a joint query, or if it has a separate density for each
            bucket of an adversary.

    References:
        Burchard, Daoud, Dotterrer 2020, Figure 5.
    """
    if len(result.queries) != 1 or result.density is None:
        raise ValueError(
            "result must be for one query and without an adversary to have one density, but had "
            f"{len(result.queries)} queries and {len(result.buckets)} buckets."
        )
    figure, axes = new_figure(size=(WIDTH, 3.4))
    without = result.results_without_worst[:, 0]
    samples = (
        (result.results[:, 0], _WITH, "-", "with everybody"),
        (
            without[~np.isnan(without)],
            _WITHOUT,
            "--",
            literal(f"without {result.worst_individual}"),
        ),
    )
    reach = 4 * max(_widths(result, sample).max(initial=0.0) for sample, *_ in samples)
    both = np.concatenate([sample for sample, *_ in samples])
    grid = np.linspace(both.min() - reach, both.max() + reach, 1500)
    for row, (sample, color, style, label) in enumerate(samples):
        if not len(sample):
            continue
        if result.density.kernel == "ecdf":
            knots, share = ecdf_knots(sample)
            wide = np.diff(knots) > 0
            heights = np.diff(share)[wide] / np.diff(knots)[wide]
            edges = np.append(knots[:-1][wide], knots[-1])
            axes.stairs(heights, edges, color=color, linestyle=style, label=label)
        else:
            x = np.unique(np.concatenate([grid, sample]))
            mixture = Mixture(result.density.kernel, sample, _widths(result, sample))
            axes.plot(x, np.exp(mixture.log_density(x)), style, color=color, lw=1.4, label=label)
        ticks = np.full(len(sample), 0.055 - 0.035 * row)
        axes.plot(sample, ticks, "|", color=color, transform=axes.get_xaxis_transform(), ms=7)
    axes.set(xlabel=fill(literal(result.queries[0]), 54), ylabel="density")
    axes.set_ylim(-0.1 * axes.get_ylim()[1], None)
    legend_above(axes)
    _tidy(axes)
    return figure


def plot_empirical_noise(
    calibration: Calibrated, num_draws: int = 1_000_000, key: int = 0
) -> "Figure":
    """Plot a histogram of noise draws together with the density of the noise.

    Args:
        calibration: The calibrated noise.
        num_draws: Number of draws in the histogram.
        key: Seed for the draws.

    Returns:
        A matplotlib Figure.

    References:
        Burchard, Daoud, Dotterrer 2020, Figure 1.
    """
    noise = calibration.noise
    figure, axes = new_figure(size=(WIDTH, 3.4))
    draws = calibration.sample(num_draws, key)
    moved = draws[draws != 0]
    title = f"{num_draws:,} draws of the noise"
    if noise.atom:
        title += f"; {1 - len(moved) / num_draws:.1%} of the draws are exactly 0 and not shown"
    if len(moved):
        reach = float(np.quantile(np.abs(moved), 0.9995))
        edges = np.linspace(-reach, reach, 161)
        heights = np.histogram(moved, edges)[0] / (num_draws * np.diff(edges))
        axes.stairs(heights, edges, fill=True, color=_WITH, alpha=0.35, label="draws")
        x = np.linspace(-reach, reach, 1601)
        axes.plot(x, noise.density(x), color=_WITHOUT, lw=1.2, label="density")
        legend_above(axes)
    axes.set(
        xlabel=fill(literal(f"noise added to the {calibration.query}"), 54),
        ylabel="density",
        ylim=(0, None),
    )
    figure.suptitle(fill(title, 54), fontsize="medium")
    _tidy(axes)
    return figure


def plot_empirical(result: Estimated) -> "Figure":
    """Plot densities if the result has one epsilon and one density; otherwise plot the curves."""
    alone = len(result.queries) == 1 and result.density is not None
    if len(result.epsilons) == 1 and alone:
        return plot_empirical_densities(result)
    return plot_empirical_curves(result)


def _widths(result: Estimated, sample: np.ndarray) -> np.ndarray:
    """Return the bandwidth at each point of a sample, or an empty array if there is no kernel."""
    if result.density is None or result.density.kernel == "ecdf" or not len(sample):
        return np.zeros(0)
    return result.density.widths(sample)


def _tidy(axes: "Axes") -> None:
    axes.spines[["top", "right"]].set_visible(False)
