"""The steps of `dpjax rerun`: what it allows, how it compares the bounds, and how it ends."""

import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpjax.cli import _rerun
from dpjax.cli._rerun import command
from dpjax.results import AuditResult


@pytest.fixture
def parts(monkeypatch):
    """Record the calls of the command; `bounds` are those of the file and of the repetition."""
    found = SimpleNamespace(told=[], bounds=(0.5, 0.5))

    def bar(what, quiet=False):
        found.told.append(("bar", what, quiet))
        return nullcontext()

    def run(old, **options):
        found.told.append(("run", old.lower_bound, options))
        return SimpleNamespace(lower_bound=found.bounds[1])

    def finish(result, as_json, files, place):
        found.told.append(("finish", result.lower_bound, as_json, files, place.file))
        return 7

    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(_rerun, "progress_bar", bar)
    monkeypatch.setattr(_rerun, "untouched", lambda: found.told.append("seal") or nullcontext())
    monkeypatch.setattr(_rerun, "finish", finish)
    monkeypatch.setattr(_rerun.Files, "of", lambda given: "files")
    monkeypatch.setattr(import_module("dpjax.audit"), "rerun", run)
    monkeypatch.setattr(
        AuditResult, "from_file", lambda path: SimpleNamespace(lower_bound=found.bounds[0])
    )
    return found


GIVEN = {"file": Path("result.json"), "allow_import": None, "allow_command": False, "quiet": False,
         "as_json": True}  # fmt: skip


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("allowed", [None, ["mine"]])
def test_a_rerun_from_the_beginning_to_the_end(parts, quiet, allowed):
    before = [*sys.path]
    assert command(**GIVEN | {"quiet": quiet, "allow_import": allowed, "allow_command": quiet}) == 7
    options = {"allow_import": allowed or [], "allow_command": quiet}
    assert parts.told == [
        ("bar", "comparing outputs", quiet), "seal", ("run", 0.5, options),
        ("finish", 0.5, True, "files", "result.json"),
    ]  # fmt: skip
    assert sys.path == ([str(Path.cwd())] if allowed else []) + before


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ((0.5, 0.5), "The bound is the same as in result.json: 0.5000."),
        ((0.5, 0.5 + _rerun._CLOSE / 2), "The bound is the same as in result.json: 0.5000."),
        ((0.5, 0.75), "The bound differs from that in result.json: 0.75 instead of 0.5."),
        ((0.75, 0.5), "The bound differs from that in result.json: 0.5 instead of 0.75."),
    ],
)
def test_what_is_said_of_the_bound(parts, capsys, bounds, said):
    parts.bounds = bounds
    command(**GIVEN)
    assert capsys.readouterr().err == f"{said}\n"
