"""The application: all commands, error handling and process settings."""

import os
import sys
import traceback
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from types import ModuleType

import click

from dpjax.cli._parser import Command, Commands
from dpjax.cli._stop import ending_well, lasting_streams, say
from dpjax.cli._table import options_of
from dpjax.core.errors import neutral
from dpjax.core.version import __version__
from dpjax.core.wording import in_options

_CACHE = "jax_compilation_cache_dir"

COMMANDS = (
    "mechanisms",
    "audit",
    "rerun",
    "search-pairs",
    "watch",
    "hunt",
    "plan",
    "empirical",
    "sweep",
    "guide",
)
"""Names of the commands, in the order in which the help lists them.

Each command's module defines the function `command`, the options `TABLE`, and the examples
`EXAMPLES`.
"""

_EXAMPLES = (
    "dpjax mechanisms",
    "dpjax audit laplace --epsilon 1 --claim 1 --report audit.html",
    'eval "$(_DPJAX_COMPLETE=bash_source dpjax)"  # completion; also zsh and fish',
)


def application(commands: Collection[str] = COMMANDS, codes: list[int] | None = None) -> Commands:
    """Return the group of commands, which click runs; exit codes are appended to `codes`."""
    codes = [] if codes is None else codes
    group = Commands(
        "dpjax",
        help="How private is it really? Audits differential privacy from outputs alone.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        callback=configure,
        params=[
            click.Option(["--x64"], is_flag=True, help="Compute in float64 instead of float32."),
        ],
    )
    group.examples = _EXAMPLES
    version = click.version_option(
        __version__, message="%(version)s", help="Print the version and exit."
    )
    version(group)
    for name in commands:
        module = _module(name)
        command = ending_well(module.command, codes)
        group.add_command(Command(name, command, module.TABLE, module.EXAMPLES))
    return group


def _module(command: str) -> ModuleType:
    return import_module(f"dpjax.cli._{command.replace('-', '_')}")


def _cache_of_user() -> str:
    """Return the default cache folder, or "" if there is no home folder, as in some containers."""
    try:
        return str(Path.home() / ".cache" / "dpjax" / "xla")
    except RuntimeError:
        return ""


def configure(x64: bool) -> None:
    """Choose the precision and the folder of compiled code, before jax is imported."""
    settings: dict[str, bool | str | float] = {"jax_enable_x64": True} if x64 else {}
    # Only the command line chooses a cache folder; a library must not decide where compiled code is
    # stored.
    chosen = (os.environ.get(name) for name in ("DPJAX_CACHE_DIR", _CACHE.upper()))
    cache = next((path for path in chosen if path is not None), _cache_of_user())
    if cache:
        settings[_CACHE] = cache
        # Cache even programs that compile fast, because loading a program from the cache takes only
        # a tenth of its compile time.
        settings["jax_persistent_cache_min_compile_time_secs"] = 0.0
    for name, value in settings.items():
        # jax reads these variables when it is imported, here or in the workers of a sweep.
        os.environ[name.upper()] = str(value)
        if "jax" in sys.modules:
            sys.modules["jax"].config.update(name, value)


def run() -> int:
    """Run a command and return its exit code.

    Invalid input leads to one sentence on standard error and exit code 2. For any other error, the
    traceback is printed and the exit code is 3, because Python's default code, 1, would mean that a
    claim is violated.
    """
    words = sys.argv[1:]
    # Import only the module of the named command; --version needs none of these modules.
    named = next((word for word in words if word in COMMANDS), None)
    commands = COMMANDS if named is None else (named,)
    codes: list[int] = []
    with lasting_streams():
        try:
            try:
                group = application(() if words == ["--version"] else commands, codes)
                ended = group.main(words, prog_name="dpjax", standalone_mode=False)
                codes = codes or [ended or 0]
            except SystemExit as completed:  # The shell completion of click exits this way.
                codes = [completed.code if isinstance(completed.code, int) else 0]
            finally:
                # Flush inside this `try` so that a failed write is reported like bad input.
                sys.stdout.flush()
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            return 2
        except click.UsageError as error:
            called = "dpjax" if named is None else f"dpjax {named}"
            say(f"error: {error.format_message()}")
            say(f"`{called} --help` shows what is accepted.")
            return 2
        except (ValueError, TypeError, OSError, ModuleNotFoundError) as error:
            options = {} if named is None else options_of(_module(named).TABLE)
            say(f"error: {neutral(in_options(error, options))}")
            return 2
        except Exception:
            for line in traceback.format_exc().rstrip().split("\n"):
                say(line)
            return 3
    return codes[-1]
