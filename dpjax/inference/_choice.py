"""Choice of the event to confirm: the set of cells with the largest expected bound.

The cells are sorted in several ways, and the candidates are the initial segments of each order. If
the best of many sets is chosen and evaluated on the same draws, the evaluation is biased in favor
of the chosen set. Therefore, sets are constructed from each half of the draws and evaluated on the
other half. If cells lie on a line, half-lines (all cells on one side of a point) are evaluated with
a smooth estimate of the privacy loss, unless the counts of the half-lines predict a much larger
bound.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate
from dpjax.inference._events import Event, best_ratio, expected_bound, shrunk
from dpjax.inference._hypotheses import Hypothesis, Ratio
from dpjax.inference._judged import Sets, cells_of, judged
from dpjax.inference._orders import ByPosition, ByRatio, Candidates
from dpjax.inference._sizes import Rivals, Shared
from dpjax.inference._smooth import Smooth

_LINE_SHRINKAGE, _SET_SHRINKAGE, _RIVAL_SHRINKAGE = 2.0, 0.75, 0.45
"""Numbers of standard errors by which the estimated ratio of a set's probabilities is shrunk.

For sets of cells ordered by position, the number of standard errors is _LINE_SHRINKAGE plus
_RIVAL_SHRINKAGE times ln(number of searched pairs). For sets of cells ordered by ratio, the number
of standard errors is _SET_SHRINKAGE times ln(number of cells). For every set, _RIVAL_SHRINKAGE
times ln(number of compared partitions) is added to the number of standard errors. The constants
were tuned on experiments (a) to (e) of Askin, Kutta, Dette (2022) and on logistic noise.
"""

_TWO_SHRINKAGE = 0.5
"""Value that replaces _LINE_SHRINKAGE if there is one pair and only two of its cells contain draws.

Consider an event with probabilities 0.01 and 0.00135 on the two sides. With the value 2, 93% of all
searches with 800 draws per side identify the side where the event is more likely. With the value
0.5, 99.8% of these searches do.
"""

_UNORDERED_SHRINKAGE = 0.4
"""Value that replaces _SET_SHRINKAGE if outputs are labels or codes.

The value 0.4 was tuned on experiments (b), (e), (f) and on 200 labels.
"""

_SMOOTH_WORTH, _FEWEST_TO_SMOOTH = 0.9, 400
"""Two conditions for evaluating half-lines with a smooth privacy loss.

First, the largest bound that the smooth loss predicts must be at least _SMOOTH_WORTH times the
largest bound that the counts of the half-lines predict. Second, the search must have at least
_FEWEST_TO_SMOOTH draws, summed over both sides.

With only 100 draws per side, a smooth loss would increase the mean bound for Gaussian noise from
1.09 to 1.17. However, it would decrease the mean bound for Laplace noise from 0.72 to 0.70.
"""

_LEAST_GAIN = 12.0
"""Smallest likelihood-ratio statistic at which half-lines are evaluated with a smooth loss.

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


class ChoiceOptions(TypedDict, total=False):
    """Keyword arguments of `choose_event` and `largest_bound`.

    Attributes:
        allowed: bool [cells], the cells that are allowed in an event. By default, or if `allowed`
            is None, all cells are allowed.
        hypothesis: Hypothesis whose level is bounded, as in `event_lower_bound`. The default is
            `Ratio()`.
        judge: Counts of the second half of the search draws, with the same shape as `counts`. If
            `judge` is passed, `counts` contains only the counts of the first half. By default, or
            if `judge` is None, the draws in `counts` are divided into two halves at random, with a
            fixed seed.
        coarser: Integer arrays [cells]; each array contains the group of each cell. For each array,
            cells are also ordered by the ratios of their groups, which have smaller errors than the
            ratios of single cells. The default is ().
        positions: Float arrays [cells]; each array contains the position of each cell along a line,
            or NaN for a cell without a position. Half-lines of cells from both ends of each line
            are candidates. The default is ().
        ordered: Whether adjacent cells on a line have similar ratios, for example because the cells
            are bins of numbers. The default is True.
        rivals: Number of searched pairs and number of compared partitions. Only the event of the
            pair and partition with the largest expected bound will be confirmed. The default is
            `Rivals()`.
    """

    allowed: ArrayLike | None
    hypothesis: Hypothesis
    judge: ArrayLike | None
    coarser: Sequence[ArrayLike]
    positions: Sequence[ArrayLike]
    ordered: bool
    rivals: Rivals


def choose_event(
    counts: ArrayLike,
    num_confirm: int | Shared,
    confidence: float,
    **options: Unpack[ChoiceOptions],
) -> Event:
    """Choose the set of cells with the largest expected bound from fresh draws.

    Cells are sorted by the ratios of their probabilities. Each ratio is shrunk according to its
    standard error. Candidates are the initial segments of the cells in both directions. Sets are
    constructed from each half of the draws and evaluated on the other half. The best way to
    construct sets is then applied to all draws.

    Args:
        counts: Whole numbers [..., 2, cells], numbers of search draws from the database and from
            its neighbor in each cell. Every draw must be counted in some cell.
        num_confirm: N, the number of fresh draws per side that will be counted. If `num_confirm` is
            a `Shared`, the draws are divided between both sides in the way that gives the largest
            expected bound.
        confidence: Confidence of the bound.
        options: Keyword arguments, described in `ChoiceOptions`.

    Returns:
        One event for each index of the leading axes of `counts`. No event contains all cells.

    Raises:
        TypeError: If an argument is not a number, or if `num_confirm` is not an integer.
        ValueError: If the confidence is not strictly between 0 and 1, or if counts are not whole
            numbers >= 0 of shape [..., 2, cells] with draws on both sides.

    References:
        Neyman, Pearson (1933), for the optimality of sets with large likelihood ratios.
    """
    found = _judged(counts, num_confirm, confidence, **options)
    sets, candidates = found.sets, found.candidates
    best = sets.best(found.bound)
    candidate = sets.candidate[best]
    order, drawn = candidates.order[candidate], sets.larger[best] + sets.smaller[best]
    inside = cells_of(found.total, found.ways, order, sets.end[best], drawn)
    predicted = found.bound[best]
    some = predicted > 0
    ratio = np.ones(best.size)
    if isinstance(num_confirm, Shared):
        p, q = (share[best] for share in found.shares)
        of_best = best_ratio(p, q, num_confirm, confidence, found.hypothesis)
        ratio = np.where(some, of_best, 1.0)
    batch = found.batch
    return Event(
        cells=(inside & some[:, None]).reshape(*batch, inside.shape[-1]),
        larger=np.where(some, candidates.direction[candidate], 0).reshape(batch),
        predicted=predicted.reshape(batch),
        ratio=ratio.reshape(batch),
    )


def largest_bound(
    counts: ArrayLike,
    num_confirm: int | Shared,
    confidence: float,
    **options: Unpack[ChoiceOptions],
) -> NDArray[np.float64]:
    """Return the expected bound of the event that `choose_event` would choose.

    Args:
        counts: Whole numbers [..., 2, cells], as in `choose_event`.
        num_confirm: Number of fresh draws per side, as in `choose_event`.
        confidence: Confidence of the bound.
        options: Keyword arguments, described in `ChoiceOptions`.

    Returns:
        One bound for each entry of the leading axes.

    Raises:
        TypeError, ValueError: As in `choose_event`.
    """
    found = _judged(counts, num_confirm, confidence, **options)
    return found.sets.largest(found.bound).reshape(found.batch)


class _Judged(NamedTuple):
    """Candidate sets of all runs, and their expected bounds.

    Attributes:
        batch: Shape of the counts' leading axes. These axes are flattened into one axis of runs.
        hypothesis: Hypothesis whose level is bounded.
        total: Counts of all draws, [runs, 2, cells].
        ways: Ways to order cells.
        candidates: Orders of cells, each with the side where its sets should be more likely.
        sets: The candidate sets.
        shares: Estimated probabilities of each set, first on the side where the set is more likely,
            then on the other side.
        bound: Expected bound of each set.
    """

    batch: tuple[int, ...]
    hypothesis: Hypothesis
    total: NDArray[np.int64]
    ways: list[ByRatio | ByPosition]
    candidates: Candidates
    sets: Sets
    shares: tuple[NDArray[np.float64], NDArray[np.float64]]
    bound: NDArray[np.float64]


def _judged(
    counts: ArrayLike,
    num_confirm: int | Shared,
    confidence: float,
    *,
    allowed: ArrayLike | None = None,
    hypothesis: Hypothesis = Ratio(),  # noqa: B008 (frozen)
    judge: ArrayLike | None = None,
    coarser: Sequence[ArrayLike] = (),
    positions: Sequence[ArrayLike] = (),
    ordered: bool = True,
    rivals: Rivals = Rivals(),  # noqa: B008 (frozen)
) -> _Judged:
    """Evaluate all candidate sets.

    The arguments are described in `choose_event` and `ChoiceOptions`.
    """
    validate.open_unit(confidence=confidence)
    mean = num_confirm.mean if isinstance(num_confirm, Shared) else num_confirm
    validate.positive_int(num_confirm=mean, pairs=rivals.pairs, partitions=rivals.partitions)
    halves = _halves(counts, judge)
    batch, cells = halves.shape[:-3], halves.shape[-1]
    halves = halves.reshape(-1, 2, 2, cells)
    may = np.ones(cells, bool) if allowed is None else np.asarray(allowed, bool)
    ordered = ordered and bool(positions)
    if cells == 2 and not positions:
        # The halves may disagree on which of the two cells is likelier. With positions on a line,
        # both cells are candidates.
        positions = [np.arange(2)]
    ways: list[ByRatio | ByPosition] = [
        ByRatio.of(may, labels, ordered) for labels in (None, *coarser)
    ]
    ways += [ByPosition.of(may, line) for line in positions]
    candidates = Candidates.of(ways)
    sets = Sets.of(judged(halves, ways), candidates)
    total, is_line = halves.sum(axis=1), ~candidates.by_ratio[sets.candidate]
    compared = _RIVAL_SHRINKAGE * math.log(rivals.partitions)
    by_ratio = errors_by_ratio(halves, ordered=ordered) + compared
    num_seen = np.count_nonzero(total.any(axis=1), axis=-1)
    by_position = np.where(
        (num_seen == 2) & (rivals.pairs == 1),
        _TWO_SHRINKAGE,
        _LINE_SHRINKAGE + _RIVAL_SHRINKAGE * np.log(rivals.pairs) + compared,
    )
    quantile = np.where(is_line, by_position[sets.run], by_ratio[sets.run])
    draws, side = total.sum(axis=-1), candidates.direction[sets.candidate]
    trials, others = draws[sets.run, side], draws[sets.run, 1 - side]
    shares = shrunk(sets.larger, trials, sets.smaller, others, quantile)
    bound = expected_bound(*shares, num_confirm, confidence, hypothesis)
    enough = draws.sum(axis=1) >= _FEWEST_TO_SMOOTH
    if ordered and enough.any():
        (line,) = np.nonzero(is_line)
        smooth, gain = _smoothed(total, sets, ways, candidates, by_position)
        p, q = (share[line] for share in smooth)
        by_fit = expected_bound(p, q, num_confirm, confidence, hypothesis)
        hopeless = np.full(len(bound), -np.inf)
        of_line, of_fit = hopeless.copy(), hopeless
        of_line[line], of_fit[line] = bound[line], by_fit
        own, fitted = sets.largest(of_line), sets.largest(of_fit)
        seen = sets.best(of_line)
        hoped = expected_bound(
            (sets.larger[seen] + 0.5) / (trials[seen] + 1),
            (sets.smaller[seen] + 0.5) / (others[seen] + 1),
            num_confirm,
            confidence,
            hypothesis,
        )
        rare = (own >= fitted) & (hoped >= _FAR_BETTER * fitted)
        better = enough & (gain >= _LEAST_GAIN) & (fitted >= _SMOOTH_WORTH * own) & ~rare
        # The largest of many noisy bounds tends to be too large. Bounds from the smooth loss are
        # less noisy, so without this scaling, half-lines would lose to other orders and pairs.
        by_fit *= np.maximum(own / np.maximum(fitted, 1e-300), 1)[sets.run[line]]
        is_better = better[sets.run[line]]
        bound[line] = np.where(is_better, by_fit, bound[line])
        for share, smoothed in zip(shares, (p, q), strict=True):
            share[line] = np.where(is_better, smoothed, share[line])
    return _Judged(batch, hypothesis, total, ways, candidates, sets, shares, bound)


def _halves(counts: ArrayLike, judge: ArrayLike | None) -> NDArray[np.int64]:
    """Return two halves of the search set, [..., half, side, cells]."""
    validate.counts(counts=counts)
    counts = np.asarray(counts, np.int64)
    if counts.ndim < 2 or counts.shape[-2] != 2 or counts.shape[-1] < 2:
        raise ValueError(
            f"counts must have the shape [..., 2, cells] with at least 2 cells, but had "
            f"{counts.shape}."
        )
    second = np.zeros_like(counts)
    if judge is not None:
        validate.counts(judge=judge)
        second = np.asarray(judge, np.int64)
    if second.shape != counts.shape:
        raise ValueError(
            f"judge must have the shape of counts, {counts.shape}, but had {second.shape}."
        )
    if np.any((counts + second).sum(axis=-1) <= 0):
        raise ValueError("counts and judge must together hold at least one draw on each side.")
    # With few draws, one of the halves may be empty.
    if judge is None:
        first = np.random.default_rng(0).binomial(counts, 0.5)
        counts, second = first, counts - first
    return np.stack([counts, second], axis=-3)


def _smoothed(
    total: NDArray[np.int64],
    sets: Sets,
    ways: list[ByRatio | ByPosition],
    candidates: Candidates,
    quantile: NDArray[np.float64],
) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]:
    """Estimate probabilities of half-lines from a smooth privacy loss, and shrink the ratios.

    The function returns three arrays. The first two, both [sets], are the probabilities of the sets
    on the side where the set is more likely and on the other side. The third, [runs], is the
    largest likelihood-ratio statistic of each run's fits. The probabilities of sets that are not
    half-lines are set to 1.

    Args:
        total: Counts of all draws, [runs, 2, cells].
        sets: Candidate sets.
        ways: Ways to order cells.
        candidates: Orders of cells, each with the side where its sets should be more likely.
        quantile: Number of standard errors by which ratios are shrunk, [runs].
    """
    draws, gain = total.sum(axis=-1), np.zeros(len(total))
    larger, smaller = np.ones((2, len(sets.run)))
    for number, way in enumerate(ways):
        if isinstance(way, ByRatio):
            continue
        fit = Smooth.of(total[..., way.order[0, : way.most[0]]])
        gain = np.maximum(gain, fit.gain)
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
    return (larger, smaller), gain


def errors_by_ratio(halves: NDArray[np.int64], *, ordered: bool = True) -> NDArray[np.float64]:
    """Return the number of standard errors by which ratios are shrunk, float64 [...].

    The number of standard errors grows with the number of cells that have draws in both halves. The
    argument `ordered` specifies whether the cells lie on a line.
    """
    num_seen = np.count_nonzero(halves.sum(axis=-2).all(axis=-2), axis=-1)
    shrinkage = _SET_SHRINKAGE if ordered else _UNORDERED_SHRINKAGE
    return shrinkage * np.log(np.maximum(num_seen, 2))
