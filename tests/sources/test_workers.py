"""Workers that start while ctrl-c is pressed."""

import signal

import pytest

from dpjax.sources._process import end_with_parent
from dpjax.sources._workers import Workers

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "pthread_sigmask"), reason="this system has no signal masks"
)


def report(pipe):
    """Send whether interrupts are blocked at the start, and what they do afterwards."""
    at_start = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    signal.raise_signal(signal.SIGINT)  # as if ctrl-c were pressed during the imports
    end_with_parent()
    signal.raise_signal(signal.SIGINT)
    after = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    pipe.send((at_start, after, signal.getsignal(signal.SIGINT) == signal.SIG_IGN))


def test_an_interrupt_while_a_worker_starts_does_nothing():
    context = Workers()
    hear, tell = context.Pipe(duplex=False)
    worker = context.Process(target=report, args=(tell,))
    worker.start()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert hear.poll(60) and hear.recv() == (True, False, True)
    worker.join()
    assert worker.exitcode == 0
