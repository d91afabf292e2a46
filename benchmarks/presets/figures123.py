"""Figures 1 to 3 of the local approach: densities, losses, and an estimate with its witness.

References:
    Askin, Kutta, Dette (2022), Figures 1, 2 and 3.
"""

from pathlib import Path

import jax.numpy as jnp
import numpy as np

import dpjax
from dpjax import mechanisms, reference
from dpjax.core import random
from dpjax.plotting import draw_densities, draw_outcomes, new_figure, save_figure, strips_of


def figure1(path: Path) -> None:
    """Draw a kernel density estimate from 200 Laplace draws, and the exact density."""
    mechanism = mechanisms.Laplace(1.0)
    draws = mechanism.sample(random.as_key(1), jnp.float32(0), 200)
    points = np.linspace(-5, 5, 401)
    figure, axes = new_figure(size=(6.5, 3.5))
    axes.plot(points, reference.density(mechanism, 0.0, points), color="#3b3b3b", label="density")
    estimate = dpjax.truncated_kde(draws, points, bandwidth="silverman", floor=1e-3)
    axes.plot(points, estimate, color="#1b6ca8", label="estimate, N = 200")
    axes.plot(draws, np.full(200, -0.012), "|", color="#1b6ca8", alpha=0.5, label="draws")
    axes.set_xlabel("output")
    axes.set_ylabel("density")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    save_figure(figure, path)


def figure2(path: Path) -> None:
    """Draw exact densities (above) and losses (below) of three mechanisms."""
    figure, axes = new_figure(2, 3, size=(12, 5.5))
    line = np.linspace(-4, 5, 901)
    cases = [
        ("randomized response, epsilon 1", mechanisms.RandomizedResponse(1.0), 0, 1, [0, 1]),
        ("Laplace, epsilon 1", mechanisms.Laplace(1.0), 0.0, 1.0, line),
        ("Gaussian, sigma 1", mechanisms.Gaussian(1.0), 0.0, 1.0, line),
    ]
    for column, (title, mechanism, database, neighbor, points) in enumerate(cases):
        f, g = (reference.density(mechanism, d, np.asarray(points)) for d in (database, neighbor))
        above, below = axes[0][column], axes[1][column]
        above.set_title(title)
        curve = {"points": [*points], "density": f.tolist(), "neighbor_density": g.tolist()}
        curve["loss"] = np.abs(np.log(f / g)).tolist()
        if len(points) == 2:
            (strip,) = strips_of(curve)
            draw_outcomes(above, below, strip)
            above.set_xticks(points)
        else:
            draw_densities(above, below, curve)
        for panel in (above, below):
            panel.set_ylim(bottom=0)
    axes[0][2].legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    save_figure(figure, path)


def figure3(path: Path) -> None:
    """Draw the estimated loss with its witness, and the exact loss."""
    mechanism = mechanisms.Laplace(1.5)
    result = dpjax.audit(mechanism, [(0.0, 1.0)], method=dpjax.Local(), claim=1.5, key=3)
    figure = result.plot()
    below = figure.axes[1]
    assert result.curve is not None
    points = np.asarray(result.curve["points"])
    f, g = (reference.density(mechanism, d, points) for d in (0.0, 1.0))
    below.plot(points, np.abs(np.log(f / g)), ":", color="#3b3b3b", label="exact loss")
    below.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    save_figure(figure, path)


def main(folder: Path, *, quick: bool) -> None:
    """Write the three figures as PNG and, unless quick, also as SVG."""
    for name, draw in (("figure1", figure1), ("figure2", figure2), ("figure3", figure3)):
        for kind in (".png",) if quick else (".png", ".svg"):
            draw(folder / f"{name}{kind}")
