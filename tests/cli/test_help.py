"""The help of every command in a terminal of 80 columns: complete, with well-filled lines."""

import itertools
import re
from importlib import import_module
from inspect import cleandoc

import pytest

from dpjax.cli._app import COMMANDS

WIDTH = 80


@pytest.fixture
def lines(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setenv("TERMINAL_WIDTH", str(WIDTH))
    return lambda *command: [line.rstrip() for line in run(*command, "--help").output.split("\n")]


def whole(lines):
    """Return the text without borders and with single spaces."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", " ".join(lines)).split())


@pytest.mark.parametrize("name", COMMANDS)
def test_paragraphs_are_filled(lines, name):
    """In no line but the last of its paragraph would the next word have fit."""
    shown = lines(name)
    first = next(i for i, line in enumerate(shown) if "Usage:" in line) + 2
    last = next(i for i, line in enumerate(shown) if line.startswith("╭"))
    said = "\n".join(line.strip() for line in shown[first:last]).strip()
    written = cleandoc(import_module(f"dpjax.cli._{name.replace('-', '_')}").command.__doc__)
    assert " ".join(said.split()) == " ".join(written.split())
    for paragraph in said.split("\n\n"):
        rows = paragraph.split("\n")
        for row, after in itertools.pairwise(rows):
            assert len(f"{row} {after.split()[0]}") > WIDTH - 2


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_titles_and_flags(lines, name):
    shown = lines(name)
    stripped = [line.strip() for line in shown]
    for example in import_module(f"dpjax.cli._{name.replace('-', '_')}").EXAMPLES:
        assert example in stripped, "an example must fit its line, or nobody can copy it"
    assert all(len(line) <= WIDTH for line in shown)
    for title in (line for line in shown if line.startswith("╭")):
        assert title.endswith("─╮") and title[-3] in "─ ", "the title of a panel is cut off"
    flags = [line for line in shown if "<bool>" in line]
    assert not [line for line in flags if "--help" not in line], "a flag takes no value"


def test_brackets_are_no_markup(lines):
    shown = whole(lines("audit"))
    assert "[[epsilon, delta], ...] (for trade-off: [[level, error], ...])" in shown
    assert "JSON such as '[[0, 1]]'" in shown and "Options of --method events and local" in shown
    assert "\\" not in shown
