"""Allocation of a sequential audit's next draws, given earlier counts and fresh random bits.

The bound is valid for every allocation that depends only on earlier blocks. A good allocation
spends most draws on the pair whose bets grow fastest. Pairs are compared on a few coarse groups of
cells, since scores of many fine cells are mostly noise.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.inference._portfolio import MOST_OUTCOMES, Floats, equal_mass, log_ratio, shown, sums
from dpjax.inference._wealth import Wealth

_FIRST, _LEAST, _FEWEST = 1000, 40, 16
"""The first round of an audit with several pairs has _FIRST draws per side in total, and at least
_LEAST draws per side for each pair. If there is only one pair, or if draws are expensive, each pair
gets _FEWEST draws per side instead."""

_GROWTH, _GROWTH_FEW, _SMALLEST = 0.12, 0.08, 4
"""Without a claim, the number of draws of a later round is the share _GROWTH of all earlier draws.
If draws are expensive, the share is _GROWTH_FEW, with or without a claim. Every round has at least
_SMALLEST draws."""

_NEAR, _OPTIMISM = 0.5, 2.0
"""With a claim, a round ends where the log wealth is predicted to reach the share _NEAR of the log
wealth that refutes the claim. The prediction assumes that the level of the best event is _OPTIMISM
standard errors larger than its estimate."""

_GROWTH_NEAR, _GROWTH_EARLY, _GROWTH_FAR = 0.03, 0.5, 3.0
"""With a claim, the number of draws of a later round is limited to shares of all earlier draws. The
smallest share is _GROWTH_NEAR. If there is one pair, the largest share is _GROWTH_EARLY while there
are fewer than _FIRST draws, and _GROWTH_FAR later."""

_GROWTH_SEVERAL, _SHARE_SEVERAL = 0.2, 1 / 8
"""If there are several pairs, the number of draws of a round is at most the larger of two limits.
The limits are _GROWTH_SEVERAL times all earlier draws, and _SHARE_SEVERAL times the size that the
round would have for one pair."""

LAYING = 4096
"""Maximum number of draws per side from which the cells of a pair are constructed."""

_OUTGROWN = 1.5
"""Factor by which the draws of a pair must grow before its cells are constructed again."""

_GROUPS, _SAMPLES, _ANYWHERE, _VISITED = 8, 16, 0.05, 0.2
"""_GROUPS is the number of groups of cells in which pairs are compared. _SAMPLES is the number of
samples for Thompson sampling. The share _ANYWHERE of the draws of a round goes to pairs that are
selected at random. The share _VISITED of all pairs is selected."""


class Leader(NamedTuple):
    """The pair and the direction whose draws support the largest level.

    Attributes:
        pair: Index of the pair.
        larger: Side at which the pair's event is likelier: 0 for the database, 1 for the neighbor.
    """

    pair: int
    larger: int


class Phase(NamedTuple):
    """A phase of a sequential audit with a fixed number of draws.

    Attributes:
        pairs: Number of pairs that are kept in this phase.
        draws: Number of draws per side for each kept pair.
    """

    pairs: int
    draws: int


def allocation(state: Wealth, random: np.random.Generator) -> NDArray[np.int64]:
    """Return the draws per side of the next round, [pairs].

    Args:
        state: State of the audit. With a claim, pairs whose bets against the claim grow fast get
            more draws (Thompson sampling). Without a claim, pairs that support a large level get
            more draws.
        random: Random generator of this function; no other code may use it.
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
    # Round by largest remainders, so that the draws add up to the total.
    exact = share * total
    draws = exact.astype(np.int64)
    draws[np.argsort(draws - exact, kind="stable")[: total - draws.sum()]] += 1
    return draws


def _growth(state: Wealth, excess: float) -> float:
    """Return the draws of the next round as a share of all earlier draws.

    The share depends on earlier draws alone, so the bets on the round stay valid.

    Args:
        state: State of the audit.
        excess: Number of standard errors by which the level of the best event exceeds the claim.
    """
    if state.few or state.claim is None:
        return _GROWTH_FEW if state.few else _GROWTH
    # The log likelihood ratio of the best event, in all draws so far, if it is better than it
    # looks. Later draws are expected to add as much each.
    gained = max(excess + _OPTIMISM, 0.0) ** 2 / 2
    room = -_NEAR * math.log(state.error) - state.log_at_claim
    needed = room / max(gained, 1e-9)
    most = _GROWTH_EARLY if state.draws[:, 0].sum() < _FIRST else _GROWTH_FAR
    if len(state.first) > 1:
        most = min(max(_SHARE_SEVERAL * needed, _GROWTH_SEVERAL), _GROWTH_FAR)
    return min(max(needed, _GROWTH_NEAR), most)


def first_round(pairs: int, few: bool) -> int:
    """Return the number of draws per side for each pair in the first round, before any bet.

    Args:
        pairs: Number of pairs.
        few: Whether draws are expensive.
    """
    return _FEWEST if few or pairs == 1 else max(_FIRST // pairs, _LEAST)


def outgrown(draws: NDArray[np.int64], laid: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the pairs whose cells should be constructed again, from all draws.

    Args:
        draws: Draws per side so far, int64 [pairs].
        laid: Draws per side from which the present cells were constructed, int64 [pairs].
    """
    return np.flatnonzero((draws >= _OUTGROWN * laid) & (draws <= LAYING))


def phases(total: int, pairs: int) -> list[Phase]:
    """Divide a fixed number of draws into phases of search and one phase of confirmation.

    Args:
        total: Draws per side, summed over all pairs.
        pairs: Number of pairs.

    Returns:
        The phases, whose draws per side, over all phases and kept pairs, sum to `total`.
    """
    if pairs == 1:
        search = round(0.28 * total)
        return [Phase(1, search), Phase(1, total - search)]
    kept = min(max(2, -(-pairs // 4)), pairs)
    first, second = Phase(pairs, total // (5 * pairs)), Phase(kept, round(0.24 * total) // kept)
    used = sum(phase.pairs * phase.draws for phase in (first, second))
    return [first, second, Phase(1, total - used)]


def leader(state: Wealth) -> Leader:
    """Return the pair and direction whose level, minus two standard errors, is largest."""
    level, error = _half_line_levels(state)
    scores = (level - 2 * error).max(axis=2)
    side, pair = np.unravel_index(int(scores.argmax()), scores.shape)
    return Leader(int(pair), int(side))


def _half_line_levels(state: Wealth) -> tuple[Floats, Floats]:
    """Return the estimated levels of half-lines of groups of cells, and their standard errors.

    The arrays have shape [direction, pairs, half-lines].
    """
    first, second = state.known
    cells = first.shape[1]
    if not state.ordered:
        # Sort codes, which have no order, by ratio, so that adjacent cells have similar ratios.
        order = np.argsort(log_ratio(first, second), axis=1, kind="stable")
        first, second = (np.take_along_axis(side, order, axis=1) for side in (first, second))
    # Do not merge outcomes: a single rare one may carry all of the evidence.
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
    """Return by how much the level of each pair and direction exceeds the claim, with an error.

    The arrays have shape [pairs, 2 directions]. Their unit is the standard error of one draw. One
    standard error is already subtracted from each excess.
    """
    level, error = _half_line_levels(state)
    n = np.maximum(state.draws.min(axis=1), 1)
    distance = ((level - claim) / (error * np.sqrt(n)[:, None])).max(axis=2).T
    spread = np.broadcast_to(1 / np.sqrt(n)[:, None], distance.shape)
    return distance - spread, spread


def _level_scores(state: Wealth) -> tuple[Floats, Floats]:
    """Predict the level that each pair and direction will support at the end, with its error.

    The arrays have shape [pairs, 2 directions].
    """
    level, error = _half_line_levels(state)
    n = state.draws.min(axis=1)[:, None]
    score = level - 2 * error * np.sqrt(n / (n + 3 * n.sum())) - error
    best = score.argmax(axis=2)[..., None]
    at_best = [np.take_along_axis(x, best, axis=2)[..., 0].T for x in (score, error)]
    return at_best[0], at_best[1]
