"""The table of scripts/mutants fits the package."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
try:
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


def test_random_changes_are_those_of_their_seed():
    twice = [random_mutants.draw(40, 7, ["inference"]) for _ in range(2)]
    assert twice[0] == twice[1] != random_mutants.draw(40, 8, ["inference"])
    places = [(change.file, change.line) for change in twice[0]]
    assert len(set(places)) == 40
    assert all(change.file.startswith("dpjax/inference/") for change in twice[0])


def test_every_random_change_is_another_program_and_each_kind_occurs():
    texts = random_mutants.sources([])
    drawn = random_mutants.draw(400, 1, [])
    for change in drawn:
        made = change.made(texts[change.file])
        assert ast.dump(ast.parse(made)) != ast.dump(ast.parse(texts[change.file]))
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
    """Their old lines are in their files; an entry whose line went is to be taken out."""
    texts = random_mutants.sources([])
    for (file, old, new), reason in random_mutants.equivalents().items():
        assert old in texts[file] and old != new and reason
