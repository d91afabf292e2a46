"""`dpjax audit --method histogram`: verdicts, assumptions, reports."""

import json

import pytest

import dpjax
from dpjax.mechanisms import RandomizedResponse, TruncatedLaplace
from dpjax.reference import ExactTruncatedLaplace
from dpjax.report import render

LAW = ExactTruncatedLaplace(2.0)
HISTOGRAM = ("--method", "histogram")
LAPLACE = ("audit", "truncated-laplace", *HISTOGRAM, "--param", "scale=2", "--lipschitz", 0.64)
RESPONSE = ("audit", "randomized-response", *HISTOGRAM)


def test_it_says_what_the_function_says(run):
    options = ("--precision", 0.4, "--confidence", 0.9, "--key", 3, "--bound", "published")
    done = run(*LAPLACE, *options, "--claim", 0.5, "--json")
    assert done.exit_code == 0, done.error
    expected = dpjax.audit(
        TruncatedLaplace(2.0),
        method=dpjax.Histogram(lipschitz=0.64, precision=0.4, bound="published"),
        confidence=0.9,
        claim=0.5,
        key=3,
    )
    told = dpjax.AuditResult.from_json(done.output)
    assert told.row() | {"seconds": 0} == expected.row() | {"seconds": 0}
    assert told.evidence.counted == expected.evidence.counted
    assert told.recipe["key"] == 3


def test_exit_codes_follow_the_verdict(run):
    true, false = (run(*LAPLACE, "--precision", 0.3, "--claim", claim) for claim in (0.5, 0.1))
    assert true.exit_code == 0 and "NOT REFUTED" in true.output
    assert false.exit_code == 1 and "VIOLATED" in false.output


def test_all_inputs_and_renyi(run):
    """The confidence is 0.999, and the levels are those of the exact distributions."""
    options = ("--input-lipschitz", 1.27, "--input-width", 1, "--precision", 1, "--json")
    row = json.loads(run(*LAPLACE, *options).output)
    assert row["evidence"]["counted"]["plan"]["num_inputs"] > 2
    assert row["statement"]["lower_bound"] <= LAW.epsilon <= row["statement"]["upper_bound"]
    row = json.loads(run(*LAPLACE, "--order", 2, "--num-samples", 1_000_000, "--json").output)
    assert row["evidence"]["counted"]["plan"]["order"] == 2
    found = row["statement"]
    assert found["lower_bound"] <= LAW.pair_renyi(0, 1, 2) <= found["upper_bound"]


def test_precision_and_samples_together_must_reach_the_confidence(run):
    asked = (*LAPLACE, "--precision", 0.5, "--num-samples", 10_000, "--json")
    row = json.loads(run(*asked, "--confidence", 0.8).output)
    assert row["evidence"]["counted"]["plan"]["num_samples"] == 10_000
    done = run(*asked)
    assert done.exit_code == 2 and "--num-samples = 10000 draws reach the precision" in done.error


def test_finite_outputs(run):
    done = run(*RESPONSE, "--least-probability", 0.2, "--epsilon", 1, "--json")
    row = json.loads(done.output)
    assert row["statement"]["lower_bound"] <= 1 <= row["statement"]["upper_bound"]
    assert row["evidence"]["counted"]["p_value"] == 1.0


def test_functions(run, tmp_path, monkeypatch):
    (tmp_path / "mine_for_histogram.py").write_text(
        "import jax\ndef release(key, x):\n    return jax.random.uniform(key) * 2 + 0 * x\n"
    )
    (tmp_path / "pairs.json").write_text("[[0.0, 1.0], [0.0, 0.5]]")
    monkeypatch.chdir(tmp_path)
    options = ("--output-interval", 0, 2, "--lipschitz", 0.1, "--json")
    function = ("audit", "--function", "mine_for_histogram:release", *HISTOGRAM, *options)
    row = json.loads(run(*function, "--pairs", "pairs.json").output)
    assert row["provenance"]["mechanism"] == "release"
    assert row["evidence"]["counted"]["num_pairs"] == 2
    assert row["evidence"]["settings"]["inputs"] == [0.0, 0.5, 1.0]
    assert row["evidence"]["counted"]["plan"]["assumption"]["width"] == 2
    # An interval of inputs needs no pairs.
    row = json.loads(run(*function, "--input-width", 1, "--input-lipschitz", 1).output)
    assert row["evidence"]["counted"]["plan"]["num_inputs"] > 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (LAPLACE[:6], "--lipschitz must be given for outputs in an interval"),
        ((*LAPLACE, "--order", 0.5), "--order must be"),
        ((*LAPLACE, "--input-width", 1), "--input-lipschitz and --input-width must be given"),
        ((*LAPLACE, "--input-width", -1), "--input-width must be a number > 0"),
        ((*LAPLACE, "--bound", "both"), "--bound 'both' is not known"),
        ((*LAPLACE, "--claim", -1), "--claim must be a number >= 0"),
        ((*LAPLACE, "--least-probability", 0.1), "--least-probability is for finitely many"),
        ((*LAPLACE, "--report", "x.pdf"), "report file must end in"),
        (RESPONSE, "--least-probability must be given"),
        (
            (*RESPONSE, "--least-probability", 0.2, "--output-interval", 0, 1),
            "--lipschitz, --input-lipschitz and --output-interval are for outputs in an interval",
        ),
        (
            ("audit", "laplace", *HISTOGRAM, "--lipschitz", 1),
            "--output-interval must be given",
        ),
    ],
)
def test_bad_input_exits_with_2(refused, arguments, sentence):
    assert sentence in refused(*arguments)


def test_a_refuted_assumption_is_bad_input_and_not_a_verdict_on_the_claim(run):
    arguments = ("audit", "truncated-laplace", "--param", "scale=0.3", *HISTOGRAM)
    done = run(*arguments, "--lipschitz", 0.3, "--precision", 0.3, "--claim", 5)
    assert done.exit_code == 2 and "ASSUMPTION REFUTED: The counts contradict" in done.output


@pytest.mark.parametrize("kind", [".html", ".md"])
def test_report(run, tmp_path, kind):
    path = tmp_path / f"r{kind}"
    done = run(*LAPLACE, "--precision", 0.3, "--claim", 0.5, "--report", path)
    assert done.exit_code == 0 and str(path) in done.error
    text = path.read_text()
    for part in ("Not refuted", "LDP epsilon, estimate", "0.64-Lipschitz", "p = 1", "all-intervals",
                 "cannot rule out", "How to do it again", "intervals counted"):  # fmt: skip
        assert part in text


@pytest.mark.parametrize("kind", [".html", ".md"])
def test_report_of_a_failed_run(kind, tmp_path):
    method = dpjax.Histogram(least_probability=0.2)
    failed = dpjax.audit(RandomizedResponse(30.0, 2), method=method, claim=1.0)
    path = failed.report(tmp_path / f"r{kind}")
    text = path.read_text()
    assert text == render(failed.page(kind, f"r{kind}"), kind)
    assert "none: the run failed" in text and "received no draw" in text
    assert "Interval, confidence" not in text
