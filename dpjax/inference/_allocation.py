"""Allocation of a sequential audit's next draws to pairs of databases.

The audit's bound is valid if the allocation depends only on earlier blocks of draws and on random
numbers that are independent of the draws. A good allocation assigns most draws to the pair whose
bets make the wealth grow fastest. When pairs are compared, their cells are merged into a few groups
because scores computed from many small cells are mostly noise.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.inference._portfolio import MOST_OUTCOMES, Floats, equal_mass, log_ratio, shown, sums
from dpjax.inference._wealth import Wealth

_FIRST, _LEAST, _FEWEST = 1000, 40, 16
"""Numbers of draws per side in the first round of an audit.

If there are multiple pairs, _FIRST is the total over all pairs, and _LEAST is the minimum for each
pair. If there is only one pair, or if draws are expensive, each pair gets _FEWEST draws per side
instead.
"""

_GROWTH, _GROWTH_FEW, _SMALLEST = 0.12, 0.08, 4
"""Size of each later round in an audit without a claim.

After the first round, each round has _GROWTH times as many draws as all earlier rounds together. If
draws are expensive, _GROWTH_FEW replaces _GROWTH, even in audits with a claim. Every round has at
least _SMALLEST draws.
"""

_NEAR, _OPTIMISM = 0.5, 2.0
"""Target for the size of each later round in an audit with a claim.

The size is chosen so that the predicted log wealth at the end of the round is _NEAR times the log
wealth that is needed to refute the claim. The prediction assumes that the best event's true level
is _OPTIMISM standard errors above the estimated level.
"""

_GROWTH_NEAR, _GROWTH_EARLY, _GROWTH_FAR = 0.03, 0.5, 3.0
"""Limits on the size of each later round in an audit with a claim.

Each limit is a multiple of the total number of earlier draws. _GROWTH_NEAR is the lower limit. If
there is only one pair, the upper limit is _GROWTH_EARLY while fewer than _FIRST draws have been
made, and _GROWTH_FAR afterwards.
"""

_GROWTH_SEVERAL, _SHARE_SEVERAL = 0.2, 1 / 8
"""Upper limit on the size of each later round in an audit with a claim and multiple pairs.

Let n be the total number of earlier draws, and let s be the size that reaches the target defined by
_NEAR. The limit is the larger of _GROWTH_SEVERAL n and _SHARE_SEVERAL s, but never more than
_GROWTH_FAR n.
"""

LAYING = 4096
"""Maximum number of draws per side that are used to construct the cells of a pair."""

PLANNED = 2**16
"""Number of draws per side that a sequential audit assumes when it chooses cells. The number is
constant, so that a resumed audit with more draws or longer recordings has the same cells.
"""

_OUTGROWN = 1.5
"""A pair's cells are constructed again when its number of draws has grown by this factor."""

_GROUPS, _SAMPLES, _ANYWHERE, _VISITED = 8, 16, 0.05, 0.2
"""Parameters for dividing the draws among multiple pairs.

When pairs are compared, their cells are merged into _GROUPS groups. _SAMPLES is the number of
random scores per pair in Thompson sampling. In each round, the fraction _VISITED of all pairs is
selected at random, and the selected pairs share the fraction _ANYWHERE of the round's draws.
"""


class Leader(NamedTuple):
    """The pair of databases and the direction with the best score.

    Attributes:
        pair: Index of the pair.
        larger: Side on which the pair's best event is more likely: 0 for the database, 1 for the
            neighbor.
    """

    pair: int
    larger: int


class Phase(NamedTuple):
    """One of the phases into which the draws of a sequential audit are divided.

    Attributes:
        pairs: Number of pairs from which draws are made in this phase.
        draws: Number of draws per side for each of these pairs.
    """

    pairs: int
    draws: int


def allocation(state: Wealth, random: np.random.Generator) -> NDArray[np.int64]:
    """Return int64 [pairs], the number of draws per side for each pair in the next round.

    Pairs are chosen by Thompson sampling. In an audit with a claim, a pair gets more draws if the
    wealth of its bets against the claim grows fast. In an audit without a claim, a pair gets more
    draws if its counts support a large level.

    Args:
        state: State of the audit.
        random: Random generator that no other function uses.
    """
    done, pairs = state.draws.min(axis=1), len(state.first)
    if not done.sum():
        return np.full(pairs, first_round(pairs, state.few))
    score, error = (
        _level_scores(state) if state.claim is None else _claim_scores(state, state.claim)
    )
    growth = _growth(state, float((score / error).max()) + 1)
    total = max(int(growth * done.sum()), _SMALLEST)
    if pairs == 1:
        return np.array([total])
    sampled = score + error * random.standard_normal((_SAMPLES, *score.shape))
    wins = np.bincount(sampled.max(axis=2).argmax(axis=1), minlength=pairs)
    share = (1 - _ANYWHERE) * wins / _SAMPLES
    visited = random.choice(pairs, math.ceil(_VISITED * pairs), replace=False)
    share[visited] += _ANYWHERE / visited.size
    # Use the largest remainder method, so that the rounded numbers sum to the total.
    exact = share * total
    draws = exact.astype(np.int64)
    draws[np.argsort(draws - exact, kind="stable")[: total - draws.sum()]] += 1
    return draws


def _growth(state: Wealth, excess: float) -> float:
    """Return the size of the next round as a multiple of the number of all earlier draws.

    The bets on the round remain valid because the size of the round depends only on earlier draws.

    Args:
        state: State of the audit.
        excess: Number of standard errors by which the level of the best event exceeds the claim.
    """
    if state.few or state.claim is None:
        return _GROWTH_FEW if state.few else _GROWTH
    # An optimistic estimate of the best event's log likelihood ratio in all draws so far. Each
    # later draw is expected to add as much log wealth as the average earlier draw.
    gained = max(excess + _OPTIMISM, 0.0) ** 2 / 2
    room = -_NEAR * math.log(state.error) - state.log_at_claim
    needed = room / max(gained, 1e-9)
    most = _GROWTH_EARLY if state.draws[:, 0].sum() < _FIRST else _GROWTH_FAR
    if len(state.first) > 1:
        most = min(max(_SHARE_SEVERAL * needed, _GROWTH_SEVERAL), _GROWTH_FAR)
    return min(max(needed, _GROWTH_NEAR), most)


def first_round(pairs: int, few: bool) -> int:
    """Return each pair's number of draws per side in the first round, in which no bets are placed.

    Args:
        pairs: Number of pairs.
        few: Whether draws are expensive.
    """
    return _FEWEST if few or pairs == 1 else max(_FIRST // pairs, _LEAST)


def outgrown(draws: NDArray[np.int64], laid: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the pairs whose cells should be constructed again from all draws.

    Args:
        draws: int64 [pairs], number of draws per side so far.
        laid: int64 [pairs], number of draws per side from which the current cells were constructed.
    """
    return np.flatnonzero((draws >= _OUTGROWN * laid) & (draws <= LAYING))


def phases(total: int, pairs: int) -> list[Phase]:
    """Divide a fixed number of draws among the search phases and one confirmation phase.

    Args:
        total: Number of draws per side, summed over all pairs.
        pairs: Number of pairs.

    Returns:
        The phases. The number of pairs times the number of draws per side, summed over the phases,
        is `total`.
    """
    if pairs == 1:
        search = round(0.28 * total)
        return [Phase(1, search), Phase(1, total - search)]
    kept = min(max(2, -(-pairs // 4)), pairs)
    first, second = Phase(pairs, total // (5 * pairs)), Phase(kept, round(0.24 * total) // kept)
    used = sum(phase.pairs * phase.draws for phase in (first, second))
    return [first, second, Phase(1, total - used)]


def leader(state: Wealth) -> Leader:
    """Return the pair and direction for which level minus two standard errors is largest."""
    level, error = _half_line_levels(state)
    scores = (level - 2 * error).max(axis=2)
    side, pair = np.unravel_index(int(scores.argmax()), scores.shape)
    return Leader(int(pair), int(side))


def _half_line_levels(state: Wealth) -> tuple[Floats, Floats]:
    """Return estimated levels, and their standard errors, for all half-lines of each pair.

    The cells of each pair are merged into groups of adjacent cells. A half-line is the event that
    an output falls in any of the groups on one side of a boundary between two adjacent groups.

    Returns:
        Two arrays, float64 [directions, pairs, half-lines].
    """
    first, second = state.known
    cells = first.shape[1]
    if not state.ordered:
        # Category codes have no order, so sort the cells by the ratio of their counts.
        order = np.argsort(log_ratio(first, second), axis=1, kind="stable")
        first, second = (np.take_along_axis(side, order, axis=1) for side in (first, second))
    # If there are few cells, do not merge them: one rare cell may contain all of the evidence.
    groups = cells if cells <= MOST_OUTCOMES else _GROUPS
    labels = equal_mass(first + second, groups)
    if cells <= MOST_OUTCOMES:
        labels = np.broadcast_to(np.arange(cells), first.shape)
    inside = [np.cumsum(sums(side, labels, groups), axis=1)[:, :-1] for side in (first, second)]
    n, m = (side.sum(axis=1, keepdims=True) for side in (first, second))
    x, y = (
        np.concatenate([part, most - part], axis=1)
        for part, most in zip(inside, (n, m), strict=True)
    )
    found = [shown(state.hypothesis, x, n, y, m), shown(state.hypothesis, y, m, x, n)]
    return np.stack([level for level, _ in found]), np.stack([error for _, error in found])


def _claim_scores(state: Wealth, claim: float) -> tuple[Floats, Floats]:
    """Return the excess of each pair's estimated level over the claim, and the standard errors.

    Both arrays are float64 [pairs, 2 directions], in units of the standard error of one draw. Each
    excess is reduced by one standard error.
    """
    level, error = _half_line_levels(state)
    n = np.maximum(state.draws.min(axis=1), 1)
    distance = ((level - claim) / (error * np.sqrt(n)[:, None])).max(axis=2).T
    spread = np.broadcast_to(1 / np.sqrt(n)[:, None], distance.shape)
    return distance - spread, spread


def _level_scores(state: Wealth) -> tuple[Floats, Floats]:
    """Predict each pair's lower bound on the level at the end of the audit, with a standard error.

    Both arrays are float64 [pairs, 2 directions].
    """
    level, error = _half_line_levels(state)
    n = state.draws.min(axis=1)[:, None]
    score = level - 2 * error * np.sqrt(n / (n + 3 * n.sum())) - error
    best = score.argmax(axis=2)[..., None]
    at_best = [np.take_along_axis(x, best, axis=2)[..., 0].T for x in (score, error)]
    return at_best[0], at_best[1]
