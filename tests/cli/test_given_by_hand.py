"""Inputs of the command line: claims, notions, functions, and the announcement of a long audit."""

import io
import os
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.cli import _app, _audit, _declared, _mechanisms
from dpjax.cli._audit import _announced
from dpjax.cli._declared import registered
from dpjax.cli._given import object_of, pairs_of, standard_input
from dpjax.cli._notion import claim_of, notion_of


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Use an empty working folder; remove modules that are imported from it afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - before:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("text", "claim"),
    [(1.5, 1.5), (None, None), ("[[1, 0.5]]", [[1, 0.5]]), ("  [[1, 2]]", [[1, 2]])],
)
def test_claims(text, claim):
    assert claim_of({} if text is None else {"claim": text}) == claim


def test_claims_in_files(here):
    (here / "curve.json").write_text("[[0, 0.25], [1, 0]]")
    assert claim_of({"claim": "curve.json"}) == [[0, 0.25], [1, 0]]
    (here / "broken.json").write_text("[[0, 0.25")
    form = r"--claim must be a number, JSON \[\[epsilon, delta\], \.\.\.\] or a file with such JSON"
    for text, reason in (
        ("broken.json", "but broken.json is not JSON: "),
        ("[[1, 2", r"but \[\[1, 2 is not JSON: "),
        ("none.json", r"but was 'none.json', and there is no such file\."),
    ):
        with pytest.raises(ValueError, match=f"{form}, {reason}"):
            claim_of({"claim": text})
    with pytest.raises(ValueError) as refused:
        claim_of({"claim": "[" + "1" * 1000})
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("written", "name", "attribute", "value"),
    [
        ({}, "epsilon", "delta", 0.0),
        ({"delta": 0.25}, "epsilon", "delta", 0.25),
        ({"notion": "renyi:3"}, "renyi", "order", 3.0),
        ({"notion": "zcdp"}, "zcdp", "name", "zcdp"),
    ],
)
def test_notions(written, name, attribute, value):
    notion = notion_of(written)
    assert notion.name == name and getattr(notion, attribute) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("renyi", "--notion must be renyi:ORDER, such as renyi:2, but was 'renyi'"),
        ("gdp:2", "--notion must be gdp, but was 'gdp:2'"),
        ("renyi:0.5", "--notion 'renyi:0.5': order"),
        ("renyi:x", "--notion 'renyi:x': "),
    ],
)
def test_refused_notions(text, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        notion_of({"notion": text})


def test_functions_of_files_and_modules(here):
    (here / "mine.py").write_text("def noisy(): return 5\nnumber = 3\n_hidden = len\n")
    assert object_of("mine.py:noisy", "--host")() == 5
    assert object_of("mine:noisy", "--host")() == 5
    assert sys.path[0] == str(here)
    assert object_of("mine:number.conjugate", "--host")() == 3
    with pytest.raises(ValueError, match=r"has no .number\.release."):
        object_of("mine:number.release", "--host")
    # Only functions are suggested.
    with pytest.raises(ValueError, match=r"--host 'mine:noise': the module has no .*noisy"):
        object_of("mine:noise", "--host")
    with pytest.raises(ValueError, match="has no 'hidden'") as refused:
        object_of("mine:hidden", "--host")
    assert "_hidden" not in str(refused.value) and "number" not in str(refused.value)


@pytest.mark.parametrize("path", ["mine", "mine:", ":noisy", ""])
def test_paths_of_functions(path):
    with pytest.raises(ValueError, match=r"--host must be MODULE:NAME or FILE\.py:NAME, but was"):
        object_of(path, "--host")


def test_modules_that_cannot_be_imported(here):
    (here / "leaves.py").write_text("raise SystemExit(3)")
    (here / "stops.py").write_text("raise KeyboardInterrupt")
    (here / "json.py").write_text("noisy = len")
    for path, message in (
        ("none.py:f", r"there is no file none\.py\."),
        ("none_here:f", "the module cannot be imported: No module named 'none_here'"),
        ("leaves.py:f", r"the module cannot be imported: SystemExit\(3\)"),
        ("json.py:noisy", r"Python finds another module named 'json' \(.*\): rename the file\."),
    ):
        with pytest.raises(ValueError, match=f"^--host '{path}': {message}"):
            object_of(path, "--host")
    with pytest.raises(KeyboardInterrupt):
        object_of("stops.py:f", "--host")


def subject(batched, time_limit):
    return SimpleNamespace(name="f", batched=batched, batch_size=100, time_limit=time_limit)


@pytest.mark.parametrize(
    ("source", "given", "sentence"),
    [
        ("mechanism", None, "drawing 2,050 outputs takes about 3 s in total."),
        (
            "host",
            (True, None),
            "2,050 outputs need 21 calls of f, about 3 s in total; with --time-limit 60, dpjax "
            "draws as many outputs as fit into one minute.",
        ),
        (
            "command",
            (False, None),
            "2,050 outputs need 2,050 calls of f, about 3 s in total; with --time-limit 60, dpjax "
            "draws as many outputs as fit into one minute.",
        ),
        (
            "host",
            (True, 5.0),
            "f is called until it has drawn 2,050 outputs or the time limit (--time-limit 5, in "
            "seconds) has passed.",
        ),
        (
            "object",
            (False, 60.0),
            "f is called until it has drawn 2,050 outputs or the time limit (--time-limit 60, in "
            "seconds) has passed.",
        ),
        ("object", (False, None), "drawing 2,050 outputs takes about 3 s in total."),
    ],
)
def test_what_a_long_audit_announces(source, given, sentence):
    assert _announced(source, given and subject(*given), 2050, "3 s") == sentence


def test_a_sequential_audit_announces_its_time_unless_it_has_a_limit(monkeypatch, run):
    assert _announced("mechanism", None, 2050, "3 s", "sequential") == (
        "drawing all 2,050 outputs takes about 3 s in total; ctrl-c ends the audit with its "
        "current bound, and --seconds limits its time."
    )
    asked = []

    def bar(*, quiet, announce):
        asked.append(announce)
        return nullcontext(lambda *_: None)

    monkeypatch.setattr(_audit, "progress_bar", bar)
    few = ("audit", "laplace", "--method", "sequential", "--num-draws", "1000")
    assert run(*few).exit_code == 0 and run(*few, "--seconds", "60").exit_code == 0
    assert callable(asked[0]) and asked[1] is None


def test_options_of_the_classes_in_a_table(tmp_path, monkeypatch):
    package = tmp_path / "kinds"
    package.mkdir()
    (package / "_table.py").write_text('TABLE: dict\nTABLE = {"x": "_one:One"}\n')
    (package / "_one.py").write_text(
        'class One:\n    """A kind."""\n\n    name = "x"\n    size: int\n'
    )
    monkeypatch.setattr(_declared, "_PACKAGE", tmp_path)
    for cached in (_declared._source, _declared.registered, _declared.declared):
        cached.cache_clear()
    try:
        (found,) = registered("dpjax.kinds")
        assert (found.title, found.required) == ("A kind.", ("size",))
    finally:
        for cached in (_declared._source, _declared.registered, _declared.declared):
            cached.cache_clear()


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ({"DPJAX_CACHE_DIR": "/a", "JAX_COMPILATION_CACHE_DIR": "/b"}, "/a"),
        ({"JAX_COMPILATION_CACHE_DIR": "/b"}, "/b"), ({}, "/home/x/.cache/dpjax/xla"),
        ({"DPJAX_CACHE_DIR": ""}, None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("x64", [False, True])
def test_folders_of_compiled_code(monkeypatch, given, folder, x64):
    environment, told = {"HOME": "/home/x", **given}, {}
    monkeypatch.setattr(os, "environ", environment)
    jax = SimpleNamespace(config=SimpleNamespace(update=told.__setitem__))
    monkeypatch.setitem(sys.modules, "jax", jax)
    _app.configure(x64)
    expected = {"jax_enable_x64": True} if x64 else {}
    if folder is not None:
        expected["jax_compilation_cache_dir"] = folder
        expected["jax_persistent_cache_min_compile_time_secs"] = 0.0
    assert told == expected
    for name, value in expected.items():
        assert environment[name.upper()] == str(value)


@pytest.mark.parametrize(("columns", "terminal", "sources"), [
    (80, False, True), (80, True, False), (200, False, True), (200, True, True),
])  # fmt: skip
def test_a_narrow_terminal_shows_mechanisms_without_sources(
    monkeypatch, capsys, columns, terminal, sources
):
    """In a pipe, lines have their full length."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TTY_COMPATIBLE", "1" if terminal else "0")
    _mechanisms.command(as_json=False)
    head = capsys.readouterr().out.splitlines()[1]
    assert ("source" in head) == sources and "level" in head


def test_pairs_of_files(here):
    np.savez("pairs.npz", database=[[1.0, 2.0]], neighbor=[[3.0, 4.0]])
    found = pairs_of("pairs.npz")
    assert found.database.tolist() == [[1, 2]] and found.neighbor.tolist() == [[3, 4]]
    ((database, neighbor),) = pairs_of("pairs.npz", any_kind=True)
    assert (database.tolist(), neighbor.tolist()) == ([1, 2], [3, 4])
    assert database.dtype == np.float64
    (here / "pairs.json").write_text("[[0, 1], [2, 3]]")
    for text in ("pairs.json", " [[0, 1], [2, 3]]"):
        assert pairs_of(text, any_kind=True) == [(0, 1), (2, 3)]
        assert pairs_of(text).database.tolist() == [0, 2]
    assert pairs_of('[["a", {"b": 1}]]', any_kind=True) == [("a", {"b": 1})]


@pytest.mark.parametrize("text", ["[]", "[1, 2]", "[[1, 2], [3]]", "[[1, 2, 3]]", "[[1, 2"])
def test_texts_without_pairs(here, text):
    with pytest.raises(ValueError) as refused:
        pairs_of(text, any_kind=True)
    assert str(refused.value).startswith(
        f"--pairs {text} must be JSON [[database, neighbor], ...] or an npz file with arrays named "
        "database and neighbor: "
    )


def test_files_that_hold_no_pairs(here):
    (here / "dict.json").write_text('{"a": 1}')
    (here / "deep.json").write_text("[" * 100_000)
    np.savez("half.npz", database=[1.0])
    (here / "broken.npz").write_bytes(b"PK\x03\x04 and no archive")
    for name, words in (
        ("dict.json", ": one pair is written as [[database, neighbor]]."),
        ("deep.json", ", but is damaged (Recursion"),
        ("half.npz", "neighbor"), ("broken.npz", "database and neighbor"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"^--pairs ") as refused:
            pairs_of(name)
        assert words in str(refused.value)


@pytest.mark.parametrize(
    ("content", "suffix"),
    [
        (b"1,2\n3\t4\n", ".csv"), (b"1\t2\n3,4\n", ".tsv"), (b"1\n2,3\n", ".txt"), (b"x", ".txt"),
        (b"a;b\n1,5;2\n", ".csv"), (b"a;b\n1;2\n", ".txt"), (b'{"a": 1}\n', ".jsonl"),
        (b"PK\x03\x04,", ".npz"), (b"\x93NUMPY,", ".npy"), (b"PAR1,", ".parquet"),
    ],
)  # fmt: skip
def test_kinds_of_standard_input(here, monkeypatch, content, suffix):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    path = standard_input(str(here))
    assert path == here / f"standard-input{suffix}" and path.read_bytes() == content
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO()))
    with pytest.raises(
        ValueError, match="standard input must contain outputs for --samples -, but"
    ):
        standard_input(str(here))
