"""Checks of the premises: independence of the databases and coverage of the individuals."""

from dataclasses import dataclass

import numpy as np
import scipy

_PERMUTATIONS = 9999
"""Orders of the results that the autocorrelation is compared with."""


@dataclass(frozen=True)
class IndependenceCheck:
    """Two tests that a sequence of query results was drawn independently.

    Attributes:
        query: The query in words.
        runs: Number of runs above and below the median (results at the median are left out).
        runs_p_value: Two-sided exact p-value of the Wald-Wolfowitz runs test; NaN if undefined.
        autocorrelation: Correlation of each result with the next.
        autocorrelation_p_value: Two-sided p-value by permutation; NaN if undefined.
    """

    query: str
    runs: int
    runs_p_value: float
    autocorrelation: float
    autocorrelation_p_value: float

    def __str__(self) -> str:
        """The check in one sentence."""
        if np.isnan(self.autocorrelation_p_value):
            return f"{self.query}: too few databases or no spread to test their independence."
        doubt = min(self.runs_p_value, self.autocorrelation_p_value) < 0.05
        verdict = (
            "the databases look dependent, and the privacy levels rest on their independence"
            if doubt
            else "no sign of dependence"
        )
        return (
            f"{self.query}: {self.runs} runs (p = {self.runs_p_value:.3g}), lag-1 autocorrelation "
            f"{self.autocorrelation:.3f} (p = {self.autocorrelation_p_value:.3g}): {verdict}."
        )


def check_independence(
    results: np.ndarray, query: str = "query", key: int = 0
) -> IndependenceCheck:
    """Runs test and lag-1 autocorrelation of results in the order of their databases.

    Args:
        results: [n] one result per database.
        query: The query in words.
        key: Seed of the permutations.

    Returns:
        Both tests with their p-values.
    """
    above = np.sign(results - np.median(results))
    above = above[above != 0] > 0
    runs = int(1 + np.count_nonzero(above[1:] != above[:-1])) if len(above) else 0
    centred = results - results.mean()
    if len(results) < 4 or not centred.any():
        return IndependenceCheck(query, runs, float("nan"), float("nan"), float("nan"))
    norm = float(centred @ centred)
    observed = float(centred[1:] @ centred[:-1]) / norm
    # Under independence every order is as likely; the mean over all orders is -1/n.
    generator = np.random.default_rng(key)
    shuffled = generator.permuted(np.broadcast_to(centred, (_PERMUTATIONS, len(centred))), axis=1)
    draws = np.einsum("bj,bj->b", shuffled[:, 1:], shuffled[:, :-1]) / norm
    center = -1 / len(results)
    extreme = np.count_nonzero(np.abs(draws - center) >= abs(observed - center) - 1e-12)
    return IndependenceCheck(
        query,
        runs,
        runs_p_value(runs, int(above.sum()), int((~above).sum())),
        observed,
        (1 + extreme) / (1 + _PERMUTATIONS),
    )


def runs_p_value(runs: int, num_above: int, num_below: int) -> float:
    """Exact two-sided p-value of a number of runs: the chance of all numbers no likelier than it.

    Args:
        runs: Runs seen.
        num_above: Results above the median.
        num_below: Results below it.

    Returns:
        The p-value; NaN where one side is empty.

    References:
        Wald, Wolfowitz 1940, Section 3.
    """
    if not num_above or not num_below:
        return float("nan")

    log_gamma = scipy.special.gammaln

    def log_choose(n: int, k: np.ndarray) -> np.ndarray:
        # Minus infinity where k > n: there the last term is infinite.
        return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1)

    possible = np.arange(2, num_above + num_below + 1)
    half, odd = possible // 2, possible % 2
    a, b = num_above - 1, num_below - 1
    # An even number of runs alternates evenly; an odd one has an extra run on either side.
    one_way = log_choose(a, half - 1 + odd) + log_choose(b, half - 1)
    other_way = log_choose(a, half - 1) + log_choose(b, half - 1 + odd)
    chance = np.exp(np.logaddexp(one_way, other_way))
    chance /= chance.sum()
    seen = chance[possible == runs].sum()
    return float(min(1.0, chance[chance <= seen * (1 + 1e-9)].sum()))


@dataclass(frozen=True)
class CoverageCheck:
    """In how many databases the individuals appear.

    Attributes:
        num_databases: Number of databases.
        fewest: Databases of the individual that appears in the fewest.
        median: Median number of databases per individual.
        num_everywhere: Individuals that appear in every database.
        num_rare: Individuals that appear in fewer than half of the databases.
    """

    num_databases: int
    fewest: int
    median: float
    num_everywhere: int
    num_rare: int

    def __str__(self) -> str:
        """The check in one sentence."""
        text = (
            f"{self.num_everywhere} individuals appear in all {self.num_databases} databases; the "
            f"median individual in {self.median:g}, the rarest in {self.fewest}"
        )
        if self.num_rare:
            text += (
                f"; {self.num_rare} appear in fewer than half, so little is known of what they "
                "can contribute"
            )
        return text + "."


def check_coverage(coverage: np.ndarray, num_databases: int) -> CoverageCheck:
    """Summary of [individuals] numbers of databases in which each appears."""
    return CoverageCheck(
        num_databases=num_databases,
        fewest=int(coverage.min()),
        median=float(np.median(coverage)),
        num_everywhere=int(np.count_nonzero(coverage == num_databases)),
        num_rare=int(np.count_nonzero(2 * coverage < num_databases)),
    )
