"""Command line, report, figures and the reproduction of empirical privacy."""

import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from dpjax.calibration import calibrate_noise
from dpjax.cli._empirical import register
from dpjax.estimators import EmpiricalPrivacy, empirical_privacy
from dpjax.plotting import (
    plot_empirical_curves,
    plot_empirical_densities,
    plot_empirical_noise,
)
from dpjax.report import write_empirical_report


def app():
    """The command as a sub-command, as in `dpjax empirical`."""
    made = typer.Typer()
    register(made)
    made.command("other")(lambda: None)
    return made


@pytest.fixture
def csv(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(2000 + y, f"f{i}", rng.gamma(2.0) * (1 + i)) for y in range(12) for i in range(5)]
    path = tmp_path / "panel.csv"
    pd.DataFrame(rows, columns=["year", "firm", "sales"]).to_csv(path, index=False)
    return path


KEYS = ["--database", "year", "--individual", "firm", "--value", "sales"]


def run(*arguments):
    # click's test runner and the deprecations of its dependencies are not under test.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CliRunner().invoke(app(), ["empirical", *map(str, arguments)])


def test_command_line_says_what_the_function_says(csv):
    done = run(csv, *KEYS, "--query", "mean", "--epsilon", "0.1", "--epsilon", "0:1:3", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    options = {"database": "year", "individual": "firm", "value": "sales"}
    result = empirical_privacy(csv, "mean", epsilon=[0.1, 0.0, 0.5, 1.0], **options)
    assert told["deltas"] == result.deltas.tolist()
    assert told["epsilons"] == [0.1, 0.0, 0.5, 1.0]
    assert told["individuals"] == ["f0", "f1", "f2", "f3", "f4"]
    assert EmpiricalPrivacy.from_json(done.stdout).to_json() == result.to_json()


def test_command_line_in_words_with_noise_and_report(csv, tmp_path):
    done = run(csv, *KEYS, "--bandwidth", "1.5", "--noise", "0.5", "--report", tmp_path / "r.html")
    assert done.exit_code == 0, done.output
    assert "Empirical privacy of mean: 5 individuals, 12 databases" in done.stdout
    assert "Noise for mean at epsilon = 0.5: Laplace noise" in done.stdout
    assert (tmp_path / "r.html").exists()
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
        (["--report", "report.pdf"], "report must end in .md or .html"),
        (["--kernel", "box"], "kernel 'box' is not known"),
    ],
)
def test_bad_input_exits_with_2_and_one_sentence(csv, arguments, words):
    done = run(csv, *KEYS, *arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ") and words in done.stderr
    assert done.stdout == ""


def test_bad_files_exit_with_2(csv, tmp_path):
    missing = run(tmp_path / "none.csv")
    assert missing.exit_code == 2 and "there is none" in missing.stderr
    columns = run(csv)
    assert columns.exit_code == 2 and "database column 'database'" in columns.stderr
    (tmp_path / "broken.parquet").write_text("nothing")
    broken = run(tmp_path / "broken.parquet")
    assert broken.exit_code == 2 and "could not be read" in broken.stderr


@pytest.fixture
def values():
    return np.random.default_rng(0).gamma(2.0, size=(12, 6))


def test_reports_hold_every_part(values, tmp_path):
    result = empirical_privacy(values, "mean", epsilon=np.linspace(0, 2, 20), adversary=None)
    noise = calibrate_noise(values, "mean", epsilon=0.5)
    page = write_empirical_report(tmp_path / "report.html", result, noise).read_text()
    assert page.count("<img") == 3 and "<script" not in page
    text = write_empirical_report(tmp_path / "report.md", result, noise).read_text()
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
    page = write_empirical_report(tmp_path / "r.html", result).read_text()
    assert "<b>" not in page and "&lt;b&gt;" in page
    assert "<b>/0" in write_empirical_report(tmp_path / "r.md", result).read_text()


def test_reports_of_adversaries_and_joint_queries(values, tmp_path):
    known = empirical_privacy(values, "mean", epsilon=[0.1, 1.0], adversary="max")
    assert "<h2>Adversary</h2>" in write_empirical_report(tmp_path / "a.html", known).read_text()
    joint = empirical_privacy(values, ("mean", "max"), epsilon=0.5, cells=32)
    assert (
        "Error of the integrals" in write_empirical_report(tmp_path / "j.html", joint).read_text()
    )


def test_report_paths_that_cannot_be(values, tmp_path):
    result = empirical_privacy(values, "mean", epsilon=0.5)
    with pytest.raises(ValueError, match=r"must end in .md or .html"):
        write_empirical_report(tmp_path / "r.txt", result)
    with pytest.raises(ValueError, match="folder that exists"):
        write_empirical_report(tmp_path / "none" / "r.md", result)


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


def test_the_reproduction_runs_in_small(tmp_path, monkeypatch):
    path = Path(__file__).parents[1] / "benchmarks" / "empirical.py"
    spec = importlib.util.spec_from_file_location("benchmark_empirical", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "NUM_LOCATIONS", 60)
    summary = module.main(tmp_path)
    assert summary["generated"]["databases"] == 41
    assert summary["generated"]["individuals"] == 60
    assert 0 < summary["generated"]["epsilon_at_zero"] < np.inf
    assert json.loads((tmp_path / "empirical.json").read_text()) == summary
    kinds = {"generated-curves.png", "generated-densities.png", "generated-noise.png"}
    assert kinds < {p.name for p in tmp_path.iterdir()}
    if "grunfeld" in summary:
        assert summary["grunfeld"]["individuals"] == 11
        assert "look dependent" in summary["grunfeld"]["independence"][0]
