"""`dpjax audit FILE.py:NAME` determines the kind of the object that FILE.py:NAME names."""

import json

import pytest

import dpjax

RELEASE = """
import jax

import dpjax


def jaxy(key, count):
    return count + jax.random.laplace(key)


def one(count, rng):
    return count + rng.laplace()


def many(count, num_samples, rng):
    return count + rng.laplace(size=num_samples)


def scaled(count, epsilon):
    return count


def words(text, rng):
    return len(text) + rng.laplace()


def member(scale):
    return lambda count, rng: count + rng.laplace(scale=scale)


def replaces(count, rng):
    dpjax.audit = None
    return count


family = dpjax.Family(member, {"scale": [0.5, 2.0]})
"""
SMALL = ("--num-samples", 1000, "--num-confirm", 2000)
PAIRS = ("--pairs", "[[0, 1]]")


@pytest.fixture
def release(module):
    return module("recognized_release", RELEASE)


def bound(run, *arguments):
    code, out, err = run("audit", *arguments, *SMALL, "--json")
    assert code == 0, err
    content = json.loads(out)
    return content["statement"], content["recipe"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("jaxy", ("--function",)),
        ("one", ("--one-by-one", "--host")),
        ("many", ("--host",)),
    ],
)
def test_the_audit_is_that_of_the_option(run, release, name, options):
    expected = bound(run, *options, release(name), *PAIRS)
    assert bound(run, release(name), *PAIRS) == expected
    assert 0.5 < expected[0]["lower_bound"] < 1.0


def test_options_of_the_kind_are_accepted(run, release):
    _, recipe = bound(run, release("one"), *PAIRS, "--special", "error")
    assert recipe["subject"]["special"] == "error" and not recipe["subject"]["batched"]
    code, _, err = run("audit", release("jaxy"), *PAIRS, "--special", "error")
    assert code == 2 and "--special is for --host" in err and "not for --function" in err


def test_databases_may_be_of_any_kind(run, release):
    assert bound(run, release("words"), "--pairs", '[["ab", "abc"]]')[0]["lower_bound"] > 0.5
    found, _ = bound(run, release("one"), "--like", 3, "--relation", "within:1", "--bounds", "0,9")
    assert 0.5 < found["lower_bound"] < 1.0


def test_a_family_is_recognized(run, release):
    found, _ = bound(run, release("family"), *PAIRS)
    assert 1.4 < found["lower_bound"] < 2.0


def test_what_cannot_be_audited_is_refused(run, release):
    for name, message in {
        "scaled": "as in functools.partial(scaled, epsilon=...).",
        "nope": "NAME 'recognized_release.py:nope': the module has no 'nope'",
    }.items():
        code, _, err = run("audit", release(name), *PAIRS)
        assert code == 2 and message in err
    code, _, err = run("audit", release("one"), "--host", release("one"), *PAIRS)
    assert code == 2 and "name only one thing to audit" in err


def test_recognized_code_must_not_change_dpjax(run, release, monkeypatch):
    monkeypatch.setattr(dpjax, "audit", dpjax.audit)  # Restore the name after the test.
    code, out, err = run("audit", release("replaces"), *PAIRS, *SMALL)
    assert code == 2 and not out and "audited code replaced dpjax.audit" in err


def test_pairs_are_searched_for_recognized_functions(run, release):
    for name in ("one", "many"):
        arguments = ("--pairs", "[[0, 0.1], [0, 1]]", "--keep", 1, "--budget", 4000, "--json")
        code, out, err = run("search-pairs", release(name), *arguments)
        assert code == 0 and json.loads(out)["pairs"] == [[0, 1]], err
