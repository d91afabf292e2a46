"""Scores of outputs, learned from calls whose coins are known.

Outputs are divided into cells, whose counts determine the scores; see `_cell_scores`. If a learned
score divides vectors into cells, it may be used instead of the counts. If numbers are compared
better with the outputs right before them, as under a changing load, then each number is replaced by
its difference to the median of the earlier ones. Earlier outputs are known when a coin is tossed,
so they may be used to guess it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dpjax.core.types import JsonObject
from dpjax.partitions import Encoder, Outputs, Partition, lay, part_of
from dpjax.partitions._scored import fold_of
from dpjax.sources._cell_scores import best_group, gain_of, scores_of_cells, sorted_coins
from dpjax.sources._counting import count_halves
from dpjax.sources._flips import Flipped, in_order
from dpjax.sources._learned import lay_best
from dpjax.sources._pairs import AnyPairs

_EARLIER = (15, 1)
"""Numbers of earlier outputs whose median may be subtracted from a number.

The median of many outputs has little noise of its own, and the last output alone is closest to a
number that changes with every call.
"""

_WIDEST = 10
"""Maximum number of numbers in an output that are compared with the outputs before it."""

_DISTINCT = 0.9
"""Numbers are treated as reals if more than this fraction of them are distinct."""

_ENOUGH = 0.97
"""Numbers are compared as they are, or with the median of more outputs, if their gain is at least
this fraction of the other gain.
"""


class Order(NamedTuple):
    """Scores of later outputs; see `Flipped` for the attributes."""

    scores: NDArray[np.float64]
    revealed: NDArray[np.bool_]
    event: Callable[[float, bool, bool], str]


@dataclass(frozen=True)
class Scorer:
    """Scores of outputs of one pair.

    Attributes:
        encoder: Encoder of the outputs.
        cells: Partition of the outputs, or of their differences to earlier outputs.
        halves: Counts of the learned outputs in the cells, int64 [2 halves, 2 sides, cells].
        gain: How well one half of the outputs predicts the coins of the other half; see `gain_of`.
        changes: Differences of later outputs from those before them, or None if numbers are
            compared as they are.
        held_out: If a learned score defines the cells, the held-out scores of the learned outputs
            of each side, float64 [n]; or None.
    """

    encoder: Encoder
    cells: Partition
    halves: NDArray[np.int64]
    gain: float
    changes: "_Changes | None"
    held_out: list[NDArray[np.float64]] | None = None

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
        sides = [part_of(outputs, coins), part_of(outputs, ~coins)]
        pilots = encoder.fixed(sides)
        found = cls._laid(encoder, pilots, None)
        width = pilots[0].values.shape[1]
        if not ordered or width > _WIDEST or any(pilot.alone.any() for pilot in pilots):
            return found
        values = np.empty((len(coins), width))
        for pilot, side in zip(pilots, (coins, ~coins), strict=True):
            values[side] = pilot.values
        # Counts and codes in a vector are compared as they are.
        moving = [
            place
            for place, column in enumerate(values.T)
            if width == 1 or len(np.unique(column)) > _DISTINCT * len(column)
        ]
        for number in _EARLIER if moving else ():
            changes = _Changes(number, {place: np.empty(0) for place in moving})
            changed = changes.of(values)
            others = [
                pilot._replace(values=changed[side])
                for pilot, side in zip(pilots, (coins, ~coins), strict=True)
            ]
            later = _Changes(number, {place: values[-number:, place] for place in moving})
            other = cls._laid(encoder, others, later)
            found = other if _ENOUGH * other.gain > found.gain else found
        return found

    @classmethod
    def _laid(cls, encoder: Encoder, pilots: list[Outputs], changes: "_Changes | None") -> Self:
        folds = [fold_of(np.arange(len(pilot.labels))) for pilot in pilots]
        cells = lay_best(pilots, folds, encoder.names, gain_of, encoder.entries, _lay)
        halves = count_halves(cells, [[pilot] for pilot in pilots])
        along = [cells.along(pilot, fold) for pilot, fold in zip(pilots, folds, strict=True)]
        held_out = [values for values in along if values is not None]
        gain = gain_of(cells, halves, 1)
        return cls(encoder, cells, halves, gain, changes, held_out if len(held_out) == 2 else None)

    @property
    def change(self) -> str:
        """What was done to numbers before they were compared, for the end of a sentence."""
        return "" if self.changes is None else self.changes.words

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
        scores, revealed, event = self.order(outputs, generator)
        return Flipped(scores, coins, *of, revealed, event, settings, notes)

    def order(self, outputs: Outputs, generator: np.random.Generator) -> Order:
        """Return scores of later outputs, and the revealed coins in decreasing order of score.

        If a learned score defines the cells, and if it separates the revealed coins at least as
        well as the counts in the cells do, then the learned score itself orders the outputs. The
        generator determines the order of earlier outputs with equal scores.
        """
        outputs = self.encoder.padded(outputs)
        if self.changes is not None:
            outputs = outputs._replace(values=self.changes.of(outputs.values))
        group = best_group(self.cells, self.halves)
        of_cells = scores_of_cells(self.halves.sum(axis=0), group)
        revealed = sorted_coins(self.halves, group, generator)

        def event(score: float, is_least: bool, whole: bool) -> str:
            mask = of_cells >= score if is_least else of_cells <= score
            return f"{self.cells.describe(mask, whole=whole)}{self.change}"

        along = self.cells.along(outputs)
        if along is not None and self.held_out is not None:
            first, second = self.held_out
            sign = 1.0 if first.mean() >= second.mean() else -1.0
            coins = np.repeat([True, False], [len(first), len(second)])
            coins = in_order(sign * np.concatenate(self.held_out), coins, generator)
            if _separation(coins) >= _separation(revealed):
                return Order(sign * along, coins, partial(self._event_along, sign))
        return Order(of_cells[self.cells.index(outputs)], revealed, event)

    def _event_along(self, sign: float, score: float, is_least: bool, whole: bool) -> str:
        """Describe the outputs on one side of a score; see `Flipped`."""
        is_above, edge = is_least == (sign > 0), sign * score
        edge = edge if is_above else np.nextafter(edge, np.inf)
        cells = replace(self.cells, edges=(np.array([edge]),))
        mask = np.arange(cells.size) == cells.num_alone + is_above
        return f"{cells.describe(mask, whole=whole)}{self.change}"


def _separation(coins: NDArray[np.bool_]) -> float:
    """Return how much earlier the coins of the database are in a sequence than the others."""
    places = np.arange(len(coins))
    return float(places[~coins].mean() - places[coins].mean())


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
    hidden, revealed, _ = scorer.order(encoder.encode(features[~mask]), generator)
    return in_order(hidden, included[~mask], generator), revealed


class _Changes(NamedTuple):
    """Differences of numbers from the outputs before them.

    Attributes:
        number: Number of earlier outputs whose median is subtracted.
        before: For each column in which it is subtracted, the values before the first output,
            float64 [m].
    """

    number: int
    before: dict[int, NDArray[np.float64]]

    @property
    def words(self) -> str:
        """What was done to numbers before they were compared, for the end of a sentence."""
        if self.number == 1:
            return ", after subtraction of the output before it"
        return f", after subtraction of the median of the {self.number} outputs before it"

    def of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values, [n, columns], with differences in the columns of `before`."""
        changed = values.copy()
        for place, known in self.before.items():
            changed[:, place] = relative(values[:, place], known, self.number)
        return changed


def _lay(pilots: list[Outputs], names: Sequence[str]) -> Partition:
    """Divide outputs; arguments as in `lay`.

    If hardly any number occurs twice, no number is an outcome of its own. Otherwise, each of up to
    256 distinct numbers would have a cell, which is never merged.
    """
    values = np.concatenate([pilot.values[~pilot.alone] for pilot in pilots])
    is_real = all(len(np.unique(column)) > _DISTINCT * len(column) for column in values.T)
    return lay(pilots, names, discrete=False if is_real else None)


def relative(
    values: NDArray[np.float64], before: NDArray[np.float64], number: int
) -> NDArray[np.float64]:
    """Return the difference of each value to the median of the values before it.

    Args:
        values: Values in the order of the calls, float64 [n].
        before: Values before the first one, float64 [m]. If there are fewer than `number` values
            before a value, their median is subtracted, or nothing if there are none.
        number: Number of values before a value whose median is subtracted.
    """
    known = np.concatenate([np.full(number, np.nan), before, values])
    windows = np.lib.stride_tricks.sliding_window_view(known, number)
    earlier = windows[len(before) : len(before) + len(values)]
    some = np.isfinite(earlier).any(axis=1)
    medians = np.zeros(len(values))
    medians[some] = np.nanmedian(earlier[some], axis=1)
    return values - medians
