"""Inputs of the command line: inline pairs, function files, standard input, compressed files."""

import gzip
import io
import json
import lzma
import shlex
import sys

import numpy as np
import pytest

import dpjax
from dpjax.cli import _app
from dpjax.methods import _pairs

CODE = """
def noisy(database, num_samples, rng):
    return database + rng.laplace(size=num_samples)

def release(key, database):
    import jax
    return database + jax.random.laplace(key)
"""
SMALL = ("--num-samples", 500, "--num-confirm", 2000, "--json")
SHOWN = ("statement", "recipe", "witness")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "my-release.py").write_text(CODE)
    (tmp_path / "pairs.json").write_text("[[0, 1]]")
    (tmp_path / "json.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    sys.modules.pop("my-release", None)


def shown(done):
    found = json.loads(done.output)
    return {name: found[name] for name in SHOWN}


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--host", "--function"])
def test_a_function_of_a_file_at_pairs_in_the_command(run, folder, option):
    name = {"--host": "noisy", "--function": "release"}[option]
    inline = run("audit", option, f"my-release.py:{name}", "--pairs", "[[0, 1]]", *SMALL)
    in_file = run(
        "audit", option, f"{folder}/my-release.py:{name}", "--pairs", "pairs.json", *SMALL
    )
    assert inline.exit_code == 0 and shown(inline) == shown(in_file)


@pytest.mark.slow
def test_a_function_of_a_file_in_workers(run, folder):
    options = ("--pairs", "[[0, 1]]", *SMALL)
    alone = run("audit", "--host", "my-release.py:noisy", *options)
    spread = run("audit", "--host", "my-release.py:noisy", *options, "--workers", 1)
    assert shown(alone) == shown(spread)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--host", "none.py:f"), "--host 'none.py:f': there is no file none.py.\n"),
        (("--host", "json.py:noisy"), "Python finds another module named 'json' ("),
        (("--host", "my-release.py:nosy"), "has no 'nosy'; did you mean 'noisy'?\n"),
        (("--host", "my-release.py"), "must be MODULE:NAME or FILE.py:NAME, but was 'my-release"),
        (("--host", "my-release.py:noisy", "--pairs", "[[0, 1]"), "--pairs [[0, 1] must be JSON"),
    ],
)
def test_invalid_functions_and_pairs(refused, folder, arguments, message):
    more = () if "--pairs" in arguments else ("--pairs", "[[0, 1]]")
    assert message in refused("audit", *arguments, *more)


def outputs(shift, seed):
    return np.random.default_rng(seed).laplace(shift, size=3000)


def text_of(values):
    return "".join(f"{value!r}\n" for value in values.tolist()).encode()


def binary_of(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "column"),
    [(text_of, ()), (binary_of, ()), (lambda v: b"a,b\n" + b"".join(
        f"label {i % 7},{x!r}\n".encode() for i, x in enumerate(v.tolist())), ("--column", "b"))],
    ids=["text", "npy", "csv"],
)  # fmt: skip
def test_standard_input_is_a_recording(run, folder, monkeypatch, content, column):
    x, y = outputs(0, 1), outputs(1, 2)
    if column:
        (folder / "x.csv").write_bytes(content(x))
    else:
        np.save(folder / "x.npy", x)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content(y))))
    file = "x.csv" if column else "x.npy"
    done = run("audit", "--samples", file, "-", *column, "--json")
    expected = dpjax.audit(dpjax.Recorded(x, y))
    assert json.loads(done.output)["statement"]["lower_bound"] == expected.lower_bound
    assert json.loads(done.output)["provenance"]["mechanism"].startswith(
        f"{file} / standard-input."
    )


def test_standard_input_that_cannot_be_used(refused, folder, monkeypatch):
    np.save(folder / "x.npy", outputs(0, 1))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert "was empty" in refused("audit", "--samples", "x.npy", "-")
    assert "had - twice" in refused("audit", "--samples", "-", "-")
    monkeypatch.setenv("DPJAX_MAX_PIPED_BYTES", "100")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text_of(outputs(0, 1)))))
    assert "above the limit of 100" in refused("audit", "--samples", "x.npy", "-")


@pytest.mark.parametrize("kind", ["txt", "csv", "tsv"])
def test_packed_files_are_read_as_what_they_hold(run, folder, kind):
    for name, shift in (("x", 0), ("y", 1)):
        content = text_of(outputs(shift, shift))
        (folder / f"{name}.{kind}").write_bytes(content)
        (folder / f"{name}.{kind}.gz").write_bytes(gzip.compress(content))
    plain = run("audit", "--samples", f"x.{kind}", f"y.{kind}", "--json")
    packed = run("audit", "--samples", f"x.{kind}.gz", f"y.{kind}.gz", "--json")
    assert packed.exit_code == 0
    assert json.loads(packed.output)["witness"] == json.loads(plain.output)["witness"]


def test_a_packed_table_of_records(run, folder):
    rng = np.random.default_rng(0)
    rows = [f"{year},{who},{rng.gamma(2.0)}" for year in range(8) for who in range(5)]
    content = "\n".join(["database,individual,value", *rows]).encode()
    (folder / "t.csv").write_bytes(content)
    (folder / "t.csv.gz").write_bytes(gzip.compress(content))
    (folder / "t.csv.xz").write_bytes(lzma.compress(content))
    plain, *packed = (
        run("empirical", f"t.csv{end}", "--epsilon", 1, "--json") for end in ("", ".gz", ".xz")
    )
    assert all(found.exit_code == 0 and found.output == plain.output for found in packed)


@pytest.mark.parametrize("command", ["audit", "empirical"])
def test_a_file_that_unpacks_to_very_much(refused, folder, monkeypatch, command):
    """The reader stops as soon as the limit is exceeded."""
    monkeypatch.setenv("DPJAX_MAX_UNPACKED_BYTES", "300000")
    line = b"0.5\n" if command == "audit" else b"1,a,0.5\n"
    head = b"" if command == "audit" else b"database,individual,value\n"
    for name in "xy":
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(head + line * 500_000))
    files = ("--samples", "x.csv.gz", "y.csv.gz") if command == "audit" else ("x.csv.gz",)
    said = refused(command, *files)
    assert "unpack to too many" in said and "DPJAX_MAX_UNPACKED_BYTES" in said


def test_packed_files_that_are_damaged(refused, folder):
    content = gzip.compress(text_of(outputs(0, 0)))
    (folder / "y.txt").write_bytes(text_of(outputs(1, 1)))
    for damaged in (content[:-20], b"no gzip", content[:100] + b"\0\0\0" + content[103:], b""):
        (folder / "x.txt.gz").write_bytes(damaged)
        assert "samples file x.txt.gz" in refused("audit", "--samples", "x.txt.gz", "y.txt")
    (folder / "x.npy.gz").write_bytes(content)
    said = refused("audit", "--samples", "x.npy.gz", "y.txt")
    assert "must end in" in said and "but ends in '.npy.gz'" in said


@pytest.fixture
def many(folder):
    """Return options that search five pairs; the sensitivities of the best are 3 and 2."""
    (folder / "many.json").write_text("[[0, 1], [0, 3], [0, 0.5], [0, 2], [0, 0.2]]")
    return ("--pairs", "many.json", "--budget", 200_000, "--keep", 2)


def test_the_best_pairs_are_found_and_audited(run, folder, many):
    done = run("search-pairs", "laplace", *many, "--out", "best.json")
    assert done.exit_code == 0 and "the best 2 of 5 pairs, found with 2" in done.output
    assert json.loads((folder / "best.json").read_text()) == [[0.0, 3.0], [0.0, 2.0]]
    head, *rows = done.output.partition("loss    pair\n")[2].splitlines()
    assert "pair 1: [0.0, 3.0]" in head and max(map(len, [head, *rows])) <= 100
    found = json.loads(run("search-pairs", "laplace", *many, "--json").output)
    assert found["pairs"] == [[0.0, 3.0], [0.0, 2.0]] and found["labels"] == ["pair 1", "pair 3"]
    assert found["estimates"][0] > found["estimates"][1] > 1.5


@pytest.mark.slow
def test_the_best_pairs_of_a_function_are_found(run, many):
    released = ("--function", "my-release.py:release", "--region", -5, 8)
    found = json.loads(run("search-pairs", *released, *many, "--json").output)
    assert found["pairs"][0] == [0.0, 3.0]


def test_pairs_of_many_numbers_are_cut_at_the_edge_of_a_terminal():
    long, short = "a" * 200, "b"
    pairs = dpjax.Pairs(np.zeros(2), np.ones(2), (long, short))
    printed = str(_pairs.FoundPairs(pairs, (0.5, 0.25), ((2, 100),))).split("\n")
    assert printed[0] == "the best 2 of 2 pairs, found with 400 draws"
    cut, whole = printed[-2:]
    assert len(cut) == 100 and cut.endswith("…") and "a" * 50 in cut
    assert len(whole) < 100 and "b" in whole and "0.25" in whole


def test_standard_pairs_are_searched_with_a_budget_of_their_own(refused, monkeypatch):
    """Check the sizes of the search; the search stops before the first draw."""
    search, sizes = _pairs.search_pairs, []

    def enough(mechanism, pairs, **options):
        sizes.append((len(pairs), options["budget"]))
        return search(mechanism, pairs, **options | {"budget": 1})

    monkeypatch.setattr(_pairs, "search_pairs", enough)
    assert "for 10 pairs in 1 round, but was 1" in refused("search-pairs", "laplace")
    ((number, budget),) = sizes
    assert number == 10 and budget >= 100_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a mechanism or --function"),
        (("laplace", "--function", "m:f"), "a mechanism or --function"),
        (("laplace", "--budget", 100), "--budget must be at least"),
        (("laplace", "--out", "nowhere/x.json"), "in a folder that does not exist"),
    ],
)
def test_a_search_of_pairs_that_cannot_be(refused, folder, arguments, message):
    assert message in refused("search-pairs", *arguments)


def commands():
    return _app.application().commands


@pytest.mark.parametrize("name", [*commands()])
def test_every_help_has_examples_that_are_commands(name):
    """The parser of the command accepts each example."""
    examples = commands()[name].examples
    assert examples
    for example in examples:
        program, called, *arguments = shlex.split(
            example[example.index("dpjax ") :].partition(" |")[0]
        )
        assert program == "dpjax"
        commands()[called].make_context(called, arguments)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["audit", "noisy-histogram"], "noisy-histogram-2"),
        (["audit", "laplace", "--method", "hi"], "histogram"),
        (["audit", "laplace", "--notion", "re"], "renyi:"),
        (["audit", "laplace", "--kernel", "epa"], "epanechnikov"),
        (["search-pairs", "snapp"], "snapped-laplace"),
        (["sear"], "search-pairs"),
        (["guide", "recor"], "recorded-outputs"),
    ],
)
def test_a_shell_completes_names(run, monkeypatch, words, offered):
    monkeypatch.setenv("_DPJAX_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", shlex.join(["dpjax", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    assert f"plain,{offered}" in run().output.split()


def test_one_half_of_the_canaries_is_doubtful(run, tmp_path):
    included = np.arange(200) % 2
    canaries = np.stack([np.arange(200) + 400 * included, included], 1)
    np.savetxt(tmp_path / "run.csv", canaries, "%d", ",", header="s,i", comments="")
    command = ["audit", "--one-run", tmp_path / "run.csv", "--score", "s", "--included", "i"]
    command += ["--notion", "gdp", "--claim", 0.01]
    doubtful = run(*command)
    assert doubtful.exit_code == 2
    assert "each canary had its own coin, pass --fair-coins." in " ".join(doubtful.output.split())
    assert run(*command, "--fair-coins").exit_code == 1


def test_a_column_of_scores_that_is_named_twice_is_refused(run, tmp_path):
    (tmp_path / "run.csv").write_text("s,i\n" + "1,0\n" * 30)
    done = run("audit", "--one-run", tmp_path / "run.csv", "--score", "s,s", "--included", "i")
    assert done.exit_code == 2
    assert "--score must name distinct columns, but was 's,s'" in done.error


def test_one_file_with_a_column_that_names_the_database(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [(side, side + rng.laplace(size=1)[0]) for side in rng.integers(0, 2, 4000).tolist()]
    path = tmp_path / "all.csv"
    path.write_text("side,answer\n" + "".join(f"{side},{value}\n" for side, value in rows))
    done = run("audit", path, "--by", "side", "--claim", 0.1, "--json")
    assert done.exit_code == 1
    found = json.loads(done.output)
    assert found["provenance"]["mechanism"] == "all.csv: side 0 / 1"
    for side in (0, 1):
        values = [str(value) for own, value in rows if own == side]
        (tmp_path / f"{side}.csv").write_text("\n".join(values))
    split = run("audit", "--samples", tmp_path / "0.csv", tmp_path / "1.csv", "--json")
    assert json.loads(split.output)["statement"]["lower_bound"] == found["statement"]["lower_bound"]
    (tmp_path / "found.json").write_text(done.output)
    assert run("rerun", tmp_path / "found.json").exit_code == 1
    assert run("audit", path, "--by", "side", "--method", "local").exit_code == 0
    for arguments, said in (
        ((path,), "use --samples X Y, or --by COLUMN if a column of the file names the database."),
        ((path, "--by", "answer"), "--by must name a column with two values"),
        (("--samples", path, tmp_path / "0.csv", "--by", "side"), "use dpjax audit FILE --by COL"),
        ((path, "--by", "side", "--column-y", "v"), "--by is for one file and one --column"),
        (
            (path, "--by", "side", "--method", "guesses", "--search-fraction", 0.4),
            "--search-fraction does not apply if coins are guessed, but was 0.4: use "
            "--reveal-fraction to",
        ),
        (("--samples", path, path), "is on both sides, which must be drawn independently"),
        ((path, "--by", "side", "--host", "f:g"), "name only one thing to audit"),
        (("--host", "f:g", "--by", "side"), "--by is for --samples, not for --host"),
    ):
        refused = run("audit", *arguments)
        assert refused.exit_code == 2 and said in refused.error


CANARIES = """
import numpy as np

def scores(included, seed):
    return np.random.default_rng(seed).normal(size=len(included)) + 3.0 * included

def release(records, rng):
    return rng.laplace()
"""


def test_a_function_that_scores_canaries(run, tmp_path):
    (tmp_path / "canary_code.py").write_text(CANARIES)
    command = ["audit", "--canary-runs", tmp_path / "canary_code.py:scores"]
    done = run(*command, "--num-canaries", 200, "--claim", 0.5, "--json")
    assert done.exit_code == 1
    found = json.loads(done.output)
    assert found["evidence"]["counted"]["canaries"] == 200
    (tmp_path / "found.json").write_text(done.output)
    again = run("rerun", tmp_path / "found.json", "--allow-import", "canary_code")
    assert again.exit_code == 1 and "The bound is the same" in again.error
    wrong = ["audit", "--canary-runs", tmp_path / "canary_code.py:release", "--num-canaries", 50]
    for words, said in (
        (command, "--canary-runs needs --num-canaries, the number of canaries."),
        ([*command, "--num-canaries", 19], "--num-canaries must be an integer >= 20"),
        ([*command, "--num-canaries", 50, "--method", "events"], "use --method guesses"),
        ([*command, "--num-canaries", 50, "--fair-coins"], "--fair-coins is for --one-run, not"),
        (wrong, "--canary-runs must be a function (included, seed) -> scores, but took (records"),
    ):
        refused = run(*words)
        assert refused.exit_code == 2 and said in refused.error


def test_canaries_of_several_runs_are_audited_together(run, tmp_path):
    rng = np.random.default_rng(2)
    coins = rng.random((3, 100)) < 0.5
    scores = 4 * coins + rng.normal(size=(3, 100))
    for number in range(3):
        rows = np.stack([scores[number], coins[number]], 1)
        np.savetxt(tmp_path / f"run{number}.csv", rows, "%.17g", ",", header="s,i", comments="")
    for where in ("run*.csv", "run0.csv,run1.csv,run2.csv"):
        files = ",".join(str(tmp_path / part) for part in where.split(","))
        done = run("audit", "--one-run", files, "--score", "s", "--included", "i", "--json")
        joined = dpjax.audit(dpjax.OneRun(scores.ravel(), coins.ravel()))
        assert json.loads(done.output)["statement"]["lower_bound"] == joined.lower_bound > 1
