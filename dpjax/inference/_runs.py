"""Distribution of the number of runs in a random order of 0s and 1s."""

import math

import numpy as np

_DEVIATIONS, _TERMS = 9, 60
"""Range over which the probabilities of a tail are summed, in standard deviations and in terms; the
remaining terms of the tail are negligible.
"""


def few_runs_p_value(runs: int, size: int, ones: int) -> float:
    """Return the probability that a random order has at most `runs` runs of 1s.

    A run is a maximal sequence of consecutive 1s. If all orders of the 0s and 1s are equally
    likely, the number of runs has a hypergeometric distribution. `scipy.stats.hypergeom` gives the
    same probability, but importing it takes longer than an audit.

    Args:
        runs: Number of runs, at least 0.
        size: Number of 0s and 1s.
        ones: Number of 1s, from 1 to `size` - 1.

    References:
        Wald, Wolfowitz (1940), "On a test whether two samples are from the same population".
    """
    gaps = size - ones + 1
    if runs < 1 or runs >= min(ones, gaps):
        return float(runs >= 1)
    mean = ones * gaps / size
    variance = mean * (1 - gaps / size) * (size - ones) / (size - 1)
    number = int(_DEVIATIONS * math.sqrt(variance)) + _TERMS
    if runs <= mean:
        j = np.arange(runs, max(runs - number, 1), -1, dtype=np.float64)
        ratios = (j - 1) * j / ((ones - j + 1) * (gaps - j + 1))
        return _probability(runs, ones, gaps) * (1 + float(np.cumprod(ratios).sum()))
    j = np.arange(runs + 1, min(runs + number, ones, gaps), dtype=np.float64)
    ratios = (ones - j) * (gaps - j) / (j * (j + 1))
    return 1 - _probability(runs + 1, ones, gaps) * (1 + float(np.cumprod(ratios).sum()))


def _probability(runs: int, ones: int, gaps: int) -> float:
    """Return the probability of a number of runs, each of which lies in one of the gaps."""
    arrangements = _log_choose(gaps, runs) + _log_choose(ones - 1, runs - 1)
    return math.exp(arrangements - _log_choose(ones + gaps - 1, ones))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
