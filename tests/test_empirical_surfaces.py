"""Command line, report, figures and the reproduction of empirical privacy."""

import ast
import html
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import dpjax
from dpjax.cli import _app, _reproduce
from dpjax.empirical import (
    EmpiricalPrivacy,
    calibrate_noise,
    empirical_privacy,
    plot_empirical_curves,
    plot_empirical_densities,
    plot_empirical_noise,
    write_empirical_report,
)
from dpjax.report import _files, check_report_path


@pytest.fixture
def csv(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(2000 + y, f"f{i}", rng.gamma(2.0) * (1 + i)) for y in range(12) for i in range(5)]
    path = tmp_path / "panel.csv"
    pd.DataFrame(rows, columns=["year", "firm", "sales"]).to_csv(path, index=False)
    return path


ROOT = Path(__file__).parents[1]
KEYS = ["--database", "year", "--individual", "firm", "--value", "sales"]


class Done(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def dpjax_command(monkeypatch, capsys):
    """The command line as a terminal has it: (arguments) -> exit code and both streams."""
    # An empty name: compiled code is kept nowhere.
    monkeypatch.setenv("DPJAX_CACHE_DIR", "")

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["dpjax", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            _app.run()
        return Done(ended.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def run(dpjax_command):
    return lambda *arguments: dpjax_command("empirical", *arguments)


def test_command_line_says_what_the_function_says(run, csv):
    done = run(csv, *KEYS, "--query", "mean", "--epsilon", "0.1", "--epsilon", "0:1:3", "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    options = {"database": "year", "individual": "firm", "value": "sales"}
    result = empirical_privacy(csv, "mean", epsilon=[0.1, 0.0, 0.5, 1.0], **options)
    assert told["deltas"] == result.deltas.tolist()
    assert told["epsilons"] == [0.1, 0.0, 0.5, 1.0]
    assert told["individuals"] == ["f0", "f1", "f2", "f3", "f4"]
    assert EmpiricalPrivacy.from_json(done.stdout).to_json() == result.to_json()


def test_command_line_in_words_with_noise_and_report(run, csv, tmp_path):
    done = run(csv, *KEYS, "--bandwidth", "1.5", "--noise", "0.5", "--report", tmp_path / "r.html")
    assert done.exit_code == 0, done.stderr
    assert "Empirical privacy of mean: 5 individuals, 12 databases" in done.stdout
    assert "Noise for mean at epsilon = 0.5: Laplace noise" in done.stdout
    assert (tmp_path / "r.html").exists()
    assert done.stderr == f"wrote {tmp_path / 'r.html'}\n"
    with_noise = run(csv, *KEYS, "--bandwidth", "1.5", "--noise", "0.5", "--json")
    assert json.loads(with_noise.stdout)["noise"]["epsilon"] == 0.5
    joint = run(csv, *KEYS, "--query", "mean", "--query", "max", "--epsilon", "0.5")
    assert joint.exit_code == 0 and "mean and max" in joint.stdout
    known = run(csv, *KEYS, "--adversary", "max", "--epsilon", "0.5")
    assert known.exit_code == 0 and "given adversary value" in known.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--query", "men"], "query 'men' is not known"),
        (["--epsilon", "tiny"], "epsilon must be a number or FROM:TO:COUNT"),
        (["--bandwidth", "-1"], "bandwidth must be a number > 0"),
        (["--report", "report.pdf"], "report file must end in .html or .md"),
        (["--report", "nowhere/report.md"], "in a folder that does not exist"),
        (["--noise-rule", "smallest"], "the noise that --noise asks for"),
        (["--noise", "0.5", "--noise-rule", "smalest"], "did you mean 'smallest'"),
        (["--noise", "0.5", "--noise-kind", "cauchy"], "noise 'cauchy' is not known"),
        (["--kernel", "box"], "kernel 'box' is not known"),
    ],
)
def test_bad_input_exits_with_2_and_one_sentence(run, csv, arguments, words):
    done = run(csv, *KEYS, *arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ") and words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_bad_files_exit_with_2(run, csv, tmp_path):
    missing = run(tmp_path / "none.csv")
    assert missing.exit_code == 2 and "there is none" in missing.stderr
    columns = run(csv)
    assert columns.exit_code == 2 and "database column 'database'" in columns.stderr
    (tmp_path / "broken.parquet").write_text("nothing")
    broken = run(tmp_path / "broken.parquet")
    assert broken.exit_code == 2 and "could not be read" in broken.stderr


def test_command_line_offers_what_the_noise_offers(run, csv):
    fixed = [*KEYS, "--bandwidth", "1.5", "--noise", "0.5", "--json"]
    told = run(csv, *fixed, "--noise-rule", "smallest", "--noise-kind", "deconvolution",
               "--sensitivity", "9")  # fmt: skip
    assert told.exit_code == 0, told.stderr
    options = {"database": "year", "individual": "firm", "value": "sales", "bandwidth": 1.5}
    noise = calibrate_noise(
        csv, "mean", epsilon=0.5, rule="smallest", noise="deconvolution", sensitivity=9, **options
    )
    assert json.loads(told.stdout)["noise"] == noise.to_dict()
    assert noise.classical_error == 18


def test_noise_is_strict_json_where_a_ratio_is_infinite(run, tmp_path):
    # The minima are 0, 0, 1, and 0, 1, 1 without a: the same set, so the paper's scale is 0.
    rows = [
        (k, name, float(k == 2 or (k == 1 and name != "a"))) for k in range(3) for name in "abc"
    ]
    path = tmp_path / "minima.csv"
    pd.DataFrame(rows, columns=["database", "individual", "value"]).to_csv(path, index=False)
    done = run(path, "--query", "min", "--bandwidth", "1", "--noise", "1", "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(name))
    assert told["noise"]["hausdorff_log_ratio"] == "inf"
    assert told["noise"]["hausdorff_suffices"] is False


@pytest.fixture
def values():
    return np.random.default_rng(0).gamma(2.0, size=(12, 6))


def test_reports_hold_every_part(values, tmp_path):
    result = empirical_privacy(values, "mean", epsilon=np.linspace(0, 2, 20), adversary=None)
    noise = calibrate_noise(values, "mean", epsilon=0.5)
    page = write_empirical_report(result, tmp_path / "report.html", noise).read_text()
    assert page.count("<img") == 3 and "<script" not in page
    text = write_empirical_report(result, tmp_path / "report.md", noise).read_text()
    for part in ("Privacy", "Individuals", "Method", "Checks of the premises", "Noise"):
        assert f"<h2>{part}</h2>" in page and f"## {part}\n" in text
    assert "runs (p = " in page and "lag-1 autocorrelation" in page and "Coverage" in page
    for name in ("curves", "densities", "noise"):
        assert f"(report-{name}.png)" in text
        assert (tmp_path / f"report-{name}.png").stat().st_size > 5000


def test_reports_escape_what_comes_from_the_data(values, tmp_path):
    table = pd.DataFrame(values).melt(ignore_index=False, var_name="individual").reset_index()
    table["individual"] = "<b>|" + table["individual"].astype(str)
    result = empirical_privacy(table, "mean", epsilon=0.5, database="index", bandwidth=1.0)
    page = write_empirical_report(result, tmp_path / "r.html").read_text()
    assert "<b>" not in page and "&lt;b&gt;" in page
    assert "<b>/0" in write_empirical_report(result, tmp_path / "r.md").read_text()


def test_reports_of_adversaries_and_joint_queries(values, tmp_path):
    known = empirical_privacy(values, "mean", epsilon=[0.1, 1.0], adversary="max")
    assert "<h2>Adversary</h2>" in write_empirical_report(known, tmp_path / "a.html").read_text()
    joint = empirical_privacy(values, ("mean", "max"), epsilon=0.5, cells=32)
    assert (
        "Error of the integrals" in write_empirical_report(joint, tmp_path / "j.html").read_text()
    )


def test_reports_say_how_to_do_it_again(values, tmp_path):
    result = empirical_privacy(values, "mean", epsilon=0.5, bandwidth=0.25)
    for name in ("r.html", "r.md"):
        text = html.unescape(write_empirical_report(result, tmp_path / name).read_text())
        assert '"bandwidth": 0.25' in text and '"dpjax": ' in text
        # One epsilon has no curve; that is not matplotlib missing.
        assert "matplotlib" not in text


def test_reports_without_matplotlib_say_so(values, tmp_path, monkeypatch):
    monkeypatch.setattr("dpjax.empirical._report.find_spec", lambda name: None)
    result = empirical_privacy(values, "mean", epsilon=[0.5, 1.0])
    text = write_empirical_report(result, tmp_path / "r.md").read_text()
    assert "The figures need matplotlib" in text and "![" not in text


def test_report_paths_that_cannot_be(values, tmp_path, monkeypatch):
    result = empirical_privacy(values, "mean", epsilon=0.5)
    with pytest.raises(ValueError, match=r"must end in .html or .md"):
        write_empirical_report(result, tmp_path / "r.txt")
    with pytest.raises(FileNotFoundError, match="folder that does not exist"):
        write_empirical_report(result, tmp_path / "none" / "r.md")
    monkeypatch.setattr(_files, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'dpjax\[report\]'"):
        check_report_path(tmp_path / "r.md")


def test_nothing_half_written_stays(values, tmp_path, monkeypatch):
    result = empirical_privacy(values, "mean", epsilon=[0.5, 1.0])
    old = tmp_path / "r.md"
    old.write_text("old")

    def fail(*arguments, **options):
        raise OSError("disk full")

    monkeypatch.setattr("dpjax.empirical._report.render_empirical_report", fail)
    with pytest.raises(OSError, match="disk full"):
        write_empirical_report(result, old)
    monkeypatch.undo()
    monkeypatch.setattr("dpjax._files.os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_empirical_report(result, old)
    assert [p.name for p in tmp_path.iterdir()] == ["r.md"] and old.read_text() == "old"


def test_figures_show_the_numbers(values):
    result = empirical_privacy(values, "mean", epsilon=[1.0, 0.0, 0.5])
    left, right = plot_empirical_curves(result).axes
    np.testing.assert_array_equal(left.lines[0].get_xdata(), [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(left.lines[0].get_ydata(), result.delta[[1, 2, 0]])
    np.testing.assert_array_equal(right.lines[0].get_ydata(), result.total_risk[[1, 2, 0]])
    for options in ({}, {"kernel": "gaussian", "bandwidth": "variable"}):
        axes = plot_empirical_densities(
            empirical_privacy(values, "mean", epsilon=0.5, **options)
        ).axes[0]
        curves = [line for line in axes.lines if line.get_marker() == "None"]
        assert len(curves) == 2
        for line in curves:
            assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1, abs=0.02)
    stepped = empirical_privacy(values, "mean", epsilon=0.5, kernel="ecdf")
    heights, edges, _ = plot_empirical_densities(stepped).axes[0].patches[0].get_data()
    assert heights @ np.diff(edges) == pytest.approx(1)
    noise = calibrate_noise(values, "mean", epsilon=0.5, noise="deconvolution")
    axes = plot_empirical_noise(noise, num_draws=20_000).axes[0]
    heights, edges, _ = axes.patches[0].get_data()
    assert heights @ np.diff(edges) == pytest.approx(1 - noise.noise.atom, abs=0.02)
    with pytest.raises(ValueError, match="one query and without an adversary"):
        plot_empirical_densities(empirical_privacy(values, "mean", epsilon=0.5, adversary="max"))


def test_the_reproduction_runs_in_small(dpjax_command, tmp_path):
    done = dpjax_command("reproduce", "empirical", "--quick", "--out", tmp_path)
    assert done.exit_code == 0, done.stderr
    assert done.stderr == f"wrote {tmp_path}\n"
    summary = json.loads((tmp_path / "empirical.json").read_text())
    assert summary["generated"]["databases"] == 41
    assert summary["generated"]["individuals"] == 60
    assert 0 < summary["generated"]["epsilon_at_zero"] < np.inf
    kinds = {"generated-curves.png", "generated-densities.png", "generated-noise.png"}
    assert kinds < {p.name for p in tmp_path.iterdir()}
    if "grunfeld" in summary:
        assert summary["grunfeld"]["individuals"] == 11
        assert "look dependent" in summary["grunfeld"]["independence"][0]


def test_reproductions_that_cannot_be(dpjax_command, tmp_path, monkeypatch):
    unknown = dpjax_command("reproduce", "empirica", "--out", tmp_path / "out")
    assert unknown.exit_code == 2 and unknown.stdout == ""
    assert unknown.stderr.startswith(
        "error: reproduction 'empirica' is not known; did you mean 'empirical'?"
    )
    (tmp_path / "file").write_text("")
    taken = dpjax_command("reproduce", "empirical", "--out", tmp_path / "file")
    assert taken.exit_code == 2 and "is a file" in taken.stderr
    # As where only the package is installed.
    monkeypatch.setattr(dpjax, "__file__", str(tmp_path / "site-packages/dpjax/__init__.py"))
    alone = dpjax_command("reproduce", "empirical", "--out", tmp_path / "out")
    assert alone.exit_code == 2 and "a clone of the repository" in alone.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", _reproduce.REPRODUCTIONS)
def test_every_reproduction_has_its_script(name):
    script = ROOT / "benchmarks" / f"{_reproduce.REPRODUCTIONS[name].module}.py"
    mains = [
        node
        for node in ast.parse(script.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == "main"
    ]
    expected = ["quick", "runs", "only"] if _reproduce.REPRODUCTIONS[name].sweep else ["quick"]
    assert [a.arg for a in mains[0].args.kwonlyargs][: len(expected)] == expected
