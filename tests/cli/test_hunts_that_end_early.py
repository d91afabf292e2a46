"""`dpjax hunt` keeps its results if it is interrupted, and distinguishes cases by their files."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpjax.cli._stop import Left
from dpjax.hunting import Environment, _environment


@pytest.fixture
def ended(run, capsys):
    """Return a function (arguments) -> exit code and both streams of a command that may stop."""

    def call(*arguments):
        try:
            return run(*arguments)
        except Left as left:
            output, error = capsys.readouterr()
            return SimpleNamespace(exit_code=left.exit_code, output=output, error=error)

    return call


@pytest.fixture
def hunted(monkeypatch):
    """Return a function that sets the verdict of each release, or an error to raise instead."""
    from dpjax import hunting

    def use(verdicts):
        def hunt(cases, environments, folder, **options):
            for case in cases:
                for found in environments(case):
                    verdict = verdicts[found.spec]
                    if isinstance(verdict, BaseException):
                        raise verdict
                    row = {"release": found.spec, "case": case.title, "claim": 0.1, "delta": 0.0,
                           "bound": 0.2, "verdict": verdict, "pair": "", "seconds": 1.0,
                           "reported": "", "documented": False}  # fmt: skip
                    yield SimpleNamespace(row=row, spec=found.spec, case=case)

        def environment(spec, requires, folder, *, dependencies):
            return Environment(spec, Path(sys.executable))

        monkeypatch.setattr(hunting, "hunt", hunt)
        monkeypatch.setattr(hunting, "environment_of", environment)

    return use


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "Stopped before all releases were audited."),
        (OSError("the disk is full"), 2, "error: the disk is full"),
        (RuntimeError("a bug"), 3, "RuntimeError: a bug"),
    ],
)
@pytest.mark.parametrize("way", ["named", "bisected"])
def test_what_ends_a_hunt_loses_no_finished_results(
    case, tmp_path, ended, hunted, raised, code, message, way
):
    verdicts = {"nothing==1": "violated", "nothing==2": raised, "nothing==3": "not refuted"}
    hunted(verdicts)
    named = verdicts if way == "named" else ["--bisect", "1,2,3"]
    table, options = tmp_path / "found.md", ["--cases", case, "--folder", tmp_path]
    done = ended("hunt", *named, *options, "--table", table)
    finished = ["nothing==1", "nothing==3"][: 1 if way == "named" else 2]
    assert done.exit_code == code and done.error.splitlines()[-1] == message
    shown = [line for line in done.output.splitlines() if not line.startswith(" ")]
    assert shown == [f"{spec}: coins" for spec in finished]
    assert [line.split()[1] for line in table.read_text().splitlines()[2:]] == finished
    done = ended("hunt", *named, *options, "--json")
    assert [row["release"] for row in json.loads(done.output)] == finished
    # If no result is finished, only the error is shown.
    hunted(dict.fromkeys(verdicts, raised))
    assert ended("hunt", *named, *options).output == ""


@pytest.mark.slow
def test_ctrl_c_shows_the_results_that_are_finished(case, tmp_path, monkeypatch):
    """The second case hangs after the first one is audited, and the command is interrupted."""
    slow, begun = tmp_path / "slow.py", tmp_path / "begun"
    slow.write_text(
        "package, claim, pairs = 'nothing', 0.1, [(0, 1)]\n"
        "def draw(value):\n"
        f"    open({str(begun)!r}, 'w').close()\n"
        "    import time; time.sleep(600)\n"
    )
    monkeypatch.setattr(
        _environment, "_run", lambda words, spec: Path(words[-1]).mkdir(parents=True, exist_ok=True)
    )
    release = _environment.environment_of("nothing==1", [], tmp_path / "environments")
    release.python.parent.mkdir()
    release.python.symlink_to(sys.executable)
    words = ["nothing==1", "--cases", case, "--cases", slow, "--folder", tmp_path]
    process = subprocess.Popen(
        [sys.executable, "-m", "dpjax.cli", "hunt", *map(str, words)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not begun.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        # The terminal also sends the signal to the process of the release.
        os.killpg(process.pid, signal.SIGINT)
        output, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and "nothing==1: coins\n  VIOLATED: epsilon at" in output
    assert error.splitlines()[-1] == "Stopped before all releases were audited."


def test_cases_of_the_same_name_are_refused_and_those_of_the_same_title_told_apart(
    case, tmp_path, run, refused, hunted
):
    title = '"""Coins."""\n'
    coins = case.read_text()
    case.write_text(title + coins)
    same, other = tmp_path / "b" / "coins.py", tmp_path / "other.py"
    same.parent.mkdir()
    same.write_text(coins)
    other.write_text(title + coins.replace("nothing", "other"))
    for options in (["nothing==1"], ["--bisect", "1,2"], ["--again"]):
        said = refused("hunt", *options, "--cases", case, "--cases", same)
        assert said.startswith("error: --cases must be files with different names")
        assert said.endswith("two files are named coins.py.\n")
    hunted({"nothing==1": "violated", "nothing==2": "not refuted",
            "other==1": "not refuted", "other==2": "not refuted"})  # fmt: skip
    words = ["--bisect", "1,2", "--cases", case, "--cases", other, "--folder", tmp_path / "f"]
    changes = {
        "coins": "The claim is refuted in 1, and not refuted in 2.",
        "other": "In the oldest and in the newest version, the claim is not refuted.",
    }
    assert json.loads(run("hunt", *words, "--json").output)["changes"] == changes
    assert run("hunt", *words).output.splitlines()[-2:] == [
        f"{name}: {sentence}" for name, sentence in changes.items()
    ]
