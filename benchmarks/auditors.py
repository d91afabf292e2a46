"""Compare the false alarms and the power of several auditing tools.

All tools get the same n scores with a canary and n scores without it. Each tool computes a lower
bound on epsilon at delta = 1e-5 with an error probability of 0.05. A *false alarm* is a bound above
the true level, and the *power* is the fraction of bounds above half of the true level.
DP-Auditorium does not compute a bound; it tests the true level and half of it as claims.

Install jax-privacy in a separate environment with `pip install jax-privacy==2.0.0`. DP-Auditorium
is imported from a checkout; `--auditorium` names the folder python/dp_auditorium.

References:
    Nasr et al. (2023), "Tight auditing of differentially private machine learning" (GDP).
    Jagielski, Ullman, Oprea (2020), "Auditing differentially private machine learning".
    Gilbert, McMillan (2018), "Property testing for differential privacy", Algorithm 2.
"""

import argparse
import math
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

import dpjax

DELTA, ERROR = 1e-5, 0.05

_LEAST = 1e-3
"""Smallest epsilon that DP-Auditorium tests, because it rejects an epsilon of 0."""

Scores = NDArray[np.float64]
Tool = Callable[[Scores, Scores, float], tuple[bool, bool]]
"""Function of (scores with the canary, scores without it, true level).

It returns whether the tool refutes the true level, and whether it refutes half of it.
"""


class Law(NamedTuple):
    """Distributions of scores with and without a canary.

    Attributes:
        name: Name in the table.
        level: True epsilon at `DELTA`.
        draw: Function of (generator, n, whether the canary is included) that returns n scores.
    """

    name: str
    level: float
    draw: Callable[[np.random.Generator, int, bool], Scores]


def gaussian(mu: float) -> Law:
    """Return standard normal scores that a canary shifts by mu.

    The level is computed by the formula of Balle and Wang (2018).
    """

    def excess(epsilon: float) -> float:
        first = stats.norm.cdf(mu / 2 - epsilon / mu)
        return first - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu) - DELTA

    level = float(optimize.brentq(excess, 0.0, 50.0)) if mu else 0.0
    return Law(f"Gaussian, mu = {mu:g}", level, lambda rng, n, is_in: rng.normal(mu * is_in, 1, n))


def rare(rng: np.random.Generator, n: int, is_in: bool) -> Scores:
    """Return normal scores, some replaced by 9: 1% with the canary, and 0.05% without it."""
    return np.where(rng.random(n) < (0.01 if is_in else 0.0005), 9.0, rng.normal(size=n))


def response(rng: np.random.Generator, n: int, is_in: bool) -> Scores:
    """Return scores of randomized response at epsilon 1."""
    right = rng.random(n) < math.e / (1 + math.e)
    return np.where(right == is_in, 1.0, 0.0)


# An event with probabilities p and q shows the level ln((p - delta) / q) at delta.
LAWS = (
    gaussian(0.0),
    gaussian(0.471),
    gaussian(1.0),
    Law("Laplace, epsilon 1", 1 + 2 * math.log1p(-DELTA), lambda r, n, i: r.laplace(i, 1, n)),
    Law("randomized response, epsilon 1", math.log(math.e - DELTA * (1 + math.e)), response),
    Law("1 % against 0.05 %", math.log((0.01 - DELTA) / 0.0005), rare),
)


def of_bound(bound: Callable[[Scores, Scores], float]) -> Tool:
    """Return a tool that refutes every level below its lower bound."""

    def refuted(with_it: Scores, without: Scores, level: float) -> tuple[bool, bool]:
        found = bound(with_it, without)
        return found > level, found > level / 2

    return refuted


def by_dpjax(with_it: Scores, without: Scores) -> float:
    """Return the lower bound of `dpjax.audit` with its default method."""
    recorded = dpjax.Recorded(with_it, without, independent=True)
    return dpjax.audit(recorded, notion=dpjax.Epsilon(DELTA), confidence=1 - ERROR).lower_bound


def tools(auditorium: Path | None) -> dict[str, Tool]:
    """Return the installed tools, by name.

    Args:
        auditorium: Folder python/dp_auditorium of a checkout, or None to skip DP-Auditorium.
    """
    found: dict[str, Tool] = {"dpjax events": of_bound(by_dpjax)}
    try:
        from jax_privacy import auditing  # pyright: ignore[reportMissingImports]
    except ImportError:
        print("jax-privacy is not installed: skipped")
    else:
        auditor = auditing.CanaryScoreAuditor
        found["jax-privacy, GDP"] = of_bound(
            lambda x, y: auditor(x, y).epsilon_from_gdp(ERROR, DELTA)
        )
        found["jax-privacy, Clopper-Pearson"] = of_bound(
            lambda x, y: auditor(x, y).epsilon_clopper_pearson(ERROR, DELTA, one_sided=False)
        )
    if auditorium is not None:
        found["DP-Auditorium, histogram"] = by_histogram(auditorium)
    return found


def without_generators(folder: Path) -> None:
    """Make the testers and configurations of DP-Auditorium importable, without its generators.

    The generators need other packages.

    Args:
        folder: Folder of the package.
    """
    package = types.ModuleType("dp_auditorium")
    package.__path__ = [str(folder / "dp_auditorium")]
    sys.modules["dp_auditorium"] = package
    for name in ("testers", "configs"):
        part = types.ModuleType(f"dp_auditorium.{name}")
        part.__path__ = [str(folder / "dp_auditorium" / name)]
        sys.modules[part.__name__] = part


def by_histogram(folder: Path) -> Tool:
    """Return DP-Auditorium's histogram tester with 20 bins.

    Both directions are tested, each with half of the error probability.

    Args:
        folder: Folder of the package.
    """
    without_generators(folder)
    from dp_auditorium.configs import (  # pyright: ignore[reportMissingImports]
        privacy_property,
        property_tester_config,
    )
    from dp_auditorium.testers import (  # pyright: ignore[reportMissingImports]
        histogram_tester,
    )

    def refuted(with_it: Scores, without: Scores, level: float) -> tuple[bool, bool]:
        def rejects(epsilon: float) -> bool:
            config = property_tester_config.HistogramPropertyTesterConfig(
                min_value=-4.0,
                max_value=10.0,
                histogram_size=20,
                test_discrete_mechanism=False,
                approximate_dp=privacy_property.ApproximateDp(
                    epsilon=max(epsilon, _LEAST), delta=DELTA
                ),
            )
            tester = histogram_tester.HistogramTester(config)
            sides = (with_it, without), (without, with_it)
            return any(
                tester.reject_property(tester.estimate_lower_bound(*pair, ERROR / 2))
                for pair in sides
            )

        return rejects(level), rejects(level / 2)

    return refuted


def main(sizes: dict[int, int], auditorium: Path | None, seed: int) -> None:
    """Print a Markdown table with the false-alarm rate and the power of each tool.

    Args:
        sizes: Map from n, the number of scores per side, to the number of runs.
        auditorium: Folder python/dp_auditorium of a checkout, or None.
        seed: Seed of the scores. All tools get the same scores.
    """
    warnings.simplefilter("ignore")
    every = tools(auditorium)
    print("| distribution | true level | n per side | runs | " + " | ".join(every) + " |")
    print("|---|---|---|---|" + "---|" * len(every), flush=True)
    for number, law in enumerate(LAWS):
        for n, runs in sizes.items():
            counts = {name: np.zeros(2, int) for name in every}
            for run in range(runs):
                rng = np.random.default_rng([seed, number, n, run])
                scores = law.draw(rng, n, True), law.draw(rng, n, False)
                for name, tool in every.items():
                    counts[name] += tool(*scores, law.level)
            cells = [
                f"{false / runs:.3f}, {'-' if law.level == 0 else f'{power / runs:.3f}'}"
                for false, power in counts.values()
            ]
            start = f"| {law.name} | {law.level:.4f} | {n:,} | {runs} | "
            print(start + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--auditorium", type=Path, help="folder python/dp_auditorium of a checkout")
    parser.add_argument("--runs", type=int, nargs=2, default=(300, 60), metavar=("1000", "10000"))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    main(dict(zip((1_000, 10_000), given.runs, strict=True)), given.auditorium, given.seed)
