"""Messages of the command line for invalid input: one sentence with the cause, word for word."""

import os
import signal
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
import dpjax.audit
from dpjax.cli._stop import STOPPED, _UntilClosed, say, stopping_on_signals
from dpjax.core.errors import _MOST_NAMED, nearest, needs
from dpjax.core.wording import printed_row

LAPLACE = ("audit", "laplace")
HOST = ("audit", "--host", "message_mechanisms:noisy")
CODE = """
def noisy(database, num_samples, rng):
    return database + rng.laplace(size=num_samples)

def release(key, database):
    import jax
    return database + jax.random.laplace(key)
"""
TABLE = "database,individual,amount,name\n1,a,3,x\n1,b,four,y\n2,a,5,x\n2,b,4,y\n"
FILES = {
    "message_mechanisms.py": CODE,
    "one.json": "[[0, 1]]",
    "equal.json": "[[2, 2], [3.5, 3.5]]",
    "odd.json": "[[0, 1",
    "t.csv": TABLE,
    "sweep.toml": "[[entries]]\nmechanism = 'laplace'\nruns = 1\n",
    "typo.toml": "[[entries]]\nmechanism = 'laplace'\nrun = 1\n",
}
SMALL = ("--num-samples", 500, "--num-confirm", 500)
# Use the sizes of tests/report/test_reports.py, so that they share a program.
LOCAL = ("--num-samples", 2000, "--num-confirm", 5000, "--pairs", "[[0.0, 1.0]]")

SAID = [
    # The regions are far from all outputs.
    (
        (*LAPLACE, "--method", "local", "--region", 1e12, 2e12, *LOCAL),
        "region [1e+12, 2e+12] lies outside the support of the outputs: none of the 2000 draws on "
        "either side of the chosen pair fell into the region.",
    ),
    (
        (*LAPLACE, "--region", 500, 600, *SMALL),
        "region [500, 600] lies outside the support of the outputs: no output of the search set "
        "lies in the region.",
    ),
    # Text in a value column.
    (
        ("empirical", "t.csv", "--value", "amount"),
        "t.csv: value columns must hold numbers, but 'amount' holds 'four' in row 1 (1 of 4 are "
        "not numbers).",
    ),
    (
        ("empirical", "t.csv"),
        "t.csv: databases must have a value column, but 'amount' holds 'four' in row 1 (1 of 4 are "
        "not numbers).",
    ),
    # The file does not exist.
    (("audit", "--samples", "x.npy", "y.npy"), "samples file x.npy does not exist."),
    (("empirical", "none.csv"), "databases must be a file, but there is none at 'none.csv'."),
    (("sweep", "none.toml", "--out", "s"), "sweep file none.toml does not exist."),
    (("sweep", "status"), "dpjax sweep status needs the folder of a store."),
    (
        ("sweep", "sweep.toml", "--out", "s", "--shard", "1/2", "--dask", "local:2"),
        "--shard and --dask are two ways to share the work: choose one.",
    ),
    (
        ("sweep", "sweep.toml", "--out", "s", "--devices", "0"),
        "--devices must be at least 1, but was 0.",
    ),
    (
        ("sweep", "none.toml", "folder", "--out", "s"),
        "the store is named by --out: remove the argument 'folder'.",
    ),
    ((*HOST, "--pairs", "none.json"), "--pairs none.json does not exist."),
    (
        (*LAPLACE, "--claim", "curve.json"),
        "--claim must be a number, JSON [[epsilon, delta], ...] or a file with such JSON, but was "
        "'curve.json', and there is no such file.",
    ),
    (
        (*LAPLACE, "--claim", "[[0, 1], [1"),
        "--claim must be a number, JSON [[epsilon, delta], ...] or a file with such JSON, but "
        "[[0, 1], [1 is not JSON: Expecting ',' delimiter: line 1 column 12 (char 11).",
    ),
    (
        ("audit", "t.csv"),
        "t.csv is a file, not a mechanism: to audit recorded outputs of two "
        "databases, use --samples X Y, or --by COLUMN if a column of the file names the database.",
    ),
    (
        ("audit", "message_mechanisms.py"),
        "message_mechanisms.py is a file, not a mechanism: name a function or a library object in "
        "the file, as message_mechanisms.py:NAME.",
    ),
    (
        ("audit", "t.py:f"),
        "NAME 't.py:f': there is no file t.py.",
    ),
    # The folder is not writable.
    (
        (*LAPLACE, "--report", "nowhere/x.md"),
        "report file nowhere/x.md is in a folder that does not exist.",
    ),
    (
        (*LAPLACE, "--report", "/proc/x.md"),
        "report file /proc/x.md cannot be written, since its folder accepts no new files: No such "
        "file or directory.",
    ),
    (
        (*LAPLACE, "--plot", "folder.png"),
        "plot file folder.png is a folder: pass the path of a file.",
    ),
    (
        ("sweep", "sweep.toml", "--out", "/proc/store"),
        "the store /proc/store cannot be created: No such file or directory.",
    ),
    # The same parameter twice.
    (
        (*LAPLACE, "--param", "epsilon=1", "--epsilon", 2),
        "--param 'epsilon=1' repeats --epsilon: give only one of them.",
    ),
    (
        ("audit", "truncated-laplace", "--param", "scale=1", "--param", "scale=2"),
        "--param 'scale=2' repeats an earlier --param scale: give only one of them.",
    ),
    # Two equal databases.
    (
        (*HOST, "--pairs", "equal.json"),
        "--pairs must hold two different databases, but in pair 0 and pair 1 both are 2: no output "
        "can distinguish them.",
    ),
    (
        ("audit", "--function", "message_mechanisms:release", "--pairs", "equal.json"),
        "--pairs must hold two different databases, but in pair 0 and pair 1 both are 2.0: no "
        "output can distinguish them.",
    ),
    # A decreasing range.
    (
        ("empirical", "t.csv", "--epsilon", "3:0:5"),
        "--epsilon must have FROM below TO, as in 0:1:51, but was '3:0:5'.",
    ),
    # Unknown names.
    (("audit", "laplac"), "mechanism 'laplac' is not known; did you mean 'laplace'?"),
    (("guide", "verdcit"), "guide 'verdcit' is not known; did you mean 'verdict'?"),
    (
        (*LAPLACE, "--method", "histograms"),
        "--method 'histograms' is not known; did you mean 'histogram'?",
    ),
    (
        (*LAPLACE, "--notion", "tradeof"),
        "--notion 'tradeof' is not known; did you mean 'trade-off'?",
    ),
    (
        (*LAPLACE, "--method", "local", "--kernel", "gausian"),
        "--kernel 'gausian' is not known; did you mean 'gaussian'?",
    ),
    (
        (*LAPLACE, "--param", "epsilom=1"),
        "laplace has no parameter 'epsilom'; did you mean 'epsilon'?",
    ),
    (
        (*HOST, "--pairs", "one.json", "--special", "x"),
        "--special 'x' is not known; known: error, outcomes.",
    ),
    (
        ("empirical", "t.csv", "--value", "amuont"),
        "t.csv: --value column 'amuont' is not in the table; did you mean 'amount'?",
    ),
    (
        ("sweep", "typo.toml", "--out", "s"),
        "sweep file typo.toml: entry 1: an entry has no 'run'; did you mean 'runs'?",
    ),
]
"""Pairs (arguments, expected message)."""


@pytest.fixture
def folder(refused, tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder.png").mkdir()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


@pytest.mark.parametrize(("arguments", "sentence"), SAID)
def test_the_cause_is_said_in_a_sentence(folder, refused, arguments, sentence):
    assert refused(*arguments) == f"error: {sentence}\n"


EXTRAS = [
    ("jinja2", (*LAPLACE, "--report", "x.md"), "reports need jinja2: pip install 'dpjax[report]'."),
    (
        "matplotlib",
        (*LAPLACE, "--plot", "x.png"),
        "figures need matplotlib: pip install 'dpjax[plot]'.",
    ),
    (
        "pyarrow",
        ("audit", "--samples", "x.parquet", "y.parquet"),
        "Parquet files need pyarrow: pip install 'dpjax[io]'.",
    ),
    ("pandas", ("empirical", "t.csv"), "tables need pandas: pip install 'dpjax[io]'."),
    (
        "pyarrow",
        ("sweep", "sweep.toml", "--out", "s"),
        "sweeps need pyarrow: pip install 'dpjax[sweeps]'.",
    ),
    (
        "distributed",
        ("sweep", "sweep.toml", "--out", "s", "--dask", "local:2"),
        "sweeps on Dask need distributed: pip install 'dpjax[distributed]'.",
    ),
]


@pytest.mark.parametrize(("module", "arguments", "sentence"), EXTRAS)
def test_a_missing_extra_is_said_before_any_work(
    folder, refused, monkeypatch, module, arguments, sentence
):
    for name in ("x.parquet", "y.parquet"):
        (folder / name).write_bytes(b"")
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(sys.modules["dpjax.audit"], "audit", None)
    assert refused(*arguments) == f"error: {sentence}\n"


def test_what_is_missing_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    needs("tests", "all", "numpy")
    with pytest.raises(ModuleNotFoundError) as refusal:
        needs("books", "all", "numpy", "jinja2", "pandas")
    assert str(refusal.value) == "books need jinja2 and pandas: pip install 'dpjax[all]'."


def test_a_few_of_many_names_are_listed():
    many = [f"name-{letter}" for letter in "abcdefghijkl"]
    assert nearest("name-x", many).count("'name-") == 3
    assert nearest("zzz", many) == f"known: {', '.join(many[:8])}, ... (12 in all)."
    assert nearest("zzz", many[:2]) == "known: name-a, name-b."


def test_a_name_of_a_file_is_no_output():
    with pytest.raises(TypeError) as refusal:
        dpjax.audit(dpjax.Recorded("x.csv", np.zeros(50)))
    assert str(refusal.value) == (
        "x must be outputs, but was the name 'x.csv': pass outputs in a file as "
        "dpjax.Recording('x.csv')."
    )


def test_a_line_that_is_said_is_one_line_that_does_nothing(capsys):
    say("wrote \x1b]0;x\x07\n::error::y\u202e.html")
    assert capsys.readouterr().err == "wrote \\x1b]0;x\\x07\\n::error::y\\u202e.html\n"


def test_a_second_signal_has_its_usual_effect():
    assert STOPPED == 130
    with stopping_on_signals() as stop:
        assert not stop.asked() and stop.exit_code == 130
        signal.raise_signal(signal.SIGTERM)
        assert stop.asked() and stop.exit_code == 143
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_lines_are_not_broken_at_hyphens():
    text = " ".join(["non-negative"] * 20)
    row = printed_row("note", text)
    assert row.count("\n") > 1 and {*row.split()} == {"note", "non-negative"}


def test_output_goes_nowhere_after_the_pipe_is_closed(tmp_path):
    """Test text that is written at once, and text that is written by a flush."""

    def fail(*text):
        raise BrokenPipeError

    for name, arguments in (("write", ("abc",)), ("flush", ())):
        with (tmp_path / name).open("w") as file:
            stream = _UntilClosed(SimpleNamespace(fileno=file.fileno, write=fail, flush=fail),
                                  BrokenPipeError)  # fmt: skip
            assert getattr(stream, name)(*arguments) == (3 if arguments else None)
            assert os.fstat(file.fileno()).st_rdev == os.stat(os.devnull).st_rdev


@pytest.mark.parametrize("more", [0, 1])
def test_names_are_listed_up_to_a_number(more):
    known = [f"x{number:03}" for number in range(_MOST_NAMED + more)]
    text = nearest("something else", known)
    assert text.count(", x") == _MOST_NAMED - 1 and ("in all" in text) is bool(more)


def test_pairs_of_files_or_numbers_that_are_given_twice_are_refused(refused):
    """All but the last used to be ignored."""
    samples, region = ("--samples", "x.csv", "y.csv"), ("--region", "0", "1")
    for given in ((*samples, *samples), (*samples, *region, *region)):
        said = "must be given once, but was given 2 times: run one command for each.\n"
        assert refused("audit", *given) == f"error: {given[-3]} {said}"
