"""Level sets of smooth privacy losses along lines of cells.

A level set consists of all cells whose smooth loss is above or below a level. If the loss is
monotonic along a line, level sets are half-lines. Otherwise, level sets are better. For instance,
if one side has the larger variance, the level sets are intervals around the mean and their
complements.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dpjax.inference._events import expected_bound, shrunk
from dpjax.inference._hypotheses import Hypothesis
from dpjax.inference._sizes import Shared
from dpjax.inference._smooth import Smooth, contradicted

Floats = NDArray[np.float64]
Asked = tuple[int | Shared, float, Hypothesis]


class LevelSets(NamedTuple):
    """One level set for each run, with its expected bound.

    Attributes:
        cells: bool [runs, cells], the cells of the set.
        larger: int64 [runs], the side where the set is more likely.
        shares: float64 [runs, 2], estimated probabilities of the set, first on the side where the
            set is more likely, then on the other side.
        bound: float64 [runs], expected bounds. The bound is -inf for runs without a level set.
    """

    cells: NDArray[np.bool_]
    larger: NDArray[np.int64]
    shares: Floats
    bound: Floats

    @classmethod
    def none(cls, runs: int, cells: int) -> Self:
        """Return an empty level set for each run."""
        return cls(
            np.zeros((runs, cells), bool),
            np.zeros(runs, np.int64),
            np.ones((runs, 2)),
            np.full(runs, -np.inf),
        )

    def update(self, runs: NDArray[np.int64], others: Self) -> None:
        """Replace the sets of the given runs where the other sets have larger bounds."""
        better = others.bound > self.bound[runs]
        for mine, other in zip(self, others, strict=True):
            mine[runs[better]] = other[better]


def best_level_sets(
    total: NDArray[np.int64],
    lines: list[tuple[NDArray[np.int64], Smooth]],
    usable: NDArray[np.bool_],
    quantile: Floats,
    asked: Asked,
) -> LevelSets:
    """Return the level set with the largest expected bound for each run.

    Args:
        total: Counts of all draws, [runs, 2, cells].
        lines: For each line, the indices of its cells in their order, and the smooth loss.
        usable: bool [runs], whether level sets of a run may be used. Runs whose losses are
            monotonic along each line have no level sets, either.
        quantile: Number of standard errors by which ratios are shrunk, [runs].
        asked: Further arguments of `expected_bound`: number of fresh draws, confidence and
            hypothesis.
    """
    found = LevelSets.none(len(total), total.shape[-1])
    for cells, fit in lines:
        steps = np.diff(fit.odds)
        is_monotonic = (steps >= 0).all(axis=-1) | (steps <= 0).all(axis=-1)
        (runs,) = np.nonzero(usable & ~is_monotonic)
        if runs.size:
            draws = total[runs].sum(axis=-1)
            best = _best_of_line(fit, runs, draws, quantile[runs], asked)
            whole = np.zeros((len(runs), total.shape[-1]), bool)
            whole[:, cells] = best.cells
            counts = (total[runs] * whole[:, None]).sum(axis=-1)
            p, q = best.shares.T
            # Rows of counts and draws: the side where each set is more likely, and the other side.
            row, side = np.arange(len(runs)), np.stack([best.larger, 1 - best.larger])
            wrong = contradicted(p, q, counts[row, side], draws[row, side])
            bound = np.where(wrong, -np.inf, best.bound)
            found.update(runs, best._replace(cells=whole, bound=bound))
    return found


def _best_of_line(
    fit: Smooth,
    runs: NDArray[np.int64],
    draws: NDArray[np.int64],
    quantile: Floats,
    asked: Asked,
) -> LevelSets:
    """Return the best level sets along one line; the cells are those of the line.

    Args:
        fit: Smooth losses along the line.
        runs: int64 [runs], indices of the runs in the fit.
        draws: int64 [runs, 2], numbers of draws on both sides.
        quantile: Number of standard errors by which ratios are shrunk, [runs].
        asked: Further arguments of `expected_bound`.
    """
    place, (counts, worth) = fit.level_sets(runs)
    pooled = np.round(counts.sum(axis=0))
    # Evaluate each set once, and only sets with draws inside and outside.
    is_new = (pooled > 0) & (pooled < draws.sum(axis=1)[:, None])
    is_new[..., 1:] &= pooled[..., 1:] != pooled[..., :-1]
    shares, bound = np.ones((*is_new.shape, 2)), np.full(is_new.shape, -np.inf)
    # Sets of the first kind have larger losses than the other cells, so they are more likely on
    # the first side. Sets of the second kind are more likely on the second side.
    for side in (0, 1):
        new = is_new[side]
        run, _ = np.nonzero(new)
        factor = worth[side, new]
        inside, trials = factor * counts[:, side, new], factor * draws[run].T
        p, q = shrunk(inside[side], trials[side], inside[1 - side], trials[1 - side], quantile[run])
        shares[side, new] = np.stack([p, q], axis=-1)
        bound[side, new] = expected_bound(p, q, *asked)
    best = np.argmax(np.concatenate(bound, axis=-1), axis=-1)
    larger, size = np.divmod(best, bound.shape[-1])
    at = larger, np.arange(len(runs)), size
    is_first = place <= size[:, None]
    return LevelSets(is_first != larger[:, None], larger, shares[at], bound[at])
