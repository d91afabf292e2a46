"""Count draws until a sequential audit refutes a claim; compare with a limit and published numbers.

The limit of a claim is ln(1 / error), divided by the growth rate of the best bet that knows the
distributions. No valid test that always terminates has a lower mean number of draws. The script
prints Markdown tables.
"""

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy import stats

import dpjax
from benchmarks.halving import LAWS
from dpjax import Pairs, Sequential, reference
from dpjax.inference import growth
from dpjax.mechanisms import FiniteSpace, Laplace, RandomizedResponse

ERROR = 0.05

EDGES = 4001
"""Number of edges of the cells into which continuous distributions are divided."""


class Mean(NamedTuple):
    """A noisy mean, with published numbers of draws until a test refutes its claim.

    Attributes:
        noise: "laplace" or "gaussian".
        version: 1 if the noise is divided by the size n, 2 if it is divided by a noisy size.
        epsilon: Claimed epsilon.
        limit: Limit given by dpjax's specification, computed from the true distributions.
        here: Mean number of draws of dpjax's prototype.
        mmd: Mean number of draws of the sequential MMD test (arXiv 2509.07055), with the fraction
            of tests that refute the claim if not all do.
        apt: Mean number of draws of APT (arXiv 2602.06518), whose error is only asymptotic.
    """

    noise: str
    version: int
    epsilon: float
    limit: float
    here: float
    mmd: str
    apt: str

    def release(self, key: jax.Array, database: jax.Array) -> jax.Array:
        """Draw one output for a database (mean, size)."""
        draw = jax.random.laplace if self.noise == "laplace" else jax.random.normal
        first, second = jax.random.split(key)
        mean, size = database[0], database[1]
        if self.version == 2:
            size = jax.numpy.maximum(1e-12, size + 2 / self.epsilon * draw(second))
        return mean + 2 / (size * self.epsilon) * draw(first)


MEANS = [
    Mean("gaussian", 1, 0.01, 16, 64, "264", "61"),
    Mean("gaussian", 1, 0.1, 19, 78, "562", "72"),
    Mean("laplace", 1, 0.01, 28, 104, "331", "81"),
    Mean("laplace", 1, 0.1, 35, 131, "920", "115"),
    Mean("gaussian", 2, 0.01, 207, 724, "1139 (85%)", "-"),
    Mean("gaussian", 2, 0.1, 297, 1011, "4776 (5%)", "-"),
    Mean("laplace", 2, 0.01, 116, 398, "192", "-"),
    Mean("laplace", 2, 0.1, 152, 487, "770 (95%)", "-"),
]
"""Noisy means of the databases {0} and {0, 1}."""


class Claim(NamedTuple):
    """A mechanism whose claim is 20% below the level of its best pair.

    Attributes:
        name: Name in the table.
        mechanism: Mechanism to audit.
        pairs: Pairs of databases; None for the standard pairs of the mechanism.
        here: Mean number of draws of dpjax's prototype, over all pairs.
    """

    name: str
    mechanism: Any
    pairs: Any
    here: str


def claims() -> list[Claim]:
    """Return the claims of the second table."""
    found = [
        Claim("randomised response 1", RandomizedResponse(1.0), None, "664"),
        Claim("Laplace 1", Laplace(1.0), Pairs(np.zeros(1), np.ones(1)), "1,256"),
    ]
    named = {
        "Laplace, one pair of ten differs": "2,619",
        "Laplace, shifts of 0.1 to 1": "4,161",
        "report noisy max, six queries": "13,800",
        "SVT4 at 1": "110,000 (99%)",
        "SVT2 at 0.7": "none within 250,000",
    }
    return found + [Claim(name, LAWS[name][0], LAWS[name][1], here) for name, here in named.items()]


def streams(audit: Callable[[int], Any], number: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Run audits with different keys.

    Args:
        audit: Function of a key that runs one audit.
        number: Number of audits.

    Returns:
        Number of draws per side of each audit, whether each audit refuted the claim, and the mean
        CPU seconds per audit.
    """
    began, found = time.process_time(), []
    for key in range(number):
        result = audit(key)
        found.append((result.settings["drawn"], result.verdict == "violated"))
    drawn, refuted = np.array(found).T
    return drawn.astype(float), refuted.astype(bool), (time.process_time() - began) / number


def said(drawn: np.ndarray, refuted: np.ndarray) -> str:
    """Format the mean number of draws, its standard error, and the fraction of refuted claims.

    The fraction is omitted if all claims were refuted.
    """
    error = drawn.std() / math.sqrt(len(drawn))
    share = "" if refuted.all() else f" ({refuted.mean():.0%} refuted)"
    return f"{drawn.mean():,.0f} +- {error:,.0f}{share}"


def limit_of(mechanism: Any, pairs: Pairs, claim: float) -> float:
    """Return ln(1 / error), divided by the growth rate of the best bet for the best pair."""
    best = 0.0
    for first, second in zip(pairs.database, pairs.neighbor, strict=True):
        if isinstance(mechanism.output_space, FiniteSpace):
            line = np.arange(mechanism.output_space.size)
            laws = [reference.density(mechanism, side, line) for side in (first, second)]
        else:
            # All continuous mechanisms here use Laplace noise of scale 1.
            edges = np.linspace(-15, 16, EDGES)
            laws = [
                np.diff(np.concatenate([[0], stats.laplace.cdf(edges, float(side)), [1]]))
                for side in (first, second)
            ]
        best = max(best, growth(laws[0], laws[1], claim))
    return math.log(1 / ERROR) / best


def means(number: int, say: Callable[[str], None]) -> None:
    """Print the table of noisy means."""
    say(
        "| noisy mean | claim | limit | dpjax | prototype | MMD test | APT (asymptotic) | "
        "CPU s per audit |\n|---|---|---|---|---|---|---|---|"
    )
    pairs = Pairs(np.array([[0.0, 1.0]]), np.array([[0.5, 2.0]]))
    for case in MEANS:

        def audit(key: int, case: Mean = case) -> Any:
            return dpjax.audit(
                case.release, pairs, method=Sequential(10_000), claim=case.epsilon,
                confidence=1 - ERROR, key=key,
            )  # fmt: skip

        drawn, refuted, seconds = streams(audit, number)
        say(
            f"| {case.noise} {case.version} | {case.epsilon} | {case.limit} | "
            f"{said(drawn, refuted)} | {case.here} | {case.mmd} | {case.apt} | {seconds:.2f} |"
        )


def lower_claims(number: int, say: Callable[[str], None], only: str) -> None:
    """Print the table of claims that are 20% below the level."""
    say(
        "| mechanism | claim | limit, best pair known | dpjax | prototype | CPU s per audit |\n"
        "|---|---|---|---|---|---|"
    )
    for case in claims():
        if only not in case.name:
            continue
        pairs = case.mechanism.standard_pairs() if case.pairs is None else case.pairs
        claim = 0.8 * reference.best_level(case.mechanism, pairs)

        def audit(key: int, case: Claim = case, pairs: Pairs = pairs, claim: float = claim) -> Any:
            return dpjax.audit(
                case.mechanism, pairs, method=Sequential(250_000), claim=claim,
                confidence=1 - ERROR, key=key,
            )  # fmt: skip

        drawn, refuted, seconds = streams(audit, number)
        limit = limit_of(case.mechanism, pairs, claim)
        say(
            f"| {case.name} | {claim:.3f} | {limit:,.0f} | {said(drawn, refuted)} | {case.here} | "
            f"{seconds:.2f} |"
        )


def totals(number: int, say: Callable[[str], None]) -> None:
    """Print median bounds of `Sequential` and `Events` with the same draws and without a claim."""
    say(
        "| mechanism | level | Sequential, median | Events, median | above the level | "
        "CPU s, Sequential / Events |\n|---|---|---|---|---|---|"
    )
    for name, (mechanism, pairs) in LAWS.items():
        found = []
        level = reference.best_level(mechanism, pairs)
        for method in (Sequential(250_000), dpjax.Events(num_draws=250_000)):
            began = time.process_time()
            bounds = np.array(
                [
                    dpjax.audit(
                        mechanism, pairs, method=method, confidence=1 - ERROR, key=key
                    ).lower_bound
                    for key in range(number)
                ]
            )
            found.append((bounds, (time.process_time() - began) / number))
        (first, slow), (second, fast) = found
        say(
            f"| {name} | {level:.3f} | {np.median(first):.3f} | {np.median(second):.3f} | "
            f"{np.mean(first > level):.1%} | {slow:.2f} / {fast:.2f} |"
        )


def main() -> None:
    """Run the audits and print the tables."""
    parser = argparse.ArgumentParser(prog="scripts/benchmark sequential", description=__doc__)
    parser.add_argument("--streams", type=int, default=200, help="audits per row")
    parser.add_argument("--only", default="means,claims,totals", help="comma-separated tables")
    parser.add_argument("--law", default="", help="substring of the names of claims")
    given = parser.parse_args()
    say = lambda line: print(line, flush=True)  # noqa: E731
    if "means" in given.only:
        means(given.streams, say)
    if "claims" in given.only:
        lower_claims(given.streams, say, given.law)
    if "totals" in given.only:
        totals(given.streams // 5, say)


if __name__ == "__main__":
    main()
