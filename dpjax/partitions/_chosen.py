"""Choice of the numbers to compare, if outputs are summarized by thousands of numbers."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from dpjax.core.types import JsonObject
from dpjax.partitions._cells import name_of_path
from dpjax.partitions._features import clipped
from dpjax.partitions._moments import Moments
from dpjax.partitions._nested import Nested
from dpjax.partitions._spread import Spread

_FEWEST_COLUMNS, _MOST_COLUMNS, _LEAST = 8, 128, 2
"""At most _MOST_COLUMNS numbers are compared: those whose differences are no chance, but at least
_FEWEST_COLUMNS. Thousands of words occur in texts, and a score of many words that differ by chance
in the outputs from which it was learned looks better than a word that really differs. Each number
occurs in at least _LEAST of the outputs from which it was chosen.
"""


_PLACE, _COUNT = re.compile(r"\[.(?:last|\w+ \d)"), re.compile(r"\[.(?:number|count) of ")
"""Patterns of the beginning of the path of a number of a place in an output, such as
"['entry 20']", and of a count, such as "['number of entries']".
"""

_SINGLE = re.compile(r"\[.(?:count of|contains) (?!.* before )")
"""Pattern of the path of a number that shows how often one label occurs. There is a score of these
numbers alone, because the numbers of pairs and places are many more, and differ less.
"""

_MOST_SCORED = 2**15
"""Scores of all numbers use the numbers that occur in the most outputs, at most _MOST_SCORED."""


class SpreadOfSummaries(NamedTuple):
    """Scores of all numbers in a summary; see `Spread`.

    Attributes:
        places: Row of each number in the weights, by path.
        spread: The scores.
        paths: Path of each score.
    """

    places: dict[str, int]
    spread: Spread
    paths: tuple[str, ...]

    @classmethod
    def of(cls, names: Sequence[str], spread: Spread) -> Self:
        """Return the scores without the numbers whose weights are all 0."""
        (used,) = np.nonzero(spread.weights.any(axis=1))
        places = {names[row]: place for place, row in enumerate(used.tolist())}
        largest = tuple(places[names[row]] for row in spread.largest)
        kept = Spread(spread.weights[used], spread.shift, largest)
        return cls(places, kept, kept.paths([name_of_path(names[int(used[n])]) for n in largest]))

    def scores(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """Return each score of a summary by path."""
        known = [(self.places[path], v) for path, v in numbers.items() if path in self.places]
        places = [place for place, _ in known]
        values = clipped(np.array([value for _, value in known], float))
        sums = (self.spread.weights[places] * values[:, None]).sum(axis=0) - self.spread.shift
        return dict(zip(self.paths, sums.tolist(), strict=True))

    def to_plain(self) -> JsonObject:
        """Return the scores as JSON values."""
        return {"names": [*self.places], "paths": list(self.paths), **self.spread.to_plain()}

    @classmethod
    def restored(cls, plain: JsonObject) -> Self:
        """Restore the scores that `to_plain` returned."""
        places = {str(name): place for place, name in enumerate(plain["names"])}
        return cls(places, Spread.restored(plain), tuple(map(str, plain["paths"])))


class Choice(NamedTuple):
    """The numbers of summaries to compare.

    Attributes:
        paths: Paths of the chosen numbers, from the largest difference to the least.
        candidates: Number of the numbers from which they were chosen.
        reliable: Number of the first chosen numbers whose differences are no chance. If there are
            few candidates, these are all chosen numbers.
        spread: Scores of all numbers, or None if these do not differ.
    """

    paths: list[str]
    candidates: int
    reliable: int
    spread: SpreadOfSummaries | None


def compared(sides: Sequence[Sequence[Nested]], folds: Sequence[np.ndarray]) -> Choice:
    """Choose the numbers that differ most between the two sides, in standard errors.

    Args:
        sides: Summaries of both sides. A number that a summary lacks counts as 0.
        folds: Fold of each summary, int [n] for each side.
    """
    times = Counter(path for one in chain(*sides) for path in one.entries)
    paths = sorted((path for path, count in times.items() if count >= _LEAST), key=_complexity)
    tables = [_table(side, paths) for side in sides]
    moments = Moments.of(tables, folds)
    order, reliable = moments.by_difference()
    reliable = min(reliable, _MOST_COLUMNS)
    chosen = order[: max(reliable, _FEWEST_COLUMNS)]

    often = np.ones(len(paths), bool)
    by_times = np.argsort([-times[path] for path in paths], kind="stable")
    often[by_times[_MOST_SCORED:]] = False
    single = often & np.array([_SINGLE.match(path) is not None for path in paths], bool)
    spread = Spread.of(tables, folds, moments, [single, often])
    return Choice(
        [paths[place] for place in chosen],
        len(paths),
        len(chosen) if len(paths) <= _MOST_COLUMNS else reliable,
        None if spread is None else SpreadOfSummaries.of(paths, spread),
    )


def _table(side: Sequence[Nested], paths: Sequence[str]) -> sparse.csr_array:
    """Return the numbers of summaries, float64 [n, paths]."""
    places = {path: place for place, path in enumerate(paths)}
    rows, columns, numbers = [], [], []
    for row, one in enumerate(side):
        for path, number in zip(one.entries, one.numbers, strict=True):
            if path in places:
                rows.append(row)
                columns.append(places[path])
                numbers.append(number)
    found = clipped(np.array(numbers, float)), (np.array(rows, int), np.array(columns, int))
    return sparse.csr_array(found, shape=(len(side), len(paths)))


def _complexity(path: str) -> tuple[bool, bool, int, str]:
    """Return a key by which names that are easier to understand are sorted before others.

    If the numbers of two names differ equally, the first name is preferred: "number of entries" to
    "different entries", and any number of the whole output to one of a place, such as "entry 20".
    """
    return _PLACE.match(path) is not None, _COUNT.match(path) is None, len(path), path
