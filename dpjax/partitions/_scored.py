"""Partitions of vector outputs by a score that maps vectors to numbers."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpjax.core.types import Plain
from dpjax.partitions._batches import Outputs, Pooled, part_of, with_numbers
from dpjax.partitions._bins import bins_of
from dpjax.partitions._directions import Directions
from dpjax.partitions._entries import NO_ENTRIES, Entries
from dpjax.partitions._features import Columns, Features
from dpjax.partitions._lay import PILOT
from dpjax.partitions._logistic import FOLDS
from dpjax.partitions._moments import Moments
from dpjax.partitions._partition import Partition
from dpjax.partitions._scores import (
    Cancelling,
    OfAll,
    Score,
    Weighted,
    fit_combination,
)
from dpjax.partitions._spread_of_vectors import SpreadOfVectors
from dpjax.partitions._transforms import Table
from dpjax.partitions._wide import MOST_COLUMNS

_STEPS, _TAILS = 48, range(6, 12)
"""Cells are separated by quantiles of a score. The quantile levels are k / _STEPS for k = 1, ...,
_STEPS - 1, and 2^-t and 1 - 2^-t for all t in _TAILS.
"""

_FREQUENT, _OFTEN, _REPEATED = 0.005, 5, 0.5
"""A score is frequent if at least the fraction _FREQUENT of all outputs of both sides have exactly
this score, and at least _OFTEN outputs. Scores are discrete if at least the fraction _REPEATED of
all outputs share their score with another output.
"""

_FEWEST, _FEWEST_OF_CHOSEN, _MANY, _NARROW = 10, 20, 5000, 128
"""Minimum numbers of outputs per side: _FEWEST for any score, _FEWEST_OF_CHOSEN if entries were
chosen from thousands by their differences, and _MANY for a network. With fewer than _MANY outputs
per side, scores that are not linear are fitted only if an output has at most _NARROW numbers, and
not more numbers than there are outputs per side. They would take seconds otherwise, or predict less
than linear scores.
"""

_SEEN, _WORSE = 2.0, 2.0
"""Thresholds, in standard errors, of the conditions under which four more networks are trained. The
mean log loss of the first network must be more than _SEEN standard errors below the mean log loss
without any score. The mean log loss of the first network must be less than _WORSE standard errors
above the mean log loss of the best other score. See `_may_win`.
"""

_MOST_ROWS, _ROW_NUMBERS, _ALL_NUMBERS = 2**19, 2**23, 2**26
"""Limits, per side, on the outputs to which linear scores are fitted. _MOST_ROWS limits the number
of outputs. _ROW_NUMBERS limits the total number of entries in the outputs of one pair, and
_ALL_NUMBERS limits the total over all pairs.
"""

_WIDE, _PER_NUMBER, _REGRESSED = 16, 20, 256
"""A linear score that cancels common factors is fitted to outputs with at least _WIDE numbers each,
if there are at most _PER_NUMBER times as many outputs per side. Logistic regression finds the same
score with more outputs. But if outputs have more than _REGRESSED numbers each, a regression on
several features of each number would take minutes, and this score replaces it.
"""

_MAX_ENTRIES = 2 * 10**8
"""Maximum number of numeric entries in all outputs together."""


@dataclass(frozen=True)
class Scored(Partition):
    """A partition of outputs by intervals of a score.

    Each outcome without numeric entries, such as an exception, has a cell of its own. Each frequent
    score of fresh outputs has a cell of its own, too. A score that is fitted without a fold differs
    slightly from the score of fresh outputs. If outputs are discrete, fresh outputs have few
    different scores, and could all miss a narrow cell that contains many held-out scores.
    Therefore, if the fresh score of an output is frequent, the search counts the output in the cell
    of this score.

    Attributes:
        score: Score that maps an output to a number.
        codes: Label index, in `Outputs`, of each outcome in `names[1:]`, int64 [len(names) - 1].
            The indices are increasing.
        frequent: Frequent scores of fresh outputs, float32.
    """

    score: Score = field(kw_only=True)
    codes: np.ndarray = field(kw_only=True)
    frequent: np.ndarray = field(kw_only=True)

    @property
    def key(self) -> Hashable:
        """Key that is unique to this partition; see `Cells`."""
        return id(self)

    @property
    def columns(self) -> Sequence[int]:
        """See `Partition`."""
        return ()

    @property
    def is_peer(self) -> bool:
        """See `Partition`. Both scores have too many terms to show all of them."""
        return isinstance(self.score, Cancelling)

    @property
    def monotonic(self) -> bool:
        """See `Cells`. A score that is a multiple of one entry does not estimate the loss."""
        score = self.score
        return not (isinstance(score, Weighted) and score.weights.any(axis=0).sum() == 1)

    def along(self, outputs: Outputs, fold: np.ndarray | None = None) -> np.ndarray | None:
        """Return the score of each output; see `Partition`. Outputs without numbers have none."""
        if len(self.codes) or outputs.alone.any():
            return None
        return self.score.values(outputs, fold).astype(np.float64)

    def index(self, outputs: Outputs) -> np.ndarray:
        """Return the cell of each output, int64 [n]."""
        return self._cell(outputs, self.score.values(outputs))

    def index_held_out(self, outputs: Outputs, fold: np.ndarray) -> np.ndarray:
        """Return each output's cell by the score that was fitted without the output's fold.

        An output whose fresh score is frequent is in the cell of its fresh score.
        """
        values = self.score.values(outputs, fold)
        if self.frequent.size:
            fresh = self.score.values(outputs)
            values = np.where(np.isin(fresh, self.frequent), fresh, values)
        return self._cell(outputs, values)

    def _cell(self, outputs: Outputs, values: np.ndarray) -> np.ndarray:
        cell = self.num_alone + bins_of(self.edges[0], values.astype(np.float64))
        if outputs.alone.any():
            labels = outputs.labels[outputs.alone]
            place = np.searchsorted(self.codes, labels)
            known = np.append(self.codes, -1)[place] == labels
            cell[outputs.alone] = np.where(known, 1 + place, len(self.names))
        return cell

    def kind(self, whole: bool) -> str:
        """See `Cells`."""
        return f"a vector with {self.score.words(whole, self.parts)}"

    def plain(self) -> Plain:
        """Return the score as JSON values for a recipe."""
        return {"words": self.score.words(False, self.parts), **self.score.plain()}


def pilot_size(dimension: int, num_pairs: int = 1) -> int:
    """Return the maximum number of pilot outputs per side of each pair."""
    if dimension == 1:
        return PILOT
    numbers = min(_ROW_NUMBERS, _ALL_NUMBERS // num_pairs)
    return max(min(_MOST_ROWS, numbers // dimension) // PILOT, 1) * PILOT


def score_partitions(
    pilot: Sequence[Outputs],
    folds: Sequence[np.ndarray],
    names: Sequence[str],
    entries: Entries = NO_ENTRIES,
) -> list[Scored]:
    """Return one partition per score, from the simplest to the most complex.

    The first one is by the score of all entries, if there is one. The others are by scores that are
    fitted to the reliable entries.

    Args:
        pilot: Vector outputs from the database and from its neighbor.
        folds: Fold of each output, int [n] for each side.
        names: Names of all labels in the pilot.
        entries: Entries of the outputs.

    Raises:
        ValueError: If the outputs have too many numeric entries.
    """
    found: list[Scored] = []
    if (place := entries.spread) is not None:
        score = OfAll(place, entries.paths[place].partition(": ")[2])
        found.append(_cut(score, Pooled.of(pilot, folds, PILOT), names))
    fewest = min(len(part.labels) for part in pilot)
    number = entries.fitted(fewest)
    if number == 0 or (entries.candidates and fewest < _FEWEST_OF_CHOSEN):
        return found
    some = [part._replace(values=part.values[:, :number]) for part in pilot]
    return found + _fitted(some, folds, names, cancels=not found)


def _fitted(
    pilot: Sequence[Outputs], folds: Sequence[np.ndarray], names: Sequence[str], cancels: bool
) -> list[Scored]:
    """Fit scores, and return one partition per score; see `score_partitions` for the arguments.

    If `cancels` is True, one of the scores may cancel common factors of the entries, and may use
    transforms of them. It replaces additive and quadratic scores of many entries.

    A score is omitted if there are too few outputs to fit it. Linear scores are fitted to all
    outputs, and other scores to the first `PILOT` outputs per side. If there are more than `PILOT`
    outputs per side, two more scores are fitted. These scores are linear in clipped entries,
    because the log density ratio of Laplace noise is a clipped linear function. One of these two
    scores has equal weights for all entries, which is best for repeated releases with small losses.
    Differences in variances along directions have a score of their own.
    """
    every = few = Pooled.of(pilot, folds)
    values = every.outputs.values
    columns_given = values.shape[1]
    if columns_given > MOST_COLUMNS or values.size > _MAX_ENTRIES:
        raise ValueError(
            f"outputs must have at most {MOST_COLUMNS} numbers each, and at most "
            f"{_MAX_ENTRIES:g} in the whole search set, but had {columns_given} and "
            f"{values.size:g}: audit a function of the outputs, such as "
            "dpjax.summarize, or search with fewer draws."
        )
    fewest, wide = min(len(part.labels) for part in pilot), columns_given > _REGRESSED
    if max(len(part.labels) for part in pilot) > PILOT:
        few = Pooled.of(pilot, folds, PILOT)
    columns = Columns.of(few.outputs)
    fits: list[Score] = []

    def regress(kind: str, given: Pooled) -> None:
        score = fit_combination(Features.of(kind, columns, few.outputs), given)
        # A score without weights is equal for all outputs.
        if score.weights.any():
            fits.append(score)

    if fewest >= _FEWEST:
        for kind in ("linear", "common", "clipped") if fewest > PILOT else ("linear",):
            regress(kind, every)
    cancels = cancels and columns_given >= _WIDE
    if cancels and (wide or fewest <= _PER_NUMBER * columns_given):
        sides, parts = with_numbers(pilot, folds)
        tables = Table.of(sides)
        spread = SpreadOfVectors.of(tables, parts, Moments.of(tables, parts))
        if spread is not None:
            fits.append(Cancelling.of(spread))
    if fewest >= _FEWEST and columns_given >= 2 and not wide:
        directions = Directions.of(columns, few)
        if directions is not None:
            fits.append(directions)
    if not wide and (fewest >= _MANY or _FEWEST <= fewest >= columns_given <= _NARROW):
        for kind in ("additive", "products"):
            regress(kind, few)
    found = [_cut(score, few, names) for score in fits]
    if fewest >= _MANY and found:
        from dpjax.partitions._network import NetworkFit

        fit = NetworkFit(columns, few)
        if _may_win(fit.losses(), found, few):
            found.append(_cut(fit.network(), few, names))
    return found


def _may_win(losses: np.ndarray, others: Sequence[Scored], pooled: Pooled) -> bool:
    """Return whether a network's losses suggest that it may reveal more than other scores.

    The result is True if two conditions hold. First, the network must predict the side of an output
    significantly better than a constant prediction, which uses only the shares of the two sides.
    Second, the network must not predict the side of an output significantly worse than the best
    other score.

    Args:
        losses: Log loss of the network for each output in fold 0.
        others: Partitions by other scores.
        pooled: The outputs of both sides.
    """
    _, side, fold = pooled
    held = fold == 0
    shares = np.bincount(side[~held], minlength=2) / np.sum(~held)
    gains = -np.log(shares[side[held]]) - losses
    best = min((_losses(cells, pooled) for cells in others), key=np.mean)
    return _mean_in_errors(gains) > _SEEN and _mean_in_errors(losses - best) < _WORSE


def _losses(cells: Scored, pooled: Pooled) -> np.ndarray:
    """Return the log loss of predicting each fold-0 output's side from counts in other folds."""
    outputs, side, fold = pooled
    place, held = cells.index_held_out(outputs, fold), fold == 0
    number = place + cells.size * side
    counts = np.bincount(number[~held], minlength=2 * cells.size).reshape(2, -1) + 0.5
    return -np.log(counts / counts.sum(axis=0)).ravel()[number[held]]


def _mean_in_errors(values: np.ndarray) -> float:
    """Return the mean of `values`, divided by the standard error of the mean."""
    return float(values.mean() * np.sqrt(len(values)) / max(values.std(), 1e-300))


def _cut(score: Score, pooled: Pooled, names: Sequence[str]) -> Scored:
    """Divide a score's range at quantiles, and on both sides of each frequent score."""
    outputs, _, fold = pooled
    codes = np.unique(outputs.labels[outputs.alone])
    edges, frequent = np.empty(0), np.empty(0, np.float32)
    if not outputs.alone.all():
        if len(codes):
            fold = fold[~outputs.alone]
            outputs = part_of(outputs, ~outputs.alone)
        edges, frequent = _edges(score.values(outputs), score.values(outputs, fold))
    cell_names = ("a number", *(names[int(code)] for code in codes))
    nothing, label = np.empty(0), np.zeros(1, int)
    return Scored(
        cell_names, (edges,), (nothing,), label, score=score, codes=codes, frequent=frequent
    )


def _edges(fresh: np.ndarray, held_out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of a score's cells, float64, and the frequent scores, float32.

    Edges beside a frequent score lie halfway to the next scores of other outputs, so that rounding
    errors do not matter. If scores are discrete, all edges lie halfway between scores, and every
    cell contains a score that fresh outputs may have.

    Args:
        fresh: Scores that fresh copies of the outputs would have, float32 [n].
        held_out: Held-out scores of the outputs, float32 [n].
    """
    values, times = np.unique(fresh, return_counts=True)
    # Otherwise, each score of few outputs would be frequent, and no output would be held out.
    is_frequent = times >= max(_FREQUENT * len(fresh), _OFTEN)
    frequent = values[is_frequent]
    scores = np.where(np.isin(fresh, frequent), fresh, held_out).astype(np.float64)
    tails = 0.5 ** np.array(_TAILS)
    levels = np.concatenate([tails, np.arange(1, _STEPS) / _STEPS, 1 - tails])
    edges = np.quantile(scores, levels, method="nearest")
    edges = edges[~np.isin(edges, frequent)]
    exact = values.astype(np.float64)
    between = (exact[1:] + exact[:-1]) / 2
    if times[times > 1].sum() >= _REPEATED * len(fresh):
        place = np.searchsorted(exact, edges, side="right")
        edges = between[place[(place > 0) & (place < len(values))] - 1]
    beside = between[is_frequent[1:] | is_frequent[:-1]]
    return np.unique(np.concatenate([edges, beside])), frequent


def fold_of(number: np.ndarray) -> np.ndarray:
    """Return the fold of each output, computed from the output's index in its stream."""
    return number % FOLDS
