"""`dpjax guide`."""

import io

from rich import console

from dpjax.guides import NAMES, read_guide


def test_the_list_has_every_guide(run):
    lines = run("guide").output.splitlines()
    assert [line.split()[0] for line in lines] == list(NAMES)
    assert lines[0].endswith("A first audit")


def test_a_pipe_gets_the_text_as_it_is(run):
    assert run("guide", "verdict").output == read_guide("verdict")


def test_a_terminal_gets_it_laid_out(run, monkeypatch):
    screen, made = io.StringIO(), console.Console
    monkeypatch.setattr(
        console, "Console", lambda: made(file=screen, force_terminal=True, width=80)
    )
    run("guide", "verdict")
    assert "Reading a verdict" in screen.getvalue() and "```" not in screen.getvalue()


def test_an_unknown_name_suggests_the_nearest(refused):
    said = refused("guide", "verdikt")
    assert said.startswith("error: guide 'verdikt' is not known; did you mean 'verdict'")
