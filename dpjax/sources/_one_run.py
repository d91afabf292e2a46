"""Scores of canaries from a single run, for audits that guess which canaries were included."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpjax.core.options import option
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType, BadValue, Doubt, Sentence, term
from dpjax.sources._fair_coins import array_of, coins_from, doubts_about_half, refuse_unfair
from dpjax.sources._plain import files_of, known_options, place_of, stated_options
from dpjax.sources._source import Source, Trust
from dpjax.sources.readers._entries import MissingEntry
from dpjax.sources.readers._recording import Recording

FEWEST = 20
"""Minimum number of canaries in a run."""

_SCORES = term("scores", "--score")
"""Name of the scores in messages; the option names a single column."""

_INSTEAD = {
    "scores": (
        _SCORES,
        "write a number that does not depend on the coin in place of each missing score, such as "
        "the lowest score",
    ),
    "included": (term("included"), "write 1 or 0, or leave out canaries whose coins are unknown"),
}
"""Names of the scores and coins in messages, and what to write in place of a missing one."""

_INEXACT = 2.0**53
"""Integers from here on are not all exact in float64."""

_WORDS = {"true": True, "false": False, "1": True, "0": False}


class GuessedCanaries(Source):
    """Base class for sources of canary scores."""

    takes_pairs: ClassVar[bool] = False
    has_canaries: ClassVar[bool] = True
    usual_method: ClassVar[str] = "guesses"

    def refuses(self, method: str) -> str | None:
        """Refuse all methods that need outputs from two databases; see `Source`."""
        if method == self.usual_method:
            return None
        return Sentence(
            f"scores of canaries from one run come without a second database: use "
            f"{term('method=Guesses()', '--method guesses')}, or record scores with and without a "
            f"canary as {term('Recorded(x, y)', '--samples X Y')}."
        )


@dataclass(frozen=True, eq=False)
class OneRun(GuessedCanaries):
    """Canary scores from one run, in which fair coins decided which canaries were included.

    A separate fair coin must have been tossed for every canary, independently of everything else.
    The scores may be computed from the run's output in any way that does not use the coins. The
    scores may depend on each other. The canaries of several runs may be audited together, if each
    run tossed its own coins.

    If there are several numbers per canary, such as its losses after several epochs, the audit
    reveals some coins, from which it learns how to combine the numbers into a score.

    Attributes:
        scores: Score of each canary, [n], several numbers per canary, [n, d], or a
            `dpjax.Recording` of one or more columns of a file. A single score should be higher if
            the canary is more likely to have been included.
        included: Whether each canary was included, bool [n]; or a `dpjax.Recording` of a column
            of 0 and 1, or of true and false.
        fair_coins: Set to True to state that a separate coin was tossed for every canary. Without
            this statement, the verdict is "doubtful" if exactly half of the canaries were included.
        name: Name of the run in the result.

    Raises:
        ValueError: If there are fewer than 20 canaries, if a score is NaN, if all scores are
            equal, if `included` does not look like the results of fair coins, or if the scores and
            the coins are the same column of a file.
        TypeError: If `included` is not boolean, or if the scores are not numbers.

    References:
        Steinke, Nasr, Jagielski (2023).
    """

    scores: object
    included: object
    fair_coins: bool = option(
        "Every canary had its own coin, although exactly half of the canaries were included.",
        default=False,
        flag="--fair-coins",
    )
    name: str = "one run"  # pyright: ignore[reportIncompatibleMethodOverride]
    kind: ClassVar[str] = "one_run"
    asked: ClassVar[tuple[str, str]] = (
        "File with scores of canaries from one run (csv, tsv, txt, jsonl, parquet, ...); --score "
        "and --included name its columns. Files of several runs, separated by commas, are audited "
        "together if each run tossed its own coins.",
        "FILE",
    )
    # The command line reads the next two values from the source code of this class, without an
    # import.
    takes_pairs: ClassVar[bool] = False
    usual_method: ClassVar[str] = "guesses"

    def __post_init__(self):
        if isinstance(self.scores, Recording) and isinstance(self.included, Recording):
            columns = self.scores.column
            several = isinstance(columns, list | tuple)
            every = columns if several else [columns]
            if self.included in [replace(self.scores, column=column) for column in every]:
                raise BadValue(
                    f"{_SCORES} must not be the same column as {term('included')}, because scores "
                    f"must be computed without the coins, but both were {self.included.column!r}."
                )
        if not isinstance(self.scores, Recording) and not isinstance(self.included, Recording):
            self.canaries()

    def canaries(
        self, words: Sequence[int] = (), run: int = 0
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the validated scores, [n] or [n, d], and the coins; see `Source`."""
        scores, included = scores_of(_read("scores", self.scores)), self._coins()
        if len(scores) != len(included):
            raise BadValue(
                f"included must have one entry per score, but had {len(included)} entries for "
                f"{len(scores)} scores."
            )
        refuse_unfair(included, "included", "canaries", "were included")
        return scores, included

    def doubts_about(self, included: NDArray[np.bool_]) -> list[Doubt]:
        """Return a doubt if exactly half of the canaries were included; see `Source`."""
        return [] if self.fair_coins else doubts_about_half(included, "canaries", "were included")

    def _coins(self) -> NDArray[np.bool_]:
        if not isinstance(self.included, Recording):
            return coins_from("included", self.included, "canaries")
        found = _read("included", self.included)
        words = [str(word).strip().lower().removesuffix(".0") for word in found.tolist()]
        strange = next((word for word in words if word not in _WORDS), None)
        if strange is not None:  # An empty field is a strange word, too.
            raise BadValue(
                f"included must be a column of 1 and 0, or of true and false, but held {strange!r}."
            )
        return np.array([_WORDS[word] for word in words], bool)

    def to_plain(self) -> JsonObject | None:
        """Return the files and columns of the scores and coins, and the options; see `Source`."""
        sides = {name: files_of(getattr(self, name)) for name in ("scores", "included")}
        return None if None in sides.values() else {**sides, **stated_options(self)}

    @classmethod
    def from_plain(cls, content: JsonObject, database: object, trust: Trust) -> Self:
        """Create the source from files of scores and coins; see `Source`."""
        scores, included = (
            Recording(*place_of(content.pop(name, None))) for name in ("scores", "included")
        )
        return cls(scores, included, **known_options(cls, content))


def _read(name: str, given: object) -> NDArray:
    """Return scores, or the column of coins in a file, as an array."""
    word, instead = _INSTEAD[name]
    if not isinstance(given, Recording):
        return array_of(name, given, "canaries", instead)
    try:
        return np.concatenate(list(given.chunks()))
    except MissingEntry as error:
        raise BadValue(f"{word} must not be missing, but {error.found}: {instead}.") from None


def scores_of(found: NDArray, name: str = _SCORES) -> NDArray[np.float64]:
    """Validate the scores of one run, and return them as numbers, [n] or [n, d].

    Args:
        found: The scores.
        name: Name of the scores in messages.

    Raises:
        TypeError: If the scores are not numbers, or have more than two dimensions.
        ValueError: If there are fewer than 20 canaries, if a score is NaN, or if all are equal.
    """
    if found.dtype.kind not in "fiu":
        raise BadType(f"{name} must be numbers, but were of type {found.dtype}.")
    found = found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found
    if found.ndim not in (1, 2) or 0 in found.shape[1:]:
        raise BadType(
            f"{name} must come from one run, with one or more numbers per canary, shape [n] or "
            f"[n, d], but had shape {found.shape}."
        )
    if len(found) < FEWEST:
        raise BadValue(
            f"there must be scores of at least {FEWEST} canaries from one run, of the shape [n] or "
            f"[n, d], but there were {len(found)}, of the shape {list(found.shape)}."
        )
    scores = _as_floats(found)
    if np.isnan(scores).any():
        _, instead = _INSTEAD["scores"]
        raise BadValue(f"{name} must not be NaN, but {np.isnan(scores).sum()} were: {instead}.")
    if (scores == scores[0]).all():
        said = ", ".join(f"{number:g}" for number in np.atleast_1d(found[0]))
        raise BadValue(f"{name} must differ, but all were {said}.")
    return scores


def _as_floats(found: NDArray) -> NDArray[np.float64]:
    """Return numbers as float64; columns of integers that float64 would round become ranks."""
    scores = found.astype(np.float64)
    if found.dtype.kind in "iu" and np.abs(scores).max() >= _INEXACT:
        columns = found.reshape(len(found), -1).T
        ranks = [np.unique(column, return_inverse=True)[1] for column in columns]
        scores = np.stack(ranks, axis=1).reshape(found.shape).astype(np.float64)
    return scores
