"""One-run audits: median bounds, how often they exceed the truth, and jax-privacy on equal scores.

Prints two Markdown tables, and exits with 1 where a bound of dpjax exceeds the truth more often
than its confidence allows, or where a median is more than 0.1 below the specified one although that
one is attainable.

The first table has Gaussian canaries: scores are N(mu, 1) where a canary was included, and N(0, 1)
otherwise; mu is that of each epsilon at delta = 1e-5. Beside each median stand the specified one
and the limit: the median bound from the best number of guesses, if the law is known in advance and
all canaries judge. The second counts bounds above the truth for
three laws, one of which has canaries that depend on each other. Columns of jax-privacy are filled
where it is installed.
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
"""Chance that right bounds fail the test of how many exceed the truth, for each count."""

SPECIFIED = {
    1.0: ((0.18, 0.04), (0.26, 0.61), (0.53, 0.64), (0.76, 0.77)),
    2.0: ((0.43, 0.72), (0.89, 1.27), (1.31, 1.31), (1.52, 1.58)),
    4.0: ((1.22, 2.00), (1.92, 2.51), (2.47, 2.98), (2.97, 2.99)),
    8.0: ((2.44, 4.18), (3.79, 5.28), (4.70, 5.86), (5.51, 6.65)),
}
"""Median bounds that were specified, from (epsilon, delta) and from mu, by number of canaries."""

NUMBERS = (1_000, 10_000, 100_000, 1_000_000)
TOLERANCE = 0.1

Scores = tuple[NDArray[np.float64], NDArray[np.bool_]]


def delta_of(mu: float, epsilon: float) -> float:
    """Delta of a Gaussian mechanism.

    References:
        Dong, Roth, Su (2022), Corollary 2.13.
    """
    first, second = (stats.norm.cdf(sign * mu / 2 - epsilon / mu) for sign in (1, -1))
    return float(first - math.exp(epsilon) * second)


def mu_of(epsilon: float) -> float:
    """Mu of a Gaussian mechanism of this epsilon."""
    return optimize.brentq(lambda mu: delta_of(mu, epsilon) - DELTA, 1e-3, 20)


def epsilon_of(mu: float) -> float:
    """Epsilon of a Gaussian mechanism of this mu."""
    if mu <= 0 or delta_of(mu, 0.0) <= DELTA:
        return 0.0
    return optimize.brentq(lambda epsilon: delta_of(mu, epsilon) - DELTA, 0, 60)


class Law(NamedTuple):
    """Canaries of a mechanism whose level is known.

    Attributes:
        draw: (generator, canaries) -> scores and coins.
        epsilon: At delta = 1e-5.
        mu: The smallest mu for which the mechanism is Gaussian DP.
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
    """Randomized response of all coins, which one public coin of this chance turns on."""

    def draw(rng: np.random.Generator, number: int) -> Scores:
        included = rng.random(number) < 0.5
        told = included ^ (rng.random(number) > (accuracy if rng.random() < chance else 0.5))
        return told + 1e-9 * rng.random(number), included

    return draw


def _epsilon_of_response(accuracy: float, chance: float) -> float:
    """The root of chance (accuracy - e^epsilon (1 - accuracy)) = delta."""
    return math.log((accuracy - DELTA / chance) / (1 - accuracy))


def _mu_of_response(accuracy: float, chance: float) -> float:
    """The least mu whose profile is nowhere below that of the response."""
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
    """The largest median bound of Gaussian canaries for any fixed number of guesses."""
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
    """A bound of jax-privacy, with the threshold from one half of the canaries or from all."""
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
"""Bounds of jax-privacy, and whether their threshold is chosen by a half of the canaries."""


def methods() -> dict[str, Bound]:
    """All bounds that are installed, by name."""
    if find_spec("jax_privacy") is None:
        return OURS
    return OURS | {name: _peer(name, split) for name, split in PEERS.items()}


def bounds(law: Law, number: int, runs: int, asked: dict[str, Bound]) -> dict[str, NDArray]:
    """Bounds [runs] by method, from the same scores."""
    found = {name: np.empty(runs) for name in asked}
    for run in range(runs):
        scores, included = law.draw(np.random.default_rng((run, number)), number)
        for name, bound in asked.items():
            found[name][run] = bound(scores, included, run)
    return found


def exceeding(name: str, found: NDArray, law: Law) -> int:
    """How many bounds exceed the truth of what they bound."""
    return int((found > (law.mu if name == "dpjax, mu" else law.epsilon)).sum())


def allowed(runs: int) -> int:
    """Bounds above the truth that are more than chance allows with `FALSE_ALARM`."""
    return int(stats.binom.isf(FALSE_ALARM, runs, 1 - CONFIDENCE))


def table(header: list[str]) -> str:
    """The first two lines of a table."""
    return f"| {' | '.join(header)} |\n|{'---|' * len(header)}"


def power(
    runs: int, sizes: range, epsilons: list[float], asked: dict[str, Bound]
) -> tuple[bool, str]:
    """The table of Gaussian canaries, and whether it is as specified."""
    columns = ["dpjax (specified; limit)", "dpjax, mu as epsilon (specified; limit)"]
    header = ["epsilon", "canaries", *columns]
    header += [f"{name}" for name in asked if name in PEERS] + ["above the truth", "CPU s"]
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
    """The table of bounds above the truth, and whether those of dpjax are as few as promised."""
    lines, passed = [table(["law", "epsilon, mu", *asked])], True
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
    """Command line; 1 where a number is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="runs a cell of the first table")
    parser.add_argument("--least", type=int, default=1_000, help="smallest number of canaries")
    parser.add_argument("--most", type=int, default=1_000_000, help="largest number of canaries")
    parser.add_argument(
        "--epsilons", type=float, nargs="+", default=list(SPECIFIED), choices=list(SPECIFIED)
    )
    parser.add_argument("--law-runs", type=int, default=2000, help="runs a law of the second table")
    parser.add_argument("--law-canaries", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=None, help="a Markdown file")
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
