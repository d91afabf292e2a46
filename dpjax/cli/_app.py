"""The typer application: all commands, one way to fail, one place for the machine's settings."""

import os
import sys
import traceback
from pathlib import Path
from typing import Any

import typer

from dpjax.cli import (
    _audit,
    _empirical,
    _guide,
    _mechanisms,
    _plan,
    _rerun,
    _search_pairs,
    _sweep,
)
from dpjax.cli._stop import lasting_streams, say
from dpjax.cli._table import examples_text
from dpjax.cli._wording import in_options, options_of

_CACHE = "jax_compilation_cache_dir"

_TABLES = {
    "audit": _audit.TABLE,
    "rerun": _rerun.TABLE,
    "search-pairs": _search_pairs.TABLE,
    "plan": _plan.TABLE,
    "empirical": _empirical.TABLE,
    "sweep": _sweep.TABLE,
}
"""Command -> its options, in whose words errors speak."""

app = typer.Typer(
    name="dpjax",
    help="How private is it really? Audits differential privacy from outputs alone.",
    epilog=examples_text(
        "dpjax mechanisms",
        "dpjax audit laplace --epsilon 1 --claim 1 --report audit.html",
        "dpjax --install-completion",
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_mechanisms.register(app)
_audit.register(app)
_rerun.register(app)
_search_pairs.register(app)
_plan.register(app)
_empirical.register(app)
_sweep.register(app)
_guide.register(app)


def _version(asked: bool) -> None:
    if asked:
        import dpjax

        print(dpjax.__version__)
        raise typer.Exit()


def _cache_of_user() -> str:
    """A folder at home; none where the user has no home, as in some containers."""
    try:
        return str(Path.home() / ".cache" / "dpjax" / "xla")
    except RuntimeError:
        return ""


@app.callback()
def configure(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
    x64: bool = typer.Option(False, "--x64", help="Compute in float64 instead of float32."),
) -> None:
    """Settings of the process, made before anything is compiled."""
    settings: dict[str, Any] = {"jax_enable_x64": True} if x64 else {}
    # Only here: a library must not decide where its user's process keeps compiled code.
    chosen = (os.environ.get(name) for name in ("DPJAX_CACHE_DIR", _CACHE.upper()))
    cache = next((path for path in chosen if path is not None), _cache_of_user())
    if cache:
        settings[_CACHE] = cache
        # Also what compiles fast: to read it back takes a tenth of that.
        settings["jax_persistent_cache_min_compile_time_secs"] = 0.0
    for name, value in settings.items():
        # jax reads it where a command imports it, and so do the worker processes of a sweep.
        os.environ[name.upper()] = str(value)
        if "jax" in sys.modules:
            sys.modules["jax"].config.update(name, value)


def run() -> None:
    """Runs a command; bad input becomes one sentence on standard error and exit code 2.

    Any other error keeps its traceback and exits with 3: Python's own 1 would read as a violated
    claim.
    """
    with lasting_streams():
        try:
            try:
                app(prog_name="dpjax")
            finally:
                # Here, where what cannot be written is bad input, and not when Python ends.
                sys.stdout.flush()
        except (ValueError, TypeError, OSError, ModuleNotFoundError) as error:
            command = next((word for word in sys.argv[1:] if word in _TABLES), None)
            options = {} if command is None else options_of(_TABLES[command])
            say(f"error: {in_options(str(error), options)}")
            sys.exit(2)
        except Exception:
            for line in traceback.format_exc().rstrip().split("\n"):
                say(line)
            sys.exit(3)
