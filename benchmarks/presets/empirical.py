"""Empirical differential privacy of generated data that resemble the paper's, and of a real panel.

The paper uses the yearly precipitation at 10368 locations over 41 years (GPCP). These data are not
part of any package, so this example generates a panel of the same size. The mean of each location
has a gamma distribution whose standard deviation is given in the paper (686 mm within a year).
Years are independent, and locations in the same region are correlated. The real panel is Grunfeld's
investment data from statsmodels: years are databases, and firms are individuals. Its consecutive
years are dependent, which the independence checks detect.
"""

import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from dpjax.empirical import (
    calibrate_noise,
    empirical_privacy,
    panel_from_table,
    plot_empirical_curves,
    plot_empirical_densities,
    plot_empirical_noise,
    write_empirical_report,
)
from dpjax.plotting import save_figure

NUM_YEARS, NUM_LOCATIONS = 41, 10368


def main(folder: Path, *, quick: bool) -> None:
    """Run both examples; write figures, reports, and a summary in `empirical.json`.

    Args:
        folder: Output folder.
        quick: Whether to use 60 locations instead of all.
    """
    data = precipitation_like(60 if quick else NUM_LOCATIONS)
    summary = {"generated": _example(folder, "generated", data, np.linspace(0, 0.25, 51), 0.05)}
    grunfeld = _grunfeld()
    if grunfeld is not None:
        columns = {"database": "year", "individual": "firm", "value": "invest"}
        panel = panel_from_table(grunfeld, **columns)
        summary["grunfeld"] = _example(folder, "grunfeld", panel, np.linspace(0, 3, 61), 0.5)
    (folder / "empirical.json").write_text(json.dumps(summary, indent=2) + "\n")


def precipitation_like(num_locations: int = NUM_LOCATIONS, seed: int = 0) -> np.ndarray:
    """Generate annual totals in mm that resemble the paper's data.

    Args:
        num_locations: Number of locations.
        seed: Seed of the generator.

    Returns:
        Positive totals [41, num_locations]. Their standard deviation over locations is near the
        686 mm of the paper.
    """
    rng = np.random.default_rng(seed)
    num_regions = 72
    normal = rng.gamma(2.0, 480.0, num_locations)
    region = rng.integers(0, num_regions, num_locations)
    regional = 0.08 * rng.standard_normal((NUM_YEARS, num_regions))[:, region]
    own = 0.15 * rng.standard_normal((NUM_YEARS, num_locations))
    return normal * np.exp(regional + own)


def _example(
    out: Path, name: str, data: Any, epsilons: np.ndarray, noise_epsilon: float
) -> dict[str, Any]:
    start = time.perf_counter()
    result = empirical_privacy(data, "mean", epsilon=epsilons)
    seconds = time.perf_counter() - start
    noise = calibrate_noise(data, "mean", epsilon=noise_epsilon)
    smallest = calibrate_noise(data, "mean", epsilon=noise_epsilon, rule="smallest")
    figures = {
        "curves": plot_empirical_curves(result),
        "densities": plot_empirical_densities(result),
        "noise": plot_empirical_noise(noise, num_draws=1_000_000),
    }
    for kind, figure in figures.items():
        save_figure(figure, out / f"{name}-{kind}.png")
    write_empirical_report(result, out / f"{name}.html", noise)
    print(f"{result}\n{noise}\n({seconds:.2f} s)\n")
    below = [float(e) for e, r in zip(epsilons, result.total_risk, strict=True) if r <= 0.007]
    return {
        "databases": result.num_databases,
        "individuals": len(result.individuals),
        "epsilons": len(epsilons),
        "seconds": round(seconds, 2),
        "density": str(result.density),
        "delta_at_0": float(result.delta[0]),
        "epsilon_at_zero": result.epsilon_at_zero,
        "epsilon_with_total_risk_0.007": below[0] if below else None,
        "worst_individual": str(result.worst_individual),
        "independence": [str(check) for check in result.independence],
        "noise": noise.to_dict(),
        "smallest_sufficient_scale": smallest.scale,
    }


def _grunfeld() -> Any:
    """Return the panel as a table; print a message and return None without statsmodels."""
    try:
        with warnings.catch_warnings():
            # Hide the deprecation warnings of statsmodels, which do not concern dpjax.
            warnings.simplefilter("ignore")
            from statsmodels.datasets import grunfeld

            return grunfeld.load_pandas().data
    except ImportError:
        print("The Grunfeld panel is omitted, because statsmodels is not installed.")
        return None
