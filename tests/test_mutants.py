"""The table of scripts/mutants fits the package."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


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
