"""The command `plan`: its JSON keys, its text, its errors."""

import json

import pytest
import typer
from typer.testing import CliRunner

from dpjax.cli._plan import register
from dpjax.inference import plan

WORKED = ["--lipschitz", "1.58", "--width", "1", "--precision", "0.5", "--confidence", "0.8"]
RATE = ["--rate", "1e8"]


@pytest.fixture
def run():
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)
    return lambda *arguments: CliRunner().invoke(app, ["plan", *RATE, *arguments])


def test_json_has_the_numbers_of_the_plan(run):
    answer = run(*WORKED, "--json")
    assert answer.exit_code == 0
    row = json.loads(answer.output)
    assert row["num_intervals"] == 91
    assert abs(row["num_samples"] - 1_863_132) <= 1
    assert row["num_inputs"] == 2
    assert row["bound"] == "published"
    assert row["seconds"] == pytest.approx(row["total_samples"] / 1e8)


def test_every_option_reaches_the_planner(run):
    options = "--order 2 --input-lipschitz 0.44 --input-width 1 --bound all-intervals --json"
    answer = run("--lipschitz", "0.22", "--precision", "1", "--confidence", "0.9", *options.split())
    row = json.loads(answer.output)
    expected = plan(
        lipschitz=0.22,
        precision=1,
        confidence=0.9,
        order=2,
        input_lipschitz=0.44,
        input_width=1,
        bound="all-intervals",
    )
    assert row["num_samples"] == expected.num_samples
    assert row["num_inputs"] == expected.num_inputs


def test_inverse_questions_and_finite_outputs(run):
    inverse = run("--lipschitz", "1", "--confidence", "0.8", "--num-samples", "1000000", "--json")
    assert 0 < json.loads(inverse.output)["precision"] < 1
    finite = (
        "--num-outputs 4 --least-probability 0.1 --num-inputs 3 --precision 0.1 --confidence 0.9"
    )
    assert json.loads(run(*finite.split(), "--json").output)["num_inputs"] == 3


def test_text_is_for_people(run):
    text = run(*WORKED).output
    assert "samples per input  1863131" in text
    assert "LDP epsilon" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--lipschitz", "2", "--precision", "1", "--confidence", "0.8"],
            "lipschitz must be below",
        ),
        (
            ["--precision", "1", "--confidence", "0.8"],
            "lipschitz must be a number > 0, but was not given",
        ),
        (["--lipschitz", "1", "--precision", "1"], "exactly two of precision"),
        ([*WORKED, "--bound", "all-interval"], "did you mean 'all-intervals'"),
        (
            ["--num-outputs", "4", "--precision", "1", "--confidence", "0.8"],
            "least_probability must be",
        ),
    ],
)
def test_errors_are_one_sentence(run, arguments, message):
    # The application's `run` prints it and exits with 2.
    error = run(*arguments).exception
    assert isinstance(error, ValueError | TypeError)
    assert message in str(error)
