"""Deadlines of calls that may hang: an alarm of the system ends them.

Python runs the handler between two of its own instructions, in the main thread. Code in C that
never returns to Python is not ended.
"""

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from dpjax.core.wording import BadValue

_AGAIN = 0.1
"""Seconds after which the alarm rings again, where the exception was lost in a callback."""

_OVER, _LEAST_SHARE, _LEAST = 1.05, 0.05, 0.5
"""Part of the time limit at which a call that is still running is ended; the part, and the seconds,
that any call has, so that an audit that is a little late still ends with a result."""


class TookTooLong(BaseException):
    """A call was ended at its deadline. `except Exception` in the function does not catch it."""


@dataclass(frozen=True)
class Deadline:
    """When calls end.

    Attributes:
        timeout: Seconds of one call, or None.
        end: Time of `time.monotonic` at which calls end, or None.
        least: Seconds that a call has even then.
    """

    timeout: float | None
    end: float | None
    least: float = _LEAST

    @classmethod
    def of(cls, timeout: float | None, time_limit: float | None) -> "Deadline | None":
        """The deadline of an audit that starts now; None where nothing limits it.

        Raises:
            ValueError: There is a timeout, but no alarm on this system or in this thread.
        """
        here = threading.current_thread() is threading.main_thread()
        if not here and timeout is not None:
            raise BadValue(
                "timeout needs the main thread, where alarms arrive: leave it out, or use workers, "
                "whose processes have main threads of their own."
            )
        return cls.of_workers(timeout, time_limit) if here else None

    @classmethod
    def of_workers(cls, timeout: float | None, time_limit: float | None) -> "Deadline | None":
        """The deadline of calls in the main threads of other processes, which share the clock.

        Raises:
            ValueError: There is a timeout, but no alarm on this system.
        """
        if not hasattr(signal, "setitimer"):
            if timeout is not None:
                raise BadValue("timeout needs the alarms of a Unix system: leave it out.")
            return None
        if timeout is None and time_limit is None:
            return None
        if time_limit is None:
            return cls(timeout, None)
        least = max(_LEAST_SHARE * time_limit, _LEAST)
        return cls(timeout, time.monotonic() + _OVER * time_limit, least)

    @property
    def passed(self) -> bool:
        """Whether the time of all calls is over."""
        return self.end is not None and time.monotonic() >= self.end

    def call(
        self, function: Callable[..., object], *arguments: object, **options: object
    ) -> object:
        """What a function returns.

        Raises:
            TookTooLong: It did not return in time.
        """
        left = [self.timeout] if self.timeout is not None else []
        if self.end is not None:
            rest = self.end - time.monotonic()
            if rest <= -self.least:
                _end()
            # An audit that is a little late has the least in all, and not at each call.
            left.append(max(rest, min(self.least, rest + self.least)))
        running = True

        def ring(number: int, frame: object) -> None:
            if running:
                _end()

        handler = signal.signal(signal.SIGALRM, ring)
        began = time.monotonic()
        other, again = signal.setitimer(signal.ITIMER_REAL, min(left), _AGAIN)
        try:
            result = function(*arguments, **options)
            running = False
            return result
        finally:
            running = False
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, handler)
            if other:
                # The alarm of somebody else goes on.
                rest = max(other - (time.monotonic() - began), 1e-6)
                signal.setitimer(signal.ITIMER_REAL, rest, again)


def _end() -> NoReturn:
    raise TookTooLong
