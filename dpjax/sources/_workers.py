"""Context in which worker processes start with interrupts (ctrl-c) blocked."""

import signal
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess


class _Worker(SpawnProcess):
    """A process that starts with interrupts blocked.

    A terminal sends an interrupt to all processes of a command. A worker inherits the blocking from
    this process, so an interrupt during its imports causes no traceback.
    """

    def start(self) -> None:
        """Start the process; see `multiprocessing.Process`."""
        if not hasattr(signal, "pthread_sigmask"):
            super().start()
            return
        # The tracker unblocks interrupts when it starts.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Workers(SpawnContext):
    """Context in which workers are fresh interpreters.

    A forked worker would have a copy of the state of NumPy's global generator.
    """

    Process = _Worker
