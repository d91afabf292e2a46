"""The command line. `main` is the entry point; commands are one file each."""

import sys

from dpjax._errors import signals_wait


def main() -> None:
    """Runs the command line; exits with a code of the table in the README."""
    try:
        with signals_wait():
            from dpjax.cli._app import run
    except ModuleNotFoundError as error:
        print(
            f"error: the command line needs {error.name}: pip install 'dpjax[cli]'.",
            file=sys.stderr,
        )
        sys.exit(2)
    run()
