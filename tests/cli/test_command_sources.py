"""`dpjax audit` of Python functions, programs and recorded files."""

import json
import sys

import numpy as np
import pytest

import dpjax

PROGRAM = """
import random, sys
draw = random.Random(int(sys.argv[3]))
for _ in range(int(sys.argv[2])):
    print(float(sys.argv[1]) + draw.choice((-1, 1)) * draw.expovariate(1))
"""
SMALL = ("--num-samples", 2000, "--num-confirm", 5000, "--json")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "prog.py").write_text(PROGRAM)
    (tmp_path / "host_for_command.py").write_text(
        "def release(database, num_samples, rng):\n"
        "    return database[0] + rng.laplace(size=num_samples)\n"
        "def one(database, rng):\n"
        "    if rng.random() < 0.1 + 0.6 * database:\n"
        "        raise KeyError('nobody')\n"
        "    return float(rng.random())\n"
    )
    (tmp_path / "pairs.json").write_text("[[0.0, 1.0]]")
    (tmp_path / "lists.json").write_text("[[[0.0, 1], [1.0, 1]]]")
    (tmp_path / "bad.json").write_text("[[0, 1")
    (tmp_path / "odd.json").write_text("[[0, 1], [2]]")
    (tmp_path / "bad.npz").write_text("no archive")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_programs(run, folder):
    program = f"{sys.executable} -S prog.py {{database}} {{num_samples}} {{seed}}"
    options = ("--pairs", "pairs.json", "--claim", 0.1, "--timeout", 100, "--workers", 2, *SMALL)
    done = run("audit", "--command", program, *options)
    found = json.loads(done.output)
    assert done.exit_code == 1 and found["statement"]["basis"] == "exact binomial"
    assert found["provenance"]["mechanism"] == program


def test_python_functions(run, folder):
    options = ("--pairs", "lists.json", "--delta", 0.01, "--bits", "lowest", "--region", -9, 9)
    done = run("audit", "--host", "host_for_command:release", *options, *SMALL)
    found = json.loads(done.output)
    assert done.exit_code == 0 and 0.6 < found["statement"]["lower_bound"]
    assert (
        found["recipe"]["notion"]["delta"] == 0.01
        and found["evidence"]["settings"]["bits"] == "lowest"
    )
    assert found["witness"]["database"] == [0.0, 1] and found["evidence"]["region"] == "[-9, 9]"


@pytest.mark.slow
def test_one_by_one(run, folder):
    """An exception has probabilities 0.1 and 0.7, so the level is ln 7."""
    options = ("--one-by-one", "--pairs", "pairs.json", *SMALL)
    found = json.loads(run("audit", "--host", "host_for_command:one", *options).output)
    assert (
        1.5 < found["statement"]["lower_bound"] < np.log(7)
        and "KeyError" in found["witness"]["event"]
    )
    strict = run("audit", "--host", "host_for_command:one", *options, "--special", "error")
    assert strict.exit_code == 2 and "With --special 'outcomes'" in strict.error


def test_recordings(run, tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    monkeypatch.chdir(tmp_path)
    sides = {}
    for name, shift in (("x", 0), ("y", 1)):
        for part in (1, 2):
            outputs = rng.laplace(shift, size=3000)
            table = np.stack([np.zeros(3000), outputs], 1)
            np.savetxt(f"{name}{part}.csv", table, "%.17g", ",", header="a,b", comments="")
            sides.setdefault(name, []).append(outputs)
    arguments = ("audit", "--samples", "x*.csv", "y1.csv,y2.csv", "--column", "b", "--json")
    done = run(*arguments, "--search-fraction", 0.25, "--continuous")
    found = json.loads(done.output)
    recorded = dpjax.Recorded(
        *map(np.concatenate, sides.values()), discrete=False, search_fraction=0.25
    )
    assert done.exit_code == 0
    assert found["statement"]["lower_bound"] == dpjax.audit(recorded).lower_bound > 0.5
    assert found["provenance"]["mechanism"] == "x1.csv and 1 more / y1.csv and 1 more"
    # Densities are estimated in memory.
    local = json.loads(run(*arguments, "--method", "local", "--bandwidth", 0.2).output)
    assert local["statement"]["basis"] == "normal" and 0.5 < local["statement"]["lower_bound"] < 1.1


def test_two_columns_of_one_table_are_the_two_sides(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    sides = np.random.default_rng(0).laplace([0, 1], size=(4000, 2))
    np.savetxt("t.csv", sides, "%.17g", ",", header="before,after", comments="")
    table = ("audit", "--samples", "t.csv", "t.csv", "--column", "before")
    # The bound exceeds 1 with probability 1e-5.
    done = run(*table, "--column-y", "after", "--json", "--confidence", 0.99999)
    found = json.loads(done.output)
    assert done.exit_code == 0 and found["provenance"]["mechanism"] == "t.csv:before / t.csv:after"
    assert 0.5 < found["statement"]["lower_bound"] <= 1
    expected = dpjax.audit(dpjax.Recorded(*sides.T), confidence=0.99999)
    assert found["statement"]["lower_bound"] == expected.lower_bound
    for more, said in (((), "on both sides"), (("--column", "after"), "--column before,after")):
        done = run(*table, *more)
        assert done.exit_code == 2 and said in done.error


def test_several_columns_are_one_vector(run, monkeypatch, tmp_path):
    """The marginals of both sides are equal; only the sums of the two columns differ."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    sides = rng.choice([-1.0, 1.0], size=(2, 4000, 2))
    sides[1, :, 1] = sides[1, :, 0]
    for name, side in zip("xy", sides, strict=True):
        table = np.column_stack([side[:, 0], np.arange(4000), side[:, 1]])
        np.savetxt(f"{name}.csv", table, "%.17g", ",", header="count,row,mean", comments="")
    done = run("audit", "--samples", "x.csv", "y.csv", "--column", "count,mean", "--json")
    bound = json.loads(done.output)["statement"]["lower_bound"]
    assert done.exit_code == 0 and bound == dpjax.audit(dpjax.Recorded(*sides)).lower_bound > 2
    recordings = [dpjax.Recording(f"{name}.csv", ["count", "mean"]) for name in "xy"]
    assert dpjax.audit(dpjax.Recorded(*recordings)).lower_bound == bound
    alone = run("audit", "--samples", "x.csv", "y.csv", "--column", "count", "--json")
    assert json.loads(alone.output)["statement"]["lower_bound"] < 0.2
    same = ("audit", "--samples", "x.csv", "x.csv", "--column", "count,mean")
    done = run(*same, "--column-y", "mean,count")
    assert done.exit_code == 2 and "on both sides" in done.error
    done = run(*same[:3], "y.csv", "--column", "count,count")
    assert done.exit_code == 2 and "distinct columns" in done.error


@pytest.mark.slow
def test_files_with_a_figure_and_a_report(run, tmp_path):
    rng = np.random.default_rng(1)
    np.save(tmp_path / "x.npy", rng.laplace(size=5000))
    np.savetxt(tmp_path / "y.csv", rng.laplace(1.0, size=5000))
    done = run(
        "audit", "--samples", tmp_path / "x.npy", tmp_path / "y.csv", "--claim", 0.3,
        "--plot", tmp_path / "p.png", "--report", tmp_path / "r.html",
    )  # fmt: skip
    assert done.exit_code == 1 and "VIOLATED" in done.output and "p.png" in done.error
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "What was not tested" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("options", [(), ("--method", "local")])
def test_one_file_is_not_both_sides(run, tmp_path, options):
    path = tmp_path / "x.npy"
    np.save(path, np.random.default_rng(0).laplace(size=500))
    done = run("audit", "--samples", path, path, *options)
    assert done.exit_code == 2 and "is on both sides" in done.error


HOST = ("--host", "host_for_command:release")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--command", "a {database}"), "--command needs --pairs"),
        (("--command", "a", "--pairs", "pairs.json"), "--command must contain {database}"),
        (HOST, "--host needs --pairs"),
        (("--host", "nothing", "--pairs", "pairs.json"), "--host must be MODULE:NAME"),
        ((*HOST, "--bits", "x", "--pairs", "pairs.json"), "--bits 'x' is not known"),
        ((*HOST, "--bits", 9, "--pairs", "pairs.json"), "--bits"),
        ((*HOST, "--workers", -1, "--pairs", "pairs.json"), "--workers must be an integer >= 0"),
        ((*HOST, "--time-limit", 0, "--pairs", "pairs.json"), "--time-limit must be a number > 0"),
        (
            (*HOST, "--method", "local", "--pairs", "pairs.json"),
            "--method local estimates densities of JAX mechanisms and of recorded arrays",
        ),
        (
            (*HOST, "--method", "histogram", "--lipschitz", 1, "--pairs", "pairs.json"),
            "is not a JAX mechanism: use --method events.",
        ),
        ((*HOST, "--pairs", "odd.json"), "--pairs odd.json must be JSON"),
        ((*HOST, "--pairs", "."), "--pairs . is a folder"),
        (("laplace", "--pairs", "bad.json"), "--pairs bad.json must be JSON"),
        (("laplace", "--pairs", "bad.npz"), "--pairs bad.npz must be JSON"),
        (("--samples", "x.npy", "y.npy"), "samples file x.npy does not exist"),
        (
            ("--samples", "pairs.json", "bad.npz", "--search-fraction", 0.5),
            "samples file pairs.json must end in",
        ),
    ],
)
def test_bad_input_exits_with_2(run, folder, arguments, sentence):
    done = run("audit", *arguments)
    assert done.exit_code == 2 and done.output == "" and done.error.count("\n") == 1
    assert sentence in done.error and "allow_pickle" not in done.error
