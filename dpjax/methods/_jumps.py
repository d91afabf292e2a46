"""Search for sizes of a database at which the distribution of the outputs jumps.

An algorithm may handle a database of 3,000 records differently from a database of 2,999 records,
for instance because its weights underflow. No short list of pairs contains these two sizes. The
search compares databases of 1, 2, 4, 8, ... records, each with the next. It then bisects the pair
of sizes whose outputs differ most, until the two databases are neighbors.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core import random
from dpjax.databases.spaces import Path, Proposed, Space
from dpjax.methods._rungs import FEWEST, JUMP_SHARE, Ladder, Ranked, Rung

_STAGE = "sizes at which the outputs jump"

_DRAWS = 12
"""Number of draws from each database of a comparison."""

_LEAST_DRAWS = 4
"""Minimum number of draws from each database for which a time limit must leave time."""

_SECONDS = 10.0
"""Time limit of the search in seconds, if the source has none."""

_GROWING = 0.5
"""Share of the time limit after which no larger databases are compared."""

Scores = Callable[[list[Proposed]], NDArray[np.float64]]
"""Type of functions that compare the outputs of the two databases of each pair.

They return one number per pair, float64 [pairs], which is > 0 if the outputs differ.
"""


class _Stretch(NamedTuple):
    """A part of a path, from the database with `size` records to the one with `larger` records."""

    path: Path
    size: int
    larger: int

    @property
    def is_step(self) -> bool:
        """Whether the two ends are neighbors."""
        return self.larger - self.size <= self.path.step

    def halves(self) -> "tuple[_Stretch, _Stretch]":
        """Return the two halves of the stretch."""
        middle = (self.size + self.larger) // 2
        return self._replace(larger=middle), self._replace(size=middle)

    def pair(self) -> Proposed | None:
        """Return the two ends, or None if one of them is not allowed."""
        return self.path.pair(self.size, self.larger)


def find_jumps(
    paths: Sequence[Path], scores: Scores, grows: Callable[[], bool] = lambda: True
) -> list[Proposed]:
    """Find two neighbors on each path between which the outputs differ as much as possible.

    Args:
        paths: Paths to search, all at the same time.
        scores: Function that compares the two databases of each pair.
        grows: Function that returns whether larger databases may be compared, too.

    Returns:
        At most one pair of neighbors per path. A path has none if no two sizes that were compared
        have different outputs.
    """
    options: dict[Path, dict[_Stretch, float]] = {path: {} for path in paths}
    size = 1
    while grows() and any(2 * size <= path.longest for path in paths):
        doubled = [_Stretch(p, size, 2 * size) for p in paths if 2 * size <= p.longest]
        for stretch, score in _scored(doubled, scores).items():
            options[stretch.path][stretch] = score
        size *= 2
    found: list[Proposed] = []
    while options := {path: some for path, some in options.items() if some}:
        best = [max(some, key=some.__getitem__) for some in options.values()]
        found += [pair for s in best if s.is_step and (pair := s.pair()) is not None]
        halves = [half for s in best if not s.is_step for half in s.halves()]
        options = {path: {} for path in options}
        for stretch, score in _scored(halves, scores).items():
            options[stretch.path][stretch] = score
    return found


def _scored(stretches: Sequence[_Stretch], scores: Scores) -> dict[_Stretch, float]:
    """Return the scores of the stretches whose ends are allowed and differ."""
    pairs = {stretch: pair for stretch in stretches if (pair := stretch.pair()) is not None}
    if not pairs:
        return {}
    values = scores(list(pairs.values())).tolist()
    return {stretch: score for stretch, score in zip(pairs, values, strict=True) if score > 0}


class Found(NamedTuple):
    """Pairs between which the outputs jump.

    Attributes:
        pairs: The pairs.
        ranked: Scores of the pairs.
        drawn: Total number of draws, without those for the scores.
    """

    pairs: list[Proposed]
    ranked: Ranked
    drawn: int


NOTHING = Found([], Ranked(np.zeros(0), np.zeros(0), 0), 0)


def most_draws(paths: Sequence[Path], ladder: Ladder, num_pairs: int) -> float:
    """Return the maximum number of draws of a search for jumps, or 0 if the budget is too small."""
    least = 2 * len(paths) * (3 * _doublings(paths) * _DRAWS + FEWEST)
    spare = ladder.spare(num_pairs)
    return spare if 0 < least <= spare else 0.0


def _doublings(paths: Sequence[Path]) -> int:
    """Return an upper limit on the doublings of a path, and on the steps of a bisection."""
    return max((path.longest.bit_length() for path in paths), default=0)


def search_jumps(
    space: Space,
    seconds: float | None,
    most: float,
    rung_of: Callable[..., Rung],
    draws: int,
    pace: float,
    root: Array,
) -> Found:
    """Search a space's paths for jumps, after the first rung of a search.

    Args:
        space: Space of the pairs.
        seconds: Time limit of the whole search in seconds, or None for no limit.
        most: Maximum number of draws, from `most_draws`.
        rung_of: Function that returns a rung for `alive`, `draws`, `key` and, optionally, `asked`.
        draws: Number of draws per side of each pair in the first rung.
        pace: Time per output in the first rung, in seconds, or 0 if there is no time limit.
        root: Typed JAX key of the search.

    Returns:
        The pairs, and their scores from at most as many draws as in the first rung.
    """
    paths = space.paths()
    limit = _SECONDS if seconds is None else JUMP_SHARE * seconds
    comparisons = 2 * _doublings(paths)
    if 2 * len(paths) * comparisons * _LEAST_DRAWS * pace > limit:
        return NOTHING
    key, made = random.fold_in(root, random.stable_hash(_STAGE)), []
    start, can_grow = time.perf_counter(), True

    def scores(pairs: list[Proposed]) -> NDArray[np.float64]:
        nonlocal can_grow
        number, left = len(made), limit - (time.perf_counter() - start)
        if left <= 0:
            return np.full(len(pairs), -np.inf)
        # These databases need not be neighbors, so the claim of a pair does not apply to them.
        # A call that hangs for a large database must not take the time of the other pairs.
        rung = rung_of(alive=pairs, draws=_DRAWS, key=random.fold_in(key, number), asked=None)
        rung = rung.within(left)
        each = None if seconds is None else left / max(comparisons - number, 1)
        try:
            found, drawn = rung.compared(each)
        except (TypeError, ValueError, OSError):
            # An error of the mechanism is an outcome and raises nothing here. The source itself
            # cannot draw, for instance because a large database does not fit into a command line.
            can_grow = False
            return np.full(len(pairs), -np.inf)
        made.append(drawn)
        return found

    def grows() -> bool:
        return can_grow and time.perf_counter() - start < _GROWING * limit

    found = [pair for pair in find_jumps(paths, scores, grows) if space.allows(*pair[:2])]
    if not found:
        return NOTHING._replace(drawn=sum(made))
    if most < np.inf:
        draws = min(draws, int(most - sum(made)) // (2 * len(found)))
    rung = rung_of(alive=found, draws=draws, key=random.fold_in(key, len(made)))
    ranked = rung.ranked(None if seconds is None else limit / 4, seconds)
    return Found(found, ranked, sum(made))
