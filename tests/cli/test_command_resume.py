"""`dpjax audit --resume` requires the same terms and gives the result of an uninterrupted audit."""

import json

import pytest

pytest.importorskip("jinja2")

MODULE = """
import os

def release(count, num_samples, rng):
    left = int(os.environ["CALLS_LEFT"]) - 1
    os.environ["CALLS_LEFT"] = str(left)
    if not left:
        raise KeyboardInterrupt
    return rng.laplace(count, 1.0, num_samples)
"""
SEQUENTIAL = ("--method", "sequential", "--claim", 1)
FEW = ("--num-samples", 200, "--num-confirm", 400)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(MODULE)
    return tmp_path


@pytest.mark.slow
def test_an_audit_that_was_stopped_often_is_one_that_never_was(run, folder, monkeypatch):
    audit = ("audit", "--host", "prog.py:release", "--pairs", "[[0, 1]]", *SEQUENTIAL, "--json")
    most = ("--num-draws", 40_000)
    monkeypatch.setenv("CALLS_LEFT", "1000")
    whole = json.loads(run(*audit, *most).output)
    file, counted = folder / "state.json", []
    for calls in (16, 7, 7, 7, 7):
        monkeypatch.setenv("CALLS_LEFT", str(calls))
        done = run(*audit, *most, *(("--resume", file) if counted else ()))
        assert "the user stopped the audit" in done.output
        file.write_text(done.output)
        counted.append(len(json.loads(done.output)["evidence"]["counted"]["path"]))
    monkeypatch.setenv("CALLS_LEFT", "1000")
    # Each file contains a longer part of the audit than the previous file.
    assert counted == sorted(set(counted))
    resumed = json.loads(run(*audit, *most, "--resume", file).output)
    assert resumed["evidence"] == whole["evidence"]
    assert resumed["statement"] == whole["statement"]
    assert len(resumed["evidence"]["counted"]["path"]) > counted[-1]


OTHER_TERMS = [
    (("--claim", 0.9), "resumed: it was 0.95 in first.json"),
    (("--notion", "gdp"), "--notion must stay"),
    (("--delta", 0.1), "--delta must stay"),
    (("--confidence", 0.9), "--confidence must stay"),
    (("--num-claims", 2), "--num-claims must stay"),
    (("--distance", 2), "--distance must stay"),
    (("--key", 3), "--key must stay"),
    (("--epsilon", 2), "its first outputs are no longer the same"),
    (("--pairs", "[[0, 0.5]]"), "its first outputs are no longer the same"),
    (("--method", "events"), "--resume is for --method sequential"),
    (("--resume", "no.json"), "no.json does not exist"),
]


def test_other_terms_are_refused(run, folder):
    first = ("audit", "laplace", "--method", "sequential", "--num-draws", 2000)
    first += ("--pairs", "[[0, 1]]")
    (folder / "first.json").write_text(run(*first, "--claim", 0.95, "--json").output)
    for arguments, message in OTHER_TERMS:
        done = run(*first, "--resume", "first.json", *arguments)
        assert done.exit_code == 2 and message in done.error and done.output == "", arguments
    assert run(*first, "--resume", "first.json").exit_code == 0


def test_an_audit_that_had_an_end_does_not_go_on(run, folder):
    (folder / "first.json").write_text(run("audit", "laplace", *FEW, "--json").output)
    done = run("audit", "laplace", "--method", "sequential", "--resume", "first.json")
    assert done.exit_code == 2 and "--resume must come from an audit with --method" in done.error
