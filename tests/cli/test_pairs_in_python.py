"""`--pairs FILE.py:NAME`: pairs of databases that Python code creates."""

import json

import pytest

import dpjax
from dpjax.cli._given import is_object, pairs_of
from dpjax.databases.spaces import Space

CODE = """
import numpy as np

import dpjax


def release(database, num_samples, rng):
    return np.sum(database) + rng.laplace(size=num_samples)


def count(text, rng):
    return len(text) + rng.laplace()


class Made:
    pairs = [("ab", "abc")]


stacked = dpjax.Pairs(np.zeros((1, 2)), np.ones((1, 2)), ("zeros and ones",))
listed = [(np.zeros(2), np.ones(2))]
equal = [(1.0, 1.0)]
space = dpjax.neighbors(3.0, dpjax.databases.Within(1.0))
number = 3


def __getattr__(name):
    if name == "replaced":
        dpjax.audit = None
        return [(0.0, 1.0)]
    raise AttributeError(name)
"""
SMALL = ("--num-samples", 1000, "--num-confirm", 2000, "--json")


@pytest.fixture
def paired(module):
    return module("paired_release", CODE)


def test_an_audit_takes_its_pairs_from_python(run, paired):
    code, out, err = run("audit", paired("release"), "--pairs", paired("stacked"), *SMALL)
    assert code == 0, err
    found = json.loads(out)
    assert found["recipe"]["pairs"]["labels"] == ["zeros and ones"]
    assert found["statement"]["lower_bound"] > 0.5


def test_pairs_have_the_form_that_the_function_needs(paired):
    assert pairs_of(paired("stacked"), any_kind=True).labels == ("zeros and ones",)
    ((database, _),) = pairs_of(paired("listed"), any_kind=True)
    assert database.dtype == float and database.shape == (2,)
    stacked = pairs_of("paired_release:listed")
    assert isinstance(stacked, dpjax.Pairs) and stacked.database.shape == (1, 2)
    assert pairs_of(paired("Made.pairs"), any_kind=True) == [("ab", "abc")]
    assert isinstance(pairs_of(paired("space")), Space)


def test_a_space_in_python_is_searched(run, paired):
    code, out, err = run("audit", paired("release"), "--pairs", paired("space"), *SMALL)
    assert code == 0, err
    assert json.loads(out)["statement"]["lower_bound"] > 0.3
    code, _, err = run(
        "audit", "--function", paired("count"), "--pairs", paired("space"), "--num-outcomes", 3
    )
    assert code == 2 and "--num-outcomes needs --pairs" in err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("number", "must be dpjax.Pairs or a list of (database, neighbor), but was int."),
        ("release", "must be dpjax.Pairs or a list of (database, neighbor), but was function."),
        ("stack", "the module has no 'stack'; did you mean 'stacked'?"),
        ("equal", "pairs must hold two different databases"),
    ],
)
def test_objects_that_are_no_pairs(run, paired, name, message):
    code, _, err = run("audit", paired("count"), "--pairs", paired(name))
    assert code == 2 and message in " ".join(err.split())


def test_code_that_makes_pairs_must_not_change_dpjax(run, paired, monkeypatch):
    """The check also applies if the audited mechanism is part of dpjax."""
    monkeypatch.setattr(dpjax, "audit", dpjax.audit)  # Restore the name after the test.
    code, out, err = run("audit", "laplace", "--pairs", paired("replaced"), *SMALL)
    assert code == 2 and not out and "audited code replaced dpjax.audit" in err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loop.py:pair", True), ("loop:made.pair", True), ('[{"a": 1}]', False),
        ("pairs.json", False), ("C:/pairs.npz", False), ("folder/a:b", False),
    ],
)  # fmt: skip
def test_a_file_whose_name_has_a_colon_is_a_file(tmp_path, monkeypatch, text, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a:b").write_text("[[0, 1]]")
    assert is_object(text) == expected
