"""The end of a command: printed and written output, and the exit code of each verdict."""

from types import SimpleNamespace

import pytest

from dpjax.cli import _finish
from dpjax.cli._finish import Files, finish


def result(verdict="not refuted", interrupted=False, **options):
    return SimpleNamespace(
        verdict=verdict,
        settings={"interrupted": interrupted},
        to_json=lambda: '{"a": 1}',
        **options,
    )


@pytest.fixture
def forgotten(monkeypatch):
    found = []
    monkeypatch.setattr(_finish, "forget_output", lambda: found.append("output"))
    monkeypatch.setattr(_finish, "_for_people", lambda result: result)
    return found


@pytest.mark.parametrize(
    ("verdict", "interrupted", "code"),
    [
        ("violated", False, 1), ("not random", False, 1), ("violated", True, 1),
        ("not refuted", False, 0), ("no claim", False, 0), ("not refuted", True, 130),
        ("no claim", True, 130), ("doubtful", False, 2), ("doubtful", True, 2),
        ("anything else", False, 2),
    ],
)  # fmt: skip
def test_exit_codes_of_verdicts(forgotten, capsys, verdict, interrupted, code):
    assert finish(result(verdict, interrupted), True, Files()) == code
    assert capsys.readouterr().out == '{"a": 1}\n' and not forgotten


def test_an_audit_that_lost_a_worker_is_no_success(forgotten):
    for verdict, code in (("not refuted", 2), ("no claim", 2), ("violated", 1)):
        ended = result(verdict)
        ended.settings["lost_worker"] = True
        assert finish(ended, True, Files()) == code


def test_a_file_that_fails_is_named_and_changes_nothing_else(forgotten, capsys, tmp_path):
    def plot(path):
        raise OSError("no room")

    def report(path):
        path.write_text("page")

    pages = Files(plot=tmp_path / "x.png", report=tmp_path / "x.html")
    assert finish(result(plot=plot, report=report), True, pages) == 0
    said = capsys.readouterr()
    assert said.out == '{"a": 1}\n' and not forgotten
    first, second = said.err.splitlines()
    assert first == f"error: {tmp_path / 'x.png'} was not written: OSError: no room"
    assert "x.html" in second and (tmp_path / "x.html").read_text() == "page"


def test_output_that_fails_is_forgotten(forgotten, capsys):
    """Otherwise Python would report the same error again when it exits."""

    def to_json():
        raise OSError("closed")

    broken = result()
    broken.to_json = to_json
    assert finish(broken, True, Files()) == 0 and forgotten == ["output"]
    assert capsys.readouterr().err == ("error: standard output was not written: OSError: closed\n")
