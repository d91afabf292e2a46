"""Evaluation of candidate sets with smooth privacy losses along lines of cells.

Half-lines are evaluated with the smooth loss unless their counts predict a much larger bound. If
the loss is not monotonic along a line, its level sets are further candidates.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.inference._events import expected_bound, shrunk
from dpjax.inference._judged import Sets
from dpjax.inference._level_sets import Asked, Floats, LevelSets, best_level_sets
from dpjax.inference._orders import ByPosition, ByRatio, Candidates
from dpjax.inference._smooth import Smooth, contradicted

_SMOOTH_WORTH, _FEWEST_TO_SMOOTH = 0.9, 400
"""Two conditions for evaluating half-lines with a smooth privacy loss.

First, the largest bound that the smooth loss predicts must be at least _SMOOTH_WORTH times the
largest bound that the counts of the half-lines predict. Second, the search must have at least
_FEWEST_TO_SMOOTH draws, summed over both sides.

With only 100 draws per side, a smooth loss would increase the mean bound for Gaussian noise from
1.09 to 1.17. However, it would decrease the mean bound for Laplace noise from 0.72 to 0.70.
"""

_LEAST_GAIN = 12.0
"""Smallest likelihood-ratio statistic at which a smooth loss is used.

The statistic compares the smooth privacy loss with a privacy loss of zero.

Without this rule, the mean expected bound for Laplace noise with epsilon 0.2 would decrease by
0.0035 for 250 or 500 draws per side.
"""

_FAR_BETTER = 1.7
"""Factor in a rule for evaluating half-lines with their counts instead of the smooth loss.

The rule applies if two conditions hold. First, the best bound predicted from counts is at least the
best bound predicted from the smooth loss. Second, without shrinkage, the bound predicted from
counts is at least this factor times the best bound predicted from the smooth loss.

Without this rule, the mean expected bound for Laplace noise with a leak of probability 0.1% in a
tail would decrease by 0.025. With the factor 1.5, the benefit of smooth losses for Laplace noise
would be half as large.
"""

_LEVEL_WORTH, _LEVEL_SHRINKAGE = 1.03, 0.25
"""Advantages that half-lines have over level sets.

The fitted loss of Laplace noise is hardly ever monotonic, although the best sets are half-lines.
Therefore, the bound of a level set must exceed the bound of the best half-line by the factor
_LEVEL_WORTH, and its ratio is shrunk by _LEVEL_SHRINKAGE more standard errors.

With 1 and 0, the mean bound for Laplace noise with epsilon 1 and 5,000 draws per side would
decrease from 0.940 to 0.934. With 1.04 and 0.5, the mean bound for two normal distributions whose
standard deviations are 1 and 1.1 would decrease from 0.235 to 0.224; without level sets, it would
be 0.219.
"""


class Searched(NamedTuple):
    """A search with the candidate sets of all runs.

    Attributes:
        total: Counts of all draws, [runs, 2, cells].
        ways: Ways to order cells.
        candidates: Orders of cells, each with the side where its sets should be more likely.
        sets: The candidate sets.
        quantile: Number of standard errors by which the ratios of half-lines are shrunk, [runs].
        monotonic: Whether the losses are expected to be monotonic, so that there are no level sets.
        asked: Further arguments of `expected_bound`: number of fresh draws, confidence and
            hypothesis.
    """

    total: NDArray[np.int64]
    ways: list[ByRatio | ByPosition]
    candidates: Candidates
    sets: Sets
    quantile: Floats
    monotonic: bool
    asked: Asked


def with_smooth_losses(
    searched: Searched,
    bound: Floats,
    shares: tuple[Floats, Floats],
) -> tuple[Floats, tuple[Floats, Floats], LevelSets | None]:
    """Evaluate half-lines again with smooth losses, and evaluate the level sets of the losses.

    Args:
        searched: The search.
        bound: float64 [sets], expected bounds from the counts of the sets.
        shares: Probabilities of each set on both sides, estimated from counts.

    Returns:
        The expected bounds and the probabilities, with the values for half-lines replaced where
        this is better; and the best level sets.
    """
    total, ways, candidates, sets, quantile, monotonic, asked = searched
    enough = total.sum(axis=(1, 2)) >= _FEWEST_TO_SMOOTH
    if not enough.any():
        return bound, shares, None
    lines = {i: way.line for i, way in enumerate(ways) if isinstance(way, ByPosition)}
    fits = {i: Smooth.of(total[..., line]) for i, line in lines.items()}
    (line,) = np.nonzero(~candidates.by_ratio[sets.candidate])
    larger, smaller = (of_set[line] for of_set in _half_lines(searched, fits))
    by_fit = expected_bound(larger, smaller, *asked)
    wrong = contradicted(larger, smaller, *_counts(searched, line))
    by_fit[wrong] = bound[line[wrong]]
    hopeless = np.full(len(bound), -np.inf)
    of_line, of_fit = hopeless.copy(), hopeless
    of_line[line], of_fit[line] = bound[line], by_fit
    own, fitted = sets.largest(of_line), sets.largest(of_fit)
    counts, trials = _counts(searched, sets.best(of_line))
    likelier, other = (counts + 0.5) / (trials + 1)
    hoped = expected_bound(likelier, other, *asked)
    gain = np.max([fit.gain for fit in fits.values()], axis=0)
    usable = enough & (gain >= _LEAST_GAIN)
    level_sets = best_level_sets(
        total,
        list(zip(lines.values(), fits.values(), strict=True)),
        usable & (not monotonic),
        quantile + _LEVEL_SHRINKAGE,
        asked,
    )
    best = np.maximum(fitted, level_sets.bound)
    rare = (own >= best) & (hoped >= _FAR_BETTER * best)
    level_sets.bound[rare | (level_sets.bound < _LEVEL_WORTH * fitted)] = -np.inf
    better = usable & (fitted >= _SMOOTH_WORTH * own) & ~rare
    # The largest of many noisy bounds tends to be too large. Bounds from the smooth loss are
    # less noisy, so without this scaling, half-lines would lose to other orders and pairs.
    by_fit *= np.maximum(own / np.maximum(fitted, 1e-300), 1)[sets.run[line]]
    is_better = better[sets.run[line]] & ~wrong
    bound[line] = np.where(is_better, by_fit, bound[line])
    for share, smoothed in zip(shares, (larger, smaller), strict=True):
        share[line] = np.where(is_better, smoothed, share[line])
    return bound, shares, level_sets


def _counts(searched: Searched, chosen: NDArray[np.int64]) -> tuple[NDArray, NDArray]:
    """Return counts of the chosen sets, and numbers of draws, both int64 [2, chosen].

    The first row belongs to the side where the set is expected to be more likely.
    """
    total, _, candidates, sets, *_ = searched
    draws, run = total.sum(axis=-1), sets.run[chosen]
    side = candidates.direction[sets.candidate[chosen]]
    counts = np.stack([sets.larger[chosen], sets.smaller[chosen]])
    return counts, np.stack([draws[run, side], draws[run, 1 - side]])


def _half_lines(searched: Searched, fits: dict[int, Smooth]) -> tuple[Floats, Floats]:
    """Estimate probabilities of half-lines from smooth losses, and shrink the ratios.

    The function returns two arrays [sets], the probabilities of the sets on the side where the set
    is more likely and on the other side. The probabilities of sets that are not half-lines are set
    to 1.
    """
    total, _, candidates, sets, quantile, *_ = searched
    draws = total.sum(axis=-1)
    larger, smaller = np.ones((2, len(sets.run)))
    for number, fit in fits.items():
        for end in (0, 1):
            # The sets of each order are candidates for both sides.
            same = np.flatnonzero(candidates.order == 2 * number + end)
            places = [np.flatnonzero(sets.candidate == candidate) for candidate in same]
            run = sets.run[places[0]]
            pooled = sets.larger[places[0]] + sets.smaller[places[0]]
            counts, worth = fit.half_lines(pooled, run, from_end=bool(end))
            counts, trials = worth * counts, worth * draws[run].T
            for side, place in zip(candidates.direction[same], places, strict=True):
                larger[place], smaller[place] = shrunk(
                    counts[side], trials[side], counts[1 - side], trials[1 - side], quantile[run]
                )
    return larger, smaller
