"""An alarm that interrupts a sequential audit if a call does not return in time."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dpjax.core.wording import BadValue, term

_LONGEST_CALL = 60.0
"""Number of seconds that a call may take during the search, even if the time limit is shorter."""

_OVER, _LEAST = 0.05, 0.5
"""An audit is interrupted once it exceeds its time limit T by the larger of _OVER * T and _LEAST
seconds. A block that ends slightly late is therefore not lost.
"""


class TimeUp(KeyboardInterrupt):
    """An interrupt by the alarm; as after ctrl-c, the current block is not counted."""


class _Alarm:
    """State of an alarm; see `alarm` for the arguments."""

    def __init__(self, seconds: float, num_drawn: Callable[[], int]):
        self._num_drawn, self._seen = num_drawn, 0
        seconds = min(seconds, threading.TIMEOUT_MAX / 2)  # Timers reject longer waits.
        self._longest = max(seconds, _LONGEST_CALL)
        self._end = time.monotonic() + seconds + max(_OVER * seconds, _LEAST)
        self._is_searching = True

    def wait(self) -> None:
        """Set the alarm for the search, in which every call may take the same time."""
        self._seen = self._num_drawn()
        signal.setitimer(signal.ITIMER_REAL, self._longest)

    def end_search(self) -> None:
        """Set the alarm to the end of the time limit."""
        self._is_searching = False
        signal.setitimer(signal.ITIMER_REAL, max(self._end - time.monotonic(), _LEAST))

    def ring(self, *_: object) -> None:
        """Raise `TimeUp`, unless an output was drawn during the search since the last alarm."""
        if self._is_searching and self._num_drawn() > self._seen:
            self.wait()
            return
        raise TimeUp


def no_output_in_time(name: str) -> BadValue:
    """Return the error for a call that did not return during the search."""
    return BadValue(
        f"{name} returned no output within the time limit, or within {_LONGEST_CALL:g} seconds if "
        f"the limit is shorter: the first outputs, which determine the cells, need more "
        f"{term('seconds', '--seconds')}. With {term('timeout=...', '--timeout')}, a call that "
        "takes too long is an outcome."
    )


@contextmanager
def alarm(seconds: float | None, num_drawn: Callable[[], int]) -> Iterator[Callable[[], None]]:
    """Interrupt the body of a `with` statement by `TimeUp` if it takes too long.

    During the search, the alarm rings if no output is drawn for a minute, or for the time limit if
    it is longer. After the search, the alarm rings at the end of the time limit. An earlier alarm
    and its handler are restored afterwards. Threads other than the main thread, and systems without
    Unix alarms, have no alarm.

    Args:
        seconds: Time limit of the audit in seconds, or None for no alarm.
        num_drawn: Function that returns the number of outputs so far.

    Yields:
        Function to call at the end of the search.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if seconds is None or not is_main or not hasattr(signal, "setitimer"):
        yield lambda: None
        return
    ours = _Alarm(seconds, num_drawn)
    other, again = signal.getitimer(signal.ITIMER_REAL)
    handler, began = signal.signal(signal.SIGALRM, ours.ring), time.monotonic()
    try:
        ours.wait()
        yield ours.end_search
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
        if other:
            # Restore the caller's alarm with the time that remained.
            rest = max(other - (time.monotonic() - began), 1e-6)
            signal.setitimer(signal.ITIMER_REAL, rest, again)
