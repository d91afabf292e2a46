"""Plans for how many outputs to draw within a time limit, given the measured time per output.

Part of the time limit is spent on draws that measure the time per output. These draws are then
discarded. The rest of the time is divided between search and confirmation. The number of draws in
each stage is fixed before the first draw of the stage.
"""

import time
from collections.abc import Sequence
from math import ceil, floor, log10
from typing import NamedTuple, Protocol, Self

from dpjax.core.wording import BadValue, term
from dpjax.sources._schedule import Draw, Span

_MEASURE_SHARE = 0.25
"""Maximum share of the time limit that the measurement of the time per output may take."""

_PROBE_SHARE = 0.1
"""If the first outputs from a database take more than this share of the time limit, the measurement
for this database stops. The time per output for this database is then determined from the duration
of these outputs alone.
"""

_SLOWER, _MOST_PROBED = 3.0, 40
"""Constants for measuring the time per output on databases other than the first one. Only the first
_MOST_PROBED databases are tried. If outputs from one of these databases take more than _SLOWER
times as long as expected, the time per output is measured in detail for this database.
"""

_BATCH_SHARE = 0.01
"""Target duration of a batch, as a share of the time limit, if batches may have any size."""

_PLENTY = 0.2
"""If the whole audit is expected to take less than this share of the time limit, time is plentiful,
and the measurement of the time per output stops.
"""

_MARGIN = 0.85
"""Maximum share of the remaining time that the planned draws are expected to take."""

_ALIKE = 1.3
"""Maximum ratio of the two sides' times per output for which the two sides may have different
numbers of outputs. At a ratio of 1.3, unequal numbers take at most 1.10 times as long to draw as
equal numbers with the same total.
"""

_CUT, _LIMITED_CUT = 1000, 32
"""Maximum numbers of outputs per batch if each output needs its own call: without a time limit for
the draws, and with one. A batch is finished even if its calls take longer than expected.
"""

_EACH = 0.02
"""Duration of a batch, in seconds, if each output is counted as if it came alone. An interrupt or a
time limit discards the outputs of one batch, so the duration is short.
"""

_LIMITED_SHARE, _LEAST_BATCH, _MOST_BATCH = 0.25, 1e-3, 1e-2
"""Duration of a batch if the draws have a time limit: the share of the time limit, and the minimum
and maximum in seconds.
"""

_LEAST_SEARCH, _LEAST_CONFIRM = 30, 50
"""Minimum number of samples per side in the search, and minimum number in the confirmation."""


class Quota(NamedTuple):
    """The number of outputs to draw in a round, and limits on the batch size and the time.

    Attributes:
        num_samples: Number of outputs on each side of each pair.
        cut: Maximum number of outputs per batch, or None if the outputs depend on the batch size.
        seconds: Drawing time, in seconds, after which no further batch is drawn for a side of a
            pair; or None for no limit.
        target: Duration of a batch in seconds. The first batch has one output, and later batches
            grow up to `cut` outputs as long as they are expected to take at most this long. None
            for batches of `cut` outputs.
        alone: Whether each output is encoded as if it came alone, so that an audit does not depend
            on the division of its outputs into batches, which depends on their durations.
    """

    num_samples: int
    cut: int | None
    seconds: float | None
    target: float | None = None
    alone: bool = False

    @classmethod
    def of(cls, batched: bool, wanted: int, seconds: float | None, *, each: bool = False) -> Self:
        """Return the quota of a round whose time per output is not measured.

        Args:
            batched: Whether one call returns many outputs.
            wanted: Number of samples per side of each pair.
            seconds: Time limit for a side of a pair in seconds, or None for no limit.
            each: Whether each output is encoded as if it came alone.
        """
        if batched:
            return cls(wanted, None, seconds)
        if each or seconds is None:
            return cls(wanted, _CUT, seconds, _EACH if each else None, each)
        target = min(max(_LIMITED_SHARE * seconds, _LEAST_BATCH), _MOST_BATCH)
        return cls(wanted, _LIMITED_CUT, seconds, target)


def next_size(size: int, seconds: float, most: int, target: float) -> int:
    """Return the number of outputs for the next batch if batches grow up to a target duration.

    Args:
        size: Number of outputs in the last batch, or 0 for the first batch.
        seconds: Time per output so far, in seconds.
        most: Maximum number of outputs per batch.
        target: Maximum expected duration of a batch, in seconds.
    """
    fitting = most if seconds * most <= target else int(target / seconds)
    return max(min(2 * size, fitting), 1)


class TooShort(BadValue):
    """An error that states that a time limit allows too few outputs."""


class Timed(Protocol):
    """A mechanism with a time limit; see `dpjax.sources._on_host.OnHost`."""

    time_limit: float | None
    batched: bool
    batch_size: int
    workers: int


def fewest_draws(source: Timed) -> int:
    """Return the smallest number of outputs for which every worker draws."""
    # Draw at least two outputs at a time, since a batched function may not support one output.
    return max(source.workers, 1) * (2 if source.batched else 1)


def timed_draws(
    source: Timed, draw: Draw, database: object, words: tuple[int, ...], size: int
) -> float:
    """Draw `size` outputs from a database, and return the duration in seconds."""
    lanes, began = max(source.workers, 1), time.perf_counter()
    for _ in draw(database, Span(range(size), words, lambda count: None, ceil(size / lanes))):
        pass
    return time.perf_counter() - began


class Pace:
    """Estimates of the time per call and per output, from a few draws and later from the search.

    Args:
        source: Mechanism with a time limit.
        draw: Function that draws the outputs of the mechanism.
    """

    def __init__(self, source: Timed, draw: Draw):
        assert source.time_limit is not None
        self._source, self._draw, self.limit = source, draw, source.time_limit
        self._fixed = self._each = 0.0
        self._measured, self._share = 0.0, 0.0

    def measure(self, databases: Sequence[object], words: tuple[int, ...], wanted: int) -> None:
        """Measure the time per output on the first database, and on databases that are much slower.

        A plan assumes the longest time per output that has been measured so far.

        Args:
            databases: Databases of all pairs.
            words: Integers that seed these draws and no other draws.
            wanted: Number of outputs in the whole audit, if time allows.
        """
        size = fewest_draws(self._source)
        # Exclude the first draws from the measurement, since these draws include one-time costs,
        # such as imports in workers.
        spent = self._seconds(databases[0], words, size)
        for number, database in enumerate(databases[:_MOST_PROBED]):
            if number and spent > _MEASURE_SHARE * self.limit:
                return
            took = self._seconds(database, words, size)
            spent += took
            fixed, each = self._fixed, self._each
            if took <= _SLOWER * (fixed + each * size):
                continue
            if took > _PROBE_SHARE * self.limit:
                self._fixed, self._each = 0.0, took / size
            else:
                # For the first database, do not subtract one-time costs from the allowed time.
                before = spent - took if number else 0.0
                spent += self._measure_at(database, words, wanted, (size, took), before)
            if self._each < each:
                self._fixed, self._each = fixed, each

    def _seconds(self, database: object, words: tuple[int, ...], size: int) -> float:
        return timed_draws(self._source, self._draw, database, words, size)

    def _measure_at(
        self,
        database: object,
        words: tuple[int, ...],
        wanted: int,
        first: tuple[int, float],
        earlier: float,
    ) -> float:
        """Draw larger and larger batches until the startup time is a small part of the duration.

        Args:
            database: Database from which to draw.
            words: Integers that seed these draws and no other draws.
            wanted: Number of outputs in the whole audit, if time allows.
            first: Tuple (number of outputs already drawn from the database, duration of these draws
                in seconds).
            earlier: Duration of the measurement before these draws, in seconds.

        Returns:
            The duration of the larger batches, in seconds.
        """
        (size, took), spent, before = first, 0.0, (0, 0.0)
        while True:
            if before[0]:
                took = self._seconds(database, words, size)
                spent += took
            slope = (took - before[1]) / (size - before[0])
            # Attribute at least a tenth of the time to outputs, even if startup seems to take all
            # of the time.
            self._each = max(min(slope, took / size), 0.1 * took / size)
            self._fixed = took - self._each * size
            mostly_start = before[0] > 0 and took < 1.5 * before[1]
            if size >= self._source.batch_size or wanted * took / size < _PLENTY * self.limit:
                return spent
            if before[0] and took >= 0.02 * self.limit and not mostly_start:
                return spent
            factor = 2 if before[0] == 0 else (16 if mostly_start else 4)
            expected = took if mostly_start else factor * took
            # After a single batch size, the startup time is unknown. In this case, allow a second
            # size even if the measurement may take twice its share of the time limit.
            share = _MEASURE_SHARE * (1 if before[0] else 2)
            if earlier + first[1] + spent + expected > share * self.limit:
                return spent
            size, before = min(factor * size, self._source.batch_size), (size, took)

    def search(
        self, num_pairs: int, wanted: int, share: float, num_confirm: int, used: float
    ) -> Quota:
        """Plan a round of the search within its share of the remaining time.

        Args:
            num_pairs: Number of searched pairs.
            wanted: Number of samples per side and pair, if time allows.
            share: Share of the remaining time that the round may take.
            num_confirm: Number of samples per side in the confirmation, if time allows.
            used: Time that the audit has used so far, in seconds.

        Raises:
            TooShort: If the time limit allows too few outputs.
        """
        left = max(self.limit - used, 0.0)
        seconds = share * left / (2 * num_pairs)
        self._share = share
        possible = self._fitting(_MARGIN * seconds)
        confirm = self._fitting(_MARGIN * (1 - share) * left / 2)
        if possible < min(wanted, _LEAST_SEARCH) or confirm < min(num_confirm, _LEAST_CONFIRM):
            raise self._too_short(num_pairs, wanted, num_confirm)
        num_samples = min(wanted, possible)
        self._measured = self._measured or used
        cut = None
        if not self._source.batched:
            lanes = max(self._source.workers, 1)
            cut = min(max(int(_BATCH_SHARE * self.limit / (self._each * lanes)), 1), 10**6)
        return Quota(num_samples, cut, seconds)

    def confirm(
        self, streams: Sequence[Sequence[tuple[int, float]]], wanted: int, used: float
    ) -> int:
        """Return the number of confirmation samples per side that the remaining time allows.

        Args:
            streams: For each pair and side, the number of drawn outputs and the duration of the
                draws in seconds.
            wanted: Number of samples per side, if time allows.
            used: Time that the audit has used so far, in seconds.

        Raises:
            TooShort: If the time limit allows too few outputs.
        """
        # Plan for the pair whose two sides together are the slowest, since the audit may choose
        # this pair.
        slower = max(
            sum(seconds / self._taking(count) for count, seconds in pair) / 2 for pair in streams
        )
        drawing = sum(seconds for pair in streams for _, seconds in pair)
        # Include the time that counting takes, which matters for fast mechanisms.
        slower *= max((used - self._measured) / max(drawing, 1e-9), 1.0)
        self._fixed, self._each = self._fixed * slower, self._each * slower
        possible = self._fitting(_MARGIN * max(self.limit - used, 0.0) / 2)
        if possible < min(wanted, _LEAST_CONFIRM):
            raise self._too_short(len(streams), streams[0][0][0], wanted)
        return min(possible, wanted)

    def alike(self, streams: Sequence[Sequence[tuple[int, float]]]) -> bool:
        """Return whether, for every pair, outputs take about the same time on both sides.

        Args:
            streams: Numbers and durations of draws, as in `confirm`.
        """
        paces = [[s / max(self._taking(count), 1e-12) for count, s in pair] for pair in streams]
        return all(max(pair) <= _ALIKE * min(pair) for pair in paces)

    @property
    def _lanes(self) -> int:
        """Number of batches drawn simultaneously.

        If each output needs its own call, this number is 1, because the measured time per output
        then already accounts for all workers.
        """
        return max(self._source.workers, 1) if self._source.batched else 1

    def notes_of_fewer(self, possible: int, wanted: int, what: str) -> list[str]:
        """Return a note if the time limit allowed fewer outputs per side than were wanted."""
        if possible >= wanted:
            return []
        return [
            f"Within {self.limit:.3g} s, the time limit allowed only {possible} outputs per side "
            f"{what}, instead of {wanted}."
        ]

    def _fitting(self, seconds: float) -> int:
        """Return the number of outputs that can be drawn in `seconds`."""
        batch = self._source.batch_size
        whole = self._fixed + self._each * batch
        if seconds < whole or not self._source.batched:
            return max(int((seconds - self._fixed) / self._each), 0)
        return int(seconds / whole * self._lanes * batch)

    def _taking(self, count: int) -> float:
        """Return the expected time, in seconds, to draw `count` outputs."""
        batch = self._source.batch_size
        if count <= batch or not self._source.batched:
            return self._fixed + self._each * count
        return (self._fixed + self._each * batch) * max(count / batch / self._lanes, 1)

    def _too_short(self, num_pairs: int, wanted: int, num_confirm: int) -> TooShort:
        search, confirm = min(wanted, _LEAST_SEARCH), min(num_confirm, _LEAST_CONFIRM)
        needed = max(
            2 * num_pairs * self._taking(search) / self._share,
            2 * self._taking(confirm) / (1 - self._share),
        ) / (_MARGIN * (1 - _MEASURE_SHARE))  # fmt: skip
        # If the search took longer than planned, the plan for the given limit was too optimistic.
        needed = max(needed, 2 * self.limit) if needed <= self.limit else needed
        step = 10.0 ** (floor(log10(needed)) - 1)
        return TooShort(
            f"time_limit must allow {search} outputs per side of each pair for the search, and "
            f"{confirm} per side for the confirmation, but left {self.limit:.3g} s for them, and "
            f"an output takes about {self._taking(confirm) / confirm:.2g} s: allow at least "
            f"{ceil(needed / step) * step:g} s, or leave {term('time_limit')} out."
        )
