"""Deadlines for calls: a program is killed, and an alarm signal terminates a function call.

Python runs the signal handler between two instructions of the main thread, so a deadline cannot
terminate C code that never returns to Python.
"""

import math
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

from dpjax.core.wording import BadValue

_AGAIN = 0.1
"""Number of seconds until the alarm is repeated, in case a callback suppressed the first
exception.
"""

_SOON = 1e-6
"""Number of seconds until an alarm that is already late."""

_OVER, _LEAST_SHARE, _LEAST = 1.05, 0.05, 0.5
"""Constants that determine when an audit with a time limit terminates its calls.

Let T be the time _OVER * time_limit seconds after the audit's start, and let L be the larger of
_LEAST_SHARE * time_limit and _LEAST, in seconds. A call that starts before T - L is terminated at T
at the latest. A call that starts later may take at most L seconds, and is terminated at T + L at
the latest. An audit that is slightly late can therefore still return a result.
"""


class TookTooLong(BaseException):
    """Exception that terminates a call at its deadline; `except Exception` does not catch it."""


@dataclass(frozen=True)
class Deadline:
    """A deadline for each call, and a deadline for all calls of an audit together.

    Attributes:
        timeout: Maximum duration of one call, in seconds, or None for no limit.
        end: Time at which calls should end, as a value of `time.monotonic`, or None for no limit.
        least: Number of seconds that all calls started after `end` may take in total.
    """

    timeout: float | None
    end: float | None
    least: float = _LEAST

    @classmethod
    def of(cls, timeout: float | None, time_limit: float | None) -> "Deadline | None":
        """Return the deadline for an audit that starts now, or None if there is no limit.

        Raises:
            ValueError: If a timeout is set, but alarms are not available on this system or in this
                thread.
        """
        here = threading.current_thread() is threading.main_thread()
        if not here and timeout is not None:
            raise BadValue(
                "timeout cannot be used in this thread, because only the main thread receives "
                "alarms: leave it out, or use workers, whose processes have main threads."
            )
        return cls.of_workers(timeout, time_limit) if here else None

    @classmethod
    def of_workers(cls, timeout: float | None, time_limit: float | None) -> "Deadline | None":
        """Return the deadline for calls in worker processes, which share this process's clock.

        Raises:
            ValueError: If a timeout is set, but alarms are not available on this system.
        """
        if not hasattr(signal, "setitimer"):
            if timeout is not None:
                raise BadValue(
                    "timeout cannot be used on this system, which has no Unix alarms: leave it out."
                )
            return None
        return cls.of_programs(timeout, time_limit)

    @classmethod
    def of_programs(cls, timeout: float | None, time_limit: float | None) -> "Deadline | None":
        """Return the deadline for programs, which need no alarm because they are killed."""
        if timeout is None and time_limit is None:
            return None
        if time_limit is None:
            return cls(timeout, None)
        least = max(_LEAST_SHARE * time_limit, _LEAST)
        return cls(timeout, time.monotonic() + _OVER * time_limit, least)

    @property
    def passed(self) -> bool:
        """Whether the total time for all calls has run out."""
        return self.end is not None and time.monotonic() >= self.end

    def left(self) -> float:
        """Return the maximum duration, in seconds, of a call that starts now.

        Raises:
            TookTooLong: If the total time for all calls has run out.
        """
        left = [threading.TIMEOUT_MAX]  # Timers reject longer waits.
        if self.timeout is not None:
            left.append(self.timeout)
        if self.end is not None:
            rest = self.end - time.monotonic()
            if rest <= -self.least:
                _end()
            # All late calls share a total of `least` seconds, so that late calls cannot delay the
            # audit forever.
            left.append(max(rest, min(self.least, rest + self.least)))
        return min(left)

    def call(
        self, function: Callable[..., object], *arguments: object, **options: object
    ) -> object:
        """Call a function, and return its result.

        Raises:
            TookTooLong: If the call does not return in time.
        """
        left, running = self.left(), True
        began = time.monotonic()
        other, again = signal.getitimer(signal.ITIMER_REAL)
        # Time at which the caller's alarm, if there is one, should go off.
        due = began + other if other else math.inf

        def arm() -> None:
            now = time.monotonic()
            if due < began + left:
                signal.setitimer(signal.ITIMER_REAL, max(due - now, _SOON))
            else:
                signal.setitimer(signal.ITIMER_REAL, max(began + left - now, _SOON), _AGAIN)

        def ring(number: int, frame: FrameType | None) -> None:
            nonlocal due
            if not running:
                return
            if due >= began + left or not callable(handler):
                _end()
            due = math.inf
            handler(number, frame)
            # The caller's handler may have set another alarm.
            if rest := signal.getitimer(signal.ITIMER_REAL)[0]:
                due = time.monotonic() + rest
            arm()

        handler = signal.signal(signal.SIGALRM, ring)
        # The alarm may go off anywhere here, even at the first step of a `finally` block. The outer
        # `finally` block ensures that the timer and the handler are always removed.
        try:
            try:
                arm()
                result = function(*arguments, **options)
                running = False
                return result
            finally:
                running = False
        finally:
            running = False
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, handler)
            if due < math.inf:
                rest = max(due - time.monotonic(), _SOON)
                signal.setitimer(signal.ITIMER_REAL, rest, again)


def _end() -> NoReturn:
    raise TookTooLong
