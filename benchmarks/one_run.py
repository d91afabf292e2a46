"""Compare one-run bounds with the true levels and with the bounds of jax-privacy.

The script prints two Markdown tables. It exits with status 1 if bounds of dpjax exceed the true
level more often than their confidence allows, or if a median is more than 0.1 below the required
median although the required median is attainable.

The first table is for Gaussian canaries. A score has the distribution N(mu, 1) if the canary was
included, and N(0, 1) otherwise, where mu belongs to the given epsilon at delta = 1e-5. Next to each
median, the table shows the required median and the limit. The limit is the median bound from the
best number of guesses if the distribution is known in advance and no canaries are needed to choose
the guesses. The second table counts bounds above the true level for three distributions; one of
them has dependent canaries. The columns of jax-privacy are included if it is installed.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

import dpjax
from dpjax.inference import Guessed
from dpjax.notions import Notion, level_of

DELTA, CONFIDENCE = 1e-5, 0.95
FALSE_ALARM = 1e-5
"""Probability that valid bounds fail the test of how many exceed the true level, for each count."""

SPECIFIED = {
    1.0: ((0.18, 0.04), (0.26, 0.61), (0.53, 0.64), (0.76, 0.77)),
    2.0: ((0.43, 0.72), (0.89, 1.27), (1.31, 1.31), (1.52, 1.58)),
    4.0: ((1.22, 2.00), (1.92, 2.51), (2.47, 2.98), (2.97, 2.99)),
    8.0: ((2.44, 4.18), (3.79, 5.28), (4.70, 5.86), (5.51, 6.65)),
}
"""Map from epsilon to the required median bounds for each number of canaries in NUMBERS.

Each pair contains the bounds for the notion (epsilon, delta) and for Gaussian DP.
"""

NUMBERS = (1_000, 10_000, 100_000, 1_000_000)
TOLERANCE = 0.1

Scores = tuple[NDArray[np.float64], NDArray[np.bool_]]


def delta_of(mu: float, epsilon: float) -> float:
    """Return the delta of a Gaussian mechanism.

    References:
        Dong, Roth, Su (2022), Corollary 2.13.
    """
    first, second = (stats.norm.cdf(sign * mu / 2 - epsilon / mu) for sign in (1, -1))
    return float(first - math.exp(epsilon) * second)


def mu_of(epsilon: float) -> float:
    """Return the mu of a Gaussian mechanism with this epsilon at `DELTA`."""
    return optimize.brentq(lambda mu: delta_of(mu, epsilon) - DELTA, 1e-3, 20)


def epsilon_of(mu: float) -> float:
    """Return the epsilon of a Gaussian mechanism with this mu, at `DELTA`."""
    if mu <= 0 or delta_of(mu, 0.0) <= DELTA:
        return 0.0
    return optimize.brentq(lambda epsilon: delta_of(mu, epsilon) - DELTA, 0, 60)


class Law(NamedTuple):
    """Canaries of a mechanism with a known level.

    Attributes:
        draw: Function of (generator, number of canaries) that returns scores and coins.
        epsilon: True epsilon at delta = 1e-5.
        mu: Smallest mu for which the mechanism satisfies Gaussian DP.
    """

    draw: Callable[[np.random.Generator, int], Scores]
    epsilon: float
    mu: float


def _gaussian(mu: float) -> Callable[[np.random.Generator, int], Scores]:
    def draw(rng: np.random.Generator, number: int) -> Scores:
        included = rng.random(number) < 0.5
        return rng.normal(size=number) + mu * included, included

    return draw


def _response(accuracy: float, chance: float) -> Callable[[np.random.Generator, int], Scores]:
    """Return randomized response for all coins, which is enabled by one public coin.

    Args:
        accuracy: Probability of the true answer if randomized response is enabled.
        chance: Probability that randomized response is enabled; otherwise, answers are fair coins.
    """

    def draw(rng: np.random.Generator, number: int) -> Scores:
        included = rng.random(number) < 0.5
        told = included ^ (rng.random(number) > (accuracy if rng.random() < chance else 0.5))
        return told + 1e-9 * rng.random(number), included

    return draw


def _epsilon_of_response(accuracy: float, chance: float) -> float:
    """Solve chance (accuracy - e^epsilon (1 - accuracy)) = delta for epsilon."""
    return math.log((accuracy - DELTA / chance) / (1 - accuracy))


def _mu_of_response(accuracy: float, chance: float) -> float:
    """Return the smallest mu whose privacy profile is nowhere below that of the response."""
    grid = np.linspace(0, _epsilon_of_response(accuracy, chance), 400)
    deltas = chance * (accuracy - np.exp(grid) * (1 - accuracy))
    needed = [
        optimize.brentq(lambda mu, e=e, d=d: delta_of(mu, e) - d, 1e-3, 20)
        for e, d in zip(grid, deltas, strict=True)
    ]
    return max(needed)


TWO = 1 / (1 + math.exp(-2.0))
LAWS = {
    "Gaussian, epsilon 4": Law(_gaussian(mu_of(4.0)), 4.0, mu_of(4.0)),
    "randomized response, pure epsilon 2": Law(
        _response(TWO, 1.0), _epsilon_of_response(TWO, 1.0), _mu_of_response(TWO, 1.0)
    ),
    "public coin (0.2) of randomized response": Law(
        _response(0.8689, 0.2), _epsilon_of_response(0.8689, 0.2), _mu_of_response(0.8689, 0.2)
    ),
}


def limit(notion: Notion, mu: float, number: int) -> float:
    """Return the largest median bound of Gaussian canaries for any fixed number of guesses."""
    best = 0.0
    for share in np.geomspace(5 / number, 0.5, 60):
        size = max(round(share * number), 1)
        level = optimize.brentq(
            lambda t, s=size / number: (stats.norm.sf(t) + stats.norm.sf(t - mu)) / 2 - s, -40, 40
        )
        accuracy = stats.norm.sf(level - mu) / (stats.norm.sf(level) + stats.norm.sf(level - mu))
        for made in {size, min(2 * size, number)}:  # at one end of the scores, and at both
            right = int(stats.binom.median(made, accuracy))
            best = max(best, level_of(Guessed(number, made, right), notion, 1 - CONFIDENCE))
    return best


Bound = Callable[[NDArray[np.float64], NDArray[np.bool_], int], float]


def _audited(notion: Notion) -> Bound:
    def bound(scores: NDArray[np.float64], included: NDArray[np.bool_], seed: int) -> float:
        run = dpjax.OneRun(scores, included, fair_coins=True)
        return dpjax.audit(run, notion=notion, confidence=CONFIDENCE, key=seed).lower_bound

    return bound


def _peer(method: str, split: bool) -> Bound:
    """Return a bound of jax-privacy.

    Args:
        method: Name of the method of `CanaryScoreAuditor`.
        split: Whether half of the canaries is used only to choose the threshold. Otherwise, the
            default strategy of jax-privacy uses all canaries.
    """
    from jax_privacy.auditing import CanaryScoreAuditor, Split

    def bound(scores: NDArray[np.float64], included: NDArray[np.bool_], seed: int) -> float:
        auditor = CanaryScoreAuditor(scores[included], scores[~included])
        options = {"threshold_strategy": Split(seed=seed)} if split else {}
        return float(getattr(auditor, method)(1 - CONFIDENCE, DELTA, **options))

    return bound


OURS = {
    "dpjax": _audited(dpjax.Epsilon(DELTA)),
    "dpjax, mu": _audited(dpjax.Gdp()),
}
PEERS = {
    "epsilon_one_run": True,
    "epsilon_one_run_fdp": True,
    "epsilon_clopper_pearson": False,
    "epsilon_from_gdp": False,
}
"""Map from a bound of jax-privacy to whether half of the canaries choose its threshold."""


def methods() -> dict[str, Bound]:
    """Return all available bounds, by name."""
    if find_spec("jax_privacy") is None:
        return OURS
    return OURS | {name: _peer(name, split) for name, split in PEERS.items()}


def bounds(law: Law, number: int, runs: int, asked: dict[str, Bound]) -> dict[str, NDArray]:
    """Return the bounds [runs] of each method, computed from the same scores."""
    found = {name: np.empty(runs) for name in asked}
    for run in range(runs):
        scores, included = law.draw(np.random.default_rng((run, number)), number)
        for name, bound in asked.items():
            found[name][run] = bound(scores, included, run)
    return found


def exceeding(name: str, found: NDArray, law: Law) -> int:
    """Return how many bounds exceed the true level."""
    return int((found > (law.mu if name == "dpjax, mu" else law.epsilon)).sum())


def allowed(runs: int) -> int:
    """Return the allowed number of bounds above the true level, given `FALSE_ALARM`."""
    return int(stats.binom.isf(FALSE_ALARM, runs, 1 - CONFIDENCE))


def table(header: list[str]) -> str:
    """Return the first two lines of a Markdown table."""
    return f"| {' | '.join(header)} |\n|{'---|' * len(header)}"


def power(
    runs: int, sizes: range, epsilons: list[float], asked: dict[str, Bound]
) -> tuple[bool, str]:
    """Print the table of Gaussian canaries.

    Args:
        runs: Number of runs per row.
        sizes: Range of the numbers of canaries.
        epsilons: True values of epsilon.
        asked: Bounds to compute, by name.

    Returns:
        Whether all requirements are met, and the table.
    """
    columns = ["dpjax (required; limit)", "dpjax, mu as epsilon (required; limit)"]
    header = ["epsilon", "canaries", *columns]
    header += [f"{name}" for name in asked if name in PEERS] + ["above the true level", "CPU s"]
    lines, passed = [table(header)], True
    print(lines[0], flush=True)
    for epsilon in epsilons:
        specified = SPECIFIED[epsilon]
        law = Law(_gaussian(mu_of(epsilon)), epsilon, mu_of(epsilon))
        for number, wanted in zip(NUMBERS, specified, strict=True):
            if number not in sizes:
                continue
            start = time.process_time()
            found = bounds(law, number, runs, asked)
            seconds = (time.process_time() - start) / runs
            medians = {name: float(np.median(values)) for name, values in found.items()}
            medians["dpjax, mu"] = epsilon_of(medians["dpjax, mu"])
            above = {name: exceeding(name, values, law) for name, values in found.items()}
            cells = [f"{epsilon:g}", f"{number:,}"]
            limits = (
                limit(dpjax.Epsilon(DELTA), law.mu, number),
                epsilon_of(limit(dpjax.Gdp(), law.mu, number)),
            )
            for name, value, most_of_all in zip(OURS, wanted, limits, strict=True):
                near = medians[name] >= min(value, most_of_all) - TOLERANCE
                passed &= near and above[name] <= allowed(runs)
                beside = f"{value:.2f}; {most_of_all:.2f}"
                cells.append(f"{medians[name]:.2f} ({beside})" + ("" if near else " *"))
            cells += [f"{medians[name]:.2f}" for name in asked if name in PEERS]
            cells += [f"{', '.join(map(str, above.values()))} of {runs}", f"{seconds:.2f}"]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return passed, "\n".join(lines)


def laws(runs: int, number: int, asked: dict[str, Bound]) -> tuple[bool, str]:
    """Print the table of bounds above the true level.

    Args:
        runs: Number of runs per row.
        number: Number of canaries.
        asked: Bounds to compute, by name.

    Returns:
        Whether the bounds of dpjax exceed the true level as rarely as required, and the table.
    """
    lines, passed = [table(["distribution", "epsilon, mu", *asked])], True
    print(lines[0], flush=True)
    for name, law in LAWS.items():
        found = bounds(law, number, runs, asked)
        cells = [name, f"{law.epsilon:.3f}, {law.mu:.3f}"]
        for method, values in found.items():
            above = exceeding(method, values, law)
            passed &= method in PEERS or above <= allowed(runs)
            cells.append(f"{above / runs:.1%} (95%: {np.quantile(values, 0.95):.2f})")
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return passed, "\n".join(lines)


def main() -> int:
    """Run the command line; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="runs per row of the first table")
    parser.add_argument("--least", type=int, default=1_000, help="smallest number of canaries")
    parser.add_argument("--most", type=int, default=1_000_000, help="largest number of canaries")
    parser.add_argument(
        "--epsilons", type=float, nargs="+", default=list(SPECIFIED), choices=list(SPECIFIED)
    )
    parser.add_argument("--law-runs", type=int, default=2000, help="runs per row of the second")
    parser.add_argument("--law-canaries", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=None, help="Markdown file for the tables")
    arguments = parser.parse_args()
    asked = methods()
    second = laws(arguments.law_runs, arguments.law_canaries, asked)
    sizes = range(arguments.least, arguments.most + 1)
    first = power(arguments.runs, sizes, arguments.epsilons, asked)
    if arguments.out is not None:
        arguments.out.write_text(f"{first[1]}\n\n{second[1]}\n")
    return 0 if first[0] and second[0] else 1


if __name__ == "__main__":
    sys.exit(main())
