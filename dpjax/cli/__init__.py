"""The command line. `main` is the entry point; commands are one file each."""

import sys


def main() -> None:
    """Runs the command line; exits with 0, 1 (a claim is violated) or 2 (bad input)."""
    try:
        from dpjax.cli._app import run
    except ModuleNotFoundError as error:
        print(
            f"error: the command line needs {error.name}: pip install 'dpjax[cli]'.",
            file=sys.stderr,
        )
        sys.exit(2)
    run()
