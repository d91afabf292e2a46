"""All commands and Python blocks in the README run, in order, in the same folder."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from scripts.site.blocks import blocks_of, run, same

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_the_blocks_run(tmp_path):
    for block in blocks_of(TEXT):
        lines = block.code.splitlines()
        for script in (line.split()[0] for line in lines if line.startswith("scripts/")):
            assert os.access(ROOT / script, os.X_OK), script
        printed = run(block, tmp_path)
        assert block.shown is None or same(block.shown, printed), printed


def test_scripts_and_extras_that_it_names_exist():
    for name in re.findall(r"`(scripts/\w+)`", TEXT):
        assert os.access(ROOT / name, os.X_OK), name
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra in project["optional-dependencies"]:
        assert f"`{extra}`" in TEXT or f"[{extra}]" in TEXT, extra


@pytest.mark.slow
@pytest.mark.skipif(
    not (ROOT / ".venv" / ".installed").exists(), reason="scripts/demo would install an environment"
)
def test_the_demo_runs():
    done = subprocess.run([ROOT / "scripts" / "demo"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("VIOLATED") == 2 and done.stdout.count("NOT REFUTED") == 1
    for report in ("laplace.html", "noisy-histogram-2.html", "survey.html", "survey.png"):
        assert (ROOT / "out" / report).stat().st_size > 1000


def test_it_is_short():
    assert len(TEXT.splitlines()) <= 250


def test_its_prose_has_short_lines():
    """Tables, pictures and links have lines of any length."""
    prose = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL).splitlines()
    assert not [line for line in prose if len(line) > 112 and not line.startswith(("|", "!"))]


def test_its_first_screen_says_what_it_is_and_shows_it():
    """It contains a description, the installation, an example with its output, and the picture."""
    first = "\n".join(TEXT.splitlines()[:30])
    for part in (
        "How private is it really?",
        "pip install",
        "```python",
        "VIOLATED",
        "![",
        ".png)",
    ):
        assert part in first, part


def test_the_files_that_are_linked_exist():
    links = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    assert links and [link for link in links if not (ROOT / link).exists()] == []
