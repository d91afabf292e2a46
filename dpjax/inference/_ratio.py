"""A lower bound on the ratio of two probabilities: exact, and nearly as tight as a normal one.

Two separate bounds each pay for their own worst case, which costs about a fifth of the margin.
Buehler's bound pays once: all pairs of counts are put into one order, by how much they speak for a
large ratio, and the bound is the smallest ratio at which counts as extreme as the observed ones
have more than the allowed probability, whatever the other parameter is.

Notation: K1 ~ Bin(n1, p) and K2 ~ Bin(n2, q) are the counts, ratio = p / q, and s orders them.
"""

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpjax.inference._binomial import one_sided_bounds

_NUISANCE_SHARE = 0.005
"""Part of the error that is spent on where q can be (Berger, Boos)."""

_NEGLIGIBLE = 1e-5
"""Part of the error by which tails of sums may be cut off; they are counted as if they happened."""

_STEP, _LARGEST_STEP = 0.02, 0.01
"""Steps between values of ln q: in its standard errors, and at most."""

_EVERY = 16
"""The bound is first found with every so-manieth q, and then made true of all."""

_MOST_STEPS, _MOST_POINTS = 400, 4096
"""Of q; and of a sum over counts, which are taken in blocks where there are more."""

_FIRST_GUESS, _TOLERANCE = 0.05, 0.003
"""Of the search for the bound, in standard errors: half its first interval, and its last one."""


def ratio_lower_bound(
    larger: int, smaller: int, larger_trials: int, smaller_trials: int, significance: float
) -> float:
    """Exact lower bound on ln(p / q), at least 0.

    The order is that of the normal lower bound with Agresti and Coull's probabilities, which rises
    in the first count and falls in the second, so that the probability below is monotone in the
    ratio. The supremum over q is bounded, not searched for: on [q, q e^d] the probability is at
    most that at q with a ratio larger by e^d, so d is taken off the bound.

    Args:
        larger: K1.
        smaller: K2.
        larger_trials: n1.
        smaller_trials: n2.
        significance: Probability with which the bound is above ln(p / q), at most.

    Returns:
        The bound.

    References:
        Buehler (1957); Berger, Boos (1994); Agresti, Coull (1998).
    """
    if larger == 0:
        return 0.0
    quantile = max(-float(scipy.special.ndtri(significance)), 0.5)
    trials = (larger_trials, smaller_trials)
    observed = float(ratio_order(larger, smaller, *trials, quantile))
    outside = _NUISANCE_SHARE * significance
    low_q, high_q = (float(x) for x in one_sided_bounds(smaller, smaller_trials, outside / 2))
    # With no count the range begins at 0: the bound below takes its first part as q = 0.
    low_q = max(low_q, high_q / 100)
    width = math.log(high_q / low_q)
    step = min(_STEP / math.sqrt(max(smaller, 1)), _LARGEST_STEP)
    num_steps = min(math.ceil(width / step), _MOST_STEPS)
    step = width / num_steps
    q = low_q * np.exp(step * np.arange(num_steps))
    lower_q = np.concatenate([[0.0], q]) if smaller == 0 else q
    upper_q = np.concatenate([[low_q], q]) if smaller == 0 else q
    quantile_and_cut = quantile, _NEGLIGIBLE * significance
    few, all_q = (
        _Tail(lower_q[::every], upper_q[::every], observed, trials, *quantile_and_cut)
        for every in (_EVERY, 1)
    )
    allowed = significance - outside
    unit = math.sqrt(1 / larger + 1 / max(smaller, 1))
    bound = _crossing(few, allowed, observed, unit)
    back = _TOLERANCE * unit
    while bound > 0 and all_q.probability(math.exp(bound)) > allowed:
        bound, back = bound - back, 2 * back
    return max(bound - step, 0.0)


def _crossing(tail: "_Tail", allowed: float, start: float, unit: float) -> float:
    """About the largest log ratio at which the tail is not above `allowed`, or 0."""

    def too_likely(log_ratio: float) -> bool:
        return tail.probability(math.exp(log_ratio)) > allowed

    reach = _FIRST_GUESS * unit
    low, high = max(start - reach, 0.0), max(start, 0.0) + reach
    while too_likely(low):
        if low == 0:
            return 0.0
        reach *= 2
        low, high = max(low - reach, 0.0), low
    while not too_likely(high):
        reach *= 2
        low, high = high, high + reach
    while high - low > _TOLERANCE * unit:
        middle = (low + high) / 2
        low, high = (low, middle) if too_likely(middle) else (middle, high)
    return low


class _Tail:
    """Upper bounds of the sup over q of P(s(K1, K2) >= observed), at any ratio.

    Args:
        lower_q: [q], where K2 is drawn.
        upper_q: [q]; times the ratio, where K1 is drawn.
        observed: s.
        trials: n1 and n2.
        quantile: Of s.
        negligible: Probability of the tails that sums leave out, counted as if they always won.
    """

    def __init__(
        self,
        lower_q: NDArray,
        upper_q: NDArray,
        observed: float,
        trials: tuple[int, int],
        quantile: float,
        negligible: float,
    ):
        self.upper_q, self.negligible, self.larger_trials = upper_q, negligible, trials[0]
        first, stride, size = _window(lower_q, trials[1], negligible)
        blocks = first[:, None] + stride * np.arange(size)
        self.mass = _block_mass(blocks, stride, trials[1], lower_q)
        # Once for each count, then looked up: rows of q share most of theirs.
        counts = np.arange(blocks.min(), blocks.max() + 1)
        needed = _least_larger(counts, observed, trials, quantile)
        self.needed = needed[blocks - blocks.min()]

    def probability(self, ratio: float) -> float:
        """At this ratio; it rises with the ratio."""
        n = self.larger_trials
        p = np.minimum(self.upper_q * ratio, 1.0)
        first, stride, size = _window(p, n, self.negligible)
        mass = _block_mass(first[:, None] + stride * np.arange(size), stride, n, p)
        beyond = np.zeros((len(p), 1))
        above = np.hstack([np.cumsum(mass[:, ::-1], axis=1)[:, ::-1], beyond]) + self.negligible
        place = np.clip((self.needed - first[:, None]) // stride, 0, size)
        reached = np.minimum(np.take_along_axis(above, place, axis=1), 1.0)
        reached = np.where(self.needed <= first[:, None], 1.0, reached)
        reached = np.where(self.needed > n, 0.0, reached)
        return float(np.max(np.sum(self.mass * reached, axis=1)) + self.negligible)


def _window(p: NDArray, trials: int, negligible: float) -> tuple[NDArray, int, int]:
    """First counts [p], stride and number of blocks that hold all but `negligible` (Bernstein)."""
    depth = math.log(2 / negligible)
    spread = depth / 3 + np.sqrt(depth**2 / 9 + 2 * depth * trials * p * (1 - p))
    first = np.maximum(np.floor(trials * p - spread), 0).astype(np.int64)
    last = np.minimum(np.ceil(trials * p + spread), trials).astype(np.int64)
    width = int(np.max(last - first)) + 1
    stride = -(-width // _MOST_POINTS)
    return first, stride, -(-width // stride)


def _block_mass(blocks: NDArray, stride: int, trials: int, p: NDArray) -> NDArray:
    """Upper bounds of P(block <= K < block + stride), [p, blocks]: the highest mass times width."""
    p = p[:, None]
    highest = blocks
    if stride > 1:
        mode = np.floor((trials + 1) * p).astype(np.int64)
        highest = np.clip(mode, blocks, blocks + stride - 1)
    highest = np.minimum(highest, trials)
    least = highest.min()
    counts = np.arange(least, highest.max() + 1)
    ways = (
        scipy.special.gammaln(trials + 1.0)
        - scipy.special.gammaln(counts + 1.0)
        - scipy.special.gammaln(trials - counts + 1.0)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        successes = np.where(highest > 0, highest * np.log(p), 0.0)
        failures = np.where(highest < trials, (trials - highest) * np.log1p(-p), 0.0)
    width = np.clip(trials + 1 - blocks, 0, stride)
    return width * np.exp(ways[highest - least] + successes + failures)


def _least_larger(
    smaller: NDArray, observed: float, trials: tuple[int, int], quantile: float
) -> NDArray:
    """The least first count with s >= observed for each second one; n1 + 1 where there is none."""
    low = np.zeros(smaller.shape, np.int64)
    high = np.full(smaller.shape, trials[0] + 1, np.int64)
    while np.any(low < high):
        middle = (low + high) // 2
        reached = ratio_order(middle, smaller, *trials, quantile) >= observed
        high = np.where(reached, middle, high)
        low = np.where(reached, low, np.minimum(middle + 1, high))
    return high


def ratio_order(
    larger: ArrayLike, smaller: ArrayLike, larger_trials: int, smaller_trials: int, quantile: float
) -> NDArray[np.float64]:
    """s, about the bound that two counts give: it rises in the first and falls in the second.

    The latter since x (1 - x / m) >= z^2 / 4 for x in [z^2 / 2, m - z^2 / 2] where m >= z^2.
    """
    added = quantile**2
    first, second = (
        np.minimum(np.asarray(count, np.float64), trials) + added / 2
        for count, trials in ((larger, larger_trials), (smaller, smaller_trials))
    )
    total, other = larger_trials + added, smaller_trials + added
    variance = 1 / first - 1 / total + 1 / second - 1 / other
    return np.log(first / total) - np.log(second / other) - quantile * np.sqrt(variance)
