"""Hunts: cases are read, another process draws, and recorded outputs give the same bound."""

import gzip
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.databases import ChangeOne, Domain, Within
from dpjax.hunting import Environment, environment_of, hunt, read_case
from dpjax.hunting._draws import _plain
from dpjax.hunting._hunt import _pace
from dpjax.notions import Epsilon

LEAK = '''
"""A sum that forgets to clip."""

package = "nothing"
claim = 1.0
pairs = [([0.5, 0.25], [0.5]), ([0.5, 0.25], [0.5, 0.25, 8.0])]
draws = 3_000


def draw(values):
    import random

    print("what a library prints is no answer")
    if len(values) == 3 and values[0] < 0.1:
        raise ArithmeticError
    return sum(values) + random.expovariate(1.0) - random.expovariate(1.0)
'''


@pytest.fixture
def case(tmp_path):
    path = tmp_path / "leak.py"
    path.write_text(LEAK)
    return read_case(path)


def here(case):
    """Use this interpreter as the environment of a release."""
    return [Environment("nothing==1.0", Path(sys.executable))]


@pytest.mark.slow
def test_a_fault_is_found_and_its_record_gives_the_same_bound(case, tmp_path):
    (found,) = hunt([case], here, tmp_path / "draws", seconds=60.0)
    assert found.failure == "" and found.result.verdict == "violated"
    row = json.loads(json.dumps(found.row))
    assert row["release"] == "nothing==1.0" and row["case"] == "A sum that forgets to clip."
    # A record of 8 has level 8, and three thousand draws show part of this level.
    assert 2 < found.result.lower_bound <= 8
    (again,) = hunt([case], here, tmp_path / "draws", again=True)
    assert again.spec == "nothing==1.0"
    assert again.result.lower_bound == found.result.lower_bound
    assert again.result.witness == found.result.witness


@pytest.mark.slow
def test_claims_hold_at_their_delta(tmp_path):
    """With probability 0.05, below delta, the output reveals the database, so the claim holds."""
    path = tmp_path / "rare.py"
    path.write_text(
        "import random\n"
        "package, claim, delta, pairs, draws = 'x', 0.5, 0.1, [(0, 1)], 1_000\n"
        "def draw(value):\n    return int(value and random.random() < 0.05)\n"
    )
    (found,) = hunt([read_case(path)], here, tmp_path / "draws", seconds=60.0)
    assert found.row["verdict"] == "not refuted" and found.row["delta"] == 0.1
    assert found.result.notion == Epsilon(0.1)


@pytest.mark.slow
def test_noise_that_is_the_same_in_every_process(tmp_path):
    """The generator is seeded when the case is loaded, as some libraries do by default."""
    path = tmp_path / "seeded.py"
    path.write_text(
        "import random\n"
        "package, claim, pairs, draws = 'x', 1.0, [(0.0, 0.1)], 500\n"
        "generator = random.Random(0)\n"
        "def draw(value):\n    return value + generator.gauss(0.0, 1.0)\n"
    )
    case = read_case(path)
    (found,) = hunt([case], here, tmp_path / "draws", seconds=60.0)
    assert found.failure == "" and found.row["verdict"] == "not random"
    assert found.row["bound"] is None
    assert "Two processes" in found.result.sentence
    (again,) = hunt([case], here, tmp_path / "draws", again=True)
    assert again.result.statement == found.result.statement


def test_a_space_of_neighbours(tmp_path):
    path = tmp_path / "space.py"
    text = LEAK.replace("pairs = [", "unused = [") + "\nlike = [0.5, 0.25]\n"
    path.write_text(text + "relation, domain = ('change-one', 2), {'bounds': (0.0, 8.0)}\n")
    space = read_case(path).pairs
    assert space.relation == ChangeOne(2) and space.domain == Domain(bounds=(0.0, 8.0))
    assert space.allows([1.0, 2.0], [3.0, 4.0]) and not space.allows([1.0], [9.0])
    path.write_text(text + "relation = ('within', 2.0, 'l2')\n")
    assert read_case(path).pairs.relation == Within(2.0, "l2")


@pytest.mark.slow
def test_a_call_that_hangs_in_the_search_shifts_no_answers(tmp_path):
    """The function hangs for large databases, which the search tries.

    The output is the number of records, so an answer to another request would be noticed.
    """
    path = tmp_path / "hangs.py"
    path.write_text(
        "import time\n"
        "package, claim, draws, relation = 'x', 9.0, 400, 'add-remove'\n"
        "like = [0.0, 1.0]\n"
        "def draw(records):\n"
        "    if len(records) > 100:\n        time.sleep(600)\n"
        "    return len(records)\n"
    )
    (found,) = hunt([read_case(path)], here, tmp_path / "draws", seconds=8.0)
    assert found.failure == ""
    counts, (first, second) = found.result.witness.event_counts, found.result.evidence.trials
    assert counts in ((first, 0), (0, second))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("import os; os._exit(0)", "the release's process ended with exit code 0 instead"),
        ("raise SystemExit(7)", "the release's process ended with exit code 7 instead"),
        ("import os; os.abort()", "the release's process ended because of signal 6 instead"),
    ],
)
def test_a_release_that_ends_is_a_row(tmp_path, body, message):
    path = tmp_path / "ends.py"
    text = f"package, claim, pairs = 'x', 1.0, [(0, 1)]\ndef draw(value):\n    {body}\n"
    path.write_text(text)
    (found,) = hunt([read_case(path)], here, tmp_path / "draws", seconds=5.0)
    assert found.result is None and message in found.failure
    assert not list((tmp_path / "draws").glob("*.gz"))


@pytest.mark.slow
@pytest.mark.parametrize("later", [False, True])
def test_a_first_call_may_take_longer_than_later_ones(tmp_path, monkeypatch, later):
    """The first call of a process imports the library; here it sleeps for a second."""
    monkeypatch.setattr("dpjax.hunting._draws._ONE_CALL", 0.5)
    path = tmp_path / "slow.py"
    path.write_text(
        "import random, time\n"
        "package, claim, pairs, draws = 'x', 1.0, [(0.0, 0.1)], 300\n"
        "calls = []\n"
        "def draw(value):\n"
        "    calls.append(value)\n"
        f"    if len(calls) == 1 or ({later} and len(calls) == 50):\n"
        "        time.sleep(1.0 if len(calls) == 1 else 600.0)\n"
        "    return value + random.SystemRandom().gauss(0.0, 1.0)\n"
    )
    (found,) = hunt([read_case(path)], here, tmp_path / "draws", seconds=20.0)
    if later:
        assert found.failure.startswith("the release's process returned no output within 0.5 s")
    else:
        assert found.failure == "" and found.result.verdict == "not refuted"


CASES = Path(__file__).parents[2] / "benchmarks" / "hunt"
SHARED = ("pure_ldp_unary.py", "diffprivlib_nan.py")


def test_every_case_of_the_benchmarks_can_be_read():
    paths = [path for path in sorted(CASES.glob("*.py")) if path.name not in SHARED]
    cases = [read_case(path) for path in paths]
    assert len({case.title for case in cases}) == len(cases) >= 16
    assert all(case.releases and case.claim > 0 for case in cases)


HEAD = {"database": [0], "neighbor": [1], "labels": ["pair 0"], "draws": 300}


@pytest.mark.parametrize(
    ("head", "lines", "message"),
    [
        (HEAD, "1\n" * 50, "it ends too early"),
        (HEAD, "1\n" * 50 + "1", "it ends too early"),
        (HEAD, "1\nnonsense\n" * 300, "(Expecting value"),
        (HEAD, "[" * 10**5 + "\n", "(maximum recursion"),
        (HEAD, "1" * 2**24 + "\n", "a line is too long"),
        ({**HEAD, "draws": float("nan")}, "1\n", "its head lists no pairs"),
        ({**HEAD, "draws": 10**12}, "1\n", "num_draws must be below"),
        ({**HEAD, "labels": []}, "1\n", "its head lists no pairs"),
        ({}, "1\n", "is damaged (KeyError"),
        ([], "1\n", "is damaged (TypeError"),
    ],
)
def test_a_damaged_record_is_a_row_and_its_lines_are_no_outcomes(tmp_path, head, lines, message):
    path = tmp_path / "leak.py"
    path.write_text(LEAK)
    with gzip.open(tmp_path / "leak@nothing==1.0.jsonl.gz", "wt", 1) as file:
        file.write(json.dumps(head) + "\n" + lines)
    (found,) = hunt([read_case(path)], here, tmp_path, again=True)
    assert found.result is None and message in found.failure


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("claim = 1.0\ndef draw(x): pass", "must set package"),
        ("package = 'x'\ndef draw(x): pass", "must set claim"),
        ("package, claim = 'x', 1.0", "must set draw"),
        ("package, claim, draw = 'x', 1.0, 3", r"must have a function draw\(database\)"),
        ("package, claim = 'x', -1.0\ndef draw(x): pass", "claim must be"),
        ("package, claim = 'x', 1.0\ndef draw(x): pass", "must set either pairs or like"),
        ("1 / 0", "cannot be run: ZeroDivisionError"),
    ],
)
def test_invalid_cases(tmp_path, text, message):
    path = tmp_path / "case.py"
    path.write_text(text)
    with pytest.raises((ValueError, TypeError), match=message):
        read_case(path)


@pytest.mark.parametrize(
    "spec", ["--index-url=http://x", "x @ http://y/z.whl", "../folder", "a b", ""]
)
def test_nothing_but_releases_is_installed(tmp_path, spec):
    with pytest.raises(ValueError, match="packages must be PACKAGE==VERSION"):
        environment_of(spec, [], tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_cases_share_a_module_beside_them(tmp_path):
    shared, draw = LEAK[: LEAK.index("def draw")], LEAK[LEAK.index("def draw") :]
    (tmp_path / "leak_shared.py").write_text(shared + "\n\ndef again(value):\n    return value\n")
    path = tmp_path / "two.py"
    names = "again, claim, draws, package, pairs"
    draw = draw.replace("return sum(values)", "return again(sum(values))")
    path.write_text(f"from leak_shared import {names}\n\n\n{draw}")
    before = list(sys.path)
    case = read_case(path)
    assert sys.path == before and case.draws == 3_000 and len(case.pairs) == 2
    (found,) = hunt([case], here, tmp_path / "draws", seconds=60.0)
    assert found.failure == "" and found.result.verdict == "violated"


@pytest.mark.slow
def test_records_are_of_the_case_whose_outputs_they_hold(tmp_path):
    """Files with equal names or different draws have separate records; the claim may change."""
    paths = [tmp_path / name for name in ("a/leak.py", "b/leak.py", "b/leak@x.py", "b/l[e]ak.py")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(LEAK)
    (found,) = hunt([read_case(paths[0])], here, tmp_path, seconds=20.0)
    assert found.result.verdict == "violated"
    with pytest.raises(ValueError, match=r"two files are named leak\.py"):
        next(hunt([read_case(path) for path in paths[:2]], here, tmp_path, again=True))
    for path in paths[2:]:
        (missing,) = hunt([read_case(path)], here, tmp_path, again=True)
        assert missing.failure.endswith(
            f"has no recorded draws of {path.stem}: draw outputs first."
        )
    paths[1].write_text(LEAK.replace("sum(values)", "max(values)"))
    (again,) = hunt([read_case(paths[1])], here, tmp_path, again=True)
    assert again.result is None and "holds outputs of another case" in again.failure
    paths[1].write_text(LEAK.replace("claim = 1.0", "claim = 9.0"))
    (again,) = hunt([read_case(paths[1])], here, tmp_path, again=True)
    assert again.failure == "" and again.result.verdict == "not refuted"


def test_a_case_without_a_record_does_not_hide_other_cases(tmp_path):
    paths = [tmp_path / name for name in ("first.py", "leak.py")]
    for path in paths:
        path.write_text(LEAK)
    with gzip.open(tmp_path / "leak@nothing==1.0.jsonl.gz", "wt", 1) as file:
        file.write(json.dumps({**HEAD, "draws": 20}) + "\n" + "1\n2\n" * 40)
    missing, found = hunt([read_case(path) for path in paths], here, tmp_path, again=True)
    assert missing.result is None and missing.spec == missing.row["release"] == "nothing"
    assert missing.failure == (
        f"the folder {tmp_path} has no recorded draws of first: draw outputs first."
    )
    assert found.spec == "nothing==1.0" and found.failure == "" and found.result is not None


def test_a_release_whose_function_is_missing_is_no_pass(tmp_path):
    path = tmp_path / "missing.py"
    path.write_text(
        "package, claim, pairs, draws = 'x', 1.0, [(0, 1)], 100\n"
        "def draw(value):\n    import a_module_that_is_not_there\n"
    )
    (found,) = hunt([read_case(path)], here, tmp_path / "draws", seconds=5.0)
    assert found.result is None and "every call ended with" in found.failure


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("claim = None", "claim in .* must be a number"),
        ("draws = 1", "draws must be an integer >= 2"),
        ("draws = 'many'", "draws must be an integer"),
        ("delta = 1.5", "delta must lie in"),
        ("bits = 'all'", "bits 'all' is not known"),
        ("package = 3", "package in .* must be a str, but was 3"),
        ("dependencies = 'no'", "dependencies in .* must be a bool"),
        ("releases = [1]", "releases in .* must be a list of strings"),
        ("requires = 'numpy'", "requires in .* must be a list of strings"),
        ("pairs = 5", "pairs in .* must be a list of"),
        ("pairs = [(0, 1, 2)]", "pairs in .* must be a list of"),
        ("pairs, like, domain = None, [1.0], {'limits': 3}", "does not define pairs of databases"),
        ("pairs, like, relation = None, [1.0], ('within',)", "does not define pairs of databases"),
        (
            "pairs, like, relation = None, [1.0], ('add-remove', 1, 'l2')",
            "only 'within' has a norm",
        ),
        ("raise SystemExit(0)", r"cannot be run: SystemExit\(0\)"),
    ],
)
def test_values_of_a_case_are_checked_before_any_draw(tmp_path, line, message):
    path = tmp_path / "case.py"
    path.write_text(f"package, claim, pairs = 'x', 1.0, [(0, 1)]\ndef draw(x): pass\n{line}\n")
    with pytest.raises((ValueError, TypeError), match=message):
        read_case(path)


def test_databases_are_recorded_as_json_values():
    assert _plain({"rows": (np.int64(1), [np.arange(2), "a"])}) == {"rows": [1, [[0, 1], "a"]]}


@pytest.mark.parametrize(
    ("each", "seconds", "sizes"),
    [
        (2.0, 0.0, [1]), (2.0, 5.0, [1, 1, 1]),
        # Requests grow up to a tenth of a second, or 64 outputs.
        (0.019, 0.5, [1, 2, 4, 5, 5, 5, 5]), (0.001, 0.2, [1, 2, 4, 8, 16, 32, 64, 64, 64]),
    ],
)  # fmt: skip
def test_the_pace_of_a_case_is_the_mean_time_of_its_outputs(monkeypatch, each, seconds, sizes):
    clock, asked = [0.0], []
    monkeypatch.setattr("dpjax.hunting._hunt.time.perf_counter", lambda: clock[0])

    def several(database, count):
        asked.append(count)
        clock[0] += each * count

    server = SimpleNamespace(several=several)
    assert _pace(server, "a database", seconds) == pytest.approx(each) and asked == sizes
