"""Choice of the event to confirm: the set of cells with the largest expected bound.

The cells are sorted in several ways, and the candidates are the initial segments of each order. If
the best of many sets is chosen and evaluated on the same draws, the evaluation is biased in favor
of the chosen set. Therefore, sets are constructed from each half of the draws and evaluated on the
other half. If cells lie on a line, half-lines (all cells on one side of a point) are evaluated with
a smooth estimate of the privacy loss, unless the counts of the half-lines predict a much larger
bound. The level sets of the smooth loss are candidates, too.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate
from dpjax.inference._events import Event, best_ratio, expected_bound, shrunk
from dpjax.inference._hypotheses import Hypothesis, Ratio
from dpjax.inference._judged import Sets, cells_of, judged
from dpjax.inference._level_sets import LevelSets
from dpjax.inference._orders import ByPosition, ByRatio, Candidates
from dpjax.inference._sizes import Rivals, Shared
from dpjax.inference._smooth_choice import Searched, with_smooth_losses

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
            are candidates. If the cells are `ordered`, level sets of a smooth privacy loss along
            each line are candidates, too. The default is ().
        ordered: Whether adjacent cells on a line have similar ratios, for example because the cells
            are bins of numbers. The default is True.
        monotonic: Whether the ratios are expected to be monotonic along each line, for example
            because the line is a learned score. If so, level sets are not candidates. The default
            is False.
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
    monotonic: bool
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
    found = _judged(counts, num_confirm, confidence, options)
    sets, candidates = found.sets, found.candidates
    best = sets.best(found.bound)
    candidate = sets.candidate[best]
    order, drawn = candidates.order[candidate], sets.larger[best] + sets.smaller[best]
    inside = cells_of(found.total, found.ways, order, sets.end[best], drawn)
    larger, predicted = candidates.direction[candidate], found.bound[best]
    shares = np.stack([share[best] for share in found.shares])
    level = found.level_sets
    if level is not None:
        better = level.bound > predicted
        for mine, other in zip((inside, larger, shares.T, predicted), level, strict=True):
            mine[better] = other[better]
    some = predicted > 0
    ratio = np.ones(best.size)
    if isinstance(num_confirm, Shared):
        p, q = shares
        of_best = best_ratio(p, q, num_confirm, confidence, found.hypothesis)
        ratio = np.where(some, of_best, 1.0)
    batch = found.batch
    return Event(
        cells=(inside & some[:, None]).reshape(*batch, inside.shape[-1]),
        larger=np.where(some, larger, 0).reshape(batch),
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
    found = _judged(counts, num_confirm, confidence, options)
    largest, level = found.sets.largest(found.bound), found.level_sets
    if level is not None:
        largest = np.maximum(largest, level.bound)
    return largest.reshape(found.batch)


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
        level_sets: The best level set of each run's smooth losses, or None without smooth losses.
    """

    batch: tuple[int, ...]
    hypothesis: Hypothesis
    total: NDArray[np.int64]
    ways: list[ByRatio | ByPosition]
    candidates: Candidates
    sets: Sets
    shares: tuple[NDArray[np.float64], NDArray[np.float64]]
    bound: NDArray[np.float64]
    level_sets: LevelSets | None


def _judged(
    counts: ArrayLike, num_confirm: int | Shared, confidence: float, options: ChoiceOptions
) -> _Judged:
    """Evaluate all candidate sets, with the arguments of `choose_event`."""
    others: dict[str, Any] = {**options}
    halves = _halves(counts, others.pop("judge", None))
    return _judged_halves(halves, num_confirm, confidence, **others)


def _judged_halves(
    halves: NDArray[np.int64],
    num_confirm: int | Shared,
    confidence: float,
    *,
    allowed: ArrayLike | None = None,
    hypothesis: Hypothesis = Ratio(),  # noqa: B008 (frozen)
    coarser: Sequence[ArrayLike] = (),
    positions: Sequence[ArrayLike] = (),
    ordered: bool = True,
    monotonic: bool = False,
    rivals: Rivals = Rivals(),  # noqa: B008 (frozen)
) -> _Judged:
    """Evaluate all candidate sets.

    The argument `halves`, int64 [..., half, side, cells], contains the counts of both halves of the
    search set. The other arguments are described in `choose_event` and `ChoiceOptions`.
    """
    validate.open_unit(confidence=confidence)
    mean = num_confirm.mean if isinstance(num_confirm, Shared) else num_confirm
    validate.positive_int(num_confirm=mean, pairs=rivals.pairs, partitions=rivals.partitions)
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
    ways += [way for line in positions if (way := ByPosition.of(may, line)).line.size]
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
    if not may.any():
        bound[:] = 0.0
    level_sets = None
    if ordered and is_line.any():
        asked = num_confirm, confidence, hypothesis
        searched = Searched(total, ways, candidates, sets, by_position, monotonic, asked)
        bound, shares, level_sets = with_smooth_losses(searched, bound, shares)
    # A set with all draws distinguishes nothing, but may have the largest approximate bound if both
    # sides have the same law.
    bound[(sets.larger == trials) & (sets.smaller == others)] = 0.0
    return _Judged(batch, hypothesis, total, ways, candidates, sets, shares, bound, level_sets)


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


def errors_by_ratio(halves: NDArray[np.int64], *, ordered: bool = True) -> NDArray[np.float64]:
    """Return the number of standard errors by which ratios are shrunk, float64 [...].

    The number of standard errors grows with the number of cells that have draws in both halves. The
    argument `ordered` specifies whether the cells lie on a line.
    """
    num_seen = np.count_nonzero(halves.sum(axis=-2).all(axis=-2), axis=-1)
    shrinkage = _SET_SHRINKAGE if ordered else _UNORDERED_SHRINKAGE
    return shrinkage * np.log(np.maximum(num_seen, 2))
