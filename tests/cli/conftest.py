import sys
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from dpjax.cli import _app, _progress


class Done(NamedTuple):
    exit_code: int
    output: str
    error: str


@pytest.fixture
def run(monkeypatch, capsys):
    """Return a function (arguments) -> exit code and both streams of the command line."""
    # An empty name leaves the cache of compiled code unchanged.
    monkeypatch.setenv("DPJAX_CACHE_DIR", "")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpjax", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            sys.exit(_app.run())
        return Done(ended.value.code or 0, *capsys.readouterr())

    return call


@pytest.fixture
def refused(run, monkeypatch, tmp_path):
    """Return a function that runs an invalid command and returns its message.

    The function checks that no file is written.
    """
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        before = sorted(tmp_path.iterdir())
        done = run(*arguments)
        assert done.exit_code == 2 and done.output == ""
        assert done.error.startswith("error: ") and done.error.count("\n") == 1
        assert sorted(tmp_path.iterdir()) == before
        return done.error

    return call


@pytest.fixture
def module(monkeypatch, tmp_path):
    """Return a function (name, code) that writes a module into a new working directory.

    It returns a function that maps the name of an object to FILE.py:NAME.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, code):
        (tmp_path / f"{name}.py").write_text(code)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return f"{name}.py:{{}}".format

    return write


@pytest.fixture
def lines_at_once(monkeypatch):
    """Print the progress once, when the work ends, instead of at intervals."""

    @contextmanager
    def lines(state):
        yield
        _progress.say(state.words())

    monkeypatch.setattr(_progress, "_lines", lines)


COINS = """
package, claim, pairs, draws = "nothing", 0.1, [(0, 1)], 300


def draw(value):
    import random

    return int(random.random() < (0.1, 0.9)[value])
"""


@pytest.fixture
def case(tmp_path):
    """Return the file of a hunt's case whose claim is false."""
    path = tmp_path / "coins.py"
    path.write_text(COINS)
    return path
