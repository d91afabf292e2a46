"""The table of scripts/mutants matches the package."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
try:
    import covered
    import random_mutants
finally:
    sys.path.pop(0)


def test_every_old_text_is_in_its_file_once():
    listed = subprocess.run(
        [sys.executable, ROOT / "scripts" / "mutants", "--list"], capture_output=True, text=True
    )
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.count("\n  + ") >= 40


def test_every_mutant_is_a_program():
    rooms = tomllib.loads((ROOT / "scripts" / "mutants.toml").read_text())["room"]
    for _, file, old, new, *_ in (entry for room in rooms for entry in room["mutants"]):
        ast.parse((ROOT / file).read_text().replace(old, new))


@pytest.mark.slow
def test_random_changes_are_those_of_their_seed():
    twice = [random_mutants.draw(40, 7, ["inference"]) for _ in range(2)]
    assert twice[0] == twice[1] != random_mutants.draw(40, 8, ["inference"])
    places = [(change.file, change.line) for change in twice[0]]
    assert len(set(places)) == 40
    assert all(change.file.startswith("dpjax/inference/") for change in twice[0])


@pytest.mark.slow
def test_every_random_change_is_another_program_and_each_kind_occurs():
    texts = random_mutants.sources([])
    drawn = random_mutants.draw(400, 1, [])
    trees = {file: ast.dump(ast.parse(texts[file])) for file in {change.file for change in drawn}}
    for change in drawn:
        made = change.made(texts[change.file])
        assert ast.dump(ast.parse(made)) != trees[change.file]
        old, new = change.lines(texts[change.file])
        assert old != new and old in texts[change.file] and new in made
        assert made.count("\n") - texts[change.file].count("\n") == new.count("\n") - old.count(
            "\n"
        )
    assert {change.kind for change in drawn} == {
        "comparison", "constant", "sign", "min for max", "argument dropped", "arguments exchanged",
        "index", "term dropped", "statement dropped", "condition negated", "side swapped",
    }  # fmt: skip


def test_a_change_of_a_docstring_does_nothing():
    text = '"""One."""\nX = 1 + 2\n'
    change = random_mutants.Change
    assert random_mutants.does_nothing(change("f.py", "", 1, 3, 6, "Two"), text)
    assert random_mutants.does_nothing(change("f.py", "", 2, 15, 20, "3"), text)
    assert random_mutants.does_nothing(change("f.py", "", 2, 15, 20, "(1"), text)
    assert not random_mutants.does_nothing(change("f.py", "", 2, 15, 20, "2"), text)


def test_equivalent_changes_are_of_the_package():
    """Their old lines occur once in their files; entries of deleted lines must be removed.

    If a line occurs twice, the preceding lines must identify it, because the other may matter.
    """
    texts = random_mutants.sources([])
    for (file, old, new), reason in random_mutants.equivalents().items():
        whole = re.compile(rf"^{re.escape(old)}$", re.MULTILINE)
        assert len(whole.findall(random_mutants.stripped(texts[file]))) == 1, (file, old)
        assert old != new and reason


def test_lines_above_tell_equal_lines_apart():
    text = "if first:\n    go()\nif second:\n    go()\n"
    one, other = (
        random_mutants.Change("f.py", "", 0, start, start + 4, "pass")
        for start in (text.index("go"), text.rindex("go"))
    )
    assert list(one.forms(text))[:2] == [
        ("f.py", "go()", "pass"), ("f.py", "if first:\ngo()", "if first:\npass"),
    ]  # fmt: skip
    assert ("f.py", "if second:\ngo()", "if second:\npass") in other.forms(text)
    assert ("f.py", "if first:\ngo()", "if first:\npass") not in other.forms(text)


FILE = "dpjax/inference/_range.py"
TEXT = """import math
LARGEST = 3


def first(x):
    y = x + 1
    return y


def second(x):
    return min(x, LARGEST)
"""


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """Return a map of a module that now has two more lines at the top."""
    seconds = {"tests/inference/test_a.py::slow": 5.0, "tests/inference/test_a.py::fast": 1.0,
               "tests/cli/test_b.py::far": 0.5, "tests/cli/test_b.py::second": 0.5}  # fmt: skip
    content = {
        "seconds": seconds,
        "texts": {FILE: TEXT},
        "lines": {FILE: {6: [0, 1, 2], 7: [0], 11: [3]}},
    }
    (tmp_path / "covered.json").write_text(json.dumps(content))
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text('"""A head."""\n\n' + TEXT)
    monkeypatch.setattr(covered, "ROOT", tmp_path)
    return covered.Covered(tmp_path / "covered.json")


def test_tests_of_the_changed_line_come_first_and_cheap_ones_before_others(lines):
    slow, fast, far, second = lines.names
    # A test of another subpackage counts four times.
    assert lines.ordered(FILE, 8, 100.0) == [fast, far, slow, second]
    assert lines.ordered(FILE, 9, 100.0) == [slow, fast, far, second]
    assert lines.ordered(FILE, 8, 2.0) == [fast, far, second]


def test_a_constant_is_tested_where_its_name_is_used(lines):
    slow, fast, far, second = lines.names
    assert lines.ordered(FILE, 4, 100.0) == [second, fast, far, slow]


@pytest.mark.slow
def test_a_worker_tells_what_failed_and_ends_what_does_not_end(tmp_path):
    (tmp_path / "test_x.py").write_text(
        "import time\ndef test_good(): pass\ndef test_bad(): assert 0\n"
        "def test_long(): time.sleep(60)\ndef test_busy():\n    while True: pass\n"
    )
    asked = [("good", 60, 60), ("bad", 60, 60), ("long", 60, 3), ("busy", 1, 60)]
    arguments = ["-q", "-p", "no:cacheprovider"]
    lines = [[[*arguments, f"test_x.py::test_{name}"], cpu, wall] for name, cpu, wall in asked]
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "mutant_worker.py"],
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    (good, _), (bad, said), (long, _), (busy, _) = map(json.loads, done.stdout.splitlines())
    assert (good, bad, long) == (0, 1, None) and "FAILED test_x.py::test_bad" in said
    assert busy < 0


def test_a_map_is_carried_over_to_the_tests_and_lines_of_today(tmp_path):
    """The old module had two more lines at the top, and a deleted test ran all lines."""
    file = "dpjax/core/errors.py"
    text = (ROOT / file).read_text(encoding="utf-8")
    content = {
        "seconds": {"gone": 1.0, "kept": 2.0},
        "lines": {
            file: {"1": [0], "2": [0], "3": [0, 1], "7": [0, 1]},
            "dpjax/gone.py": {"1": [1]},
        },
        "texts": {file: "import one\nimport two\n" + text, "dpjax/gone.py": "1"},
    }
    (tmp_path / "map.json").write_text(json.dumps(content))
    old = covered.Covered(tmp_path / "map.json")
    seconds, lines = covered.carried(old, ["kept", "new"])
    assert seconds == {"kept": 2.0} and lines == {file: {1: {0}, 5: {0}}}
