"""The command line: exit codes, one JSON object, clear sentences, nothing half-written."""

import json
import subprocess
import sys

import numpy as np
import pytest

import dpjax
from dpjax.cli._app import run


def call(capsys, monkeypatch, *arguments):
    """Runs a command in this process; returns exit code, standard output and error."""
    monkeypatch.setattr(sys, "argv", ["dpjax", *map(str, arguments)])
    monkeypatch.setenv("DPJAX_CACHE_DIR", "")
    with pytest.raises(SystemExit) as end:
        run()
    output = capsys.readouterr()
    return end.value.code or 0, output.out, output.err


SMALL = ("--num-samples", 2000, "--num-confirm", 5000)


def test_as_a_module():
    command = [sys.executable, "-m", "dpjax", "--version"]
    assert subprocess.check_output(command, text=True).strip() == dpjax.__version__


def test_mechanisms(capsys, monkeypatch):
    code, out, _ = call(capsys, monkeypatch, "mechanisms")
    assert code == 0 and "report-noisy-max" in out
    code, out, _ = call(capsys, monkeypatch, "mechanisms", "--json")
    rows = {row["name"]: row for row in json.loads(out)["mechanisms"]}
    assert rows["svt4"]["level"] == 1.75 and rows["svt5"]["level"] is None


def test_exit_codes_follow_the_verdict(capsys, monkeypatch):
    code, out, _ = call(capsys, monkeypatch, "audit", "laplace", "--claim", 1, *SMALL)
    assert code == 0 and "NOT REFUTED" in out
    code, out, _ = call(capsys, monkeypatch, "audit", "laplace", "--claim", 0.3, *SMALL)
    assert code == 1 and "VIOLATED" in out


def test_json_is_one_object(capsys, monkeypatch):
    arguments = ("audit", "svt5", "--epsilon", 0.7, "--json", "--seed", 5, *SMALL)
    code, out, err = call(capsys, monkeypatch, *arguments)
    result = json.loads(out)
    assert code == 0 and result["seed"] == 5 and result["parameters"]["epsilon"] == 0.7
    assert result["verdict"] == "no claim" and "{" not in err
    # The same seed, the same numbers.
    again = json.loads(call(capsys, monkeypatch, *arguments)[1])
    assert again["lower_bound"] == result["lower_bound"]


def test_parameters(capsys, monkeypatch):
    arguments = ("audit", "randomized-response", "--param", "num-categories=4", "--json", *SMALL)
    code, out, _ = call(capsys, monkeypatch, *arguments)
    assert code == 0 and json.loads(out)["parameters"]["num_categories"] == 4


def test_recorded_files(capsys, monkeypatch, tmp_path):
    rng = np.random.default_rng(1)
    np.save(tmp_path / "x.npy", rng.laplace(size=5000))
    np.savetxt(tmp_path / "y.csv", rng.laplace(1.0, size=5000))
    files = ("--samples", tmp_path / "x.npy", tmp_path / "y.csv")
    code, out, err = call(
        capsys, monkeypatch, "audit", *files, "--claim", 0.3,
        "--plot", tmp_path / "p.png", "--report", tmp_path / "r.html",
    )  # fmt: skip
    assert code == 1 and "VIOLATED" in out and "p.png" in err
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "What was not tested" in (tmp_path / "r.html").read_text()


def test_functions(capsys, monkeypatch, tmp_path):
    (tmp_path / "mine_for_cli.py").write_text(
        "import jax\ndef release(key, x):\n    return x + jax.random.laplace(key)\n"
    )
    (tmp_path / "pairs.json").write_text("[[0.0, 1.0], [0.0, 0.5]]")
    monkeypatch.chdir(tmp_path)
    arguments = ("audit", "--function", "mine_for_cli:release", "--pairs", "pairs.json", *SMALL)
    code, out, _ = call(capsys, monkeypatch, *arguments, "--claim", 0.3)
    assert code == 1 and "release" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("laplce",), "did you mean 'laplace'"),
        (("laplace", "--epsilon", -1), "epsilon must be a number > 0, but was -1.0"),
        (("gaussian", "--epsilon", 1), "gaussian has no parameter 'epsilon'"),
        (("laplace", "--param", "epsilon=x"), "must be a number, but was 'x'"),
        (("laplace", "--num-samples", 60_000), "num_confirm (N) must be larger"),
        (("laplace", "--region", 2, 1), "region must have low < high"),
        (("laplace", "--confidence", 95), "confidence must lie strictly between 0 and 1"),
        (("laplace", "--plot", "x.gif"), "plot file must end in one of .png"),
        (("laplace", "--plot", "nowhere/x.png"), "folder that does not exist"),
        (("laplace", "--report", "x.pdf"), "report"),
        ((), "name one thing to audit"),
        (("laplace", "--samples", "x.npy", "y.npy"), "name one thing to audit"),
        (("--samples", "x.npy", "y.npy"), "samples file x.npy does not exist"),
        (("--function", "nothing"), "--function must be MODULE:NAME"),
        (("--function", "nothing_here:f"), "cannot be imported"),
        (("--function", "math:f"), "has no 'f'"),
        (("laplace", "--pairs", "none.json"), "is not a file"),
    ],
)
def test_bad_input_exits_with_2(capsys, monkeypatch, tmp_path, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, monkeypatch, "audit", *arguments)
    assert code == 2 and out == ""
    assert sentence in err and err.count("\n") == 1 and err.startswith("error: ")
    assert list(tmp_path.iterdir()) == []


def test_a_bug_is_not_a_verdict(capsys, monkeypatch):
    import dpjax

    def broken(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr(dpjax, "audit", broken)
    code, _, err = call(capsys, monkeypatch, "audit", "laplace")
    assert code == 3 and "a bug" in err


def test_a_result_is_not_lost_to_a_file_that_cannot_be_written(capsys, monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    for name, shift in (("x", 0.0), ("y", 2.0)):
        np.save(tmp_path / f"{name}.npy", rng.laplace(shift, size=(5000, 2)))
    files = ("audit", "--samples", tmp_path / "x.npy", tmp_path / "y.npy")
    report = tmp_path / "report.md"
    asked = ("--plot", tmp_path / "vectors.png", "--report", report)
    code, out, err = call(capsys, monkeypatch, *files, "--claim", 0.5, *asked)
    assert code == 1 and "VIOLATED" in out
    assert "vectors.png was not written: " in err and f"wrote {report}" in err
    code, out, err = call(capsys, monkeypatch, *files, *asked)
    assert code == 2 and "NO CLAIM" in out
