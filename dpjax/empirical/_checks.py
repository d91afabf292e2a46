"""Checks that databases are independent and that each individual appears in many databases."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

_PERMUTATIONS = 9999

_NUMBERS = 2**22

FALSE_ALARMS = 0.01
"""Maximum probability that an analysis reports independent databases as dependent."""


@dataclass(frozen=True)
class IndependenceCheck:
    """Results of two tests of whether the query results in a sequence are independent.

    Attributes:
        query: Description of the query.
        runs: Number of runs, that is, maximal stretches of results on the same side of the median;
            results equal to the median are left out.
        runs_p_value: Two-sided exact p-value of the Wald-Wolfowitz runs test, or NaN if it is
            undefined.
        autocorrelation: Correlation of each result with the next result in the sequence.
        autocorrelation_p_value: Two-sided permutation p-value of the correlation, or NaN if it is
            undefined.
        p_value: p-value adjusted for multiple testing over all tests and queries, or NaN if it is
            undefined. If the databases are independent, the probability that at least one query has
            an adjusted p-value of `FALSE_ALARMS` or less is at most `FALSE_ALARMS`.
    """

    query: str
    runs: int
    runs_p_value: float
    autocorrelation: float
    autocorrelation_p_value: float
    p_value: float

    @property
    def dependent(self) -> bool:
        """Whether the databases look dependent; False if the tests are undefined."""
        return self.p_value <= FALSE_ALARMS

    def __str__(self) -> str:
        if np.isnan(self.p_value):
            return (
                f"{self.query}: independence cannot be tested because there are too few databases "
                "or the results do not vary."
            )
        verdict = (
            "the databases look dependent, but the privacy levels assume independence "
            "(independent databases look dependent in at most one of "
            f"{1 / FALSE_ALARMS:.0f} analyses)"
            if self.dependent
            else f"no sign of dependence (threshold {FALSE_ALARMS:g})"
        )
        return (
            f"{self.query}: {self.runs} runs (p = {self.runs_p_value:.3g}), lag-1 autocorrelation "
            f"{self.autocorrelation:.3f} (p = {self.autocorrelation_p_value:.3g}), combined "
            f"p = {self.p_value:.3g}: {verdict}."
        )


def check_independence(
    results: np.ndarray, queries: Sequence[str] = ("query",), key: int = 0
) -> tuple[IndependenceCheck, ...]:
    """Test whether results are independent, by the number of runs and by the autocorrelation.

    If the databases are independent, all orders of the results are equally likely. The observed
    order is compared with 9,999 random orders. For every order, the smallest p-value over all tests
    and queries is computed. Let p be the smaller of a query's two p-values in the observed order.
    The adjusted p-value of the query is the share of orders whose smallest p-value is at most p.
    The adjusted p-value is valid even if the tests depend on each other.

    Args:
        results: Results of d queries, [n, d], one row per database in the order of the databases.
        queries: Descriptions of the d queries.
        key: Seed for the random orders.

    Returns:
        The two tests of each query, with their p-values.

    References:
        Westfall, Young (1993), "Resampling-Based Multiple Testing", Algorithm 2.5.
    """
    size, tests = len(results), {}
    varied = np.flatnonzero(np.ptp(results, axis=0) > 0) if size >= 4 else []
    if len(varied):
        runs, correlations = _of_orders(results[:, varied], key)
        expected = [
            _p_values_of_runs(column, results[:, q])
            for q, column in zip(varied, runs.T, strict=True)
        ]
        # The mean correlation over all permutations is -1/n.
        far = np.round(np.abs(correlations + 1 / size), 12)
        p_values = np.stack([_ranked(-np.stack(expected, axis=1)), _ranked(far)])
        least = p_values.min(axis=(0, 2))
        for column, query in enumerate(varied):
            together = np.mean(least <= p_values[:, 0, column].min())
            found = expected[column][0], correlations[0, column], p_values[1, 0, column], together
            tests[query] = tuple(map(float, found))
    return tuple(
        IndependenceCheck(
            name, int(_runs(results[None, :, query])[0]), *tests.get(query, (float("nan"),) * 4)
        )
        for query, name in enumerate(queries)
    )


def _of_orders(results: np.ndarray, key: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of runs and the lag-1 autocorrelation for many orders of the results.

    Both returned arrays have shape [1 + permutations, d]; row 0 belongs to the observed order.
    """
    generator, found = np.random.default_rng(key), []
    centred = results - results.mean(axis=0)
    norms = np.sum(centred**2, axis=0)
    at_once = max(_NUMBERS // results.size, 1)
    for start in range(0, 1 + _PERMUTATIONS, at_once):
        number = min(at_once, 1 + _PERMUTATIONS - start)
        order = generator.permuted(np.tile(np.arange(len(results)), (number, 1)), axis=1)
        if start == 0:
            order[0] = np.arange(len(results))
        moved = centred[order]
        products = np.einsum("bnd,bnd->bd", moved[:, 1:], moved[:, :-1])
        runs = np.stack([_runs(column[order]) for column in results.T], axis=1)
        found.append((runs, products / norms))
    return np.concatenate([runs for runs, _ in found]), np.concatenate([c for _, c in found])


def _runs(orders: np.ndarray) -> np.ndarray:
    """Count the runs above and below the median in each row of the array `orders` [b, n].

    Values equal to the median are skipped.
    """
    sign = np.sign(orders - np.median(orders, axis=1, keepdims=True)).astype(np.int8)
    # A value equal to the median is assigned to the run that precedes it.
    last = np.maximum.accumulate(np.where(sign != 0, np.arange(sign.shape[1]), 0), axis=1)
    filled = np.take_along_axis(sign, last, axis=1)
    changes = np.count_nonzero(filled[:, 1:] * filled[:, :-1] < 0, axis=1)
    return np.where(sign.any(axis=1), 1 + changes, 0)


def _p_values_of_runs(runs: np.ndarray, results: np.ndarray) -> np.ndarray:
    """Return each run count's exact p-value, or NaN if no results are on one side of the median."""
    middle = np.median(results)
    above, below = int(np.sum(results > middle)), int(np.sum(results < middle))
    numbers, place = np.unique(runs, return_inverse=True)
    return np.array([runs_p_value(int(number), above, below) for number in numbers])[place]


def _ranked(extreme: np.ndarray) -> np.ndarray:
    """For each entry, return the share of entries in its column that are at least as large.

    The share for a NaN entry is 1. Input and output have shape [b, d].
    """
    extreme = np.nan_to_num(extreme, nan=-np.inf)
    ordered = np.sort(extreme, axis=0)
    below = [np.searchsorted(o, e, "left") for o, e in zip(ordered.T, extreme.T, strict=True)]
    return 1 - np.stack(below, axis=1) / len(extreme)


def runs_p_value(runs: int, num_above: int, num_below: int) -> float:
    """Return the exact two-sided p-value of the runs test.

    The p-value is the sum of the probabilities of all run counts that are no more likely than the
    observed run count.

    Args:
        runs: Observed number of runs.
        num_above: Number of results above the median.
        num_below: Number of results below the median.

    Returns:
        The p-value, or NaN if `num_above` or `num_below` is 0.

    References:
        Wald, Wolfowitz 1940, Section 3.
    """
    if not num_above or not num_below:
        return float("nan")

    log_gamma = scipy.special.gammaln

    def log_choose(n: int, k: np.ndarray) -> np.ndarray:
        # If k > n, the last term is infinite and the result is minus infinity, which is correct.
        return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1)

    possible = np.arange(2, num_above + num_below + 1)
    half, odd = possible // 2, possible % 2
    a, b = num_above - 1, num_below - 1
    # If the number of runs is even, half of the runs are on each side of the median; if it is odd,
    # one side has one run more than the other.
    one_way = log_choose(a, half - 1 + odd) + log_choose(b, half - 1)
    other_way = log_choose(a, half - 1) + log_choose(b, half - 1 + odd)
    chance = np.exp(np.logaddexp(one_way, other_way))
    chance /= chance.sum()
    seen = chance[possible == runs].sum()
    return float(min(1.0, chance[chance <= seen * (1 + 1e-9)].sum()))


@dataclass(frozen=True)
class CoverageCheck:
    """Summary of the number of databases in which each individual appears.

    Attributes:
        num_databases: Number of databases.
        fewest: Number of databases in which the rarest individual appears.
        median: Median, over the individuals, of the number of databases in which an individual
            appears.
        num_everywhere: Number of individuals who appear in every database.
        num_rare: Number of individuals who appear in fewer than half of the databases.
    """

    num_databases: int
    fewest: int
    median: float
    num_everywhere: int
    num_rare: int

    def __str__(self) -> str:
        text = (
            f"{self.num_everywhere} individuals appear in all {self.num_databases} databases; the "
            f"median individual appears in {self.median:g}, the rarest in {self.fewest}"
        )
        if self.num_rare:
            text += (
                f"; {self.num_rare} individuals appear in fewer than half of the databases, so "
                "their influence is estimated from few results"
            )
        return text + "."


def check_coverage(coverage: np.ndarray, num_databases: int) -> CoverageCheck:
    """Summarize the number of databases that contain each individual.

    Args:
        coverage: Number of databases that contain each individual, [individuals].
        num_databases: Total number of databases.
    """
    return CoverageCheck(
        num_databases=num_databases,
        fewest=int(coverage.min()),
        median=float(np.median(coverage)),
        num_everywhere=int(np.count_nonzero(coverage == num_databases)),
        num_rare=int(np.count_nonzero(2 * coverage < num_databases)),
    )
