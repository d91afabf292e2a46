"""The typer application: all commands, one way to fail, one place for the machine's settings."""

import os
import sys
import traceback
from pathlib import Path

import typer

from dpjax.cli import _audit, _empirical, _mechanisms, _plan, _reproduce, _sweep

app = typer.Typer(
    name="dpjax",
    help="How private is it really? Audits differential privacy from outputs alone.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_mechanisms.register(app)
_audit.register(app)
_plan.register(app)
_empirical.register(app)
_sweep.register(app)
_reproduce.register(app)


def _version(asked: bool) -> None:
    if asked:
        import dpjax

        print(dpjax.__version__)
        raise typer.Exit()


@app.callback()
def configure(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
    x64: bool = typer.Option(False, "--x64", help="Compute in float64 instead of float32."),
) -> None:
    """Settings of the process, made before anything is compiled."""
    import jax

    if x64:
        jax.config.update("jax_enable_x64", True)
    # Only here: a library must not decide where its user's process keeps compiled code.
    cache = os.environ.get("DPJAX_CACHE_DIR", str(Path.home() / ".cache" / "dpjax" / "xla"))
    if cache:
        jax.config.update("jax_compilation_cache_dir", cache)
        # Also what compiles fast: to read it back takes a tenth of that.
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        # For the worker processes of a sweep, which import jax anew.
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", cache)
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def run() -> None:
    """Runs a command; bad input becomes one sentence on standard error and exit code 2.

    Any other error keeps its traceback and exits with 3: Python's own 1 would read as a violated
    claim.
    """
    try:
        app()
    except (ValueError, TypeError, OSError, ModuleNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except Exception:
        traceback.print_exc()
        sys.exit(3)
