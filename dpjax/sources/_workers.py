"""Multiprocessing context in which worker processes start with interrupts (ctrl-c) blocked."""

import signal
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess


class _Worker(SpawnProcess):
    """A process that starts with interrupts blocked.

    A terminal sends an interrupt to all processes of a command. The worker inherits the blocked
    interrupts from this process, so no traceback is printed if an interrupt arrives while the
    worker imports modules.
    """

    def start(self) -> None:
        """Start the process; see `multiprocessing.Process`."""
        if not hasattr(signal, "pthread_sigmask"):
            super().start()
            return
        # Start the resource tracker first, because its start unblocks interrupts.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Workers(SpawnContext):
    """Multiprocessing context in which each worker is a fresh interpreter.

    If workers were forked, all of them would start with the same state of NumPy's global generator.
    """

    Process = _Worker
