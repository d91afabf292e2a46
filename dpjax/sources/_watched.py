"""Encoded outputs of a host mechanism, and detection of repeated or shared noise."""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, partial
from hashlib import blake2b
from typing import Any, TypeGuard

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.core.wording import NOTHING, Doubt, Unvaried
from dpjax.notions import RepeatedRuns
from dpjax.partitions import Encoder, Outputs
from dpjax.partitions.missing import FAILED, Raised
from dpjax.partitions.targets import targets_of
from dpjax.sources._between_batches import BetweenBatches
from dpjax.sources._counting import Tally
from dpjax.sources._pairs import AnyPairs
from dpjax.sources._repeats import LEAST_NATS, Repeats, content_of, nats_of
from dpjax.sources._schedule import Draw, Restarted, Span
from dpjax.sources._time_limit import Quota, next_size
from dpjax.sources.streams import CONFIRM, NUM_STAGES, SEARCH

_BEGINNINGS = (100, 1000)
"""Numbers of outputs. For each number k in this tuple, the first k outputs of a batch are compared
with the first k outputs of other batches from the same side.
"""

_MANY_FAILED = 0.5
"""If at least this fraction of the calls for each side failed, the note on errors adds advice."""


def encoders_of(source: Any, pairs: AnyPairs) -> list[Encoder]:
    """Return an encoder for each pair, so that the cells of a pair do not depend on other pairs."""
    found = [source.encoder() for _ in range(len(pairs))]
    for encoder, *sides in zip(found, *pairs.sides, strict=True):
        encoder.targets = cache(partial(targets_of, *sides))
    return found


class Watched:
    """Encoded batches of a host mechanism's outputs, and detection of repeated noise.

    Args:
        draw: Function that draws raw outputs.
        encoders: Encoder of each pair's outputs.
        pairs: Pairs of databases.
        seed: Tuple (the two words of the audit's key, index of the run).
        tally: Counts and progress of the audit.
        settings: Options of the source that affect the result.

    Attributes:
        taken: Map from (pair, side) to a tuple (number of outputs drawn so far, duration of these
            draws in seconds).
    """

    def __init__(
        self,
        draw: Draw,
        encoders: Sequence[Encoder],
        pairs: AnyPairs,
        seed: tuple[tuple[int, ...], int],
        tally: Tally,
        settings: JsonObject,
    ):
        self._draw, self._encoders, self._pairs = draw, encoders, pairs
        self._settings = settings
        (self._key, self._run), self._tally = seed, tally
        self.taken: dict[tuple[int, int], tuple[int, float]] = {}
        self._seen: dict[tuple[int, int, bytes], tuple[int, int]] = {}
        self._between: defaultdict[tuple[int, int], BetweenBatches] = defaultdict(BetweenBatches)
        # The first output of each (pair, side), or None if a different output has occurred.
        self._constant: dict[tuple[int, int], tuple[float, ...] | None] = {}
        # Number of calls for each (pair, side) that ended with an error.
        self._failed: dict[tuple[int, int], int] = {}
        self._errors: dict[int, Raised] = {}  # The first error of each pair.

    def words(self, pair: int, side: int, stage: int) -> tuple[int, ...]:
        """Return the integers that seed the outputs of one side in one stage."""
        return (*self._key, pair, side, stage + NUM_STAGES * self._run)

    def batches(
        self, pair: int, side: int, stage: int, quota: Quota, first: int = 0, done: int = 0
    ) -> Iterator[Outputs]:
        """Yield batches from one side of a pair until all outputs are drawn or time runs out.

        The outputs are those from index `first` on. The first `done` of them are already known and
        therefore skipped.
        """
        database, words = self._pairs.sides[side][pair], self.words(pair, side, stage)
        count, before = self.taken.get((pair, side), (0, 0.0))
        spent, last, number = 0.0, time.perf_counter(), first + done
        # Begin with as many outputs as there were so far, whose pace is known, unless the size of a
        # batch affects the checks of batches.
        size, earlier = count if quota.alone else 0, before / max(count, 1)

        def cut() -> int:
            # Workers ask for batches before the first batch is drawn, so `size` is that of the last
            # batch that was drawn.
            assert quota.cut is not None and quota.target is not None
            recent = number - first - done
            pace = spent / recent if recent else earlier
            return next_size(size, pace, quota.cut, quota.target)

        def over() -> bool:
            return quota.seconds is not None and number > first + done and spent >= quota.seconds

        outputs = range(first, first + quota.num_samples)
        most = quota.cut if quota.target is None else cut
        span = Span(outputs, words, self._tally.saw, most, done, over)
        encoder = self._encoders[pair]
        for drawn in self._draw(database, span):
            size = len(drawn)
            for raw in encoder.apart(drawn) if quota.alone else [drawn]:
                encoded = encoder.encode(raw)
                # The batches of outputs that are encoded alone depend on the durations of calls.
                where = None if quota.alone else (stage, number)
                self._watch(encoder.padded(encoded), pair, side, where)
                if self._failed.get((pair, side)) and pair not in self._errors:
                    self._errors[pair] = next(filter(_is_raised, raw), Raised(FAILED))
                number += len(encoded.labels)
                self._tally.searched += len(encoded.labels) * (stage != CONFIRM)
                # Measure only the time of this side, since the two sides are drawn alternately.
                spent += time.perf_counter() - last
                count += len(encoded.labels)
                self.taken[pair, side] = count, before + spent
                yield encoded
                last = time.perf_counter()

    def streams(self) -> list[list[tuple[int, float]]]:
        """Return, for each pair and side, the number of outputs and the duration in seconds."""
        return [[self.taken[pair, side] for side in (0, 1)] for pair in range(len(self._pairs))]

    def notes(self, pair: int, known: Sequence[str] = ()) -> list[str]:
        """Return doubts about a pair's batches, and a note if its outputs are constant.

        Args:
            pair: Index of the pair.
            known: Notes on the pair. If they contain a doubt, no doubt about batches is added.
        """
        is_doubted = any(isinstance(note, Doubt) for note in known)
        doubts = [] if is_doubted else self._doubts(pair)
        return [*doubts, *self.unvaried(pair)]

    def _doubts(self, pair: int) -> list[Doubt]:
        """Return a doubt for each side whose batches have different distributions."""
        name, batched = self._encoders[pair].source, bool(self._settings.get("batched"))
        found = [
            self._between[pair, side].doubt(f"{name} ({where})", 2 * len(self._pairs), batched)
            for side, where in enumerate(("database", "neighbor"))
        ]
        return [doubt for doubt in found if doubt is not None]

    def unvaried(self, pair: int) -> list[Unvaried]:
        """Return a note if a pair's outputs are constant on both sides."""
        if not self._is_constant(pair):
            return []
        first, second = (self.taken[pair, side][0] for side in (0, 1))
        errors = self._error(pair, 0), self._error(pair, 1)
        label, failure, told = self._pairs.labels[pair], self._failure(), self._told([pair])
        return [Unvaried((first, second), label, failure, errors, told)]

    def failures(self, pairs: Sequence[int]) -> list[str]:
        """Return a note if any call for some pairs ended with an error.

        Args:
            pairs: Indices of the pairs. Pairs with constant outputs are left out, because
                `unvaried` describes them.
        """
        pairs = [pair for pair in pairs if not self._is_constant(pair)]
        failed = [sum(self._failed.get((pair, side), 0) for pair in pairs) for side in (0, 1)]
        if not any(failed):
            return []
        calls = [sum(self.taken[pair, side][0] for pair in pairs) for side in (0, 1)]
        told, several = self._told(pairs), len(pairs) > 1
        if min(failed[0] / calls[0], failed[1] / calls[1]) >= _MANY_FAILED:
            told += (
                " If these errors should not occur, the audit says little about the other outputs."
            )
        return [
            f"{failed[0]:,} of {calls[0]:,} calls for the "
            f"{f'databases of {len(pairs)} pairs' if several else 'database'} ended with an error, "
            f"and {failed[1]:,} of {calls[1]:,} calls for "
            f"{'their neighbors' if several else 'its neighbor'}.{told}"
        ]

    def _is_constant(self, pair: int) -> bool:
        return all(self._constant.get((pair, side)) is not None for side in (0, 1))

    def _told(self, pairs: Sequence[int]) -> str:
        """Return a sentence about the first error of some pairs, or "" if there was none."""
        error = next((self._errors[pair] for pair in pairs if pair in self._errors), None)
        if not error or error == FAILED:
            return ""
        said = f"{error.removeprefix(FAILED)}{': ' if error.message else ''}{error.message}"
        return f" The first error was {said}{'' if said.endswith('.') else '.'}"

    def _failure(self) -> str | None:
        """Return the error or NOTHING if it is the only outcome of all pairs; otherwise None."""
        (only, *others) = {self._only(pair, side) for pair, side in self._constant}
        return only if not others and (only == NOTHING or self._is_error(only)) else None

    def _error(self, pair: int, side: int) -> str | None:
        """Return the error that is the only outcome of all calls for one side, or None."""
        only = self._only(pair, side)
        return only if self._is_error(only) else None

    def _only(self, pair: int, side: int) -> str | None:
        """Return the label that is the only outcome of all calls for one side, or None."""
        only = self._constant[pair, side]
        return None if only is None else self._encoders[pair].names[int(only[0])]

    @staticmethod
    def _is_error(name: str | None) -> bool:
        return name is not None and name.startswith(FAILED)

    def refuse_same(self, pair: int, restarted: Restarted) -> None:
        """Raise an error if two new runs of the mechanism have equal outputs.

        Raises:
            Repeats: If both runs have the same outputs for a database, and these outputs are not
                all equal.
        """
        what, runs = restarted
        for side, raw in enumerate(zip(*runs, strict=True)):
            first, second = map(self._encoders[pair].encode, raw)
            size = min(len(first.labels), len(second.labels))
            nats = nats_of(first, size)
            if content_of(first, size) == content_of(second, size) and nats >= LEAST_NATS:
                raise self._repeats(pair, side, RepeatedRuns(what, size, nats))

    def _repeats(self, pair: int, side: int, counted: RepeatedRuns) -> Repeats:
        one = [[sides[pair]] for sides in self._pairs.sides]
        pairs = AnyPairs((one[0], one[1]), (self._pairs.labels[pair],))
        return Repeats(self._encoders[pair].source, counted, pairs, side, self._settings)

    def _watch(self, outputs: Outputs, pair: int, side: int, where: tuple[int, int] | None) -> None:
        """Raise an error if a batch begins like an earlier batch from the same side.

        There is no error if the same batch is requested a second time.

        `where` is the stage of the batch and the index of its first output, or None for a batch
        that is not compared with others.
        """
        # Compare with the first output of the side, since a batch may hold a single output.
        labels, values = outputs.labels, outputs.values
        only = self._constant.get((pair, side), (float(labels[0]), *values[0].tolist()))
        if only is not None and (values.shape[1] != len(only) - 1 or (labels != only[0]).any()):
            only = None
        if only is not None and (values != only[1:]).any():
            only = None
        self._constant[pair, side] = only
        self._count_errors(outputs, pair, side)
        if where is None:
            return
        self._between[pair, side].add(outputs, self._encoders[pair].names)
        self._refuse_seen(outputs, pair, side, where)

    def begin_again(self, pair: int, pilots: Sequence[Outputs]) -> None:
        """Compare later batches with the first outputs in their new form."""
        for side, outputs in enumerate(pilots):
            self._between[pair, side].begin_again(outputs, self._encoders[pair].names)
            self._refuse_seen(outputs, pair, side, (SEARCH, 0))

    def _refuse_seen(self, outputs: Outputs, pair: int, side: int, where: tuple[int, int]) -> None:
        for size in _BEGINNINGS:
            if size > len(outputs.labels) or (nats := nats_of(outputs, size)) < LEAST_NATS:
                continue
            digest = blake2b(content_of(outputs, size), digest_size=16).digest()
            if self._seen.setdefault((pair, side, digest), where) != where:
                raise self._repeats(pair, side, RepeatedRuns("batches", size, nats))

    def _count_errors(self, outputs: Outputs, pair: int, side: int) -> None:
        if not outputs.labels.any():  # All outputs are numbers.
            return
        names = self._encoders[pair].names
        errors = [kind for kind in np.unique(outputs.labels) if names[kind].startswith(FAILED)]
        failed = int(np.isin(outputs.labels, errors).sum())
        self._failed[pair, side] = self._failed.get((pair, side), 0) + failed


def _is_raised(raw: object) -> TypeGuard[Raised]:
    return isinstance(raw, Raised) and raw.startswith(FAILED)
