"""The wealth of bets against privacy levels, and the lower bound that follows from the wealth.

For each bet against a level, the payoffs are multiplied over all blocks and pairs. The wealth at a
level is the mean of these products over all bets. If the level holds, the expected wealth is at
most 1 at any stopping time. Therefore, with probability at least 1 - error, the wealth never
reaches 1 / error (Ville). A level whose wealth reaches 1 / error is refuted.

A grid of levels is fixed before the first draw. The bound is the largest level in the grid such
that this level and all smaller levels in the grid are refuted. Let t be the smallest level in the
grid that is at least the true level. The bound can exceed the true level only if t has been
refuted. Since t is at least the true level, the level t holds, so it is refuted with a probability
of at most the error.

The weights of bets may depend on all earlier draws. Pairs with a common database therefore pool
their counts of draws from the database (`Wealth.known`), and each draw from the database affects
the bets of all of these pairs. The docstring of `_payoffs` proves that the mean payoff of a block
is at most 1 if the level holds.

References:
    Ville (1939); Turner, Ly, Grünwald (2024); Waudby-Smith, Ramdas (2024).
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate
from dpjax.inference._hypotheses import Hypothesis, Ratio
from dpjax.inference._named import hypothesis_from_plain, hypothesis_to_plain
from dpjax.inference._payoffs import Block, gains, pooled
from dpjax.inference._portfolio import experts, stakes

_FINE, _COARSE, _AROUND = 4, 16, (0.5, 1.25)
"""Numbers that determine the levels against which an audit with a claim bets.

The claim times the two factors in _AROUND defines a range. In addition to the claim, the audit bets
against every _FINE-th level of the hypothesis in this range, and every _COARSE-th level elsewhere.
"""

_ROUNDING = 1e-6
"""Largest difference of two log wealths that may be due to rounding on different processors."""


@dataclass(frozen=True)
class Wealth:
    """The state of a sequential audit, which determines all later bounds.

    Attributes:
        error: Largest probability that the bound ever exceeds the true level.
        hypothesis: Hypothesis that the bets oppose.
        claim: Claimed level, or None if there is no claim. The claimed level is one of the levels
            in `grid`.
        few: Whether draws are expensive.
        ordered: Whether adjacent cells have similar ratios.
        monotonic: Whether the ratios should be monotonic along the cells, as along a learned score.
        grid: float64 [levels], tested levels in increasing order.
        log_wealth: float64 [bets, levels], log wealth of each bet at each level. The log wealth at
            a refuted level is no longer updated.
        is_refuted: bool [levels], whether each level is refuted.
        first: int64 [pairs, cells], counts of all earlier draws from the databases.
        second: int64 [pairs, cells], counts of all earlier draws from the neighbors.
        num_blocks: Number of blocks so far.
        shared: int64 [pairs, 2], IDs of each pair's database and neighbor, in [0, 2 * pairs). Two
            databases have the same ID if they are equal and their outputs are counted in the same
            cells.
    """

    error: float
    hypothesis: Hypothesis
    claim: float | None
    few: bool
    ordered: bool
    monotonic: bool
    grid: NDArray[np.float64]
    log_wealth: NDArray[np.float64]
    is_refuted: NDArray[np.bool_]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    num_blocks: int
    shared: NDArray[np.int64]

    @property
    def place(self) -> int:
        """Number of levels in the grid below the smallest level that has not been refuted."""
        return int(np.logical_and.accumulate(self.is_refuted).sum())

    @property
    def bound(self) -> float:
        """The lower bound on the level, at least 0."""
        return float(self.grid[self.place - 1]) if self.place else 0.0

    @property
    def is_claim_refuted(self) -> bool:
        """Whether the bound has reached the claim."""
        return self.claim is not None and self.bound >= self.claim

    @property
    def log_mean(self) -> NDArray[np.float64]:
        """Logarithm of the wealth at each level, float64 [levels]."""
        return np.logaddexp.reduce(self.log_wealth, axis=0) - math.log(len(self.log_wealth))

    @property
    def log_at_claim(self) -> float:
        """Logarithm of the wealth at the claim, or 0 if there is no claim."""
        if self.claim is None:
            return 0.0
        return float(self.log_mean[np.searchsorted(self.grid, self.claim)])

    @property
    def draws(self) -> NDArray[np.int64]:
        """Numbers of draws so far, int64 [pairs, 2]."""
        return np.stack([self.first.sum(axis=1), self.second.sum(axis=1)], axis=1)

    @property
    def known(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Counts of draws from each database, summed over all pairs that contain the database."""
        return pooled(self.first, self.second, self.shared)

    def to_plain(self) -> dict[str, NDArray]:
        """Return the fields as arrays, without rounding. NaN stands for a missing claim."""
        plain = {name: np.asarray(getattr(self, name)) for name in self.__dataclass_fields__}
        plain["claim"] = np.array(math.nan if self.claim is None else self.claim)
        plain["hypothesis"] = np.array(json.dumps(hypothesis_to_plain(self.hypothesis)))
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, ArrayLike]) -> "Wealth":
        """Restore the state from the arrays that `to_plain` returned.

        Raises:
            ValueError: If an array is missing, or if the arrays are inconsistent.
        """
        # Earlier versions used no level sets in looks.
        plain = {"monotonic": True, **plain}
        missing = set(cls.__dataclass_fields__) - set(plain)
        if missing:
            raise ValueError(f"the state lacks {', '.join(sorted(missing))}")
        claim = float(np.asarray(plain["claim"]))
        state = cls(
            float(np.asarray(plain["error"])),
            hypothesis_from_plain(json.loads(str(np.asarray(plain["hypothesis"])))),
            None if math.isnan(claim) else claim,
            bool(np.asarray(plain["few"])),
            bool(np.asarray(plain["ordered"])),
            bool(np.asarray(plain["monotonic"])),
            np.asarray(plain["grid"], np.float64),
            np.asarray(plain["log_wealth"], np.float64),
            np.asarray(plain["is_refuted"], bool),
            np.asarray(plain["first"], np.int64),
            np.asarray(plain["second"], np.int64),
            int(np.asarray(plain["num_blocks"])),
            np.asarray(plain["shared"], np.int64),
        )
        bets = stakes(state.few).size
        if (
            state.first.ndim != 2
            or state.first.shape != state.second.shape
            or state.log_wealth.shape != (bets, state.grid.size)
            or state.is_refuted.shape != state.grid.shape
            or state.shared.shape != (len(state.first), 2)
            or not np.all((state.shared >= 0) & (state.shared < state.shared.size))
        ):
            raise ValueError("the arrays of the state must have consistent shapes")
        validate.open_unit(error=state.error)
        validate.counts(first=state.first, second=state.second)
        above = state.log_mean + math.log(state.error)
        if np.any((above >= 0) != state.is_refuted, where=np.abs(above) > _ROUNDING):
            raise ValueError("the refuted levels of the state do not follow from its wealth")
        return state


def start(
    pairs: int,
    cells: int,
    error: float,
    *,
    hypothesis: Hypothesis = Ratio(),  # noqa: B008 (frozen)
    claim: float | None = None,
    few: bool = False,
    ordered: bool = True,
    monotonic: bool = False,
    grid: ArrayLike | None = None,
    shared: NDArray[np.int64] | None = None,
) -> Wealth:
    """Return the state of a sequential audit before the first draw.

    Args:
        pairs: Number of pairs of databases.
        cells: Number of cells. If the cells are ordered, their indices increase along the line.
        error: Largest probability that the bound ever exceeds the true level.
        hypothesis: Hypothesis that the bets oppose.
        claim: Claimed level, or None if there is no claim. The claimed level is added to the grid.
        few: Whether draws are expensive. If `few` is True, betting starts with the first draws.
        ordered: Whether adjacent cells have similar ratios.
        monotonic: Whether the ratios should be monotonic along the cells, as along a learned score.
        grid: Float [levels], levels to test. If `grid` is None, the levels of the hypothesis are
            tested.
        shared: int64 [pairs, 2], IDs of the databases, as in `Wealth`. If `shared` is None, all
            databases differ.

    Raises:
        ValueError: If the error is not strictly between 0 and 1, if a level is not positive, or if
            `pairs` or `cells` is not a positive integer.
    """
    validate.open_unit(error=error)
    validate.positive_int(pairs=pairs, cells=cells)
    if claim is not None:
        validate.positive(claim=claim)
    tested = hypothesis.levels if grid is None else np.asarray(grid, np.float64)
    levels = np.unique(np.append(tested, [] if claim is None else claim))
    if not np.all(levels > 0) or not np.all(np.isfinite(levels)) or not levels.size:
        raise ValueError("grid must contain positive numbers")
    none = np.zeros((pairs, cells), np.int64)
    return Wealth(
        float(error),
        hypothesis,
        None if claim is None else float(claim),
        few,
        ordered,
        monotonic,
        levels,
        np.repeat(np.log(stakes(few))[:, None], levels.size, axis=1),
        np.zeros(levels.size, bool),
        none,
        none,
        0,
        _own(pairs) if shared is None else shared,
    )


def levels_of_bets(levels: NDArray[np.float64], claim: float | None) -> NDArray[np.float64]:
    """Return the levels against which an audit bets, except the claim.

    Args:
        levels: float64 [levels], levels of the hypothesis in increasing order.
        claim: Claimed level, or None if there is no claim.
    """
    if claim is None:
        return levels
    low, high = (claim * part for part in _AROUND)
    number = np.arange(len(levels))
    is_fine = (levels >= low) & (levels <= high) & (number % _FINE == 0)
    return levels[is_fine | (number % _COARSE == 0)]


def _own(pairs: int) -> NDArray[np.int64]:
    """Return IDs for databases that all differ, int64 [pairs, 2]."""
    return np.arange(2 * pairs).reshape(2, pairs).T


def step(state: Wealth, x: ArrayLike, y: ArrayLike) -> Wealth:
    """Return the state after one more block of draws.

    The numbers of draws for all pairs and sides must be chosen before the draws of the block are
    made.

    Args:
        state: State before the block.
        x: Integers [pairs, cells], counts of the block's draws from the databases. If a pair has no
            draws on one of its two sides, no bet is placed for the pair.
        y: Integers [pairs, cells], counts of the block's draws from the neighbors.

    Raises:
        ValueError: If counts are not whole numbers >= 0, or if their shape differs from the
            shape of the counts in the state.
    """
    validate.counts(x=x, y=y)
    x, y = np.asarray(x, np.int64), np.asarray(y, np.int64)
    if x.shape != state.first.shape or y.shape != state.first.shape:
        raise ValueError(f"counts must have shape {state.first.shape}, not {x.shape}, {y.shape}")
    total = {"first": state.first + x, "second": state.second + y}
    after = replace(state, **total, num_blocks=state.num_blocks + 1)
    after = replace(after, log_wealth=state.log_wealth + gained(state, x, y).sum(axis=1))
    return replace(after, is_refuted=state.is_refuted | (after.log_mean >= -math.log(state.error)))


def gained(state: Wealth, x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the increase in log wealth due to one block, float64 [bets, pairs, levels].

    Args:
        state: State before the block.
        x: int64 [pairs, cells], counts of the block's draws from the databases.
        y: int64 [pairs, cells], counts of the block's draws from the neighbors.
    """
    known = state.known
    bets = experts(
        *known,
        few=state.few,
        ordered=state.ordered,
        hypothesis=state.hypothesis,
    )
    block = Block(x, y, state.shared)
    return np.concatenate(
        [
            gains(block, known, expert, state.hypothesis, state.grid, state.is_refuted)
            for expert in bets
        ]
    )


def recounted(
    state: Wealth, first: ArrayLike, second: ArrayLike, shared: NDArray[np.int64] | None = None
) -> Wealth:
    """Return a state for later bets, with all earlier draws counted in new cells.

    Args:
        state: State whose draws are counted again.
        first: Integers [pairs, new cells], counts of all earlier draws from the databases.
        second: Integers [pairs, new cells], counts of all earlier draws from the neighbors.
        shared: int64 [pairs, 2], IDs of the databases, as in `Wealth`. If `shared` is None, all
            databases differ.

    Raises:
        ValueError: If the counts do not add up to the numbers of draws in the state.
    """
    validate.counts(first=first, second=second)
    after = replace(
        state,
        first=np.asarray(first, np.int64),
        second=np.asarray(second, np.int64),
        shared=_own(len(state.first)) if shared is None else shared,
    )
    if after.first.shape != after.second.shape or not np.array_equal(after.draws, state.draws):
        raise ValueError("first and second must contain as many draws as the state")
    return after
