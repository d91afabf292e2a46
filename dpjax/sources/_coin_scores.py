"""Scores of outputs, learned from calls whose coins are known.

The score of an output estimates ln P(output | database) - ln P(output | neighbor), shrunk towards 0
by its standard error. Adjacent bins are merged if this improves predictions. If numbers are
compared better with the outputs right before them, as under a changing load, then each number is
replaced by its difference to the median of the earlier ones. Earlier outputs are known when a coin
is tossed, so they may be used to guess it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dpjax.core.types import JsonObject
from dpjax.partitions import Encoder, Outputs, Partition, lay
from dpjax.partitions._scored import fold_of
from dpjax.sources._counting import count_halves
from dpjax.sources._flips import Flipped, in_order
from dpjax.sources._learned import lay_best
from dpjax.sources._pairs import AnyPairs

_EARLIER = 15
"""Number of earlier outputs whose median is subtracted from a number."""

_WIDEST = 10
"""Maximum number of numbers in an output that are compared with the outputs before it."""

_DISTINCT = 0.9
"""Numbers are treated as reals if more than this fraction of them are distinct."""

_ENOUGH = 0.97
"""Numbers are compared as they are if their gain is at least this fraction of the other gain."""


@dataclass(frozen=True)
class Scorer:
    """Scores of outputs of one pair.

    Attributes:
        encoder: Encoder of the outputs.
        cells: Partition of the outputs, or of their differences to earlier outputs.
        halves: Counts of the learned outputs in the cells, int64 [2 halves, 2 sides, cells].
        gain: How well one half of the outputs predicts the coins of the other half; see `gain_of`.
        last: For each column of numbers that are replaced by their differences, the last values
            before the outputs to be scored, float64 [at most 15]; or None if there is no such
            column.
    """

    encoder: Encoder
    cells: Partition
    halves: NDArray[np.int64]
    gain: float
    last: dict[int, NDArray[np.float64]] | None

    @classmethod
    def learn(
        cls, encoder: Encoder, outputs: Outputs, coins: NDArray[np.bool_], *, ordered: bool = True
    ) -> Self:
        """Learn scores from outputs and from their coins.

        Args:
            encoder: Encoder of the outputs.
            outputs: Outputs, in the order of the calls if `ordered` is True.
            coins: Whether each output is from the database, bool [n].
            ordered: Whether numbers may be compared with those of earlier outputs.
        """
        sides = [Outputs(*(column[coins == side] for column in outputs)) for side in (True, False)]
        pilots = encoder.fixed(sides)
        found = cls._laid(encoder, pilots, None)
        width = pilots[0].values.shape[1]
        if not ordered or width > _WIDEST or any(pilot.alone.any() for pilot in pilots):
            return found
        values = np.empty((len(coins), width))
        for pilot, side in zip(pilots, (coins, ~coins), strict=True):
            values[side] = pilot.values
        # Counts and codes in a vector are compared as they are.
        moving = {
            place: values[-_EARLIER:, place]
            for place, column in enumerate(values.T)
            if width == 1 or len(np.unique(column)) > _DISTINCT * len(column)
        }
        if not moving:
            return found
        changes = _changed(values, dict.fromkeys(moving, np.empty(0)))
        others = [
            pilot._replace(values=changes[side])
            for pilot, side in zip(pilots, (coins, ~coins), strict=True)
        ]
        other = cls._laid(encoder, others, moving)
        return other if _ENOUGH * other.gain > found.gain else found

    @classmethod
    def _laid(
        cls,
        encoder: Encoder,
        pilots: list[Outputs],
        last: dict[int, NDArray[np.float64]] | None,
    ) -> Self:
        folds = [fold_of(np.arange(len(pilot.labels))) for pilot in pilots]
        cells = lay_best(pilots, folds, encoder.names, gain_of, encoder.parts, _lay)
        halves = count_halves(cells, [[pilot] for pilot in pilots])
        return cls(encoder, cells, halves, gain_of(cells, halves, 1), last)

    @property
    def change(self) -> str:
        """What was done to numbers before they were compared, for the end of a sentence."""
        if self.last is None:
            return ""
        return f", after subtraction of the median of the {_EARLIER} outputs before it"

    def judged(
        self,
        outputs: Outputs,
        coins: NDArray[np.bool_],
        generator: np.random.Generator,
        of: tuple[AnyPairs, int],
        settings: JsonObject,
        notes: list[str],
    ) -> Flipped:
        """Return the scores of later outputs, and what guesses about their coins need.

        Args:
            outputs: The outputs of the later calls.
            coins: Whether each later call got the database, bool [n].
            generator: Generator of the order of earlier calls with equal scores.
            of: All pairs of the audit, and the index of the pair.
            settings: Numbers of calls, for the result.
            notes: Notes for the result.
        """
        group = best_group(self.cells, self.halves)
        scores = scores_of_cells(self.halves.sum(axis=0), group)
        revealed = sorted_coins(self.halves, group, generator)

        def event(score: float, is_least: bool, whole: bool) -> str:
            mask = scores >= score if is_least else scores <= score
            return f"{self.cells.describe(mask, whole=whole)}{self.change}"

        found = scores[self.places(outputs)]
        return Flipped(found, coins, *of, revealed, event, settings, notes)

    def places(self, outputs: Outputs) -> NDArray[np.int64]:
        """Return the cell of each later output, int64 [n]."""
        outputs = self.encoder.padded(outputs)
        if self.last is not None:
            outputs = outputs._replace(values=_changed(outputs.values, self.last))
        return self.cells.index(outputs)


def order_by_learned_scores(
    features: NDArray[np.float64],
    included: NDArray[np.bool_],
    mask: NDArray[np.bool_],
    generator: np.random.Generator,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Learn scores of canaries from those with revealed coins, and order the coins by score.

    Args:
        features: Numbers of each canary, float64 [n, d].
        included: Coins of the canaries, bool [n].
        mask: Which coins are revealed, bool [n].
        generator: Generator of the order of canaries with equal scores.

    Returns:
        The hidden coins, bool [n - m], and the revealed coins, bool [m], in decreasing order of
        score.
    """
    encoder = Encoder("the canaries")
    scorer = Scorer.learn(encoder, encoder.encode(features[mask]), included[mask], ordered=False)
    group = best_group(scorer.cells, scorer.halves)
    scores = scores_of_cells(scorer.halves.sum(axis=0), group)
    hidden = scores[scorer.places(encoder.encode(features[~mask]))]
    revealed = sorted_coins(scorer.halves, group, generator)
    return in_order(hidden, included[~mask], generator), revealed


def _changed(
    values: NDArray[np.float64], before: dict[int, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return values [n, columns] with differences in the columns that `before` contains."""
    changed = values.copy()
    for place, known in before.items():
        changed[:, place] = relative(values[:, place], known)
    return changed


def _lay(pilots: list[Outputs], names: Sequence[str]) -> Partition:
    """Divide outputs; arguments as in `lay`.

    If hardly any number occurs twice, no number is an outcome of its own. Otherwise, each of up to
    256 distinct numbers would have a cell, which is never merged.
    """
    values = np.concatenate([pilot.values[~pilot.alone] for pilot in pilots])
    is_real = all(len(np.unique(column)) > _DISTINCT * len(column) for column in values.T)
    return lay(pilots, names, discrete=False if is_real else None)


def relative(values: NDArray[np.float64], before: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the difference of each value to the median of the 15 values before it.

    Args:
        values: Values in the order of the calls, float64 [n].
        before: Values before the first one, float64 [m]. If there are fewer than 15 values before
            a value, their median is subtracted, or nothing if there are none.
    """
    known = np.concatenate([np.full(_EARLIER, np.nan), before, values])
    windows = np.lib.stride_tricks.sliding_window_view(known, _EARLIER)
    earlier = windows[len(before) : len(before) + len(values)]
    some = np.isfinite(earlier).any(axis=1)
    medians = np.zeros(len(values))
    medians[some] = np.nanmedian(earlier[some], axis=1)
    return values - medians


def gain_of(cells: Partition, halves: NDArray[np.int64], compared: int) -> float:
    """Return how well one half of the calls predicts the coins of the other half.

    Args:
        cells: Partition of the outputs.
        halves: Counts of the outputs in the cells, int64 [2 halves, 2 sides, cells].
        compared: Number of partitions among which the best one is chosen, which does not matter.

    Returns:
        Mean log-likelihood of a coin, in nats, minus that of a fair coin; at least 0. The value is
        the largest one among the groupings of adjacent cells.
    """
    return max(_predicted(halves, group) for group in _groups(cells))


def best_group(cells: Partition, halves: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the grouping of cells with the largest gain; arguments as in `gain_of`."""
    return max(_groups(cells), key=lambda group: _predicted(halves, group))


def scores_of_cells(counts: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the score of each cell, float64 [cells].

    Args:
        counts: Counts of the outputs in the cells, int64 [2 sides, cells].
        group: For each cell, the index of the merged cell that contains it, int64 [cells].
    """
    first, second = _merged(counts, group)
    ratio = _log_ratio(first, second)
    error = np.sqrt(1 / (first + 0.5) + 1 / (second + 0.5))
    return (np.sign(ratio) * np.maximum(np.abs(ratio) - error, 0.0))[group]


def sorted_coins(
    halves: NDArray[np.int64], group: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Return the coins of the counted calls in decreasing order of score.

    The scores of the calls in one half are learned from the other half. Calls with equal scores are
    in random order.

    Args:
        halves: Counts as in `gain_of`.
        group: As in `scores_of_cells`.
        generator: Generator of the random order.

    Returns:
        Whether each call got the database, bool [calls].
    """
    scores, coins = [], []
    for known, other in (halves, halves[::-1]):
        learned = scores_of_cells(known, group)
        for counts, coin in zip(other, (True, False), strict=True):
            scores.append(np.repeat(learned, counts))
            coins.append(np.full(int(counts.sum()), coin))
    return in_order(np.concatenate(scores), np.concatenate(coins), generator)


def _groups(cells: Partition) -> list[NDArray[np.int64]]:
    """Return the groupings of cells, as for `Partition.groups`; the first has no merged cells."""
    return [np.arange(cells.size), *cells.coarser()]


def _merged(counts: NDArray[np.int64], group: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Return the counts of both sides in merged cells."""
    return [np.bincount(group, side) for side in counts]


def _log_ratio(first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.float64]:
    shares = ((side + 0.5) / (side.sum() + 1) for side in (first, second))
    return np.log(next(shares)) - np.log(next(shares))


def _predicted(halves: NDArray[np.int64], group: NDArray[np.int64]) -> float:
    """Return the gain for one grouping of cells, at least 0; see `gain_of`."""
    merged = [_merged(half, group) for half in halves]
    found = 0.0
    for known, other in (merged, merged[::-1]):
        odds = _log_ratio(*known)
        # ln(2 sigmoid(x)) is ln 2 minus the softplus of -x.
        for side, sign in zip(other, (1, -1), strict=True):
            found += float(side @ (np.log(2) - np.logaddexp(0, -sign * odds)))
    return max(found / max(int(halves.sum()), 1), 0.0)
