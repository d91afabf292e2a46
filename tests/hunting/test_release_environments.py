"""Environments of releases: which packages are installed, where, and how often."""

import sys

import pytest

from dpjax.hunting import _environment
from dpjax.hunting._environment import environment_of


@pytest.fixture
def commands(monkeypatch):
    """Record the commands that would run, without the interpreter and pip's quiet options."""
    found = []

    def run(command, spec):
        assert spec == "lib==1.0"
        if "venv" in command:
            (home := _environment.Path(command[-1])).mkdir(exist_ok=True)
            assert command[:-1] == [sys.executable, "-m", "venv", "--clear"] and home.exists()
            return
        assert command[1:4] == ["-m", "pip", "install"]
        found.append(command[command.index("--disable-pip-version-check") + 1 :])

    monkeypatch.setattr(_environment, "_run", run)
    return found


def test_dependencies_are_installed_unless_they_are_left_out(commands, tmp_path):
    for requires, options, expected in (
        ((), {}, [["lib==1.0"]]),
        (("b", "a<2"), {}, [["lib==1.0", "b", "a<2"]]),
        ((), {"dependencies": False}, [["--no-deps", "lib==1.0"]]),
        (("b",), {"dependencies": False}, [["--no-deps", "lib==1.0"], ["b"]]),
    ):
        commands.clear()
        made = environment_of("lib==1.0", requires, tmp_path, **options)
        assert commands == expected and made.spec == "lib==1.0"
        # The second time, the environment exists.
        commands.clear()
        assert environment_of("lib==1.0", requires, tmp_path, **options) == made
        assert commands == []
    assert len(list(tmp_path.iterdir())) == 4
    # The order of requirements does not matter.
    assert environment_of("lib==1.0", ("a<2", "b"), tmp_path) == environment_of(
        "lib==1.0", ("b", "a<2"), tmp_path
    )
    assert commands == []


@pytest.mark.parametrize("spec", ["lib>=1", "lib==", "lib 1", "--index==1", "a/b==1", "a@b==1", ""])
def test_only_releases_have_environments(commands, tmp_path, spec):
    with pytest.raises(ValueError, match="packages must be PACKAGE==VERSION"):
        environment_of(spec, (), tmp_path)
    assert commands == []


@pytest.mark.parametrize("requirement", ["-r file", "../lib", "lib@https", "https://lib"])
def test_requirements_are_names(commands, tmp_path, requirement):
    with pytest.raises(ValueError, match="packages must be PACKAGE==VERSION"):
        environment_of("lib==1.0", (requirement,), tmp_path)
    assert commands == []
