"""Signals that ask a long command to stop: what has begun is finished first."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Stop:
    """Whether a signal has asked to stop.

    Attributes:
        exit_code: 0 after SIGTERM, 130 after ctrl-c.
    """

    def __init__(self) -> None:
        self.signal: int | None = None

    def asked(self) -> bool:
        """True from the first signal on."""
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """As shells expect it of a command that was asked to end (SIGTERM) or interrupted."""
        return 130 if self.signal == signal.SIGINT else 0


@contextmanager
def stopping_on_signals() -> Iterator[Stop]:
    """Notes the first SIGTERM or ctrl-c; a second one ends the process at once, as usual."""
    stop = Stop()

    def note(number: int, frame: object) -> None:
        stop.signal = number
        for other, handler in before.items():
            signal.signal(other, handler)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        signal.signal(number, note)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
