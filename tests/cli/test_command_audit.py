"""`dpjax audit` of mechanisms and functions: exit codes, one JSON object, no partial files."""

import json
import re
from importlib import import_module

import numpy as np
import pytest

import dpjax
from dpjax.mechanisms import Laplace

SMALL = ("--num-samples", 2000, "--num-confirm", 5000)


def test_it_says_what_the_function_says(run):
    options = ("--key", 3, "--confidence", 0.99, "--num-claims", 2, "--delta", 0.01)
    done = run("audit", "laplace", "--epsilon", 0.7, "--claim", 0.1, "--json", *options, *SMALL)
    expected = dpjax.audit(
        Laplace(0.7),
        method=dpjax.Events(num_samples=2000, num_confirm=5000),
        notion=dpjax.Epsilon(delta=0.01),
        claim=0.1,
        confidence=0.99,
        num_claims=2,
        key=3,
    )
    told = dpjax.AuditResult.from_json(done.output)
    assert told.row() | {"seconds": 0} == expected.row() | {"seconds": 0}
    assert told.recipe == expected.recipe and told.num_claims == 2


def test_options_of_the_local_approach_arrive(run, monkeypatch):
    """Check only that the audit receives them; it does not run. Other tests run local audits."""
    asked = {}

    def audit(*_, **given):
        asked.update(given)
        raise ValueError("enough")

    monkeypatch.setattr(import_module("dpjax.audit"), "audit", audit)
    options = (
        "--region", -1, 2, "--bandwidth", 0.25, "--floor", 0.001, "--kernel", "biweight",
        "--density", "direct", "--objective", "loss", "--undersmoothing", 0.1, "--num-nodes", 256,
    )  # fmt: skip
    done = run("audit", "laplace", "--method", "local", *options, *SMALL)
    assert done.error == "error: enough\n"
    assert asked["method"] == dpjax.Local(
        2000, 5000, region=(-1, 2), bandwidth=0.25, floor=0.001, kernel="biweight",
        density="direct", objective="loss", undersmoothing=0.1, num_nodes=256,
    )  # fmt: skip


def test_exit_codes_follow_the_verdict(run):
    true = run("audit", "laplace", "--claim", 1, *SMALL)
    false = run("audit", "laplace", "--claim", 0.3, *SMALL)
    none = run("audit", "laplace", *SMALL)
    assert true.exit_code == 0 and "NOT REFUTED" in true.output
    assert false.exit_code == 1 and "VIOLATED" in false.output
    assert none.exit_code == 0 and "NO CLAIM" in none.output
    assert "confidence 0.999" in false.output


def test_json_is_one_object(run):
    done = run("audit", "svt5", "--epsilon", 0.7, "--json", "--key", 5, *SMALL)
    result = json.loads(done.output)
    assert done.exit_code == 0 and "{" not in done.error
    assert result["recipe"]["key"] == 5 and result["provenance"]["parameters"]["epsilon"] == 0.7
    assert result["statement"]["verdict"] == "no claim"


def test_parameters(run):
    done = run("audit", "randomized-response", "--param", "num-categories=4", "--json", *SMALL)
    assert (
        done.exit_code == 0
        and json.loads(done.output)["provenance"]["parameters"]["num_categories"] == 4
    )


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "mine_for_command.py").write_text(
        "import jax\n"
        "def release(key, x):\n    return x + jax.random.laplace(key)\n"
        "def vote(key, x):\n    return (jax.random.uniform(key) < 0.2 + 0.5 * x).astype(int)\n"
    )
    (tmp_path / "pairs.json").write_text("[[0.0, 1.0], [0.0, 0.5]]")
    np.savez(tmp_path / "pairs.npz", database=[0.0], neighbor=[1.0])
    monkeypatch.chdir(tmp_path)


def test_functions(run, mine):
    arguments = ("audit", "--function", "mine_for_command:release", "--claim", 0.3, *SMALL)
    for pairs in ("pairs.json", "pairs.npz"):
        done = run(*arguments, "--pairs", pairs)
        assert done.exit_code == 1 and "release" in done.output


@pytest.mark.slow
def test_functions_of_outcomes(run, mine):
    """The true level is log(0.7 / 0.2) = 1.25."""
    options = ("--pairs", "pairs.json", "--num-outcomes", 2, "--method", "local", "--json")
    done = run("audit", "--function", "mine_for_command:vote", *options, *SMALL)
    result = json.loads(done.output)
    assert done.exit_code == 0 and 0.9 < result["statement"]["lower_bound"] < 1.4
    assert result["evidence"]["region"] == "{0, ..., 1}"


def test_sentences_speak_of_options(run):
    arguments = ("truncated-laplace", "--param", "scale=0.3", "--method", "histogram")
    done = run("audit", *arguments, "--lipschitz", 0.3, "--precision", 0.3)
    assert "or use --method events, which needs no assumption" in done.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("laplce",), "did you mean 'laplace'"),
        (("laplace", "--epsilon", -1), "--epsilon must be a number > 0, but was -1.0"),
        (("gaussian", "--epsilon", 1), "known: sigma. To set a parameter, use --param NAME=VALUE."),
        (("laplace", "--param", "epsilon=x"), "must be a number, but was 'x'"),
        (("laplace", "--num-samples", 1), "--num-samples must be an integer >= 2"),
        (
            ("laplace", "--method", "local", "--num-samples", 60_000),
            "--num-confirm (N) must be larger than --num-samples (n)",
        ),
        (("laplace", "--region", 2, 1), "--region must have low < high"),
        (("laplace", "--confidence", 95), "--confidence must lie strictly between 0 and 1"),
        (("laplace", "--num-claims", 0), "--num-claims must be an integer >= 1"),
        (("laplace", "--delta", 1), "--delta must lie in [0, 1)"),
        (("laplace", "--claim", -1), "--claim must be a number >= 0"),
        (("laplace", "--key", -1), "key"),
        (("laplace", "--method", "histograms"), "--method 'histograms' is not known; did you mean"),
        (("laplace", "--method", "local", "--kernel", "box"), "--kernel 'box' is not known"),
        (("laplace", "--method", "local", "--bandwidth", "wide"), "bandwidth 'wide'"),
        (("laplace", "--plot", "x.gif"), "plot file must end in one of .png"),
        (("laplace", "--plot", "nowhere/x.png"), "folder that does not exist"),
        (("laplace", "--report", "x.pdf"), "report file must end in"),
        ((), "name one thing to audit"),
        (
            ("laplace", "--samples", "x.npy", "y.npy"),
            "name only one thing to audit, but not NAME (laplace) and --samples.",
        ),
        (("--samples", "x.npy", "--claim", "0.8"), "--samples needs two files, X and Y."),
        (("--function", "nothing", "--pairs", "p.json"), "--pairs p.json does not exist"),
        (("--function", "math:sin"), "--function needs --pairs, such as --pairs '[[0, 1]]'"),
        (("laplace", "--pairs", "none.json"), "none.json does not exist"),
        (("laplace", "--pairs", "."), "--pairs . is a folder"),
    ],
)
def test_bad_input_exits_with_2(refused, arguments, sentence):
    assert sentence in refused("audit", *arguments)


def test_numbers_of_outcomes_need_pairs(run, mine):
    vote = ("audit", "--function", "mine_for_command:vote", "--num-outcomes", 2)
    done = run(*vote, "--method", "histogram", "--input-width", 1)
    assert done.exit_code == 2 and "--num-outcomes needs --pairs, because" in done.error


def test_one_outcome_is_too_few(run, mine):
    vote = ("audit", "--function", "mine_for_command:vote", "--pairs", "pairs.json")
    done = run(*vote, "--num-outcomes", 1)
    assert done.exit_code == 2 and "--num-outcomes must be an integer >= 2, but was 1" in done.error


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nothing", "--function must be MODULE:NAME"),
        ("nothing_here:f", "cannot be imported"),
        ("math:f", "has no 'f'"),
    ],
)
def test_functions_that_are_not_there(run, mine, name, sentence):
    done = run("audit", "--function", name, "--pairs", "pairs.json")
    assert done.exit_code == 2 and sentence in done.error


def test_a_bug_is_not_a_verdict(run, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr(import_module("dpjax.audit"), "audit", broken)
    done = run("audit", "laplace")
    assert done.exit_code == 3 and "a bug" in done.error and "Traceback" in done.error


@pytest.mark.slow
def test_a_result_is_not_lost_to_a_file_that_cannot_be_written(run, tmp_path, monkeypatch):
    def full(files):
        raise OSError("no space left")

    monkeypatch.setattr("dpjax.plotting._canvas.write_whole", full)
    rng = np.random.default_rng(0)
    for name, shift in (("x", 0.0), ("y", 2.0)):
        np.save(tmp_path / f"{name}.npy", rng.laplace(shift, size=(5000, 2)))
    files = ("audit", "--samples", tmp_path / "x.npy", tmp_path / "y.npy")
    report = tmp_path / "report.md"
    asked = ("--plot", tmp_path / "vectors.png", "--report", report)
    done = run(*files, "--claim", 0.5, *asked)
    assert done.exit_code == 1 and "VIOLATED" in done.output
    assert "vectors.png was not written: " in done.error and f"wrote {report}" in done.error
    done = run(*files, *asked)
    assert done.exit_code == 0 and "NO CLAIM" in done.output


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("written", "notion"),
    [
        ("gdp", dpjax.Gdp()), ("renyi:8", dpjax.Renyi(8.0)), ("zcdp", dpjax.Zcdp()),
        ("total-variation", dpjax.TotalVariation()), ("trade-off", dpjax.TradeOff()),
    ],
)  # fmt: skip
def test_notions_on_the_command_line(run, written, notion):
    done = run("audit", "laplace", "--notion", written, "--key", 3, "--json", *SMALL)
    told = dpjax.AuditResult.from_json(done.output)
    method = dpjax.Events(num_samples=2000, num_confirm=5000)
    expected = dpjax.audit(Laplace(1.0), method=method, notion=notion, key=3)
    assert told.lower_bound == expected.lower_bound > 0 and told.recipe == expected.recipe


def test_a_claimed_curve_is_read_from_a_file_and_the_rest_is_counted_too(run, tmp_path):
    path = tmp_path / "claim.json"
    path.write_text(json.dumps([[0.0, 0.2], [0.5, 0.05]]))
    options = ("--notion", "profile", "--claim", path, "--json", *SMALL)
    done = run("audit", "laplace", *options)
    assert done.exit_code == 1
    assert json.loads(done.output)["statement"]["claim"] == [[0.0, 0.2], [0.5, 0.05]]
    inline = run("audit", "laplace", *options, "--claim", "[[0, 0.2], [0.5, 0.05]]")
    said = [json.loads(text)["statement"] for text in (done.output, inline.output)]
    assert inline.exit_code == 1 and said[0] == said[1]
    both = run("audit", "laplace", "--notion", "gdp", "--also", "--claim", 0.3, "--json", *SMALL)
    result = dpjax.AuditResult.from_json(both.output)
    assert both.exit_code == 1 and result.bound(dpjax.Zcdp()).lower_bound > 0.1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--notion", "gpd"), "did you mean 'gdp'"),
        (("--notion", "renyi"), "--notion must be renyi:ORDER, such as renyi:2"),
        (("--notion", "gdp:2"), "--notion must be gdp"),
        (("--notion", "renyi:1"), "order must be a number > 1"),
        (("--notion", "renyi:x"), "--notion 'renyi:x'"),
        (("--notion", "gdp", "--delta", 0.1), "--delta is for --notion epsilon"),
        (("--claim", "none.json"), "--claim must be a number, JSON [["),
        (("--notion", "profile", "--claim", 1), "claim must be a list of"),
        (("--notion", "trade-off", "--distance", 2), "distance must be 1"),
        (("--method", "local", "--notion", "gdp"), "use --method events"),
    ],
)
def test_invalid_notions_and_claims(run, options, sentence):
    done = run("audit", "laplace", *options)
    assert done.exit_code == 2 and sentence in " ".join(done.error.split())


def test_json_is_all_of_standard_output_and_says_nothing_twice(run, tmp_path):
    """Also test a figure and a report. Requested and actual numbers are separate entries."""
    files = ("--plot", tmp_path / "x.png", "--report", tmp_path / "x.md")
    done = run("audit", "laplace", "--claim", 1, "--json", "--num-samples", 300, *files)
    found = json.loads(done.output)
    assert len(done.error.splitlines()) == 2 and done.exit_code == 0
    asked = found.pop("recipe")

    def named(value, path=()):
        if isinstance(value, dict):
            for name, part in value.items():
                yield from named(part, (*path, name))
        elif value not in (None, [], 0, 0.0):
            yield path[-1], repr(value)

    said = [*named(found)]
    # N is also stated for the rounds, because a time limit may reduce the actual number.
    rounds = found["evidence"]["settings"]["rounds"]["num_confirm"]
    assert [item for item in said if said.count(item) > 1] == [("num_confirm", repr(rounds))] * 2
    assert "predicted" not in found["evidence"]["settings"]
    # Stated only if the two sides have different numbers of fresh draws.
    assert sum(found["evidence"]["settings"]["confirmed"]) == 2 * rounds
    assert asked["method"]["num_samples"] == 300


def test_a_terminal_shows_the_verdict_in_color_and_a_pipe_none(run, monkeypatch):
    command = ("audit", "laplace", "--claim", 0.2, *SMALL)
    piped = run(*command)
    assert "\x1b" not in piped.output and "\n  VIOLATED: With" in piped.output
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    colored = run(*command)
    assert "\n  \x1b[1;31mVIOLATED:\x1b[0m With" in colored.output
    assert re.sub(r"\x1b\[[\d;]*m", "", colored.output) == piped.output


@pytest.mark.parametrize("error", [GeneratorExit, BrokenPipeError])
def test_errors_that_would_end_the_process_have_a_sentence(run, monkeypatch, error):
    """Typer would exit with 1 on a broken pipe, and Python on any other BaseException."""

    def broken(*_, **__):
        raise error

    monkeypatch.setattr(import_module("dpjax.audit"), "audit", broken)
    done = run("audit", "laplace")
    assert done.exit_code == 2 and f"audited code raised {error.__name__}." in done.error
