"""Allocation of a sequential audit's next draws, from earlier counts and fresh random bits.

Any choice that depends on earlier blocks alone is valid; a good one spends draws on the pair whose
bets grow fastest. Pairs are judged on a few coarse groups, since scores of many fine cells are
mostly noise.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.inference._portfolio import MOST_OUTCOMES, Floats, equal_mass, log_ratio, shown, sums
from dpjax.inference._wealth import Wealth

_FIRST, _LEAST, _FEWEST = 1000, 40, 16
"""First draws per side: in total, at least per pair, and per pair if draws are few."""

_GROWTH, _GROWTH_FEW, _SMALLEST = 0.12, 0.08, 4
"""Growth of draws per round, growth if few, and least draws."""

LAYING = 4096
"""Maximum number of draws, per side of a pair, from which its cells are laid."""

_OUTGROWN = 1.5
"""Growth of the draws of a pair after which its cells are laid again."""

_GROUPS, _SAMPLES, _EVENLY = 8, 16, 0.05
"""Coarse groups, samples of Thompson's rule, share of the draws that all pairs share."""


class Leader(NamedTuple):
    """The pair and direction with the largest level that its draws support.

    Attributes:
        pair: Number of the pair.
        larger: Side at which its event is likelier: 0 the database, 1 the neighbor.
    """

    pair: int
    larger: int


class Phase(NamedTuple):
    """A phase of a sequential audit with a fixed number of draws.

    Attributes:
        pairs: Number of kept pairs.
        draws: Draws a side of each kept pair.
    """

    pairs: int
    draws: int


def allocation(state: Wealth, random: np.random.Generator) -> NDArray[np.int64]:
    """Return the draws per side of the next round, [pairs].

    Args:
        state: State; with a claim, pairs are sampled by how fast they refute it (Thompson),
            and otherwise by the level that they support.
        random: Generator whose bits are used for nothing else.
    """
    done, pairs = state.draws.min(axis=1), len(state.first)
    if not done.sum():
        return np.full(pairs, first_round(pairs, state.few))
    growth = _GROWTH_FEW if state.few else _GROWTH
    total = max(int(growth * done.sum()), _SMALLEST)
    if pairs == 1:
        return np.array([total])
    score, error = (
        _level_scores(state) if state.claim is None else _claim_scores(state, state.claim)
    )
    sampled = score + error * random.standard_normal((_SAMPLES, *score.shape))
    wins = np.bincount(sampled.max(axis=2).argmax(axis=1), minlength=pairs)
    share = (1 - _EVENLY) * wins / _SAMPLES + _EVENLY / pairs
    # Largest remainders make the shares add up.
    exact = share * total
    draws = exact.astype(np.int64)
    draws[np.argsort(draws - exact, kind="stable")[: total - draws.sum()]] += 1
    return draws


def first_round(pairs: int, few: bool) -> int:
    """Return the draws per side of each pair that come before all bets.

    Args:
        pairs: Number of pairs.
        few: Whether draws are expensive.
    """
    return _FEWEST if few or pairs == 1 else max(_FIRST // pairs, _LEAST)


def outgrown(draws: NDArray[np.int64], laid: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of the pairs whose cells should be laid again, by all draws so far.

    Args:
        draws: Draws a side so far, int64 [pairs].
        laid: Draws a side that laid the present cells, int64 [pairs].
    """
    return np.flatnonzero((draws >= _OUTGROWN * laid) & (draws <= LAYING))


def phases(total: int, pairs: int) -> list[Phase]:
    """Divide a fixed number of draws per side: search, search again, confirm one pair.

    Args:
        total: Draws a side of all pairs together.
        pairs: Number of pairs.

    Returns:
        The phases, whose draws sum to `total`; `best_pairs` says which pairs are kept.
    """
    if pairs == 1:
        search = round(0.28 * total)
        return [Phase(1, search), Phase(1, total - search)]
    kept = min(max(2, -(-pairs // 4)), pairs)
    first, second = Phase(pairs, total // (5 * pairs)), Phase(kept, round(0.24 * total) // kept)
    used = sum(phase.pairs * phase.draws for phase in (first, second))
    return [first, second, Phase(1, total - used)]


def leader(state: Wealth) -> Leader:
    """Return the pair and direction with the largest level less two standard errors."""
    level, error = _half_line_levels(state)
    scores = (level - 2 * error).max(axis=2)
    side, pair = np.unravel_index(int(scores.argmax()), scores.shape)
    return Leader(int(pair), int(side))


def _half_line_levels(state: Wealth) -> tuple[Floats, Floats]:
    """Return levels of coarse half-lines with standard errors, [direction, pairs, half-lines]."""
    first, second = state.known
    cells = first.shape[1]
    if not state.ordered:
        # Codes are sorted by their ratio, which neighbors have in common then.
        order = np.argsort(log_ratio(first, second), axis=1, kind="stable")
        first, second = (np.take_along_axis(side, order, axis=1) for side in (first, second))
    # Outcomes are not merged: a rare one may be all that tells.
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
    """Return distances to the claim in standard errors of one draw, and errors, [pairs, 2]."""
    level, error = _half_line_levels(state)
    n = np.maximum(state.draws.min(axis=1), 1)
    distance = ((level - claim) / (error * np.sqrt(n)[:, None])).max(axis=2).T
    spread = np.broadcast_to(1 / np.sqrt(n)[:, None], distance.shape)
    return distance - spread, spread


def _level_scores(state: Wealth) -> tuple[Floats, Floats]:
    """Return the level that each pair and direction would finally support: [pairs, 2]."""
    level, error = _half_line_levels(state)
    n = state.draws.min(axis=1)[:, None]
    score = level - 2 * error * np.sqrt(n / (n + 3 * n.sum())) - error
    best = score.argmax(axis=2)[..., None]
    at_best = [np.take_along_axis(x, best, axis=2)[..., 0].T for x in (score, error)]
    return at_best[0], at_best[1]
