"""The command line, whose entry point is `main`; each command has its own module."""

import os
import signal
import sys
import threading

from dpjax.cli._progress import progress_bar as progress_bar
from dpjax.cli._stop import Left, finish, leave, say
from dpjax.cli._supervise import is_foreign, supervise


def main() -> None:
    """Run the command line, and exit with a code from the table in the README."""
    with_own = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if with_own:
        signal.signal(signal.SIGINT, _leave)
    try:
        # Start the supervisor before any large import, so that the waiting process stays small.
        report = supervise() if is_foreign(sys.argv[1:]) else None
        code, left = _run()
    finally:
        if with_own:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if report is not None:
        report(code)
    if left:
        leave(code)
    if report is not None:
        # This process exists only for the command; the caller's code continues in the supervisor.
        finish(code)
    sys.exit(code)


def _run() -> tuple[int, bool]:
    """Run the command; return its exit code, and whether to terminate the process immediately."""
    try:
        from dpjax.cli._app import run

        return run(), False
    except Left as error:
        return error.exit_code, True
    except ModuleNotFoundError as error:
        say(f"error: the command line needs {error.name}: pip install 'dpjax[cli]'.")
        return 2, False
    except BaseException:
        # After an uncaught error, Python would exit with code 1, which means a violated claim.
        import traceback

        traceback.print_exc()
        return 3, False


def _leave(number: int, frame: object) -> None:
    """Exit on a signal that arrives before a command begins or after it ends."""
    if sys.stderr is not None:
        os.write(2, b"Stopped before anything was done.\n")
    os._exit(128 + number)
