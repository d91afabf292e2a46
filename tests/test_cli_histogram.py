"""`dpjax audit --method histogram`: verdicts, options of either method, reports."""

import json
import sys
from typing import NamedTuple

import pytest

from dpjax import HistogramAudit, audit_histogram
from dpjax.cli import _app
from dpjax.mechanisms import RandomizedResponse, TruncatedLaplace
from dpjax.reference import ExactTruncatedLaplace
from dpjax.report import render_histogram_report, write_histogram_report

LAW = ExactTruncatedLaplace(2.0)
LAPLACE = ("truncated-laplace", "--method", "histogram", "--param", "scale=2", "--lipschitz", 0.64)


class Done(NamedTuple):
    exit_code: int
    output: str
    error: str


@pytest.fixture
def run(monkeypatch, capsys):
    """The command as a terminal has it: (arguments) -> exit code and both streams."""
    monkeypatch.setenv("DPJAX_CACHE_DIR", "")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpjax", "audit", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            _app.run()
        return Done(ended.value.code or 0, *capsys.readouterr())

    return call


def test_it_says_what_the_function_says(run):
    options = ("--precision", 0.4, "--confidence", 0.9, "--seed", 3, "--bound", "published")
    done = run(*LAPLACE, *options, "--claim", 0.5, "--json")
    assert done.exit_code == 0, done.error
    expected = audit_histogram(
        TruncatedLaplace(2.0),
        lipschitz=0.64,
        precision=0.4,
        confidence=0.9,
        bound="published",
        claim=0.5,
        key=3,
    )
    told = HistogramAudit.from_json(done.output)
    assert told.row() | {"seconds": 0} == expected.row() | {"seconds": 0}
    assert told.plan == expected.plan
    assert told.seed == 3


def test_exit_codes_follow_the_verdict(run):
    true, false = run(*LAPLACE, "--claim", 0.5), run(*LAPLACE, "--precision", 0.3, "--claim", 0.1)
    assert true.exit_code == 0 and "NOT REFUTED" in true.output
    assert false.exit_code == 1 and "VIOLATED" in false.output
    assert "cannot rule out" in true.output


def test_all_inputs_and_renyi(run):
    options = ("--input-lipschitz", 1.27, "--input-width", 1, "--precision", 1, "--json")
    row = json.loads(run(*LAPLACE, *options).output)
    assert row["plan"]["num_inputs"] > 2
    assert row["lower_bound"] <= LAW.epsilon <= row["upper_bound"]
    row = json.loads(run(*LAPLACE, "--order", 2, "--num-samples", 1_000_000, "--json").output)
    assert row["order"] == 2
    assert row["lower_bound"] <= LAW.pair_renyi(0, 1, 2) <= row["upper_bound"]


def test_precision_and_samples_leave_the_confidence_to_follow(run):
    row = json.loads(run(*LAPLACE, "--precision", 0.5, "--num-samples", 10_000, "--json").output)
    assert row["plan"]["num_samples"] == 10_000
    assert 0.8 < row["confidence"] < 0.95
    three = run(*LAPLACE, "--precision", 0.5, "--num-samples", 10, "--confidence", 0.9)
    assert three.exit_code == 2 and "exactly two of" in three.error


def test_finite_outputs(run):
    options = ("--method", "histogram", "--least-probability", 0.2, "--epsilon", 1)
    row = json.loads(run("randomized-response", *options, "--json").output)
    assert row["lower_bound"] <= 1 <= row["upper_bound"]
    assert row["safety_p_value"] is None


def test_functions(run, tmp_path, monkeypatch):
    (tmp_path / "mine_for_histogram.py").write_text(
        "import jax\ndef release(key, x):\n    return jax.random.uniform(key) * 2 + 0 * x\n"
    )
    (tmp_path / "pairs.json").write_text("[[0.0, 1.0], [0.0, 0.5]]")
    monkeypatch.chdir(tmp_path)
    options = ("--function", "mine_for_histogram:release", "--method", "histogram")
    row = json.loads(
        run(
            *options, "--pairs", "pairs.json", "--region", 0, 2, "--lipschitz", 0.1, "--json"
        ).output
    )  # fmt: skip
    assert row["mechanism"] == "release" and row["num_pairs"] == 3
    assert row["settings"]["inputs"] == [0.0, 0.5, 1.0]
    assert row["plan"]["assumption"]["width"] == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("laplace", "--method", "histograms"), "did you mean 'histogram'"),
        (("laplace", "--lipschitz", 1), "--lipschitz is for --method histogram"),
        (("laplace", "--order", 2), "--order is for --method histogram"),
        ((*LAPLACE, "--bandwidth", "scott"), "--bandwidth is for --method local"),
        ((*LAPLACE, "--num-confirm", 100), "--num-confirm is for --method local"),
        ((*LAPLACE, "--continuous"), "--discrete is for --method local"),
        ((*LAPLACE, "--plot", "x.png"), "--plot is for --method local"),
        (LAPLACE[:5], "lipschitz must be given for outputs in an interval"),
        ((*LAPLACE, "--order", 0.5), "order must be"),
        ((*LAPLACE, "--input-width", 1), "input_lipschitz and input_width are given together"),
        ((*LAPLACE, "--input-lipschitz", 1), "input_lipschitz and input_width are given together"),
        ((*LAPLACE, "--input-width", -1), "input_width must be a number > 0"),
        ((*LAPLACE, "--bound", "both"), "bound 'both' is not known"),
        ((*LAPLACE, "--claim", 0), "claim must be a number > 0"),
        ((*LAPLACE, "--least-probability", 0.1), "least_probability is for finitely many"),
        ((*LAPLACE, "--report", "x.pdf"), "report file must end in"),
        (("randomized-response", "--method", "histogram"), "least_probability must be given"),
        (
            (
                "randomized-response",
                "--method",
                "histogram",
                "--least-probability",
                0.2,
                "--region",
                0,
                1,
            ),
            "output_interval are for outputs in an interval",
        ),
        (("laplace", "--method", "histogram", "--lipschitz", 1), "output_interval must be given"),
    ],
)
def test_bad_input_exits_with_2(run, monkeypatch, tmp_path, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 2 and done.output == ""
    assert sentence in done.error
    assert done.error.count("\n") == 1 and done.error.startswith("error: ")
    assert list(tmp_path.iterdir()) == []


def test_a_refuted_assumption_is_bad_input_and_not_a_verdict_on_the_claim(run):
    arguments = ("truncated-laplace", "--param", "scale=0.3", "--method", "histogram")
    done = run(*arguments, "--lipschitz", 0.3, "--precision", 0.3, "--claim", 5)
    assert done.exit_code == 2 and "ASSUMPTION REFUTED: The counts contradict" in done.output


@pytest.mark.parametrize("kind", [".html", ".md"])
def test_report(run, tmp_path, kind):
    path = tmp_path / f"r{kind}"
    done = run(*LAPLACE, "--claim", 0.5, "--report", path)
    assert done.exit_code == 0 and str(path) in done.error
    text = path.read_text()
    for part in ("Not refuted", "LDP epsilon, estimate", "0.64-Lipschitz", "p = 1", "all-intervals",
                 "cannot rule out", "How to do it again", "num_intervals"):  # fmt: skip
        assert part in text


@pytest.mark.parametrize("kind", [".html", ".md"])
def test_report_of_a_failed_run(kind, tmp_path):
    failed = audit_histogram(RandomizedResponse(30.0, 2), least_probability=0.2, claim=1.0)
    path = write_histogram_report(failed, tmp_path / f"r{kind}")
    text = path.read_text()
    assert text == render_histogram_report(failed, kind)
    assert "none: the run failed" in text and "received no sample" in text
    assert "Interval, confidence" not in text
