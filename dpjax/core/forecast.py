"""The pace of a computation, and its expected duration."""

import time
from collections.abc import Callable

_KNOWN_SECONDS = 1.0, 20.0
"""Start and end, in seconds after the first report, of the period in which work may be announced.

Within this period, work is announced if its estimated total time exceeds `_LONG_SECONDS`.
"""

_LONG_SECONDS = 60.0
"""Estimated total time, in seconds, above which work is announced."""


class Forecast:
    """Expected duration of a computation, estimated from its reports of progress.

    Attributes:
        done: Number of units of work done so far.
        total: Total number of units of work, or 0 if the number is unknown.
        before: Number of units done at the first report, as in a resumed sweep, or None before the
            first report. These units are not included in the pace.

    Args:
        announce: Function (total, time) that is called once, as soon as the work is estimated to
            take more than a minute; `time` is the estimated total time as text. None announces
            nothing.
    """

    def __init__(self, announce: Callable[[int, str], object] | None = None):
        self.done, self.total, self.before = 0, 0, None
        self._begun, self._announce = time.monotonic(), announce

    def told(self, done: int, total: int) -> None:
        """Take a report of progress into account."""
        if self.before is None or done < self.done:
            # Start the clock at the first report, so that the pace does not include imports. Also
            # start it at the first report of a further stage, which counts from zero again.
            self.before, self._begun = done, time.monotonic()
        self.done, self.total = done, total
        if self._announce is None:  # Reports may be as frequent as calls of a fast function.
            return
        left, (known, late) = self.left, _KNOWN_SECONDS
        if left is None or self.seconds < known:
            return
        announce, whole = self._announce, self.seconds + left
        if whole > _LONG_SECONDS or self.seconds >= late:
            self._announce = None
        if whole > _LONG_SECONDS:
            announce(total, clock(whole))

    @property
    def seconds(self) -> float:
        """Seconds since the first report of progress."""
        return time.monotonic() - self._begun

    @property
    def now(self) -> int:
        """Number of units of work done since the first report of progress."""
        return self.done - (self.before or 0)

    @property
    def left(self) -> float | None:
        """Estimated remaining time in seconds at the current pace, or None if unknown."""
        if not (self.now and self.total):
            return None
        return self.seconds * max(self.total - self.done, 0) / self.now


def clock(seconds: float) -> str:
    """Format a time as h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
