"""Conversion of outputs to summaries, if hardly any of their labels occurs twice.

Labels are only compared for equality. If most of the first outputs have labels that no other output
has, as with texts, then these and all later outputs are summarized, and an audit compares the
numbers in the summaries.
"""

from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.partitions._batches import Outputs, part_of
from dpjax.partitions._chosen import SpreadOfSummaries, compared
from dpjax.partitions._contents import Contents, Kind
from dpjax.partitions._labels import Labels
from dpjax.partitions._lengths import structure_label, whole_label, with_numbers
from dpjax.partitions._metadata import numbers_of_metadata
from dpjax.partitions._nested import SUMMARY, UNUSED, Label, Nested
from dpjax.partitions._records import number_of
from dpjax.partitions._summary import Targets
from dpjax.partitions._wide import MOST_COLUMNS
from dpjax.partitions.summaries import is_nested, summarize_parts

_FEWEST, _SHARE, _RARE = 16, 0.5, 0.05
"""Texts of several words, collections, and dates and other labels that have a value are summarized
if there are at least _FEWEST labels, and if at least the fraction _SHARE of them are such outputs
and occur only once. Numbers and vectors beside them do not count, unless less than the fraction
_RARE of all outputs are labels: an event for a rare label is worth less than a precise event for
the numbers.
"""

_FEWEST_WORDS, _SHARE_OF_WORDS, _OFTEN = 200, 0.99, 8
"""Other labels are summarized if there are at least _FEWEST_WORDS outputs, and if at least the
fraction _SHARE_OF_WORDS of them have a label that occurs only once. A label that occurs at least
_OFTEN times remains a label.
"""

_MOST_COMPARED, _MOST_NUMBERS = 2_000, 2**21
"""The numbers to compare are chosen from the first outputs of each side: at most _MOST_COMPARED
outputs, and about _MOST_NUMBERS numbers in their summaries.
"""


def may_be_summarized(pilots: Sequence[Outputs], lists: bool) -> bool:
    """Return whether so many of the first outputs are unique that they may be summarized."""
    if lists:
        return True
    codes = np.concatenate([pilot.labels for pilot in pilots]) if pilots else np.empty(0, int)
    times = np.bincount(codes)[1:]
    least = max(_FEWEST, _RARE * len(codes))
    return times.sum() >= least and (times == 1).sum() >= _SHARE * times.sum()


class Summarizer:
    """Conversion of outputs, both earlier and later ones, to summaries.

    Args:
        labels: Labels of the outputs that were encoded before.
        contents: First output with each label.
        paths: Path of each column of numbers.
        base: Number of entries of a vector, or None if the outputs have no numbers.
        targets: Function that returns records to look for.

    Attributes:
        kept: The labels that occur often, whose outputs are not summarized.
        chosen: Numbers of the candidates, of the reliable entries and of outputs; see `Entries`.
    """

    def __init__(
        self,
        labels: Labels,
        contents: Contents,
        paths: Sequence[str],
        base: int | None,
        targets: Callable[[], Targets],
    ):
        self.kept = labels.empty()
        self._labels, self._contents = labels, contents.of(labels)
        self._lists = contents.lists
        self._paths, self._base, self._targets = tuple(paths), base, targets
        self._new: dict[int, int] = {}
        self._compared: frozenset[str] = frozenset()
        self._paths_of: dict[str, str] = {}
        self._spread: SpreadOfSummaries | None = None
        self.chosen = (0, 0, 0)

    def columns(
        self, pilots: Sequence[Outputs], folds: Sequence[np.ndarray], least: int
    ) -> tuple[str, ...]:
        """Return the paths of the numbers to compare, or () if labels occur often enough.

        Args:
            pilots: First outputs of both sides.
            folds: Fold of each output, int [n] for each side.
            least: Smallest number of paths. Unused paths are added if there are fewer.
        """
        if not self._choose_labels(pilots):
            return ()
        summaries, rows = zip(*map(self._first_summaries, pilots), strict=True)
        folds = [fold[row] for fold, row in zip(folds, rows, strict=True)]
        # Numbers and vectors beside summaries are compared in any case.
        bare = next((one.entries for one in chain(*summaries) if one.key != SUMMARY), ())
        choice = compared(summaries, folds)
        paths = [*bare, *(path for path in choice.paths if path not in bare)]
        # There are other scores of these numbers if they are too many; see `Wide`.
        self._spread = choice.spread if len(paths) <= MOST_COLUMNS else None
        size = min(map(len, folds))
        self.chosen = choice.candidates, len(bare) + choice.reliable, size
        self._compare(paths)
        if not paths:
            return ()
        scores = () if self._spread is None else self._spread.paths
        number = max(least - len(paths) - len(scores), 0)
        return (*paths, *(f"{UNUSED} {place}" for place in range(number)), *scores)

    def _compare(self, paths: Iterable[str]) -> None:
        """Set the paths of the numbers to compare; the scores must be set before."""
        self._compared = frozenset(paths)
        scored = () if self._spread is None else self._spread.places
        # Most summaries have thousands of other numbers, whose paths are not needed.
        self._paths_of = {_name(path): path for path in chain(self._compared, scored)}

    def _first_summaries(self, pilot: Outputs) -> tuple[list[Nested], list[int]]:
        """Return summaries of the first outputs, and their indices."""
        found, rows, size = [], [], 0
        for row in range(min(len(pilot.labels), _MOST_COMPARED)):
            (one,) = self.forms(part_of(pilot, slice(row, row + 1)))
            if isinstance(one, Nested) and size <= _MOST_NUMBERS:
                found.append(one)
                rows.append(row)
                size += len(one.numbers)
        return found, rows

    def _choose_labels(self, pilots: Sequence[Outputs]) -> bool:
        """Choose the labels to keep, and return whether the other outputs are most outputs."""
        codes = np.concatenate([pilot.labels for pilot in pilots])
        alone = np.concatenate([pilot.alone for pilot in pilots])
        times = np.bincount(codes, minlength=len(self._labels.names))
        known, has_parts = np.zeros((2, len(times)), bool)
        known[[*self._contents]] = True
        has_parts[[label for label, item in self._contents.items() if _has_parts(item)]] = True
        has_parts[0] |= self._lists
        is_unique = (known | has_parts) & ((times == 1) | (np.arange(len(times)) == 0))
        labels = codes[(codes > 0) | has_parts[0]]
        share, share_of_parts = is_unique[labels].mean(), (is_unique & has_parts)[labels].mean()
        if not (
            (len(labels) >= _FEWEST and share_of_parts >= _SHARE)
            or (len(labels) >= _FEWEST_WORDS and share >= _SHARE_OF_WORDS)
        ):
            return False
        beside = np.bincount(codes[~alone], minlength=len(times)) > 0
        kept = (times > 0) & (~known | ((times >= _OFTEN) & ~beside))
        for label in np.flatnonzero(kept)[1 if kept[0] else 0 :].tolist():
            self._keep(label)
        return True

    def _keep(self, label: int) -> int:
        """Return the new index of a label whose outputs are not summarized."""
        if label not in self._new:
            self._contents.pop(label, None)
            value, name = self._labels.values[label - 1], self._labels.names[label]
            self._new[label] = self.kept.of(value, name)
        return self._new[label]

    def forms(self, outputs: Outputs) -> list[Kind]:
        """Return outputs that were encoded before the outputs were summarized in their new form."""
        found: list[Kind] = []
        for label, row, alone in zip(*(part.tolist() for part in outputs), strict=True):
            if label in self._contents:
                # Other outputs with the same label have other numbers, unless it stands alone.
                item = self._contents[label]
                names = numbers_of_metadata(item)
                if not alone:
                    item = with_numbers(item, dict(zip(self._paths, row, strict=False)))
                found.append(self._nested(summarize_parts(item, self._targets()) | names))
            else:
                found.append(self._keep(label) if label else self.bare(tuple(row[: self._base])))
        return found

    def form(
        self, item: object, found: Label | tuple[float, ...] | Nested
    ) -> Label | tuple[float, ...] | Nested:
        """Return the form of a later output: a summary, unless it is a number or a kept label."""
        if isinstance(found, Label):
            label = found.value
        elif isinstance(found, Nested) and not found.is_named:
            label = structure_label(found)
        else:
            return found
        is_whole = isinstance(found, Nested) and self.kept.known(whole_label(found))
        if is_whole or self.kept.known(label):
            return found
        return self._nested(summarize_parts(item, self._targets()) | numbers_of_metadata(item))

    def bare(self, row: tuple[float, ...]) -> Nested:
        """Return the form of a number or a vector beside outputs that are summarized."""
        if self._lists:  # A number counts as a list of one number.
            return self._nested(summarize_parts(list(row), self._targets()))
        return Nested.bare(row)

    def _nested(self, summary: Mapping[str, float]) -> Nested:
        if self._paths_of:
            known = [(self._paths_of.get(name), number) for name, number in summary.items()]
            every = {path: float(number) for path, number in known if path is not None}
            found = {path: number for path, number in every.items() if path in self._compared}
        else:
            found = every = {_path(name): float(number) for name, number in summary.items()}
        if self._spread is not None:
            found |= self._spread.scores(every)
        return Nested(SUMMARY, tuple(found.values()), tuple(found), True, SUMMARY, is_named=True)

    def to_plain(self) -> JsonObject:
        """Return the form of later outputs as JSON values."""
        spread = None if self._spread is None else self._spread.to_plain()
        return {
            "lists": self._lists,
            "compared": sorted(self._compared),
            "chosen": list(self.chosen),
            "spread": spread,
        }

    @classmethod
    def restored(
        cls, plain: JsonObject, kept: Labels, targets: Callable[[], Targets]
    ) -> "Summarizer":
        """Restore the form of later outputs."""
        found = cls(kept, Contents(), (), None, targets)
        found.kept = kept
        found._lists = bool(plain["lists"])
        candidates, reliable, size = map(int, plain["chosen"])
        found.chosen = candidates, reliable, size
        if plain["spread"] is not None:
            found._spread = SpreadOfSummaries.restored(plain["spread"])
        found._compare(plain["compared"])
        return found


def _has_parts(item: object) -> bool:
    """Return whether an output is a text of several words, a collection, or has a value."""
    return is_nested(item) or number_of(item) is not None


@lru_cache(2**16)
def _path(name: str) -> str:
    """Return the path of a number in a summary. Equal names share one path in memory."""
    return f"[{name!r}]"


def _name(path: str) -> str:
    """Return the name of a number whose path `_path` returned, and any other path unchanged."""
    try:
        (name,) = literal_eval(path)
    except (SyntaxError, ValueError, TypeError):
        return path
    return name if isinstance(name, str) else path
