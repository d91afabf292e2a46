"""The help of every command is complete in a terminal of 80 columns, and its lines are filled."""

import itertools
import re
from importlib import import_module
from inspect import cleandoc

import pytest

import dpjax
from dpjax.cli._app import COMMANDS
from dpjax.cli._table import flags_of
from dpjax.methods import METHODS

WIDTH = 80


def module_of(command):
    return import_module(f"dpjax.cli._{command.replace('-', '_')}")


@pytest.fixture
def lines(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    return lambda *command: [line.rstrip() for line in run(*command, "--help").output.split("\n")]


@pytest.mark.parametrize("name", COMMANDS)
def test_paragraphs_are_filled(lines, name):
    """Except at the end of a paragraph, no line has room for the next word."""
    shown = lines(name)
    assert shown[0].startswith(f"Usage: dpjax {name} [OPTIONS]") and shown[1] == ""
    last = next(i for i, line in enumerate(shown) if re.fullmatch(r"\w+:", line))
    said = "\n".join(line.strip() for line in shown[2:last]).strip()
    assert " ".join(said.split()) == " ".join(cleandoc(module_of(name).command.__doc__).split())
    for paragraph in said.split("\n\n"):
        rows = paragraph.split("\n")
        for row, after in itertools.pairwise(rows):
            assert len(f"  {row} {after.split()[0]}") > WIDTH - 2


@pytest.mark.parametrize("name", COMMANDS)
def test_every_text_is_complete(lines, name):
    """No text is truncated or interpreted, and no option is broken at a hyphen."""
    shown = lines(name)
    assert all(len(line) <= WIDTH for line in shown)
    whole = " ".join(" ".join(shown).split())
    for parameter, row in module_of(name).TABLE.items():
        said = " ".join(row.text.split())
        named = row.metavar or parameter.upper()
        if not row.positional:
            flags = " / ".join(filter(None, flags_of(parameter, row)))
            kinds = {int: "INTEGER", float: "FLOAT"}
            kind = "PATH" if "Path" in str(row.kind) else kinds.get(row.kind, "TEXT")
            named = flags if row.kind is bool else f"{flags} {row.metavar or kind}"
        assert f" {named} {said}" in whole


def test_the_help_of_by_names_the_default_and_all_other_methods(tmp_path):
    (tmp_path / "calls.csv").write_text("coin,answer\n0,1.5\n1,2.5\n")
    recorded = dpjax.Recorded.from_file(tmp_path / "calls.csv", "coin")
    applied = [name for name in ("sequential", "local", "guesses", "histogram")
               if METHODS[name].bounded and accepted(METHODS[name], recorded)]  # fmt: skip
    text = module_of("audit").TABLE["by"].text
    assert applied == ["sequential", "local", "guesses"] and all(name in text for name in applied)
    assert (
        f"By default, --method {recorded.usual_method} audits" in text and "histogram" not in text
    )


def accepted(method, source):
    """Return whether a method with its default options audits the source."""
    try:
        return method().accepts(source) is None
    except TypeError:  # A histogram has no default options.
        return False


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_ends_with_the_examples(lines, name):
    *_, last = "\n".join(lines(name)).split("\n\n")
    assert last.strip().split("\n") == ["Examples:", *(f"  {x}" for x in module_of(name).EXAMPLES)]


def test_the_commands_are_listed_in_their_order(lines):
    shown = lines()
    listed = shown[shown.index("Commands:") + 1 : shown.index("Examples:") - 1]
    assert [line.split()[0] for line in listed if line[2] != " "] == list(COMMANDS)
    assert shown[shown.index("Examples:") + 1] == "  dpjax mechanisms"
    whole = " ".join(" ".join(listed).split())
    for name in COMMANDS:
        first = module_of(name).command.__doc__.partition("\n")[0]
        assert f"{name} {first}" in whole


def test_options_are_listed_with_their_owners(lines):
    shown = lines("audit")
    titles = [line for line in shown if line.startswith("Options of ")]
    assert "Options of --method events and local:" in titles and len(titles) == len({*titles})
    at = shown.index("Options of --method local:")
    assert "--bandwidth RULE|NUMBER" in shown[at + 1]


@pytest.mark.parametrize(
    ("words", "message", "called"),
    [
        (("audt",), "No such command 'audt'", "dpjax"),
        (("audit", "laplace", "--epsylon", "1"), "No such option", "dpjax audit"),
        (("plan", "--rate"), "Option '--rate' requires an argument", "dpjax plan"),
        (("plan", "--rate", "x"), "'x' is not a valid float", "dpjax plan"),
        (("plan", "x"), "Got unexpected extra argument", "dpjax plan"),
        (("rerun",), "Missing argument 'FILE'", "dpjax rerun"),
    ],
)
def test_a_wrong_word_is_named_with_the_help_to_read(run, words, message, called):
    done = run(*words)
    assert done.exit_code == 2 and done.output == ""
    first, second = done.error.splitlines()
    assert first.startswith("error: ") and message in first
    assert second == f"`{called} --help` shows what is accepted."


def test_without_a_command_the_help_is_an_error(run, lines):
    done = run()
    assert done.exit_code == 2 and done.output == ""
    assert done.error.split() == " ".join(lines()).split()
