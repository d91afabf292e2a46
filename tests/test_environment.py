"""Dependencies: pinned versions with hashes for development, and the lowest supported versions."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = ("build", "docs", "test", "lint", "libraries")


def wanted():
    """Return the direct requirements of the development environment."""
    extras = PROJECT["project"]["optional-dependencies"]
    lines = [*PROJECT["project"]["dependencies"]]
    lines += [line for name, extra in extras.items() if name != "all" for line in extra]
    lines += [line for group in GROUPS for line in PROJECT["dependency-groups"][group]]
    return [Requirement(line) for line in lines if not line.startswith("jax[")]


def test_the_lock_holds_every_package_with_hashes():
    text = (ROOT / "scripts" / "development.lock").read_text()
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.M))
    assert len(re.findall(r"^[\w.-]+==[^\n]*\\\n    --hash=sha256:", text, re.M)) == len(pins) > 40
    for requirement in wanted():
        name = requirement.name.lower()
        assert requirement.specifier.contains(Version(pins[name])), requirement
    assert "://" not in text


def test_the_lowest_versions_are_those_of_the_project():
    printed = subprocess.run(
        [sys.executable, ROOT / "scripts" / "lowest"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {"jax==0.9", "numpy==2.0", "scipy==1.13", "click==8.2"} <= set(printed)
    pins = {Requirement(line).name: Requirement(line) for line in printed}
    runtime = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
    for requirement in runtime:
        (floor,) = requirement.specifier
        assert str(pins[requirement.name].specifier) == f"=={floor.version}"
