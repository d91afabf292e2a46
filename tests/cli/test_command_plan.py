"""The command `plan`: the keys of its JSON, its text, and its errors."""

import json

import pytest

from dpjax import plan_draws
from dpjax.inference import InputInterval, plan

WORKED = ["--lipschitz", "1.58", "--width", "1", "--precision", "0.5", "--confidence", "0.8"]
RATE = ["plan", "--rate", "1e8"]


def test_json_has_the_numbers_of_the_plan(run):
    answer = run(*RATE, *WORKED, "--bound", "published", "--json")
    assert answer.exit_code == 0
    row = json.loads(answer.output)
    assert row["num_intervals"] == 91
    assert abs(row["num_samples"] - 1_863_132) <= 1
    assert row["num_inputs"] == 2
    assert row["bound"] == "published"
    assert row["seconds"] == pytest.approx(row["total_samples"] / 1e8)


def test_every_option_reaches_the_planner(run):
    options = "--order 2 --input-lipschitz 0.44 --input-width 0.5 --bound published --json"
    answer = run(
        *RATE, "--lipschitz", "0.22", "--precision", "1", "--confidence", "0.9", *options.split()
    )
    row = json.loads(answer.output)
    expected = plan(
        lipschitz=0.22,
        precision=1,
        confidence=0.9,
        order=2,
        inputs=InputInterval(width=0.5, lipschitz=0.44),
        bound="published",
    )
    assert row["num_samples"] == expected.num_samples
    assert row["num_inputs"] == expected.num_inputs


def test_inverse_questions_and_finite_outputs(run):
    inverse = run(
        *RATE, "--lipschitz", "1", "--confidence", "0.8", "--num-samples", "1000000", "--json"
    )
    assert 0 < json.loads(inverse.output)["precision"] < 1
    finite = (
        "--num-outputs 4 --least-probability 0.1 --num-inputs 3 --precision 0.1 --confidence 0.9"
    )
    assert json.loads(run(*RATE, *finite.split(), "--json").output)["num_inputs"] == 3


def test_text_is_for_people(run):
    text = run(*RATE, *WORKED, "--bound", "published").output
    assert "samples per input  1,863,131" in text
    assert "LDP epsilon" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--lipschitz", "2", "--precision", "1", "--confidence", "0.8"],
            "--lipschitz must be below",
        ),
        (
            ["--precision", "1", "--confidence", "0.8"],
            "one assumption must be given",
        ),
        (["--lipschitz", "1", "--precision", "1"], "but one was given."),
        ([*WORKED, "--bound", "all-interval"], "did you mean 'all-intervals'"),
        (
            ["--num-outputs", "4", "--precision", "1", "--confidence", "0.8"],
            "--least-probability must be",
        ),
        ([*WORKED, "--num-outputs", "4"], "combined with --lipschitz"),
        ([*WORKED, "--least-probability", "0.1"], "also pass their number as --num-outputs"),
        ([*WORKED, "--order", "1"], "--order must be"),
        ([*WORKED, "--input-lipschitz", "1"], "--input-lipschitz and --input-width must be given"),
        ([*WORKED, "--num-inputs", "1"], "--num-inputs must be an integer >= 2"),
        (
            [*WORKED, *"--input-lipschitz 1 --input-width 1 --num-inputs 3".split()],
            "--num-inputs must be left out with --input-lipschitz",
        ),
        ([*WORKED, "--num-samples", "10"], "but all were given."),
        ([*WORKED, "--rate", "0"], "--rate must be a number > 0"),
    ],
)
def test_errors_are_one_sentence(refused, arguments, message):
    assert message in refused(*RATE, *arguments)


def test_the_command_prints_the_plan(run, refused):
    wanted = ("plan", "--claim", 1, "--epsilon", 1.2, "--power", 0.5)
    number = plan_draws(1.0, 1.2, power=0.5)
    assert run(*wanted).output == f"draws per side  {number:,} (--num-draws {number})\n"
    told = json.loads(run(*wanted, "--confidence", 0.95, "--json").output)
    assert told == {
        "claim": 1.0, "epsilon": 1.2, "power": 0.5, "confidence": 0.95,
        "num_draws": plan_draws(1.0, 1.2, power=0.5, confidence=0.95),
    }  # fmt: skip
    assert "--epsilon must be given" in refused("plan", "--claim", 1)
    assert "--claim must be given" in refused("plan", "--power", 0.8)
    assert "--width is for histogram estimates" in refused(*wanted, "--width", 2)
    assert "--epsilon must be above the claim" in refused("plan", "--claim", 1, "--epsilon", 0.5)
