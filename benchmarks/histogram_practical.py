"""The number of samples that a histogram estimator needs in practice, by search.

Estimates depend on the draws through their counts only, and the counts of n outputs are
multinomial with the exact probabilities of the intervals. Drawing counts in place of outputs gives
the same law at a cost that does not grow with n, so a search over n up to 1e8 takes seconds.
"""

import math

import numpy as np

from dpjax.inference import ldp_levels, renyi_levels
from dpjax.reference import ExactTruncatedGaussian, ExactTruncatedLaplace

Law = ExactTruncatedLaplace | ExactTruncatedGaussian
PAIR = (0.0, 1.0)


def truth(law: Law, order: float | None) -> float:
    return law.epsilon if order is None else law.pair_renyi(*PAIR, order)


def simulated_estimates(law, num_intervals, num_samples, order, num_runs, seed):
    """Estimates of the pair (0, 1) in independent runs, masked where they failed."""
    # The seed is folded with n, so that neighbouring n do not share their luck.
    rng = np.random.default_rng([seed, num_samples])
    edges = np.linspace(0, 1, num_intervals + 1)
    rows = [np.diff(law.cdf(x, edges)) for x in PAIR]
    counts = np.stack(
        [rng.multinomial(num_samples, row / row.sum(), size=num_runs) for row in rows], 1
    )
    if order is None:
        return ldp_levels(counts, [(0, 1)])[:, 0]
    return renyi_levels(counts, [(0, 1)], order)[:, 0]


def share_within(law, num_intervals, num_samples, precision, order=None, num_runs=1000, seed=0):
    """Share of runs that succeed and are within the precision."""
    estimates = simulated_estimates(law, num_intervals, num_samples, order, num_runs, seed)
    return float((np.abs(estimates - truth(law, order)) <= precision).filled(False).mean())


def practical_num_samples(law, num_intervals, precision, confidence, order=None, num_runs=1000):
    """The smallest n (to 2 %) whose share of runs within the precision reaches the confidence."""

    def reached(n):
        return share_within(law, num_intervals, n, precision, order, num_runs) >= confidence

    enough = 1
    while not reached(enough):
        enough *= 2
    too_few = enough // 2
    while enough > too_few + max(1, too_few // 50):
        middle = max(too_few + 1, math.isqrt(too_few * enough))
        too_few, enough = (too_few, middle) if reached(middle) else (middle, enough)
    return enough
