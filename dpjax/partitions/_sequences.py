"""Numbers that summarize sequences, sets and texts."""

import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dpjax.partitions._features import clipped
from dpjax.partitions._records import label_text, number_of
from dpjax.partitions._summary import Targets

MOST_PLACES = 64
"""Largest number of entries of a sequence that are compared place by place."""

_FEW, _MOST_PLACES_OF_FEW = 16, 512
"""If a sequence has at most _FEW different labels, up to _MOST_PLACES_OF_FEW entries are compared
place by place. Otherwise, there would be too many combinations of a place and a label.
"""

_LONGEST_WORD, _MOST_PAIRS = 256, 1_000
"""Largest number of characters of a text without spaces that is compared character by character,
and the largest number of adjacent entries that are counted.
"""

_NUMBER = re.compile(r"(?<!\w)[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"\w+|[^\w\s]")
_CAPITAL = re.compile("[A-Z]")
"""Patterns of a number, of a word and of a capital letter in a text. A punctuation mark counts as a
word. A hyphen after a word or a number, as in 1970-01-31, is no minus sign. Digits that follow a
letter, as in "user17", belong to the word.
"""

Runs = tuple[Sequence[Hashable], Sequence[Hashable]]
"""For each of two texts, an object for each run of words. Equal runs have equal objects."""


def of_numbers(entries: Sequence[float], noun: str, where: str = "") -> dict[str, float]:
    """Return statistics of a sequence of numbers, and its first numbers.

    Args:
        entries: The numbers. NaN and infinities are left out of the statistics.
        noun: Word for an entry, such as "entry".
        where: Words after each name, such as " in answer", if the sequence is only a part.
    """
    numbers = np.array(entries, np.float64)
    finite = np.sort(clipped(numbers[np.isfinite(numbers)]))
    found: dict[str, float] = {f"number of {plural(noun)}{where}": len(entries)}
    if len(finite) < len(numbers):
        found[f"number of {plural(noun)} that are not finite{where}"] = len(numbers) - len(finite)
    if finite.size > 1:
        found |= {
            f"mean {noun}{where}": float(finite.mean()),
            f"median {noun}{where}": float(finite[finite.size // 2]),
            f"deviation of {plural(noun)}{where}": float(finite.std()),
            f"smallest {noun}{where}": float(finite[0]),
            f"largest {noun}{where}": float(finite[-1]),
            f"different {plural(noun)}{where}": len(np.unique(finite)),
        }
    for place, number in enumerate(numbers[:MOST_PLACES].tolist()):
        if np.isfinite(number):
            found[f"{noun} {place}{where}"] = number
    if np.isfinite(numbers[-1:]).all() and finite.size > 1:
        found[f"last {noun}{where}"] = float(numbers[-1])
    return found


def of_labels(labels: Sequence[str], noun: str, where: str = "") -> dict[str, float]:
    """Return how often labels and pairs of adjacent labels occur in a sequence, and where."""
    counts = Counter(labels)
    found: dict[str, float] = {
        f"number of {plural(noun)}{where}": len(labels),
        f"different {plural(noun)}{where}": len(counts),
    }
    found |= {f"count of {label}{where}": count for label, count in counts.items()}
    pairs = Counter(pairwise(labels[:_MOST_PAIRS]))
    found |= {f"count of {one} before {two}{where}": count for (one, two), count in pairs.items()}
    most_places = _MOST_PLACES_OF_FEW if len(counts) <= _FEW else MOST_PLACES
    for place, label in enumerate(labels[:most_places]):
        found[f"{noun} {place} is {label}{where}"] = 1
    if labels:
        found[f"last {noun} is {labels[-1]}{where}"] = 1
    return found


def of_entries(entries: Collection[Any], targets: Targets, where: str = "") -> dict[str, float]:
    """Return the numbers that summarize a sequence of numbers or labels, or a set."""
    numbers = [number_of(entry) for entry in entries]
    known = [number for number in numbers if number is not None]
    found: dict[str, float] = {f"number of entries{where}": len(entries)}
    if isinstance(entries, Sequence):
        if len(known) == len(numbers):
            found |= of_numbers(known, "entry", where)
        if len(known) < len(numbers) or len({*known}) < len(known):
            found |= of_labels([text_of(entry) for entry in entries], "entry", where)
    else:
        found |= {f"contains {text_of(entry)}{where}": 1 for entry in entries}
        if known:
            found |= of_numbers(sorted(known), "member", where)
    for name, target in targets.items():
        text = text_of(target)
        if (count := sum(text_of(entry) == text for entry in entries)) > 0:
            found[f"count of {name}{where}"] = count
    return found


def of_text(text: str, targets: Targets, where: str = "") -> dict[str, float]:
    """Return the numbers that summarize a text: the numbers in it, and how often words occur.

    A short text without spaces is summarized by its characters instead of its words.
    """
    found: dict[str, float] = {f"number of characters{where}": len(text)}
    if (capitals := _capitals(text)) > 0:
        found[f"number of capitals{where}"] = capitals
    for place, number in enumerate(_NUMBER.findall(text)[:MOST_PLACES]):
        found[f"number {place}{where}"] = float(clipped(np.array(float(number))))
    words = words_of(text)
    if len(text) <= _LONGEST_WORD and len(text.split()) <= 1:
        found |= of_labels([repr(character) for character in text], "character", where)
    else:
        found |= of_labels([repr(word) for word in words], "word", where)
    for name, target in targets.items():
        found |= _of_target(name, _text_of_target(target), text, words, where)
    return found


def _capitals(text: str) -> int:
    """Return the number of capital letters."""
    if text.isascii():  # Most texts are, and this is three times as fast.
        return len(_CAPITAL.findall(text))
    return sum(map(str.isupper, text))


def words_of(text: str) -> list[str]:
    """Return the words of a text and its punctuation marks, without its numbers."""
    return _WORD.findall(_NUMBER.sub(" ", text))


def text_of(label: Any) -> str:
    """Return the text of a label in the name of a number."""
    try:
        return label_text(label) or "nothing"
    except RecursionError:
        return f"a deeply nested {type(label).__name__}"


def plural(noun: str) -> str:
    """Return the plural of a noun."""
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def _text_of_target(target: Any) -> str:
    """Return the texts in a record, joined by spaces."""
    if isinstance(target, Mapping):
        target = list(target.values())
    if isinstance(target, list | tuple):
        return " ".join(map(_text_of_target, target))
    return str(target)


def _of_target(
    name: str, target: str, text: str, words: Sequence[str], where: str
) -> dict[str, float]:
    """Return how much of a target a text contains."""
    wanted = _WORD.findall(target)
    words = _WORD.findall(text) if wanted != words_of(target) else words
    common = Counter(wanted) & Counter(words)
    return {
        f"occurrences of {name}{where}": text.count(target) if target else 0,
        f"words in common with {name}{where}": common.total(),
        f"longest run of words of {name}{where}": _longest_run(wanted, words),
    }


def _longest_run(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest sequence of adjacent words that occurs in both texts.

    The time is proportional to n log(n) for texts of n words: runs of the lengths 1, 2, 4, and so
    on are numbered, and the longest run is put together from runs of these lengths.
    """
    runs: Runs = (one, other)
    doubled: list[Runs] = []
    while not {*runs[0]}.isdisjoint(runs[1]):
        doubled.append(runs)
        runs = _joined(runs, runs, 2 ** len(doubled) // 2)
    longest = 0
    for power, shorter in reversed([*enumerate(doubled)]):
        longer = _joined(runs, shorter, longest) if longest else shorter
        if not {*longer[0]}.isdisjoint(longer[1]):
            runs, longest = longer, longest + 2**power
    return longest


def _joined(first: Runs, second: Runs, length: int) -> Runs:
    """Number the runs that consist of a run of some length and of the run after it.

    Args:
        first: For each text, the run that begins at each word.
        second: The same for runs of another length.
        length: Number of words of the first runs.
    """
    numbers: dict[tuple[Hashable, Hashable], int] = {}
    one, other = (
        [numbers.setdefault(both, len(numbers)) for both in zip(start, end[length:], strict=False)]
        for start, end in zip(first, second, strict=True)
    )
    return one, other
