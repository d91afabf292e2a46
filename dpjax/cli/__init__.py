"""The command line. `main` is the entry point; commands are one file each."""

import os
import signal
import sys
import threading

from dpjax.cli._progress import progress_bar as progress_bar


def main() -> None:
    """Runs the command line; exits with a code of the table in the README."""
    with_own = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if with_own:
        signal.signal(signal.SIGINT, _leave)
    try:
        _run()
    finally:
        if with_own:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _run() -> None:
    try:
        from dpjax.cli._app import run
    except ModuleNotFoundError as error:
        print(
            f"error: the command line needs {error.name}: pip install 'dpjax[cli]'.",
            file=sys.stderr,
        )
        sys.exit(2)
    run()


def _leave(number: int, frame: object) -> None:
    """An interrupt before a command has begun, and after its end: within it, it has its own."""
    if sys.stderr is not None:
        os.write(2, b"Stopped before anything was done.\n")
    os._exit(128 + number)
